"""The tools of a session whose calls began on other files: what they left there cannot be looked at here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.tool_calls import FileChange, FileCheck, FileSeen, ProcessId, ToolSchema
from holdfast.tools.tool import Instruction, Tool, Toolbox, Traces


class RestoredToolbox:
    """A toolbox in restored files; a `Toolbox`. It runs calls as usual, and finds no evidence of earlier ones.

    A hash that is as before would say that an edit never landed, and it may have: on a disk that is gone. `gone` is the
    sentence that says so.
    """

    def __init__(self, toolbox: Toolbox, gone: str) -> None:
        self._toolbox = toolbox
        self._gone = gone

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._toolbox.tools

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Return that no process of the commands is here."""
        del commands
        return True

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """Return the sentence, if anything had begun."""
        return self._gone if calls else ""

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what the next turn declares."""
        return self._toolbox.redeclare(declared)

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the present instructions of the workspace."""
        return self._toolbox.instructions()

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        """Return the present state of a file: what the restored one has."""
        return self._toolbox.current_snapshot(snapshot)

    def check_change(self, change: FileChange) -> FileCheck:
        """Return that the edited file cannot be read: it is on the other machine."""
        del change
        return "unreadable"

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return that nothing is known of a command."""
        del spool, since
        return None

    def forget(self, spool: str) -> None:
        """Delete what a command left."""
        self._toolbox.forget(spool)

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Delete leftovers; those of edits are not here."""
        del edits
        self._toolbox.sweep({})

    async def close(self) -> None:
        """End all processes of the tools."""
        await self._toolbox.close()


def gone_sentence(values: Mapping[str, object]) -> str:
    """Return what the model reads about files that were restored. `values` are those of the place before."""
    turn = values.get("turn")
    saved = f"as saved after turn {turn}" if turn else "those the session began with"
    return f"the files it worked on are gone with their machine; the files here are {saved}"
