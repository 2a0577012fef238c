"""The tool `apply_patch`: several files changed by one patch, planned as a whole before the first is written.

How it works. The plan reads every file, finds every hunk and computes every content: a patch of which one hunk does not
fit changes nothing. The journal then has each path with its hashes from before and after. Each file is replaced by
write-and-rename, the deletions come last, and a file that changed since the plan is left alone: what was written before
it stays, and the result names both. If holdfast dies in between, recovery reads every path again and says of each
whether its change landed. A move is a new file and a deletion.

Why no rollback? Undoing a change can fail as the change can, and a file that someone else changed in between would be
overwritten. Each path has one fact, and the model reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure, resolve
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect, FileChange, FileSeen
from holdfast.tools.builtin.declarations import PATCH_SCHEMA, PatchArguments
from holdfast.tools.patches.hunks import apply_hunks
from holdfast.tools.patches.patch_forms import complete_patch
from holdfast.tools.patches.patch_text import FilePatch, parse_patch
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, TellingFailure, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.atomic_write import (
    LARGEST_FILE,
    FileDiff,
    delete_file,
    existing_files,
    file_diff,
    read_existing,
    refuse_private,
    replace,
)
from holdfast.tools.workspace.file_kinds import SNIFF
from holdfast.tools.workspace.file_links import other_name
from holdfast.tools.workspace.line_ends import with_line_ends

_MOST_FILES = 100


class _File(msgspec.Struct, kw_only=True):
    """A file of the patch: its content `before`, and `now` after the parts applied so far; None: no file."""

    place: SafePath
    known_as: str
    before: bytes | None
    digest: str | None
    now: bytes | None
    ends: str = ""
    """Words about its line ends, if they are not those of the patch."""


class _Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to one file."""

    place: SafePath
    change: FileChange
    after: bytes | None
    diff: FileDiff
    before: bytes
    ends: str = ""

    @property
    def summary(self) -> str:
        verb = "deleted" if self.after is None else "created" if self.change.before is None else "changed"
        return f"{self.place.name}: {verb} (+{self.diff.added} -{self.diff.removed} lines)" + (
            f", line ends: {self.ends}" if self.ends else ""
        )


