"""The file changes of a call, as the model wrote them: one for each file. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.errors import ToolFailed
from holdfast.session.journal.parts import CallPart
from holdfast.typed_data import decode_json
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name

_BETWEEN = "\n…\n"  # the lines between two replacements of one call


class EditChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file change as the model wrote it: `old` becomes `new`; `old` is None if the whole file is written.

    `line` is its position in the file, from 1, if known. `how` says in a few words what else becomes of a file of a
    patch ("deleted", "moved to b.py"), "" if nothing.
    """

    path: str
    old: str | None
    new: str
    everywhere: bool = False
    line: int | None = None
    how: str = ""


class _Write(msgspec.Struct, frozen=True):
    """The arguments of a call that writes a file."""

    path: str
    content: str


class _Piece(msgspec.Struct, frozen=True):
    """One of several replacements."""

    old: str
    new: str
    all: bool = False


class _Replace(msgspec.Struct, frozen=True):
    """The arguments of a call that replaces text in a file."""

    path: str
    old: str = ""
    new: str = ""
    all: bool = False
    edits: tuple[_Piece, ...] = ()


class _Patch(msgspec.Struct, frozen=True):
    """The arguments of a call that patches files."""

    input: str


def edit_changes(part: CallPart) -> tuple[EditChange, ...]:
    """Return the file changes of a call, none for other tools, unknown arguments, and patches that do not parse."""
    try:
        match declared_name(part):
            case "write":
                write = decode_json(declared_arguments(part), _Write)
                return (EditChange(path=write.path, old=None, new=write.content),)
            case "edit":
                edit = decode_json(declared_arguments(part), _Replace)
                pieces = [_Piece(edit.old, edit.new, edit.all)] if edit.old else []
                return _pieces(edit.path, [*pieces, *edit.edits])
            case "apply_patch":
                return _patch(decode_json(declared_arguments(part), _Patch).input)
            case _:
                return ()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError, ToolFailed):
        return ()


def _pieces(path: str, pieces: list[_Piece]) -> tuple[EditChange, ...]:
    if not pieces:
        return ()
    change = EditChange(
        path=path,
        old=_BETWEEN.join(each.old for each in pieces),
        new=_BETWEEN.join(each.new for each in pieces),
        everywhere=any(each.all for each in pieces),
    )
    return (change,)


def _patch(text: str) -> tuple[EditChange, ...]:
    from holdfast.tools.patches.patch_text import parse_patch

    found: list[EditChange] = []
    for patch in parse_patch(text):
        match patch.kind:
            case "add":
                found.append(EditChange(path=patch.path, old=None, new=patch.content, how="created"))
            case "delete":
                found.append(EditChange(path=patch.path, old="", new="", how="deleted"))
            case "update":
                old = _BETWEEN.join(_side(hunk.lines, "+") for hunk in patch.hunks)
                new = _BETWEEN.join(_side(hunk.lines, "-") for hunk in patch.hunks)
                how = f"moved to {patch.to}" if patch.to else ""
                found.append(EditChange(path=patch.path, old=old, new=new, how=how))
    return tuple(found)


def _side(lines: Iterable[tuple[str, str]], without: str) -> str:
    """Return one side of a hunk: its lines `without` those of this sign."""
    return "\n".join(text for sign, text in lines if sign != without)
