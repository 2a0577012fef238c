"""The commands `holdfast check` and `holdfast repair`: validate a conversation file against a provider's rules.

The input is replaced only on request, with a backup; what can be repaired is written, even if some violations remain.
The document and the report never share a stream: if the document goes to standard output, the report goes to standard
error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from holdfast.config.settings import usable_config
from holdfast.errors import EXIT_DAMAGE, EXIT_OK, DamageError, UsageError
from holdfast.history import Edit, Repair, Request, Violation, check, repair
from holdfast.history.document import messages_in
from holdfast.history.edits import MoveResult
from holdfast.history.formats import add_formats, find_format, format_names
from holdfast.history.formats.format import is_array, is_object
from holdfast.history.profiles import PROFILES
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.shape import position
from holdfast.system.user_directories import homes
from holdfast.text import literal
from holdfast.ui.commands.input_document import Document, open_document, tools_in
from holdfast.ui.standard_output import unwritable
from holdfast.ui.startup.arguments import Parser

_SHOWN = 60  # characters of a text in a diff


class _Arguments(argparse.Namespace):
    file: str
    format: str | None
    profile: str | None
    model: str | None
    thinking: str | None
    text_only: bool
    tools: str | None
    signed_by: str | None
    store: str | None
    json: bool
    output: str | None
    in_place: bool
    dry_run: bool


def main(command: str, argv: list[str]) -> int:
    """Run `holdfast check` or `holdfast repair` and return its exit code; the caller prints `HoldfastError`."""
    arguments = command_parser(command).parse_args(argv, namespace=_Arguments())
    return _check(arguments) if command == "check" else _repair(arguments)


def check_file(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Run `holdfast check` and return its exit code."""
    _find_formats(environ)
    return main("check", argv)


