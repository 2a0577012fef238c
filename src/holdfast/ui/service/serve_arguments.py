"""The command line of `holdfast serve`, as a value."""

from __future__ import annotations

from holdfast.ui.startup.arguments import Arguments

PORT = 4747
LINGER = 10.0
"""Seconds that an idle session stays open, so that a message soon afterwards need not open it again."""


class ServeArguments(Arguments):
    """The command line of `holdfast serve`."""

    store: str | None = None
    host: str = "127.0.0.1"
    port: int = PORT
    host_name: list[str] | None = None
    tokens: str | None = None
    new_token: str | None = None
    rights: str = "read,ask,answer"
    root: list[str] | None = None
    slots: int = 8
    linger: float = LINGER
    allow_yolo: bool = False
