"""The HTTP events that a connection reports to an observer, e.g. the debug log."""

from __future__ import annotations

from typing import Protocol


class HttpObserver(Protocol):
    """Receives the HTTP events of one connection; must not block or raise."""

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Redact these texts from now on."""
        ...

    def request_sent(self, method: str, address: str, size: int) -> None:
        """Receive the start of a request; `size` is the size of its body in bytes."""
        ...

    def response_started(self, status: int, request_id: str) -> None:
        """Receive the head of a response."""
        ...

    def data_received(self, chunk: bytes) -> None:
        """Receive bytes of the response's body."""
        ...

    def response_closed(self) -> None:
        """Receive the end of the response's body."""
        ...
