"""The commands `holdfast check` and `holdfast repair`: a conversation in a file, against the rules of a provider.

Two rules. The input is written only when told, with a backup; what can be mended is written, also where something
remains that cannot be. The document and the report never share a stream: where the document goes to standard output,
the report goes to standard error.
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

from holdfast.errors import EXIT_DAMAGE, EXIT_OK, DamageError, StateError, UsageError
from holdfast.history import Edit, Repair, Request, Violation, check, repair
from holdfast.history.document import messages_in
from holdfast.history.edits import MoveResult
from holdfast.history.formats import FORMATS, find_format
from holdfast.history.formats.format import is_array, is_object
from holdfast.history.profiles import PROFILES
from holdfast.history.repair import CANNOT_BE_MENDED
from holdfast.history.shape import position
from holdfast.text import literal
from holdfast.ui.arguments import Parser
from holdfast.ui.document import Document, open_document, tools_in

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
    """Run `holdfast check` or `holdfast repair` and return its exit code; raises `HoldfastError` for the caller."""
    arguments = command_parser(command).parse_args(argv, namespace=_Arguments())
    return _check(arguments) if command == "check" else _repair(arguments)


def command_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    descriptions = {
        "check": "Say what a provider would refuse in a conversation. Exit codes: 0 valid, 4 not.",
        "repair": "Mend a conversation without losing a word. Exit codes: 0 the result is valid, 4 something remains.",
    }
    parser = Parser(prog=f"holdfast {command}", description=descriptions[command], allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE", help="a list of messages or a request body, in JSON; - is standard input")
    add("--format", choices=tuple(FORMATS), help="default: told from the document, where it can be")
    add("--profile", choices=tuple(PROFILES), help="the provider; default: the format's own")
    known = parser.add_argument_group("what the request says, where the document does not")
    known.add_argument("--model", metavar="NAME", help="the model it asks")
    known.add_argument("--thinking", choices=("on", "off"), help="whether the model thinks")
    known.add_argument("--text-only", action="store_true", help="the model takes no images and no files")
    known.add_argument(
        "--tools", metavar="FILE", help="the tools it declares: names, or as a request has them, in JSON"
    )
    known.add_argument(
        "--signed-by",
        metavar="WHO",
        help="who made signatures and what is encrypted: a provider, a model, PROVIDER:MODEL, or another",
    )
    known.add_argument("--store", choices=("on", "off"), help="whether the provider keeps what is sent")
    add("--json", action="store_true", help="report in JSON")
    if command == "repair":
        where = parser.add_mutually_exclusive_group()
        where.add_argument("-o", "--output", metavar="OUT", help="a new file; default: -, standard output")
        where.add_argument("--in-place", action="store_true", help="replace FILE, which is kept as FILE.bak")
        add("--dry-run", action="store_true", help="show the edits, write nothing")
    return parser


def _check(arguments: _Arguments) -> int:
    given = open_document(arguments.file, arguments.format, profile=arguments.profile, keep=False)
    violations = check(given.document, format=given.format, profile=given.profile, **_request(arguments, given))
    bad = len(given.damage) + len(violations)
    if arguments.json:
        told = {"valid": not bad, "damage": msgspec.to_builtins(given.damage), "violations": _violations(violations)}
        _print_json(given, told, sys.stdout)
    else:
        _say_head(given, _verdict(bad), sys.stdout)
        for each in given.damage:
            _say(f"\n{each.position}  {each.at}\n  {each.sentence}", sys.stdout)
        _say_violations(violations, given.profile, sys.stdout)
    return EXIT_DAMAGE if bad else EXIT_OK


def _request(arguments: _Arguments, given: Document) -> Request:
    """Return what the options say of the request."""
    said = {"on": True, "off": False}
    return {
        "model": arguments.model,
        "thinking": said.get(arguments.thinking or ""),
        "text_only": arguments.text_only,
        "tools": None if arguments.tools is None else tools_in(arguments.tools, given.format),
        "signed_by": arguments.signed_by,
        "store": said.get(arguments.store or ""),
    }


def _repair(arguments: _Arguments) -> int:
    _refuse_early(arguments)
    given = open_document(arguments.file, arguments.format, profile=arguments.profile, keep=not arguments.dry_run)
    if given.damage:
        damage = given.damage[0]
        raise DamageError(
            f"The document is damaged at {damage.at} ({literal(damage.position)}): {literal(damage.sentence)}"
            " Mending it would lose the other values, so nothing is written. Leave one of them."
        )
    mended = repair(given.document, format=given.format, profile=given.profile, **_request(arguments, given))
    writes = not arguments.dry_run
    data = _written(given, mended) if writes else b""
    out, note = sys.stdout, "Nothing is written (--dry-run)." if arguments.dry_run else ""
    if writes and arguments.in_place:
        if mended.edits:
            note = f"Written to {given.name}; as it was: {_replace(Path(given.name), given.data, data)}"
    elif writes and arguments.output not in (None, "-"):
        _write(Path(arguments.output), data)
        note = f"Written to {arguments.output}"
    elif writes:
        _print_document(data)
        out = sys.stderr
    if arguments.json:
        edits = [{**msgspec.to_builtins(edit), "sentence": edit.sentence} for edit in mended.edits]
        told = {"valid": not mended.remaining, "edits": edits, "remaining": _violations(mended.remaining)}
        _print_json(given, told, out)
    else:
        _report(given, mended, out)
        if note:
            _say(f"\n{note}", out)
    return EXIT_DAMAGE if mended.remaining else EXIT_OK


# --- out -------------------------------------------------------------------------------------------------------------


def _refuse_early(arguments: _Arguments) -> None:
    """Raise `UsageError` if what is to be written must not be."""
    if arguments.in_place:
        if not Path(arguments.file).is_file():
            raise UsageError(
                f"Option --in-place cannot replace {arguments.file!r}, a file was expected. Name one, or write to a new"
                " one with -o."
            )
        new = _backup(Path(arguments.file))
    elif arguments.output in (None, "-"):
        return
    else:
        new = Path(arguments.output)
    if new.exists() and not arguments.dry_run:
        raise UsageError(f"File {str(new)!r} exists, a new one was expected. Move it away, or choose another with -o.")


def _written(given: Document, mended: Repair) -> bytes:
    """Return the bytes to write: those that were read if nothing changed, else JSON of about the same looks."""
    if not mended.edits:
        return given.data
    indented = re.match(r"\s*[\[{]\r?\n([ \t]+)", given.text)
    compact = re.match(r'\s*[\[{]+"(?:[^"\\]|\\.)*":\S', given.text)
    try:
        text = json.dumps(
            mended.document,
            ensure_ascii=False,
            allow_nan=False,
            indent=indented[1] if indented else None,
            separators=(",", ":") if compact else None,
        )
    except ValueError as error:
        raise DamageError(
            "The document holds a number that is too large to be written again, so nothing is. Mend the number."
        ) from error
    return f"{text}\n".encode() if given.text.endswith("\n") else text.encode()


def _print_document(data: bytes) -> None:
    if sys.stdout.isatty():  # which acts on some characters that JSON leaves as they are
        print(literal(data.decode("utf-8-sig")).rstrip("\n"))
        return
    try:
        with open(sys.stdout.fileno(), "wb", closefd=False) as out:
            out.write(data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StateError(
            f"Standard output cannot be written: {error.strerror}, somewhere to write was expected. Free some space, "
            "or send it elsewhere."
        ) from error


def _write(path: Path, data: bytes) -> None:
    from holdfast.session.disk import write_whole  # noqa: PLC0415 - only to a file

    try:
        write_whole(path, data)
    except OSError as error:
        raise UsageError(
            f"File {str(path)!r} cannot be written: {error.strerror}, a writable place was expected. Choose another."
        ) from error


def _replace(path: Path, old: bytes, new: bytes) -> Path:
    """Replace the file, or what it links to, by `new`; return where `old` is kept, under a name that was free."""
    from holdfast.session.disk import sync  # noqa: PLC0415 - only to a file

    target, backup = path.resolve(), _backup(path)
    mode = target.stat().st_mode & 0o777
    try:
        with backup.open("xb") as kept:
            backup.chmod(mode)
            kept.write(old)
            kept.flush()
            sync(kept.fileno())
    except OSError as error:
        raise UsageError(
            f"File {str(backup)!r} cannot be written: {error.strerror}, a free name for the backup was expected."
            " Move it away, or write to another place with -o."
        ) from error
    _write(target, new)
    target.chmod(mode)
    return backup


def _backup(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")


# --- reports ---------------------------------------------------------------------------------------------------------


def _report(given: Document, mended: Repair, out: TextIO) -> None:
    edits = f"{len(mended.edits)} edit{'' if len(mended.edits) == 1 else 's'}"
    valid = not mended.edits and not mended.remaining
    _say_head(given, f"{_verdict(0)}, nothing to mend," if valid else edits, out)
    for edit in mended.edits:
        _say(f"* {edit.sentence}", out)
    if mended.edits:
        originals, _ = messages_in(given.document, find_format(given.format))
        for line in _diff(originals, mended.messages, mended.edits):
            _say(line, out)
    if mended.remaining:
        _say(f"\nMended as far as it can be. What remains: {_verdict(len(mended.remaining))}", out)
        _say_violations(mended.remaining, given.profile, out)
        for rule in dict.fromkeys(each.rule for each in mended.remaining):
            if rule in CANNOT_BE_MENDED:
                _say(f"\nNo edit mends {rule}: {CANNOT_BE_MENDED[rule]}.", out)


def _diff(old: Sequence[object], new: Sequence[object], edits: Sequence[Edit]) -> Iterator[str]:
    """Yield what went (`-`, by its place in the old document) and what came (`+`, by its place in the new one).

    Messages that no edit touched are the same objects: no comparing is needed, and it takes linear time.
    """
    moved = {edit.result[0] for edit in edits if isinstance(edit, MoveResult)}
    kept = {id(raw): index for index, raw in enumerate(old) if index not in moved}
    at = 0
    came: list[str] = []
    for index, raw in enumerate(new):
        before = kept.get(id(raw), -1)
        if before < at:
            came.append(_line("+", index, raw))
            continue
        yield from _hunk(old, at, before, came)
        came.clear()
        at = before + 1
    yield from _hunk(old, at, len(old), came)


def _hunk(old: Sequence[object], start: int, end: int, came: Sequence[str]) -> Iterator[str]:
    if start < end or came:
        yield ""
    yield from (_line("-", index, old[index]) for index in range(start, end))
    yield from came


def _line(sign: str, index: int, raw: object) -> str:
    return f"{sign} {position((index,))} {json.dumps(_cut(raw), ensure_ascii=False)}"


def _cut(raw: object) -> object:
    """Return `raw` with the ends of long texts cut off."""
    if isinstance(raw, str):
        return raw if len(raw) <= _SHOWN else f"{raw[: _SHOWN - 1]}…"
    if is_object(raw):
        return {key: _cut(value) for key, value in raw.items()}
    return [_cut(value) for value in raw] if is_array(raw) else raw


def _say_head(given: Document, what: str, out: TextIO) -> None:
    _say(f"{given.name}: {what} for {given.profile} (format {given.format})", out)
    if given.also:
        _say(f"It could be of {' or '.join(given.also)} as well; --format says which it is.", out)


def _verdict(bad: int) -> str:
    return "valid" if not bad else f"{bad} violation{'' if bad == 1 else 's'}"


def _violations(violations: Sequence[Violation]) -> list[object]:
    return [{"position": each.position, **msgspec.to_builtins(each)} for each in violations]


def _say_violations(violations: Sequence[Violation], profile: str, out: TextIO) -> None:
    for each in violations:
        _say(f"\n{each.position}  {each.rule}\n  {each.sentence}", out)
        if each.error:
            own = each.error_by.partition("/")[0] == profile
            whose = "The provider's error" if own else f"The error of {each.error_by} to the same"
            _say(f"  {whose}: {' '.join(each.error.split())}", out)


def _print_json(given: Document, told: Mapping[str, object], out: TextIO) -> None:
    said = {"file": given.name, "format": given.format, "profile": given.profile, "also": given.also, **told}
    print(json.dumps(said, indent=2), file=out)  # a terminal may read it: nothing but ASCII


def _say(text: str, out: TextIO) -> None:
    print(literal(text), file=out)
