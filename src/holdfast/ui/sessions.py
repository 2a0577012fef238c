"""The `holdfast sessions` commands: list, show, verify, export, import, rename, delete. One in use can be read."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from holdfast.config import homes, read_config
from holdfast.errors import EXIT_DAMAGE, EXIT_OK, ModelUnusable, UsageError
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.transcript import LineKind, transcript
from holdfast.text import literal, printable, valid_unicode
from holdfast.ui.arguments import Parser
from holdfast.ui.table import age, cells, columns, fit, home, one_line, row, size, widths

if TYPE_CHECKING:
    from holdfast.agent.providers import Providers
    from holdfast.ui.exporting import Form

_SHOWN_LINES = 6
_LONGEST_CALL = 200


class _Arguments(argparse.Namespace):
    command: str
    session: str
    title: str
    history: bool
    provider: str | None
    file: str
    output: str | None
    format: Form
    model: str | None
    json: bool
    all: bool
    force: bool


def main(argv: list[str], *, environ: Mapping[str, str], stdout: TextIO, stderr: TextIO) -> int:
    """Run one `holdfast sessions` command and return its exit code; raises `HoldfastError` for the caller to say."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    catalog = Catalog(homes(environ).sessions)
    match arguments.command:
        case "show":
            return _show(catalog, arguments, environ, stdout)
        case "verify":
            return _verify(catalog, arguments, environ, stdout)
        case "export":
            return _export(catalog, arguments, stdout, stderr)
        case "import":
            return _import(catalog, arguments, environ, stdout)
        case "rename" | "delete":
            return _change(catalog, arguments, stdout)
        case _:
            return _list(catalog, arguments, stdout)


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(prog="holdfast sessions", description="Your sessions.", allow_abbrev=False)
    known = "list|show|verify|export|import|rename|delete"
    commands = parser.add_subparsers(dest="command", metavar=known, required=True)
    add = commands.add_parser("list", help="the sessions of this folder, the last used first", allow_abbrev=False)
    add.add_argument("--all", action="store_true", help="those of every folder")
    add.add_argument("--json", action="store_true")
    add = commands.add_parser("show", help="what happened in a session", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="a unique prefix will do")
    add.add_argument("--json", action="store_true", help="every entry of the journal")
    add.add_argument("--history", action="store_true", help="the messages that the model would see: sizes and call ids")
    add.add_argument("--provider", metavar="NAME", help="with --history: as another would see them")
    add = commands.add_parser("verify", help="what is wrong with sessions, if anything", allow_abbrev=False)
    add.add_argument(
        "session", metavar="ID", nargs="?", default="", help="a unique prefix will do; default: those of this folder"
    )
    add.add_argument("--all", action="store_true", help="those of every folder")
    add.add_argument("--json", action="store_true")
    add = commands.add_parser("export", help="write a session as a document", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="a unique prefix will do")
    add.add_argument(
        "--format",
        choices=("pydantic-ai", "json", "markdown", "html", "openai-chat", "anthropic"),
        default="pydantic-ai",
        help="pydantic-ai (default) can be imported; json: every entry; markdown, html: for people; others: a request",
    )
    add.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    add.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add = commands.add_parser(
        "import", help="make a session of a pydantic-ai document, mended where it must be", allow_abbrev=False
    )
    add.add_argument("file", metavar="FILE", help="- for standard input; it is only read")
    add.add_argument("-m", "--model", metavar="PROVIDER:MODEL", help="the model to go on with")
    add = commands.add_parser("rename", help="give a session a title", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="a unique prefix will do")
    add.add_argument("title", metavar="TITLE", help='"" is the first line of its first prompt again')
    add = commands.add_parser("delete", help="move a session to the trash", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="a unique prefix will do")
    return parser


