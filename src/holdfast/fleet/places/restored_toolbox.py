"""The tools of a session whose calls began on other files: their effects there cannot be checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.tool_calls import FileChange, FileCheck, FileSeen, ProcessId, ToolSchema
from holdfast.tools.tool import Instruction, Tool, Toolbox, Traces


class RestoredToolbox:
    """A toolbox in restored files; a `Toolbox`. It runs calls as usual, and finds no evidence of earlier ones.

    An unchanged hash would mean that an edit never landed, but it may have landed on a disk that is lost. `loss_note`
    says so to the model.
    """

    def __init__(self, toolbox: Toolbox, loss_note: str) -> None:
        self._toolbox = toolbox
        self._loss_note = loss_note

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._toolbox.tools

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Return true: no process of the commands is here."""
        del commands
        return True

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """Return the loss note if any call had begun, "" otherwise."""
        return self._loss_note if calls else ""

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what the next turn declares."""
        return self._toolbox.redeclare(declared)

    def server_reports(self) -> Mapping[str, str]:
        """Return the reports on MCP servers."""
        return self._toolbox.server_reports()

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the present instructions of the workspace."""
        return self._toolbox.instructions()

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        """Return the present state of a file, which is the restored one."""
        return self._toolbox.current_snapshot(snapshot)

    def check_change(self, change: FileChange) -> FileCheck:
        """Return "unreadable": the edited file is on the other machine."""
        del change
        return "unreadable"

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return None: nothing is known about earlier commands."""
        del spool, since
        return None

    def forget(self, spool: str) -> None:
        """Delete what a command left."""
        self._toolbox.forget(spool)

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Delete leftovers, except those of edits, which are not here."""
        del edits
        self._toolbox.sweep({})

    async def close(self) -> None:
        """End all processes of the tools."""
        await self._toolbox.close()


def loss_note(values: Mapping[str, object]) -> str:
    """Return the note for the model about restored files. `values` are those of the previous place."""
    turn = values.get("turn")
    saved = f"as saved after turn {turn}" if turn else "those the session began with"
    return f"the files it worked on are gone with their machine; the files here are {saved}"
