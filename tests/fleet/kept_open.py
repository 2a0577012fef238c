"""What a test opens and need not close by itself: the fixture `store_url` closes it before its database goes."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)
_OPEN: list[Closable] = []


def close_later(thing: T) -> T:
    """Return `thing`, which is closed when the test is over."""
    _OPEN.append(thing)
    return thing


def close_all() -> None:
    while _OPEN:
        _OPEN.pop().close()