def _change(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    """Rename or delete a session that nobody else holds."""
    session = catalog.find(arguments.session, free=True).id
    if arguments.command == "delete":
        place = printable(str(catalog.trash(session)))
        print(f"Session {session} is in the trash: {place}. Move it back to have it again.", file=stdout)
        return EXIT_OK
    from holdfast.session.entries import titled  # noqa: PLC0415 - a list writes nothing
    from holdfast.session.sqlite import SqliteStore  # noqa: PLC0415 - likewise

    store = SqliteStore.open(catalog.folder(session))
    try:
        store.append([titled(arguments.title)], expected=store.length)
    finally:
        store.close()
    print(f"Session {session} is called: {one_line(catalog.find(session).title) or '(no title)'}", file=stdout)
    return EXIT_OK


def _list(catalog: Catalog, arguments: _Arguments, stdout: TextIO) -> int:
    everywhere = catalog.all()
    listed = _chosen(everywhere, arguments)
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(listed), indent=2), file=stdout)
    elif listed:
        for line in _table(listed, width=columns(), now=time.time()):
            print(line, file=stdout)
    elif everywhere:
        print(f"No sessions in this folder, {len(everywhere)} elsewhere: holdfast sessions list --all", file=stdout)
    else:
        print('No sessions yet. Begin one: holdfast -p "what does this project do?"', file=stdout)
    return EXIT_OK


def _chosen(everywhere: Sequence[Summary], arguments: _Arguments) -> list[Summary]:
    """Return the sessions of this folder, or all; a damaged one may have lost its folder, and is everywhere."""
    here = None if arguments.all else (str(_here()), "")
    return [summary for summary in everywhere if here is None or summary.cwd in here]


