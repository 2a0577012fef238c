"""What the files were before and after a call, and what an undo did to them, as entries of a journal.

The content itself is never in a journal: `object` names it in the session's own store of contents.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PathKind = Literal["absent", "file", "link", "folder", "other"]
"""What is at a path. `other` is what an undo never touches: a device, a pipe, a file that could not be read."""

RewindScope = Literal["conversation", "files", "both"]
"""What a rewind takes back."""


class PathState(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is at a path: of a file or a link `object` is the git object id of its content, `mode` the permissions."""

    kind: PathKind
    object: str = ""
    mode: int = 0


class PathChange(msgspec.Struct, frozen=True):
    """What was at a path before a call, and behind it. `path` is as in `FileChange`: in the folder, or absolute."""

    path: str
    before: PathState
    after: PathState


class RestoreStep(msgspec.Struct, frozen=True):
    """One path of a restore: it is made `content`, if it is `expect` now."""

    path: str
    expect: PathState
    content: PathState


class SkippedPath(msgspec.Struct, frozen=True):
    """A path that a restore left alone, and why."""

    path: str
    why: str


class SnapshotTaken(msgspec.Struct, frozen=True, tag_field="kind", tag="snapshot-taken", omit_defaults=True):
    """What is kept of the files before `call`, in the same append as its start.

    Of an edit it is the `states` of the paths that it names, and of the folders that it may create. Of a command it is
    `tree` and `scan`, objects with all files and with what a tree cannot say of them. `failed` is why nothing is kept.
    """

    call: str
    states: dict[str, PathState] = msgspec.field(default_factory=dict[str, PathState])
    tree: str = ""
    scan: str = ""
    failed: str = ""
    seconds: float = 0.0


class FilesMoved(msgspec.Struct, frozen=True, tag_field="kind", tag="files-moved", omit_defaults=True):
    """What `call` changed, by looking before and behind it. Only these paths are ever restored.

    `tree` is the object with all files behind it. `uncovered` are paths that changed and of which no content is kept.
    `doubtful` are changed paths that no undo touches: something else may have changed them, or they may hold the only
    copy of what is not kept. `later` is whether it was looked for only by a later process. `failed` is why nothing is
    known. `note`, if any, opens the next user message: the call was interrupted, and its result could not say it.
    """

    call: str
    changes: tuple[PathChange, ...] = ()
    tree: str = ""
    uncovered: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    later: bool = False
    failed: str = ""
    note: str = ""


class RestoreStarted(msgspec.Struct, frozen=True, tag_field="kind", tag="restore-started", omit_defaults=True):
    """The files of `calls` are about to be made what they were, by these `steps`; all contents are kept.

    `skipped` are paths that are left alone from the start. `redo` is the earlier restore that this one takes back, ""
    if it undoes calls. `rewinds` is the turn before which the conversation then continues, 0 if it stays. `uncovered`
    are paths that the calls changed and of which no content is kept; of `unknown` calls it is not known what they did.
    """

    id: str
    calls: tuple[str, ...]
    steps: tuple[RestoreStep, ...]
    skipped: tuple[SkippedPath, ...] = ()
    redo: str = ""
    rewinds: int = 0
    uncovered: tuple[str, ...] = ()
    unknown: int = 0


class RestoreEnded(msgspec.Struct, frozen=True, tag_field="kind", tag="restore-ended", omit_defaults=True):
    """The restore `id` is over: every step is done but those that it `skipped`. `note` opens the next user message."""

    id: str
    skipped: tuple[SkippedPath, ...] = ()
    note: str = ""
