"""What a connection reports of its HTTP traffic to an observer, e.g. the debug log."""

from __future__ import annotations

from typing import Protocol


class HttpObserver(Protocol):
    """Receives what goes over the wire of one connection; must not block or raise."""

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Never write these texts."""
        ...

    def asked(self, method: str, address: str, size: int) -> None:
        """Receive the start of a request; `size` is in bytes."""
        ...

    def answered(self, status: int, request_id: str) -> None:
        """Receive the head of a response."""
        ...

    def arrived(self, chunk: bytes) -> None:
        """Receive bytes of the response's body."""
        ...

    def closed(self) -> None:
        """Receive the end of the response's body."""
        ...
