"""Files that changed since the model read them: found before a prompt, reported once, never overwritten unseen.

For an instruction file the model gets the new text; for any other file only the notice that it changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.agent.context.system_prompt import instructions_note
from holdfast.agent.recovery.evidence import edits
from holdfast.agent.seam import InstructionSource
from holdfast.session import model_notices
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import FilesChanged
from holdfast.tool_calls import FileSeen
from holdfast.tools.tool import Instruction, Toolbox


def files_seen(fold: Fold) -> dict[str, tuple[FileSeen, ...]]:
    """Return each file the model has seen, by path, with the versions it has read or was notified of.

    Files with an edit whose outcome is unknown have no versions here: recovery checks and reports them.
    """
    edited = {change.path for each in edits(fold.conversation().open_calls).values() for change in each}
    return {path: () if path in edited else states for path, states in fold.files.items()} | dict.fromkeys(edited, ())


def changed_files(
    known: Mapping[str, tuple[FileSeen, ...]],
    toolbox: Toolbox,
    sources: Sequence[InstructionSource],
    *,
    program: str = model_notices.HOLDFAST,
) -> tuple[FilesChanged, ...]:
    """Return an entry for the `files_seen` files that match no known version, or nothing if there are none.

    New instruction files of the `sources` are reported too.
    """
    instructions: dict[str, Instruction] = {}
    for source in sources:
        for each in source():
            instructions.setdefault(each.snapshot.path, each)
    new_instructions = [each for path, each in instructions.items() if _is_news(each.snapshot, known.get(path))]
    changed: list[FileSeen] = []
    for path, states in known.items():
        if states and path not in instructions and _is_news(now := toolbox.current_snapshot(states[-1]), states):
            changed.append(now)
    if not changed and not new_instructions:
        return ()
    notes = [model_notices.files_note(changed, program=program)] if changed else []
    if new_instructions:
        notes.append(instructions_note(new_instructions, program=program))
    return (FilesChanged(files=(*changed, *(each.snapshot for each in new_instructions)), note="\n\n".join(notes)),)


def _is_news(now: FileSeen, states: tuple[FileSeen, ...] | None) -> bool:
    """Return whether the file matches none of its known versions. A path with no versions is not reported."""
    return states is None or (bool(states) and not any(now.same(state) for state in states))
