"""The `holdfast sessions` commands: list, search, show, branches, fork, verify, export, import, rename and others."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, TextIO, cast

import msgspec

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_DAMAGE, EXIT_OK, UsageError
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.durable_files import UNDO_FOLDER
from holdfast.system.user_directories import homes
from holdfast.text import literal, printable
from holdfast.ui.command_table import SESSION_IMPORT, SESSION_MOVE_OPTIONS, SESSION_MOVES
from holdfast.ui.commands.moved_folder import add_move, move
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.view.columns import age, byte_count, columns, home, row, single_line, widths
from holdfast.ui.view.journal_listing import transcript
from holdfast.ui.view.sentences import Sentence

if TYPE_CHECKING:
    from holdfast.providers.registry import Providers
    from holdfast.ui.export.export import Form

_SHOWN_LINES = 6
_PAGE = 100
"""Sessions that a list prints without `--limit`."""
_MOST_DIGITS = 9


MOVE_COMMANDS = ("push", "pull", "backup")


class MoveArguments(argparse.Namespace):
    """The options of `holdfast sessions` that these commands read."""

    command: str
    session: str
    store: str | None = None
    repo: str | None = None
    base: str = ""
    folder: str = ""


class _Arguments(MoveArguments):
    title: str
    words: list[str]
    at: int | None
    trash: bool
    history: bool
    requests: bool
    size: bool
    provider: str | None
    file: str
    output: str | None
    format: Form
    model: str | None
    json: bool
    all: bool
    force: bool
    limit: int | None
    after: str


def main(
    argv: list[str], *, environ: Mapping[str, str], stdout: TextIO | None = None, stderr: TextIO | None = None
) -> int:
    """Run one `holdfast sessions` command and return its exit code; `HoldfastError` is for the caller to print."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    return _run(arguments, environ, stdout or sys.stdout, stderr or sys.stderr)


