"""`holdfast demo`: one conversation, two interruptions, and checks that can fail.

The model is scripted, the processes are real. It needs no key and no network, and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TextIO

from holdfast.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from holdfast.system.interrupts import INTERRUPTS
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.text import printable
from holdfast.ui.demo.checks import KEY, check_evidence
from holdfast.ui.demo.story import Story, script, wait_for_tools
from holdfast.ui.startup.arguments import Parser

INTRODUCTION = (
    "The model is scripted: its answers were written in advance. A server in this process plays them, follows OpenAI's "
    "Chat Completions protocol and refuses what OpenAI would refuse. No key, no network. Everything else is real: each "
    "$ line is a separate holdfast process, and only the disk connects them."
)
_CODES = {"\n": 1, "$": 36, "✗": 31}  # headings are bold, commands cyan, failed checks red


class Options(argparse.Namespace):
    """The options of the demo."""

    keep: bool


def printer(out: TextIO, environ: Mapping[str, str]) -> Callable[[str], None]:
    """Return a function that prints a paragraph, or a command on one line; in colour if the terminal supports it."""
    coloured = out.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    width = min(max(shutil.get_terminal_size().columns - 1, 40), 100)
    encoding = out.encoding or "utf-8"  # without Unicode, "?" instead of a traceback

    def show(text: str) -> None:
        is_command = text.startswith("$ ")  # not wrapped, so that it can be copied
        line = printable(text) if is_command else fill(printable(text), width, replace_whitespace=False)
        code = _CODES.get(text[:1])
        if coloured and code:
            line = f"\x1b[{code}m{line}\x1b[0m"
        out.write(f"{line}\n".encode(encoding, "replace").decode(encoding))
        out.flush()  # before the next process prints

    return show


def main(argv: Sequence[str], *, environ: Mapping[str, str]) -> int:
    """Run the demo and return 0 if every check passes, else 1."""
    options = command_parser().parse_args(argv, namespace=Options())
    for number in INTERRUPTS:
        signal.signal(number, signal.default_int_handler)  # like Ctrl+C: clean up, then exit
    show = printer(sys.stdout, environ)
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-"))
    try:
        show("holdfast demo: one conversation, two interruptions")
        show(INTRODUCTION)
        with ScriptedProvider(script(), key=KEY) as provider:
            checks = check_evidence(Story(folder, show, environ=environ, provider=provider).run())
        show("\nWhat was checked")
        for check in checks:
            show(f"{'✓' if check.passed else '✗ WRONG:'} {check.claim}")
        wrong = sum(not check.passed for check in checks)
        ending = f"{wrong} of these checks failed. Please report this output." if wrong else "All checks passed."
        show(f"\n{ending} It took {time.monotonic() - began:.0f} s.")
        return EXIT_FAILED if wrong else EXIT_OK
    except KeyboardInterrupt:
        show("\nStopped. Every process of the demo has been ended.")
        return EXIT_INTERRUPTED
    finally:
        for session in folder.glob("home/sessions/*"):
            wait_for_tools(session)  # after a Ctrl+C they may still be ending
        if options.keep:
            show(f"The project and the session are in {folder}. To see them:")
            show(f"$ HOLDFAST_HOME={folder}/home holdfast sessions list --all")
        else:
            shutil.rmtree(folder)


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast demo",
        description="Watch a conversation survive a Ctrl+C and a kill -9. No key, no network; takes about 10 seconds.",
        allow_abbrev=False,
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder with the project and the session")
    return parser
