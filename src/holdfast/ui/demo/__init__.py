"""`holdfast demo`: one conversation, two accidents, and checks that can fail.

The model is scripted, the processes are real; it needs no key and no network, and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from holdfast.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from holdfast.session.entries import CallPart, ResponseEnded
from holdfast.testing.provider import ScriptedProvider
from holdfast.ui.account import call_line
from holdfast.ui.arguments import Parser
from holdfast.ui.demo.checks import KEY, Check, Evidence, checked, kept, told, unknown
from holdfast.ui.demo.processes import tools_gone
from holdfast.ui.demo.screen import Screen
from holdfast.ui.demo.script import script
from holdfast.ui.demo.story import Story

INTRODUCTION = (
    "The model is scripted: its answers were written in advance. A server in this process plays them by the rules of "
    "OpenAI's Chat Completions and refuses what OpenAI would refuse. No key, no network. Everything else is real: each "
    "$ line is holdfast in a process of its own, and only the disk connects them."
)
_DELAY = 0.02


class Options(argparse.Namespace):
    """The options of the demo."""

    fast: bool
    keep: bool


def main(argv: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Run the demo and return 0 if all it claims holds, else 1."""
    options = command_parser().parse_args(argv, namespace=Options())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # as Ctrl+C: nothing is left behind
    screen = Screen(sys.stdout, environ)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-"))
    try:
        screen.say("holdfast demo: one conversation, two accidents", "bold")
        screen.say(INTRODUCTION)
        with ScriptedProvider(script(delay=0.0 if options.fast else _DELAY), key=KEY) as provider:
            seen = Story(folder, screen, environ=environ, provider=provider).tell()
        return _report(screen, seen, seconds=time.monotonic() - began)
    except KeyboardInterrupt:
        screen.say()
        screen.say("Stopped. Every process of the demo was ended.")
        return EXIT_INTERRUPTED
    finally:
        for session in folder.glob("home/sessions/*"):
            tools_gone(session)  # after a Ctrl+C they are still about to end
        if options.keep:
            screen.say(f"The project and the session are kept in {folder}. Look at them with:")
            screen.command(f"HOLDFAST_HOME={folder}/home holdfast sessions list --all")
        else:
            shutil.rmtree(folder)


def _report(screen: Screen, seen: Evidence, *, seconds: float) -> int:
    lines = {
        part.id: call_line(part)
        for entry in seen.entries
        if isinstance(entry, ResponseEnded)
        for part in entry.parts
        if isinstance(part, CallPart)
    }
    screen.heading("What was kept")
    _show(screen, kept(seen))
    screen.say("What was unknown", "bold")
    for ended in unknown(seen):
        why = ended.text.partition(". ")[0].partition(": ")[2]
        screen.call(ended.outcome, lines.get(ended.call, ended.call), why)
    _show(screen, told(seen))
    screen.say("What was checked", "bold")
    _show(screen, checked(seen))
    wrong = sum(not check.passed for check in (*kept(seen), *told(seen), *checked(seen)))
    screen.say()
    if wrong:
        screen.say(f"{wrong} of these claims do not hold: please report this output. ({seconds:.0f} s)", "red")
        return EXIT_FAILED
    screen.say(f"Everything held, in {seconds:.0f} s.", "bold")
    return EXIT_OK


def _show(screen: Screen, checks: Sequence[Check]) -> None:
    for check in checks:
        screen.check(check.said, passed=check.passed)


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast demo",
        description="See a conversation survive a Ctrl+C and a kill -9. No key, no network; takes about 15 seconds.",
        allow_abbrev=False,
    )
    parser.add_argument("--fast", action="store_true", help="do not slow the scripted answers to reading speed")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the project and the session")
    return parser