def _table(summaries: Sequence[Summary], *, width: int, now: float) -> Iterator[str]:
    """Yield one line per session and one more per damage; the title gives way first, then the folder."""
    head = ("ID", "USED", "SIZE", "TITLE", "FOLDER")
    rows = [
        (each.id, age(now - each.modified), size(each.bytes), one_line(each.title) or "-", home(each.cwd) or "-")
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
            yield f"  damaged: {one_line(summary.damage)}"


def _show(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    from holdfast.session.sqlite import read_copy  # noqa: PLC0415 - a list needs no SQLite

    if arguments.provider and not arguments.history:
        raise UsageError(
            f"Option --provider {arguments.provider!r} needs a list of messages, --history was expected. Add it."
        )
    reading = read_copy(catalog.folder(catalog.find(arguments.session).id))
    if arguments.history:
        from holdfast.ui.sent import show_sent  # noqa: PLC0415 - only --history needs it

        providers = _providers(environ)
        return show_sent(
            reading, provider=arguments.provider, providers=providers, as_json=arguments.json, stdout=stdout
        )
    if arguments.json:
        print(json.dumps(msgspec.to_builtins(reading), indent=2), file=stdout)
    else:
        for line in transcript(reading.records, reading.findings):
            written = printable if line.kind in ("prompt", "answer", "result") else literal
            for shown in _shown(line.kind, written(line.text)):
                print(shown, file=stdout)
    return EXIT_DAMAGE if reading.findings else EXIT_OK


def _verify(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    from holdfast.ui.verify import verify_all  # noqa: PLC0415 - a list needs none of it

    if arguments.session and arguments.all:
        raise UsageError(
            f"Option --all contradicts session {arguments.session!r}, one of them was expected. Leave one out."
        )
    if arguments.session:
        sessions = [catalog.find(arguments.session).id]
    else:
        sessions = [summary.id for summary in _chosen(catalog.all(), arguments)]
    if not sessions and not arguments.json:
        print("No sessions here to verify. See them all: holdfast sessions list --all", file=stdout)
        return EXIT_OK
    return verify_all(catalog, sessions, providers=_providers(environ), as_json=arguments.json, stdout=stdout)


def _providers(environ: Mapping[str, str]) -> Providers:
    from holdfast.agent.providers import known_providers  # noqa: PLC0415 - a list needs none of them

    return known_providers(read_config(homes(environ).config).providers)


def _shown(kind: LineKind, text: str) -> Iterator[str]:
    """Yield a line of a transcript as it looks on a terminal."""
    lines = text.splitlines() or [""]
    match kind:
        case "prompt":
            yield ""
            yield from (f"> {line}" for line in lines)
        case "answer":
            yield ""
            yield from lines
        case "call":
            named, colon, outcome = " ".join(lines).rpartition(": ")
            yield f"* {fit(named, _LONGEST_CALL).rstrip() if cells(named) > _LONGEST_CALL else named}{colon}{outcome}"
        case "result":
            yield from (f"    {line}" for line in lines[:_SHOWN_LINES])
            if len(lines) > _SHOWN_LINES:
                yield f"    … {len(lines) - _SHOWN_LINES} more lines"
        case "session" | "note" | "finding":
            yield f"{'!' if kind == 'finding' else '-'} {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])


def _export(catalog: Catalog, arguments: _Arguments, stdout: TextIO, stderr: TextIO) -> int:
    from holdfast.ui.exporting import exported, text_of, write  # noqa: PLC0415 - a list needs none of this

    session = catalog.find(arguments.session).id
    document, findings = exported(catalog.folder(session), arguments.format)
    if arguments.output is None:  # a terminal may read it: nothing but ASCII
        stdout.write(text_of(document, ascii_only=True))
    else:
        write(Path(arguments.output), document, force=arguments.force)
        print(f"Session {session} is exported to {printable(arguments.output)}.", file=stdout)
    for finding in findings:
        print(printable(f"holdfast: Session {session!r} is damaged: {finding.what}"), file=stderr)
    return EXIT_DAMAGE if findings else EXIT_OK


def _here() -> Path:
    """Return the folder we are in; raises `UsageError` if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError(
            f"Folder we are in cannot be used: {error.strerror}, one that exists was expected. Go to another folder."
        ) from error


def _import(catalog: Catalog, arguments: _Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    from holdfast.agent.opening import first_entry, new_store  # noqa: PLC0415 - a list needs none of these
    from holdfast.agent.providers import split  # noqa: PLC0415 - likewise
    from holdfast.session.transfer import read_document  # noqa: PLC0415 - likewise
    from holdfast.tools.toolbox import LocalToolbox  # noqa: PLC0415 - likewise

    if arguments.model:
        split(arguments.model, _providers(environ))  # what cannot be used is said before anything is read
    cwd = _here()
    imported = read_document(_read(arguments.file))
    model = arguments.model or _usable(imported.model, environ)
    source = "standard input" if arguments.file == "-" else str(Path(arguments.file).absolute())
    session = catalog.new_id()
    folder = catalog.folder(session)
    with new_store(folder) as store:
        opened = msgspec.structs.replace(
            first_entry(session, cwd=cwd, model=model, toolbox=LocalToolbox(cwd, folder)),
            imported_from=valid_unicode(source),
        )
        store.append(imported.entries(opened), expected=0)
    store.close()
    catalog.find(session)  # its summary is kept
    print(f"Imported {printable(arguments.file)} as session {session}.", file=stdout)
    for change in imported.changes(opened):
        print(f"- {one_line(change)}", file=stdout)
    choice = "" if model else " -m PROVIDER:MODEL"
    print(f"Go on with it: holdfast -r {session}{choice}", file=stdout)
    return EXIT_OK


def _read(file: str) -> bytes:
    """Return the document, one byte more than may be read if it is too long."""
    from holdfast.session.transfer import LIMIT  # noqa: PLC0415 - only an import needs it

    if file == "-":
        return sys.stdin.buffer.read(LIMIT + 1)
    try:
        with Path(file).open("rb") as document:
            return document.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(
            f"File {file!r} cannot be read: {error.strerror}, a conversation to import was expected. Check its name."
        ) from error


def _usable(model: str, environ: Mapping[str, str]) -> str:
    """Return the model the document names if holdfast knows its provider, else the configured one, else ""."""
    from holdfast.agent.providers import split  # noqa: PLC0415 - only an import needs it

    try:
        split(model, _providers(environ))
    except ModelUnusable:
        return read_config(homes(environ).config).model or ""
    return model
