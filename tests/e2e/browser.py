"""A Chromium with one page, spoken to by its own protocol through two pipes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from needs import CHROMIUM as NAMES
from polling import eventually

CHROMIUM = next(filter(None, map(shutil.which, NAMES)), "")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)
_AS_3_AND_4 = """
import fcntl, os, sys
into, out = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(into, 3)
os.dup2(out, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A Chromium with one page; `heard` is everything it told."""

    def __init__(self, profile: Path) -> None:
        into, self._commands = os.pipe()
        self._answers, out = os.pipe()
        self._process = subprocess.Popen(
            (sys.executable, "-c", _AS_3_AND_4, str(into), str(out), CHROMIUM, *FLAGS, f"--user-data-dir={profile}"),
            pass_fds=(into, out),
            stderr=subprocess.DEVNULL,
        )
        os.close(into)
        os.close(out)
        self._rest = b""
        self._numbers = count(1)
        self._page: str | None = None
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._page = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """Return what the browser answers; keep the events it sends before the answer."""
        number = next(self._numbers)
        request: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._page is not None:
            request["sessionId"] = self._page
        os.write(self._commands, json.dumps(request).encode() + b"\0")
        for message in self._messages():
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.heard.append(message)
        raise AssertionError("the browser is gone")

    def open(self, address: str, *, scheme: str) -> None:
        """Show a page to a user who likes it `dark` or `light`."""
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.do("Page.navigate", url=address)
        self.wait_for("Page.loadEventFired")

    def wait_for(self, method: str) -> None:
        """Read what the browser tells, until it tells this."""
        while not any(message.get("method") == method for message in self.heard):
            self.heard.append(next(self._messages()))

    def size(self, width: int, height: int) -> None:
        """Show the page in a window of this size."""
        self.do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def picture(self, file: Path) -> None:
        """Write what is seen to a file."""
        file.write_bytes(b64decode(self.do("Page.captureScreenshot")["data"]))

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self.do("Input.insertText", text=text)

    def press(self, key: str, *, code: int, text: str = "", alt: bool = False) -> None:
        """Press a key; `code` is its number in Windows."""
        how: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "modifiers": int(alt)}
        self.do("Input.dispatchKeyEvent", type="keyDown", text=text, **how)
        self.do("Input.dispatchKeyEvent", type="keyUp", **how)

    def until(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        eventually(lambda: self.value(expression), every=0.05)

    def value(self, expression: str) -> Any:
        """Return what an expression is worth in the page."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def methods(self, *names: str) -> list[dict[str, Any]]:
        """Return what was told under these names."""
        return [message["params"] for message in self.heard if message.get("method") in names]

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                data = os.read(self._answers, 1 << 16)
                if not data:
                    return
                self._rest += data
            message, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(message)
