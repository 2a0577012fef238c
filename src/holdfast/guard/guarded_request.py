"""What every client's guard does with a request: judge it, say what was changed, and hand back the bytes to send."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.errors import UsageError
from holdfast.guard.request_repair import Judgement, Texts, judge
from holdfast.history import Violation

if TYPE_CHECKING:
    from holdfast.history import Edit

GuardMode = Literal["repair", "report"]
"""Whether a refused conversation is repaired, or only reported."""

LARGEST_INLINE = 256 << 10
"""Bytes of a body that is judged on the event loop. A larger one takes a thread: it would hold up other streams."""

_log = logging.getLogger("holdfast.guard")


class Mend(msgspec.Struct, frozen=True):
    """What was wrong with a request: the edits, what no edit repairs, and whether it was sent repaired.

    `url` has no query, which may hold a key. `milliseconds` is how long judging took.
    """

    edits: tuple[Edit, ...]
    remaining: tuple[Violation, ...]
    format: str
    profile: str
    url: str
    milliseconds: float
    is_sent: bool


class RequestGuard:
    """Judges the requests of one client. It keeps nothing of them."""

    def __init__(self, ledger: Texts | None, on_mend: Callable[[Mend], object] | None, mode: GuardMode) -> None:
        if mode not in ("repair", "report"):
            raise UsageError(f"Argument 'mode' is {mode!r} (expected one of repair, report).")
        self._ledger = ledger
        self._on_mend = on_mend
        self._is_sending = mode == "repair"

    def body(self, url: str, headers: Mapping[str, str], body: bytes) -> bytes | None:
        """Return the repaired body to send in the place of this one, None if this one goes on."""
        begin = time.perf_counter()
        judgement = judge(url, headers, body, self._ledger)
        if judgement is None:
            return None
        self._report(judgement, (time.perf_counter() - begin) * 1e3)
        return judgement.body if self._is_sending else None

    async def body_async(self, url: str, headers: Mapping[str, str], body: bytes) -> bytes | None:
        """Return the same. What may take long, or read a ledger's file, is done on a thread."""
        if self._ledger is None and len(body) <= LARGEST_INLINE:
            return self.body(url, headers, body)
        from holdfast.system.threads import in_daemon

        return await in_daemon(lambda: self.body(url, headers, body))

    def _report(self, found: Judgement, milliseconds: float) -> None:
        if self._on_mend is None:
            return
        endpoint = found.endpoint
        is_sent = self._is_sending and found.body is not None
        report = Mend(
            found.edits, found.remaining, endpoint.format, endpoint.profile, endpoint.path, milliseconds, is_sent
        )
        try:
            self._on_mend(report)
        except Exception:  # noqa: BLE001 - a report that fails must not cost the program its request
            _log.exception("`on_mend` raised. The request is sent as if it had not. Correct the function.")
