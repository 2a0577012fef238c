"""`holdfast undo` and `holdfast redo`: take back what the calls of a session did to files, or do it again."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from holdfast.errors import EXIT_OK, UsageError
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.user_directories import homes
from holdfast.text import printable
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.view.columns import count_noun, single_line

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent
    from holdfast.agent.events import Event
    from holdfast.undo.session_undo import SessionUndo

T = TypeVar("T")


class _Arguments(argparse.Namespace):
    session: str | None
    turns: int
    files: bool
    list: bool
    dry_run: bool


def main(argv: list[str], *, environ: Mapping[str, str], stdout: TextIO | None = None) -> int:
    """Run `holdfast undo` and return its exit code."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    out = stdout or sys.stdout
    summary, catalog = _session(arguments.session, environ)

    async def act(agent: Agent, undo: SessionUndo) -> None:
        if arguments.list:
            _list(agent, undo, out)
            return
        prompts = [each.turn for each in agent.conversation.prompts]
        only_files = arguments.files or not prompts
        left = {each.turn for each in undo.history(agent).calls if each.changes} if only_files else set[int]()
        turns = sorted({*prompts, *left})  # also those that are rewound, and of which an undo left paths alone
        if not turns:
            raise UsageError("Nothing to undo: the conversation has no prompt. See holdfast undo --list.")
        turn = turns[max(0, len(turns) - arguments.turns)]
        if arguments.dry_run:
            plan = await undo.dry_run(agent, turn)
            for step in plan.steps:
                print(f"{_ACTIONS[step.content.kind]} {printable(step.path)}", file=out)
            for each in plan.skipped:
                print(f"leave  {printable(each.path)}: {each.why}", file=out)
            return
        await undo.rewind(agent, turn, "files" if only_files else "both")

    _run(catalog, summary, act, out)
    return EXIT_OK


_ACTIONS = {"absent": "delete", "file": "write ", "link": "link  ", "folder": "mkdir ", "other": "leave "}


def redo_main(argv: list[str], *, environ: Mapping[str, str], stdout: TextIO | None = None) -> int:
    """Run `holdfast redo` and return its exit code."""
    arguments = redo_parser().parse_args(argv, namespace=_Arguments())
    summary, catalog = _session(arguments.session, environ)
    _run(catalog, summary, lambda agent, undo: undo.redo(agent), stdout or sys.stdout)
    return EXIT_OK


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of `holdfast undo`."""
    description = "Take back the last turns of a session: the conversation, and what calls did to files."
    parser = Parser(prog="holdfast undo", description=description, allow_abbrev=False)
    parser.add_argument("session", metavar="SESSION", nargs="?", help="session ID or unique prefix (default: newest)")
    parser.add_argument("--turns", metavar="N", type=_count, default=1, help="how many turns (default: 1)")
    parser.add_argument("--files", action="store_true", help="only the files, not the conversation")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--list", action="store_true", help="list what each turn did to files, and change nothing")
    shown.add_argument("--dry-run", action="store_true", help="list what would be done, and change nothing")
    return parser


def redo_parser() -> argparse.ArgumentParser:
    """Return the parser of `holdfast redo`."""
    description = "Do again to files what the last undo took back."
    parser = Parser(prog="holdfast redo", description=description, allow_abbrev=False)
    parser.add_argument("session", metavar="SESSION", nargs="?", help="session ID or unique prefix (default: newest)")
    return parser


_MOST_DIGITS = 4


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= _MOST_DIGITS and int(text)):
        raise argparse.ArgumentTypeError(f"invalid number {text[:20]!r} (expected 1 to {10**_MOST_DIGITS - 1})")
    return int(text)


def _session(named: str | None, environ: Mapping[str, str]) -> tuple[SessionSummary, Catalog]:
    """Return the session that is meant: the named one, else the newest of this folder."""
    catalog = Catalog(homes(environ).sessions)
    if named is not None:
        return catalog.find(named, free=True), catalog
    summary = catalog.latest(Path.cwd(), free=True)
    if summary is None:
        raise UsageError(
            "Nothing to undo: this folder has no session. Name one, or see them with holdfast sessions list --all."
        )
    return summary, catalog


def _run(
    catalog: Catalog, summary: SessionSummary, act: Callable[[Agent, SessionUndo], Awaitable[object]], out: TextIO
) -> None:
    """Open the session, without a model, and do something with its undo; what becomes durable is printed."""
    from holdfast.agent.agent import Agent
    from holdfast.agent.events import Fact
    from holdfast.agent.sessions import resume
    from holdfast.host.kept_files import KeptFiles
    from holdfast.providers.model import Model
    from holdfast.ui.view.sentences import Narrator

    narrator = Narrator()

    def print_event(event: Event) -> None:
        if isinstance(event, Fact):
            for sentence in narrator.sentences(event.entry):
                print(printable(sentence.text), file=out)
                for line in sentence.detail.splitlines():
                    print(f"  {printable(line)}", file=out)

    async def connect(name: str) -> Model:
        raise AssertionError(f"{name} is not needed to undo")

    async def work() -> None:
        session = resume(catalog, summary)
        tools = session.toolbox
        kept_files = KeptFiles(tools, session.reading)
        agent = Agent(
            store=session.store,
            toolbox=tools,
            connect=connect,
            mode="ask",
            emit=kept_files.bound(lambda: agent.journal, print_event),
            reading=session.reading,
            seam=kept_files.seam(),
        )
        try:
            await act(agent, kept_files.undo)
        finally:
            await agent.close()

    asyncio.run(work())


def _list(agent: Agent, undo: SessionUndo, out: TextIO) -> None:
    """Print what each turn did to files, the newest first."""
    texts = {each.turn: single_line(each.text) for each in agent.conversation.prompts}
    history = undo.history(agent)
    calls, tried = history.calls, {each.call for each in history.undone}
    if not calls:
        print("All is undone." if tried else "No call of this session changed a file.", file=out)
    for turn in sorted({each.turn for each in calls}, reverse=True):
        print(f"Turn {turn}: {printable(texts.get(turn, '(rewound)'))[:70]}", file=out)
        for each in (each for each in calls if each.turn == turn):
            for change in each.changes[:_LISTED]:
                left = "  (left by an undo)" if each.call in tried else ""
                print(f"  {change.before.kind} -> {change.after.kind}  {printable(change.path)}{left}", file=out)
            if (more := len(each.changes) - _LISTED) > 0:
                print(f"  and {count_noun(more, 'more path')}", file=out)
            for path in each.uncovered[:_LISTED]:
                print(f"  changed, cannot be undone  {printable(path)}", file=out)
            if each.failed:
                print(f"  not known: {each.failed}", file=out)


_LISTED = 50
