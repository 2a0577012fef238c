"""What really happened in a turn, from its entries and never from prose; and the conditions that a caller may require.

Nothing is stored, so a receipt can be made of any journal. What an older journal does not say, such as an exit code, is
not known: it is never read from words. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from holdfast.errors import UsageError
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart


class CommandRun(msgspec.Struct, frozen=True, omit_defaults=False):
    """A command of the model; `exit` is null if it is not `known`. `edits_after` says if files changed behind it."""

    call: str
    command: str
    exit: int | None
    known: bool
    seconds: float
    edits_after: bool


class ReceiptFiles(msgspec.Struct, frozen=True):
    """Paths that calls changed: by edits, by commands, and the calls of which that is `unknown`."""

    changed: tuple[str, ...] = ()
    by_command: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What happened: commands, files, calls that were denied, and calls whose effect is unknown."""

    commands: tuple[CommandRun, ...] = ()
    files: ReceiptFiles = ReceiptFiles()
    denied: tuple[str, ...] = ()
    unknown_effects: tuple[str, ...] = ()


def receipt(entries: Iterable[e.Entry]) -> Receipt:
    """Return the receipt of these entries."""
    entries = tuple(entries)
    parts = {
        part.id: part
        for entry in entries
        if isinstance(entry, e.ResponseEnded)
        for part in entry.parts
        if isinstance(part, CallPart)
    }
    started = {entry.call: entry for entry in entries if isinstance(entry, e.CallStarted)}
    moved = {entry.call: entry for entry in entries if isinstance(entry, e.FilesMoved)}
    ended = [entry for entry in entries if isinstance(entry, e.CallEnded)]
    last_change = max((at for at, call in enumerate(started) if _may_change(call, started, moved)), default=-1)
    order = {call: at for at, call in enumerate(started)}
    commands = tuple(
        CommandRun(
            call=entry.call,
            command=line,
            exit=entry.exit,
            known=entry.exit is not None,
            seconds=entry.seconds,
            edits_after=last_change > order[entry.call],
        )
        for entry in ended
        if entry.call in started and (line := _command(parts.get(entry.call))) is not None
    )
    return Receipt(
        commands=commands,
        files=_files(started, moved),
        denied=tuple(entry.call for entry in ended if entry.outcome == "denied"),
        unknown_effects=tuple(
            entry.call for entry in ended if entry.outcome == "interrupted" and entry.observed in ("unknown", "part")
        ),
    )


def _may_change(call: str, started: Mapping[str, e.CallStarted], moved: Mapping[str, e.FilesMoved]) -> bool:
    """Return whether a call changed files, or may have done so unseen."""
    if started[call].effect == "read" or started[call].confined == "read":
        return False
    seen = moved.get(call)
    return seen is None or bool(seen.failed or seen.changes or seen.uncovered)


def _files(started: Mapping[str, e.CallStarted], moved: Mapping[str, e.FilesMoved]) -> ReceiptFiles:
    edited: dict[str, None] = {}
    by_command: dict[str, None] = {}
    unknown: list[str] = []
    for call, entry in started.items():
        seen = moved.get(call)
        paths = [*(each.path for each in seen.changes), *seen.uncovered] if seen is not None else []
        (edited if entry.effect == "write" else by_command).update(dict.fromkeys(paths))
        if _may_change(call, started, moved) and (seen is None or seen.failed):
            unknown.append(call)
    return ReceiptFiles(tuple(edited), tuple(by_command), tuple(unknown))


def _command(part: CallPart | None) -> str | None:
    """Return the command line of a call, None if it is no command."""
    if part is None:
        return None
    try:
        arguments = json.loads(part.arguments)
    except ValueError:
        return None
    line = arguments.get("command") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    return line if isinstance(line, str) else None


CONDITIONS = ("ran:CMD", "changed", "changed:GLOB", "unchanged:GLOB", "no-unknown", "no-denied")
"""The conditions of `--require`."""


def known_condition(text: str) -> str:
    """Return the condition; raises `UsageError` for one that does not exist."""
    name, _, rest = text.partition(":")
    if text in ("changed", "no-unknown", "no-denied") or (name in ("ran", "changed", "unchanged") and rest.strip()):
        return text
    raise UsageError(f"Condition {text!r} of --require is unknown (expected one of {', '.join(CONDITIONS)}).")


def unmet(condition: str, found: Receipt) -> str:
    """Return why the receipt does not meet a known condition, "" if it does. What is not known is not met."""
    name, _, rest = condition.partition(":")
    paths = (*found.files.changed, *found.files.by_command)
    unseen = f"what {len(found.files.unknown)} calls changed is not known" if found.files.unknown else ""
    match name:
        case "ran":
            return _not_run(" ".join(rest.split()), found)
        case "changed":
            hit = any(fnmatchcase(path, rest) for path in paths) if rest else bool(paths)
            return "" if hit else f"no file{f' that matches {rest}' if rest else ''} was changed"
        case "unchanged":
            hits = [path for path in paths if fnmatchcase(path, rest)]
            return f"{hits[0]} was changed" if hits else unseen
        case "no-denied":
            return f"{len(found.denied)} calls were denied" if found.denied else ""
        case _:
            return f"the effect of {len(found.unknown_effects)} calls is unknown" if found.unknown_effects else unseen


def _not_run(line: str, found: Receipt) -> str:
    runs = [each for each in found.commands if " ".join(each.command.split()) == line]
    if not runs:
        return f"{line!r} was not run"
    last = runs[-1]
    if not last.known:
        return f"the exit code of {line!r} is not known"
    if last.exit != 0:
        return f"{line!r} ended with exit code {last.exit}"
    return f"files changed, or may have, after {line!r}" if last.edits_after else ""