class ApplyPatchTool:
    """Changes several files by one patch; each atomically, all only if every hunk fits."""

    schema = PATCH_SCHEMA
    effect: Effect = "write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a patch, with the diffs of all files; raises `ToolFailed` if one hunk does not fit.

        Outside the workspace, the plan fails with the same text once approved, as for `edit`. A move gives what a
        file contains another name: so the plan `reads` every file that it changes.
        """
        raw = parse_arguments(arguments, PatchArguments, tool="apply_patch").input
        text, note = complete_patch(valid_unicode(raw))
        patches = parse_patch(text)
        names = list(dict.fromkeys(path for patch in patches for path in (patch.path, patch.to) if path))
        if len(names) > _MOST_FILES:
            msg = f"Patch names {len(names)} files (at most {_MOST_FILES}). Nothing was done; divide it."
            raise ToolFailed(msg)
        places = {name: resolve(self._workspace.root, name) for name in names}
        for place in places.values():
            refuse_private(place, self._workspace.private)
        title = _title([place.name for place in places.values()])
        outside = next((place.outside for place in places.values() if place.outside is not None), None)
        reads = existing_files(*places.values())
        try:
            plan = _with_note(self._plan_changes(patches, places, title, outside), note)
        except ToolFailed as error:
            failure = TellingFailure(str(error), title=title, reads=reads, outside=outside)
            if outside is not None:
                return failure.plan
            raise failure from error
        return msgspec.structs.replace(plan, reads=reads)

    def _plan_changes(
        self, patches: Sequence[FilePatch], places: Mapping[str, SafePath], title: str, outside: str | None
    ) -> Plan:
        files: dict[str, _File] = {}
        for name, place in places.items():
            if place.name not in files:
                existing = read_existing(place)
                if existing is not None and existing.content is None:
                    msg = f"File {place.name!r} is too large: more than {LARGEST_FILE} bytes. Use bash to change it."
                    raise ToolFailed(msg)
                content = existing.content if existing else None
                files[place.name] = _File(
                    place=place,
                    known_as=other_name(self._workspace.root, name, place),
                    before=content,
                    digest=existing.digest if existing else None,
                    now=content,
                )
        notes: dict[str, None] = {}
        for patch in patches:
            to = files[places[patch.to].name] if patch.to else None
            for note in _apply_part(patch, files[places[patch.path].name], to):
                notes[f"{patch.path}: {note}"] = None
        changes = _changes(files.values())
        if not changes:
            msg = "Patch changes nothing: every file would stay as it is. Nothing was written."
            raise ToolFailed(msg)

        async def run(context: ToolContext) -> ToolOutput:
            return _apply_changes(changes, context.call, tuple(notes))

        return Plan(
            effect="write",
            title=title,
            detail="\n".join(each.diff.text.removesuffix("\n") for each in changes),
            outside=outside,
            changes=tuple(each.change for each in changes),
            originals=tuple(each.before for each in changes),
            known_as=next((file.known_as for file in files.values() if file.known_as), ""),
            run=run,
        )


def _title(names: Sequence[str]) -> str:
    first = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")  # noqa: PLR2004 - as many as are named
    return escape_newlines(f"patch {first}")


def _apply_part(patch: FilePatch, file: _File, to: _File | None) -> tuple[str, ...]:
    """Apply one part of a patch after the parts before it; return what differed where hunks were found."""
    name = file.place.name
    if patch.kind == "add":
        if file.now is not None:
            msg = f"File {name!r} exists already. Nothing was written. Use *** Update File, or *** Delete File first."
            raise ToolFailed(msg)
        file.now, file.ends = with_line_ends(file.place.anchor, file.place.path, patch.content.encode())
        return ()
    if file.now is None:
        if file.before is not None:
            msg = f"File {name!r} was deleted or moved earlier in this patch. Nothing was written. Give it once."
            raise ToolFailed(msg)
        with as_tool_failure(file.place):  # it lists the existing names
            raise FileNotFoundError
    if patch.kind == "delete":
        file.now = None
        return ()
    if b"\0" in file.now[:SNIFF]:
        msg = f"File {name!r} is binary, not text. Nothing was written. Use bash to change it."
        raise ToolFailed(msg)
    patched = apply_hunks(file.now.decode("utf-8", "surrogateescape"), patch.hunks, name)
    after = patched.text.encode("utf-8", "surrogateescape")
    if to is None or to is file:
        file.now = after
    else:
        if to.now is not None:
            msg = (
                f"File {to.place.name!r} exists already. Nothing was written. Delete it first, or choose another name."
            )
            raise ToolFailed(msg)
        file.now, to.now = None, after
    return patched.notes


def _changes(files: Iterable[_File]) -> tuple[_Change, ...]:
    """Return what is done to each file whose content changes; deletions last, so that a move loses nothing."""
    changes: list[_Change] = []
    for file in sorted(files, key=lambda file: file.now is None):
        if file.now != file.before:
            after = None if file.now is None else hashlib.sha256(file.now).hexdigest()
            change = FileChange(path=file.place.name, before=file.digest, after=after)
            diff = file_diff(file.place.name, file.before or b"", file.now or b"")
            changes.append(
                _Change(
                    place=file.place,
                    change=change,
                    after=file.now,
                    diff=diff,
                    before=file.before or b"",
                    ends=file.ends,
                )
            )
    return tuple(changes)


def _with_note(plan: Plan, note: str) -> Plan:
    """Return the plan with a note at the end of its result, if there is one."""
    run_tool = plan.run

    async def run(context: ToolContext) -> ToolOutput:
        output = await run_tool(context)
        return msgspec.structs.replace(output, text=f"{output.text}\n[{note}]")

    return msgspec.structs.replace(plan, run=run) if note else plan


def _apply_changes(changes: Sequence[_Change], call: str, notes: Sequence[str]) -> ToolOutput:
    """Make the changes one after another. If one fails, the earlier ones stay, and the result names both."""
    done: list[str] = []
    snapshots: list[FileSeen] = []
    failed = ""
    for each in changes:
        name = each.place.name
        try:
            if each.after is None:
                delete_file(each.place, each.change)
                snapshots.append(FileSeen(path=name))
            else:
                status = replace(each.place, each.change, each.after, call=call)
                digest = each.change.after or ""
                snapshots.append(FileSeen(path=name, size=status.st_size, modified=status.st_mtime_ns, sha256=digest))
        except ToolFailed as error:
            if not done:
                raise
            failed = str(error)
            break
        done.append(each.summary)
    text = "\n".join(done)
    if failed:
        left = ", ".join(each.place.name for each in changes[len(done) :])
        text = f"{failed}\nDone before that, and left as it is:\n{text}\nNot done: {left}."
    if notes and not failed:
        text += f"\n[Hunks were found loosely: {'; '.join(notes)}.]"
    return ToolOutput(text=text, ok=not failed, snapshots=tuple(snapshots))
