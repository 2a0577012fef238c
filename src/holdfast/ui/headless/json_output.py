"""One turn as JSON: one object at the end, or one line for each event."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TextIO

from holdfast.agent.events import Event
from holdfast.ui.headless.output_format import RunEnded, RunOpened
from holdfast.ui.headless.stream_writer import Courier, Writer


class JsonOutput:
    """Writes one JSON object after the end of the turn."""

    def __init__(self, stdout: TextIO, *, on_closed: Callable[[str], None]) -> None:
        self._out = Writer(stdout, on_closed, courier=Courier())
        self._session = ""

    def begin(self, opened: RunOpened) -> None:
        """Remember the session."""
        self._session = opened.session

    def event(self, event: Event) -> None:
        """Write nothing: the journal has everything."""

    def end(self, ended: RunEnded) -> None:
        """Print the result."""
        from holdfast.ui.headless.json_lines import result

        self._out.write(json.dumps(result(self._session, ended)) + "\n")

    def fail(self, ended: RunEnded, message: str) -> None:
        """Print the result."""
        del message
        self.end(ended)

    def close(self, within: float | None) -> str:
        """Wait for the reader."""
        return self._out.close(within)


class StreamJsonOutput:
    """Writes one JSON object per line, as events happen."""

    def __init__(self, stdout: TextIO, *, on_closed: Callable[[str], None]) -> None:
        from holdfast.ui.headless.json_lines import JsonLines

        self._out = Writer(stdout, on_closed, courier=Courier())
        self._lines = JsonLines(self._out.write)

    def begin(self, opened: RunOpened) -> None:
        """Print the init line."""
        self._lines.begin(opened)

    def event(self, event: Event) -> None:
        """Print the event's line."""
        self._lines.event(event)

    def end(self, ended: RunEnded) -> None:
        """Print the result line."""
        self._lines.end(ended)

    def fail(self, ended: RunEnded, message: str) -> None:
        """Print an error line, then the result line."""
        self._lines.fail(ended, message)

    def answer(self, request: str, *, error: str = "") -> None:
        """Print the answer to a control request."""
        self._lines.answer(request, error=error)

    def bad_line(self, number: int, message: str) -> None:
        """Print that a line of the input was skipped."""
        self._lines.bad_line(number, message)

    def close(self, within: float | None) -> str:
        """Wait for the reader."""
        return self._out.close(within)