def repair_file(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Run `holdfast repair` and return its exit code."""
    _find_formats(environ)
    return main("repair", argv)


def _find_formats(environ: Mapping[str, str]) -> None:
    """Let documents have the formats of plug-ins. Without a usable config there are those of the folder only."""
    places = homes(environ)
    config = usable_config(places.config)[0]
    if config.plugins.use or places.plugins.is_dir():
        from holdfast.ui.startup.plugins_in_use import plugins_in_use

        found = plugins_in_use(environ, config)
        add_formats(found.formats)
        for fault in found.faults:
            _print(f"holdfast: {fault.sentence}", sys.stderr)


def check_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `holdfast check`."""
    return command_parser("check")


def repair_parser() -> argparse.ArgumentParser:
    """Return the parser of the options of `holdfast repair`."""
    return command_parser("repair")


def command_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    descriptions = {
        "check": "Validate a conversation file for a provider. Exit codes: 0 valid, 4 not valid.",
        "repair": "Repair a conversation file without losing text. Exit codes: 0 valid result, 4 violations remain.",
    }
    parser = Parser(prog=f"holdfast {command}", description=descriptions[command], allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE", help="a list of messages or a request body, in JSON; - is standard input")
    add("--format", choices=format_names(), help="default: detected from the document")
    add("--profile", choices=tuple(PROFILES), help="the provider (default: the format's own)")
    known = parser.add_argument_group("facts about the request that the document lacks")
    known.add_argument("--model", metavar="NAME", help="the model of the request")
    known.add_argument("--thinking", choices=("on", "off"), help="whether thinking is enabled")
    known.add_argument("--text-only", action="store_true", help="the model accepts no images or files")
    known.add_argument("--tools", metavar="FILE", help="JSON file with the declared tools: names, or as in a request")
    known.add_argument(
        "--signed-by",
        metavar="WHO",
        help="source of signatures and encrypted content: a provider, a model, PROVIDER:MODEL, or another",
    )
    known.add_argument("--store", choices=("on", "off"), help="whether the provider stores requests")
    add("--json", action="store_true", help="print the report as JSON")
    if command == "repair":
        where = parser.add_mutually_exclusive_group()
        where.add_argument("-o", "--output", metavar="OUT", help="a new file (default: -, standard output)")
        where.add_argument("--in-place", action="store_true", help="replace FILE and keep the original as FILE.bak")
        add("--dry-run", action="store_true", help="show the edits without writing")
    return parser


def _check(arguments: _Arguments) -> int:
    source = open_document(arguments.file, arguments.format, profile=arguments.profile, keep=False)
    violations = check(source.document, format=source.format, profile=source.profile, **_request(arguments, source))
    bad = len(source.damage) + len(violations)
    if arguments.json:
        report = {"valid": not bad, "damage": msgspec.to_builtins(source.damage), "violations": _violations(violations)}
        _print_json(source, report, sys.stdout)
    else:
        _print_head(source, _verdict(bad), sys.stdout)
        for each in source.damage:
            _print(f"\n{each.position}  {each.at}\n  {each.sentence}", sys.stdout)
        _print_violations(violations, source.profile, sys.stdout)
    return EXIT_DAMAGE if bad else EXIT_OK


def _request(arguments: _Arguments, source: Document) -> Request:
    """Return the request facts from the options."""
    switches = {"on": True, "off": False}
    return {
        "model": arguments.model,
        "thinking": switches.get(arguments.thinking or ""),
        "text_only": arguments.text_only,
        "tools": None if arguments.tools is None else tools_in(arguments.tools, source.format),
        "signed_by": arguments.signed_by,
        "store": switches.get(arguments.store or ""),
    }


def _repair(arguments: _Arguments) -> int:
    _refuse_early(arguments)
    source = open_document(arguments.file, arguments.format, profile=arguments.profile, keep=not arguments.dry_run)
    if source.damage:
        damage = source.damage[0]
        raise DamageError(
            f"The document is damaged at {damage.at} ({literal(damage.position)}): {literal(damage.sentence)}"
            " A repair would lose the other values, so nothing was written. Keep one of them."
        )
    repaired = repair(source.document, format=source.format, profile=source.profile, **_request(arguments, source))
    writes = not arguments.dry_run
    data = _output_bytes(source, repaired) if writes else b""
    out, note = sys.stdout, "Nothing written (--dry-run)." if arguments.dry_run else ""
    if writes and arguments.in_place:
        if repaired.edits:
            note = f"Written to {source.name}; original kept as {_replace(Path(source.name), source.data, data)}"
    elif writes and arguments.output not in (None, "-"):
        _write(Path(arguments.output), data)
        note = f"Written to {arguments.output}"
    elif writes:
        _print_document(data)
        out = sys.stderr
    if arguments.json:
        edits = [{**msgspec.to_builtins(edit), "sentence": edit.sentence} for edit in repaired.edits]
        report = {"valid": not repaired.remaining, "edits": edits, "remaining": _violations(repaired.remaining)}
        _print_json(source, report, out)
    else:
        _report(source, repaired, out)
        if note:
            _print(f"\n{note}", out)
    return EXIT_DAMAGE if repaired.remaining else EXIT_OK


# --- out -------------------------------------------------------------------------------------------------------------


def _refuse_early(arguments: _Arguments) -> None:
    """Raise `UsageError` if the output must not be written."""
    if arguments.in_place:
        if not Path(arguments.file).is_file():
            raise UsageError(
                f"Cannot use --in-place with {arguments.file!r}: it is not a file. Pass a file, or write to a new"
                " one with -o."
            )
        new = _backup(Path(arguments.file))
    elif arguments.output in (None, "-"):
        return
    else:
        new = Path(arguments.output)
    if new.exists() and not arguments.dry_run:
        raise UsageError(f"File {str(new)!r} already exists. Move it away, or pass another name with -o.")


def _output_bytes(source: Document, repaired: Repair) -> bytes:
    """Return the bytes to write: unchanged input bytes if there were no edits, else JSON of similar layout."""
    if not repaired.edits:
        return source.data
    before = source.data.decode("utf-8-sig")
    indented = re.match(r"\s*[\[{]\r?\n([ \t]+)", before)
    compact = re.match(r'\s*[\[{]+"(?:[^"\\]|\\.)*":\S', before)
    try:
        text = json.dumps(
            repaired.document,
            ensure_ascii=False,
            allow_nan=False,
            indent=indented[1] if indented else None,
            separators=(",", ":") if compact else None,
        )
    except ValueError as error:
        raise DamageError(
            "The document has a number too large to write, so nothing was written. Fix the number."
        ) from error
    return f"{text}\n".encode() if before.endswith("\n") else text.encode()


def _print_document(data: bytes) -> None:
    if sys.stdout.isatty():  # a terminal acts on some characters that JSON does not escape
        print(literal(data.decode("utf-8-sig")).rstrip("\n"))
        return
    try:
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            out.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(sys.stdout, error) from error


def _write(path: Path, data: bytes) -> None:
    from holdfast.system.durable_files import replace_file

    try:
        replace_file(path, data)
    except OSError as error:
        raise UsageError(f"Cannot write {str(path)!r}: {error.strerror}. Choose another place.") from error


def _replace(path: Path, old: bytes, new: bytes) -> Path:
    """Replace the file, or the target of the link, with `new`. Return the path of the backup of `old`."""
    from holdfast.system.durable_files import sync

    target, backup = path.resolve(), _backup(path)
    mode = target.stat().st_mode & 0o777
    try:
        with backup.open("xb") as file:
            backup.chmod(mode)
            file.write(old)
            file.flush()
            sync(file.fileno())
    except OSError as error:
        raise UsageError(
            f"Cannot write the backup {str(backup)!r}: {error.strerror}."
            " Move that file away, or write to another place with -o."
        ) from error
    _write(target, new)
    target.chmod(mode)
    return backup


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")


# --- reports ---------------------------------------------------------------------------------------------------------


def _report(source: Document, repaired: Repair, out: TextIO) -> None:
    edits = f"{len(repaired.edits)} edit{'' if len(repaired.edits) == 1 else 's'}"
    valid = not repaired.edits and not repaired.remaining
    _print_head(source, f"{_verdict(0)}, nothing to repair," if valid else edits, out)
    for edit in repaired.edits:
        _print(f"* {edit.sentence}", out)
    if repaired.edits:
        originals, _ = messages_in(source.document, find_format(source.format))
        for line in _diff(originals, repaired.messages, repaired.edits):
            _print(line, out)
    if repaired.remaining:
        _print(f"\nRepaired as far as possible. Remaining: {_verdict(len(repaired.remaining))}", out)
        _print_violations(repaired.remaining, source.profile, out)
        for rule in dict.fromkeys(each.rule for each in repaired.remaining):
            if rule in NOT_REPAIRABLE:
                _print(f"\nNo repair for {rule}: {NOT_REPAIRABLE[rule]}.", out)


def _diff(old: Sequence[object], new: Sequence[object], edits: Sequence[Edit]) -> Iterator[str]:
    """Yield removed messages (`-`, with their old position) and added ones (`+`, with their new position).

    Messages without edits are the same objects, so nothing has to be compared and the time is linear.
    """
    moved = {edit.result[0] for edit in edits if isinstance(edit, MoveResult)}
    unmoved = {id(raw): index for index, raw in enumerate(old) if index not in moved}
    at = 0
    added: list[str] = []
    for index, raw in enumerate(new):
        before = unmoved.get(id(raw), -1)
        if before < at:
            added.append(_line("+", index, raw))
            continue
        yield from _hunk(old, at, before, added)
        added.clear()
        at = before + 1
    yield from _hunk(old, at, len(old), added)


def _hunk(old: Sequence[object], start: int, end: int, added: Sequence[str]) -> Iterator[str]:
    if start < end or added:
        yield ""
    yield from (_line("-", index, old[index]) for index in range(start, end))
    yield from added


def _line(sign: str, index: int, raw: object) -> str:
    return f"{sign} {position((index,))} {json.dumps(_cut(raw), ensure_ascii=False)}"


def _cut(raw: object) -> object:
    """Return `raw` with long texts truncated."""
    if isinstance(raw, str):
        return raw if len(raw) <= _SHOWN else f"{raw[: _SHOWN - 1]}…"
    if is_object(raw):
        return {key: _cut(value) for key, value in raw.items()}
    return [_cut(value) for value in raw] if is_array(raw) else raw


def _print_head(source: Document, summary: str, out: TextIO) -> None:
    _print(f"{source.name}: {summary} for {source.profile} (format {source.format})", out)
    if source.also:
        _print(f"It could also be {' or '.join(source.also)}; choose with --format.", out)


def _verdict(bad: int) -> str:
    return "valid" if not bad else f"{bad} violation{'' if bad == 1 else 's'}"


def _violations(violations: Sequence[Violation]) -> list[object]:
    return [{"position": each.position, **msgspec.to_builtins(each)} for each in violations]


def _print_violations(violations: Sequence[Violation], profile: str, out: TextIO) -> None:
    for each in violations:
        _print(f"\n{each.position}  {each.rule}\n  {each.sentence}", out)
        if each.error:
            same_provider = each.error_by.partition("/")[0] == profile
            source = "The provider's error" if same_provider else f"The error of {each.error_by} for the same"
            _print(f"  {source}: {' '.join(each.error.split())}", out)


def _print_json(source: Document, report: Mapping[str, object], out: TextIO) -> None:
    fields = {"file": source.name, "format": source.format, "profile": source.profile, "also": source.also, **report}
    print(json.dumps(fields, indent=2), file=out)  # ASCII only, because the output may be a terminal


def _print(text: str, out: TextIO) -> None:
    print(literal(text), file=out)