def _run(arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    catalog = Catalog(homes(environ).sessions)
    run: dict[str, Callable[[], int]] = {
        "list": lambda: _list(catalog, arguments, stdout),
        "search": lambda: _search(catalog, arguments, stdout),
        "show": lambda: _show(catalog, arguments, environ, stdout),
        "branches": lambda: _branches(catalog, arguments, stdout),
        "fork": lambda: _fork(catalog, arguments, stdout),
        "verify": lambda: _verify(catalog, arguments, environ, stdout),
        "export": lambda: _export(catalog, arguments, stdout, stderr),
        "import": lambda: _import(catalog, arguments, environ, stdout),
        **dict.fromkeys(("rename", "delete"), lambda: _change(catalog, arguments, stdout)),
        "restore": lambda: _restore(catalog, arguments, stdout),
        "move": lambda: move(catalog, arguments.session, arguments.folder, stdout),
    }
    if arguments.command in MOVE_COMMANDS or arguments.store is not None:
        run_move = cast("Callable[..., int]", resolve_name(SESSION_MOVES))
        return run_move(arguments, catalog=catalog, environ=environ, stdout=stdout)
    return run[arguments.command]()


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(prog="holdfast sessions", description="Manage your sessions.", allow_abbrev=False)
    known = "list|search|show|branches|fork|verify|export|import|rename|move|delete|restore|push|pull|backup"
    commands = parser.add_subparsers(dest="command", metavar=known, required=True)
    add = commands.add_parser("list", help="list the sessions of this directory, most recent first", allow_abbrev=False)
    add.add_argument("--all", action="store_true", help="include all directories")
    add.add_argument("--trash", action="store_true", help="list the sessions in the trash, of all directories")
    _add_page(add)
    add = commands.add_parser("search", help="search the texts of all sessions", allow_abbrev=False)
    add.add_argument("words", metavar="WORDS", nargs="+", help="words that all occur in the session")
    _add_page(add)
    add = commands.add_parser("show", help="show the transcript of a session", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument("--json", action="store_true", help="print every journal entry as JSON")
    add.add_argument("--history", action="store_true", help="show the messages as the model reads them, with call IDs")
    add.add_argument("--provider", metavar="PROVIDER", help="with --history: for this provider")
    add.add_argument("--size", action="store_true", help="show how many bytes it has on disk, and what for")
    add.add_argument("--requests", action="store_true", help="show each request: its size, and how much was cached")
    add = commands.add_parser("branches", help="list the branches that rewinds created", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument("--json", action="store_true")
    add = commands.add_parser("fork", help="copy a session, or a branch of it", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument("--at", metavar="ENTRY", type=int, help="copy the entries up to this one, as `branches` lists it")
    add = commands.add_parser("verify", help="check sessions for damage", allow_abbrev=False)
    add.add_argument(
        "session", metavar="ID", nargs="?", default="", help="ID or unique prefix (default: all of this directory)"
    )
    add.add_argument("--all", action="store_true", help="include all directories")
    add.add_argument("--json", action="store_true")
    add = commands.add_parser("export", help="export a session to a file", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument(
        "--format",
        choices=("pydantic-ai", "json", "markdown", "html", "openai-chat", "anthropic"),
        default="pydantic-ai",
        help="pydantic-ai (default); json: all entries; openai-chat, anthropic: a request; markdown, html: to read",
    )
    add.add_argument("-o", "--output", metavar="FILE", help="output file (default: standard output)")
    add.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add = commands.add_parser("import", help="import a pydantic-ai history, repairing it if needed", allow_abbrev=False)
    add.add_argument("file", metavar="FILE", help="file to import, - for standard input")
    add.add_argument("-m", "--model", metavar="PROVIDER:MODEL", help="model for the session")
    add = commands.add_parser("rename", help="set the title of a session", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument("title", metavar="TITLE", help='the new title; "" resets it to the first prompt')
    add_move(commands)
    add = commands.add_parser("delete", help="move a session to the trash", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add = commands.add_parser("restore", help="move a session back from the trash", allow_abbrev=False)
    add.add_argument("session", metavar="TRASHED-ID", help="session ID or unique prefix")
    cast("Callable[..., None]", resolve_name(SESSION_MOVE_OPTIONS))(commands)
    return parser


def _add_page(command: argparse.ArgumentParser) -> None:
    """Add the options that choose a part of a long list."""
    shown = f"list at most N (default: {_PAGE}; with --json: all)"
    command.add_argument("--limit", metavar="N", type=_count, help=shown)
    command.add_argument("--after", metavar="ID", default="", help="list those after this one")
    command.add_argument("--json", action="store_true")


def _count(text: str) -> int:
    """Return the number of sessions to list."""
    if not (text.isascii() and text.isdecimal() and 0 < len(text) <= _MOST_DIGITS and int(text)):
        raise argparse.ArgumentTypeError(f"invalid number {text[:20]!r} (expected 1 to {10**_MOST_DIGITS - 1})")
    return int(text)


def _change(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    """Rename or delete a session that no other process has open."""
    session = catalog.find(arguments.session, free=True).id
    if arguments.command == "delete":
        place = catalog.trash(session)
        print(f"Moved session {session} to trash: {printable(str(place))}.", file=stdout)
        print(f"To restore it: holdfast sessions restore {printable(place.name)}", file=stdout)
        return EXIT_OK
    from holdfast.session.journal.entries import title_entry
    from holdfast.session.storage.sqlite_store import SqliteStore

    store = SqliteStore.open(catalog.folder(session))
    try:
        store.append([title_entry(arguments.title)], expected=store.length)
    finally:
        store.close()
    print(f"Title of session {session}: {single_line(catalog.find(session).title) or '(no title)'}", file=stdout)
    return EXIT_OK


def _list(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    everywhere = catalog.trashed() if arguments.trash else catalog.all()
    listed = list(everywhere) if arguments.trash else _selected(everywhere, arguments)
    rest = _after(listed, arguments.after)
    page = rest[: _limit(arguments)]
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(page), indent=2), file=stdout)
    elif listed:
        for line in _table(page, width=columns(), now=time.time()):
            print(line, file=stdout)
        if left := len(rest) - len(page):
            print(f"{left:,} more: add --after {page[-1].id} or --limit N", file=stdout)
    elif arguments.trash:
        print("The trash is empty.", file=stdout)
    elif everywhere:
        print(f"No sessions in this directory, {len(everywhere)} elsewhere: holdfast sessions list --all", file=stdout)
    else:
        print('No sessions yet. Start one: holdfast -p "what does this project do?"', file=stdout)
    return EXIT_OK


def _search(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    """Print the sessions that contain all the words, most recently used first, each as soon as it is found."""
    from holdfast.session.session_search import search_sessions

    words, now, last = " ".join(arguments.words), time.time(), ""
    limit = _limit(arguments)
    found = search_sessions(catalog, words, _after(catalog.all(), arguments.after))
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(list(islice(found, limit))), indent=2), file=stdout)
        return EXIT_OK
    for number, each in enumerate(found):
        if number == limit:
            print(f"There are more: add --after {last} or --limit N", file=stdout)
            break
        summary, last = each.summary, each.summary.id
        facts = (summary.id, age(now - summary.modified), home(summary.cwd) or "-", single_line(summary.title) or "-")
        print(printable("  ".join(facts)), file=stdout)
        if each.excerpt:
            print(f"    {printable(each.excerpt)}", file=stdout)
    if not last:
        print(f"No session contains {' and '.join(repr(word) for word in words.split())}.", file=stdout)
    return EXIT_OK


def _limit(arguments: _Arguments) -> int | None:
    """Return how many sessions to print, None for all."""
    return arguments.limit or (None if arguments.json else _PAGE)


def _after(summaries: Sequence[SessionSummary], session: str) -> Sequence[SessionSummary]:
    """Return the sessions after the one with this ID, all of them if it is ""."""
    at = next((at for at, each in enumerate(summaries, 1) if each.id == session), 0)
    if session and not at:
        raise UsageError(f"Session {session!r} is not in this list. Pass --after an ID that it shows, in full.")
    return summaries[at:]


def _branches(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    """List the branches of a session."""
    from holdfast.session.conversation.branches import branches
    from holdfast.session.storage.sqlite_store import read_copy

    session = catalog.find(arguments.session).id
    found = branches(read_copy(catalog.folder(session)).records)
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(found), indent=2), file=stdout)
        return EXIT_OK
    for each in found:
        left = "present" if each.left is None else f"left {age(time.time() - each.left)}"
        facts = f"{each.until:>6}", left, f"{each.turns} turn{'s' * (each.turns != 1)}", single_line(each.prompt) or "-"
        print(printable("  ".join(facts)), file=stdout)
    if found:
        print(f"To continue one: holdfast sessions fork {session} --at ENTRY (the first number)", file=stdout)
    else:
        print("This session has one branch: it was never rewound.", file=stdout)
    return EXIT_OK


def _fork(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    from holdfast.agent.sessions import fork

    summary = catalog.find(arguments.session)
    copied = fork(catalog, summary, until=arguments.at)
    copied.store.close()
    print(f"Copied session {summary.id} as {copied.id}. Resume it: holdfast -r {copied.id}", file=stdout)
    return EXIT_OK


def _restore(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    restored = catalog.restore(arguments.session).id
    print(f"Restored session {restored}. Resume it: holdfast -r {restored}", file=stdout)
    return EXIT_OK


def _selected(everywhere: Sequence[SessionSummary], arguments: _Arguments) -> list[SessionSummary]:
    """Return the sessions of this directory, or all. Damaged ones without a known directory are always included."""
    here = None if arguments.all else (str(current_folder()), "")
    return [summary for summary in everywhere if here is None or summary.cwd in here]


def _table(summaries: Sequence[SessionSummary], *, width: int, now: float) -> Iterator[str]:
    """Yield a line per session and per damage. If space is short, the title shrinks first, then the directory."""
    head = ("ID", "USED", "SIZE", "TITLE", "FOLDER")
    rows = [
        (
            each.id,
            age(now - each.modified),
            byte_count(each.bytes),
            single_line(each.title) or "-",
            home(each.cwd) or "-",
        )
        for each in summaries
    ]
    sizes = widths([head, *rows])
    fixed = sum(sizes[:3]) + 2 * (len(head) - 1)
    sizes[4] = min(sizes[4], max(10, (width - fixed) // 2))
    sizes[3] = min(sizes[3], max(10, width - fixed - sizes[4]))
    yield row(head, sizes)
    for values, summary in zip(rows, summaries, strict=True):
        yield row(values, sizes)
        if summary.damage:
            yield f"  damaged: {single_line(summary.damage)}"


def _show(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    from holdfast.session.storage.sqlite_store import read_copy

    if arguments.provider and not arguments.history:
        raise UsageError(f"--provider {arguments.provider!r} works only with --history. Add --history.")
    session = catalog.find(arguments.session).id
    if arguments.size:
        return _show_size(catalog.folder(session), as_json=arguments.json, stdout=stdout)
    reading = read_copy(catalog.folder(session))
    if arguments.history:
        from holdfast.ui.commands.show_history import show_sent

        providers = configured_providers(environ)
        return show_sent(
            reading, provider=arguments.provider, providers=providers, as_json=arguments.json, stdout=stdout
        )
    if arguments.requests:
        from holdfast.ui.commands.show_requests import show_requests

        return show_requests(reading, providers=configured_providers(environ), as_json=arguments.json, stdout=stdout)
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(reading), indent=2), file=stdout)
    else:
        print(f"Session {session}", file=stdout)
        for sentence in transcript(reading.records, reading.findings):
            for line in _sentence_lines(sentence):
                print(line, file=stdout)
    return EXIT_DAMAGE if reading.findings else EXIT_OK


def _show_size(folder: Path, *, as_json: bool, stdout: TextIO) -> int:
    """Print how many bytes a session has on disk: what is kept of files for an undo, and all the rest."""
    from holdfast.undo.kept_contents import kept_bytes

    for_undo, total = kept_bytes(folder / UNDO_FOLDER), kept_bytes(folder)
    sizes = {"total": total, "undo": for_undo, "conversation": total - for_undo}
    if as_json:
        print(json.dumps(sizes, indent=2), file=stdout)
    else:
        print("\n".join(f"{name:<12}  {byte_count(size):>10}" for name, size in sizes.items()), file=stdout)
    return EXIT_OK


def _verify(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    from holdfast.ui.commands.verify import verify_all

    if arguments.session and arguments.all:
        raise UsageError(f"Option --all and session {arguments.session!r} conflict. Use only one of them.")
    if arguments.session:
        sessions = [catalog.find(arguments.session).id]
    else:
        sessions = [summary.id for summary in _selected(catalog.all(), arguments)]
    if not sessions and not arguments.json:
        print("No sessions to verify in this directory. See: holdfast sessions list --all", file=stdout)
        return EXIT_OK
    return verify_all(catalog, sessions, providers=configured_providers(environ), as_json=arguments.json, stdout=stdout)


def configured_providers(environ: Mapping[str, str]) -> Providers:
    """Return the providers, with those of the config and of plug-ins."""
    places = homes(environ)
    config = read_config(places.config)
    if not (places.plugins.is_dir() or config.plugins.use):
        from holdfast.providers.registry import known_providers

        return known_providers(config.providers, config.models)
    from holdfast.ui.startup.run_options import providers_of

    return providers_of(config, environ)


def _sentence_lines(sentence: Sentence) -> Iterator[str]:
    """Yield a sentence and the beginning of its detail as printed on a terminal."""
    lines = (printable if sentence.kind in ("prompt", "answer") else literal)(sentence.text).splitlines() or [""]
    match sentence.kind:
        case "started":
            return  # the end of the call is shown
        case "prompt":
            yield ""
            yield from (f"> {line}" for line in lines)
        case "answer":
            yield ""
            yield from lines
        case "call" | "unapproved":
            yield from lines  # they have marks
        case _:
            yield f"{'!' if sentence.kind == 'damage' else '-'} {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])
    details = printable(sentence.detail).splitlines()
    yield from (f"    {line}" for line in details[:_SHOWN_LINES])
    if len(details) > _SHOWN_LINES:
        yield f"    … {len(details) - _SHOWN_LINES} more lines"


def _export(catalog: Catalog, arguments: _Arguments, stdout: TextIO, stderr: TextIO) -> int:
    from holdfast.ui.export.export import export_text, session_document, write

    session = catalog.find(arguments.session).id
    document, findings = session_document(catalog.folder(session), arguments.format)
    if arguments.output is None:  # ASCII only, because the output may be a terminal
        stdout.write(export_text(document, ascii_only=True))
    else:
        write(Path(arguments.output), document, force=arguments.force)
        print(f"Exported session {session} to {printable(arguments.output)}.", file=stdout)
    for finding in findings:
        print(printable(f"holdfast: Session {session!r} is damaged: {finding.what}"), file=stderr)
    return EXIT_DAMAGE if findings else EXIT_OK


def current_folder() -> Path:
    """Return the current directory. Raise `UsageError` if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"Cannot use the current directory: {error.strerror}. Change to another directory.") from error


def _import(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    import_session = cast("Callable[..., int]", resolve_name(SESSION_IMPORT))
    return import_session(catalog, arguments.file, model=arguments.model, environ=environ, stdout=stdout)
