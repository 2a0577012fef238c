"""The picture of the screen in the README: `python bench/picture.py [FILE]` writes it, without a network.

The program runs for real, against a scripted provider. A command is killed with its agent, and the session is resumed
on the screen. Every run writes the same bytes: the only duration on the picture is written as 0.1 s.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from textual.pilot import Pilot

from holdfast.config.settings import Config
from holdfast.session.catalog import Catalog
from holdfast.testing import Call, Say, ScriptedProvider
from holdfast.testing.script import ScriptStep
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import RunOptions, run_options
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.app import HoldfastApp

PICTURE = Path(__file__).parents[1] / "docs/screen.svg"
COLUMNS, LINES = 96, 46
MODEL = "anthropic:claude-sonnet-5-5"
SOON = 60.0

RELEASE = "echo tag | tee release.log; sleep 600; echo upload | tee -a release.log"
NOTES = "# Changes\n\n## 1.4\n- not released yet\n"
SCRIPT = (
    (Say("I tag the release, wait for the build, then upload it."), Call("bash", {"command": RELEASE})),
    (
        Say("The release was interrupted, so I look how far it came before I run anything again."),
        Call("bash", {"command": "cat release.log"}),
    ),
    (
        Say("It is **tagged and not uploaded**, so only the upload is left. First I correct the notes."),
        Call("edit", {"path": "CHANGES.md", "old": "- not released yet", "new": "- tagged, not uploaded yet"}),
    ),
)
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_TEXT = re.compile(r'<text[^>]* y="([\d.]+)"[^>]*>(.*?)</text>')


def waited(seen: Callable[[], bool]) -> None:
    """Return once that is seen; raises `TimeoutError` if it does not come."""
    until = time.monotonic() + SOON
    while not seen():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)


def killed(work: Path, environ: dict[str, str]) -> None:
    """Run a turn and kill the agent in the middle of its command."""
    agent = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "-m", MODEL, "-y", "-p", "Release version 1.4."],
        cwd=work,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        waited((work / "release.log").exists)
    finally:
        agent.kill()
        agent.wait()


def lines(picture: str) -> list[str]:
    """Return the text of a picture, line by line from the top, without the title."""
    rows: dict[float, str] = {}
    for height, text in _TEXT.findall(picture.partition('-matrix">')[2]):
        rows[float(height)] = rows.get(float(height), "") + html.unescape(text).replace("\xa0", " ")
    return [rows[height].rstrip() for height in sorted(rows)]


def shows_approval(screen: HoldfastApp, name: str) -> bool:
    """Return whether the screen asks for an approval and names that."""
    return screen.approval.display and name in "\n".join(lines(screen.export_screenshot()))


async def until(pilot: Pilot[int], seen: Callable[[], bool]) -> None:
    """Return once that is seen and the screen has come to rest."""
    before = ""
    while not seen() or before != (before := pilot.app.export_screenshot()):
        await pilot.pause(0.1)


def portable(picture: str) -> str:
    """Return a picture that loads no font, and has the same names in each run."""
    return re.sub(r"terminal-\d+", "screen", _FONT.sub("", picture).replace("Fira Code, monospace", "monospace"))


@contextmanager
def shop(script: Sequence[ScriptStep], file: str, text: str) -> Generator[tuple[Path, dict[str, str]]]:
    """Yield a folder with one file, and the environment of an agent there whose model says the script."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder, ScriptedProvider(script) as provider:
        work = Path(folder, "shop")
        work.mkdir()
        (work / file).write_text(text)
        os.environ["HOME"] = folder  # the screen shortens folders below it to ~
        environ = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        yield work, {**environ, "HOME": folder, "HOLDFAST_HOME": str(Path(folder, "home")), **provider.environ()}


@asynccontextmanager
async def showing(options: RunOptions, size: tuple[int, int]) -> AsyncGenerator[tuple[HoldfastApp, Pilot[int]]]:
    """Yield a screen of so many columns and rows, whose cursor does not blink."""
    connections = Connections(options)
    screen = HoldfastApp(options, connections)
    screen.composer.cursor_blink = False
    async with screen.run_test(size=size) as pilot, asyncio.timeout(3 * SOON):
        yield screen, pilot
    await asyncio.to_thread(screen.controller.agent.close, SOON)
    connections.close()


async def resumed(work: Path, environ: dict[str, str]) -> str:
    """Return the screen, as SVG, of the same session once it was resumed, prompted, and asks for an approval."""
    catalog = Catalog(Path(environ["HOLDFAST_HOME"]) / "sessions")
    (summary,) = catalog.all()
    options = run_options(Arguments(), environ, user_config=Config(), cwd=work, resumed=summary)
    async with showing(options, (COLUMNS, LINES)) as (screen, pilot):
        await until(pilot, lambda: bool(screen.controller.session))
        await pilot.press(*"Go on.", "enter")
        await until(pilot, lambda: shows_approval(screen, "CHANGES.md"))
        return screen.export_screenshot(title="holdfast -c")


def drawn() -> str:
    """Return the picture: the screen as SVG, which loads nothing."""
    with shop(SCRIPT, "CHANGES.md", NOTES) as (work, environ):
        killed(work, environ)
        picture = asyncio.run(resumed(work, environ))
    return re.sub(r"(after(?: |&#160;|\xa0))\d\.\d(?!\d)", r"\g<1>0.1", portable(picture))


def main() -> None:
    """Write the picture."""
    Path(*sys.argv[1:] or [PICTURE]).write_text(drawn(), "utf-8")


if __name__ == "__main__":
    main()
