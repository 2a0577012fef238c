"""Reads lines of JSON from a pipe as they arrive, and waits for a certain line."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable
from typing import Any

from polling import HANGS

_MOMENT = 0.1  # seconds


class LineReader:
    """The lines that have arrived on a descriptor, in order; `on_line` is called with each before it is listed."""

    def __init__(self, descriptor: int, on_line: Callable[[dict[str, Any]], object]) -> None:
        self.lines: list[dict[str, Any]] = []
        self._descriptor = descriptor
        self._on_line = on_line
        self._rest = b""

    def until(self, found: Callable[[dict[str, Any]], object], start: int = 0) -> dict[str, Any]:
        """Return the first line from index `start` on for which `found` is true, as soon as it is there."""
        end = time.monotonic() + HANGS
        while True:
            for line in self.lines[start:]:
                start += 1
                if found(line):
                    return line
            assert time.monotonic() < end, f"no such line came; the last were {self.lines[-5:]}"
            assert self.more(), f"the other end is closed; the last lines were {self.lines[-5:]}"

    def more(self, seconds: float = _MOMENT) -> bool:
        """Read what arrives within `seconds`. Return whether more may come."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return True
        chunk = os.read(self._descriptor, 1 << 16)
        *complete, self._rest = (self._rest + chunk).split(b"\n")
        for each in complete:
            line = json.loads(each)
            self._on_line(line)
            self.lines.append(line)
        return bool(chunk)
