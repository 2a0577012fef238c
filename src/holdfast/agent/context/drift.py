"""What changed outside the conversation: files that the model saw, the session's folder, its instructions, its tools.

Looked for before each prompt, and the folder and the servers behind each call (`after_call`). What was said is not said
again: it counts as said once it is journalled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from holdfast.agent.context.changed_files import changed_files, files_seen
from holdfast.agent.context.system_prompt import instruction_block, nested_note
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.seam import InstructionSource
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal import entries as e
from holdfast.session.model_notices import folder_gone_note
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import FileSeen
from holdfast.tools.tool import FolderToolbox, NestedInstructions, Toolbox


class Drift:
    """What changed outside the conversation of one session."""

    def __init__(self, journal: JournalWriter, toolbox: Toolbox, instructions: Sequence[InstructionSource]) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._instructions = instructions

    @property
    def _program(self) -> str:
        return self._journal.fold.program

    def files(self) -> Awaitable[tuple[e.FilesChanged | e.FolderGone, ...]]:
        """Look in a thread, and return an entry if files have changed, or the folder does not exist any more."""
        seen = files_seen(self._journal.fold)
        return in_daemon(lambda: self._look(seen))

    def _look(self, seen: Mapping[str, tuple[FileSeen, ...]]) -> tuple[e.FilesChanged | e.FolderGone, ...]:
        """Return an entry for changed files; without their folder that they are deleted says nothing."""
        folder = self._missing_folder()
        return (
            self._folder_gone(folder)
            if folder
            else changed_files(seen, self._toolbox, self._instructions, program=self._program)
        )

    def _missing_folder(self) -> str:
        folder = self._toolbox.missing_folder() if isinstance(self._toolbox, FolderToolbox) else ""
        if not folder:
            self._journal.folder_gone = ""
        return folder

    def _folder_gone(self, folder: str) -> tuple[e.FolderGone, ...]:
        """Return an entry if the session's folder does not exist any more, unless the last one said so."""
        is_news = bool(folder) and folder != self._journal.folder_gone
        return (e.FolderGone(folder=folder, note=folder_gone_note(folder, program=self._program)),) if is_news else ()

    def folder_after_call(self, ended: e.CallEnded) -> Awaitable[tuple[e.FolderGone, ...]] | None:
        """Say behind a call that failed if the reason may be that the folder is gone."""
        if ended.outcome != "failed" or not isinstance(self._toolbox, FolderToolbox):
            return None
        return self._say_folder()

    async def _say_folder(self) -> tuple[e.FolderGone, ...]:
        return self._folder_gone(await in_daemon(self._missing_folder))

    def nested_after_call(self, ended: e.CallEnded) -> Awaitable[tuple[e.FilesChanged, ...]] | None:
        """Give, behind a call that read or changed files, the instructions for them that the model does not see yet."""
        if not ended.snapshots or not isinstance(self._toolbox, NestedInstructions):
            return None
        return self._nested(self._toolbox, tuple(each.path for each in ended.snapshots))

    async def _nested(self, toolbox: NestedInstructions, paths: tuple[str, ...]) -> tuple[e.FilesChanged, ...]:
        found = await in_daemon(lambda: toolbox.nested_instructions(paths))
        if not found:
            return ()
        opened = self._journal.conversation.opened
        texts = [opened.facts, opened.system] if opened is not None else []
        texts += [
            text for each in self._journal.conversation.messages if isinstance(each, UserMessage) for text in each.texts
        ]
        news = tuple(
            each
            for each in found
            if each.snapshot.path not in paths and not any(instruction_block(each) in text for text in texts)
        )
        if not news:
            return ()
        note = nested_note(news, program=self._program)
        return (e.FilesChanged(files=tuple(each.snapshot for each in news), note=note),)

    def servers_after_call(self, _: e.CallEnded) -> Awaitable[tuple[e.ServerFailed, ...]] | None:
        """Say behind a call which servers have failed. The user reads it; the model has the call's result."""
        failed = self._server_failures(noted=False)
        return _server_entries(failed) if failed else None

    def _server_failures(self, *, noted: bool) -> tuple[e.ServerFailed, ...]:
        """Return entries for MCP servers that failed and are not in the journal yet, `noted` for the model."""
        reports = self._toolbox.server_reports()
        if not any(reports.values()):
            return ()
        from holdfast.agent.server_notices import failures

        opened = self._journal.conversation.opened
        declared = () if opened is None else opened.tools
        return tuple(failures(self._journal.failed_servers, reports, declared, noted=noted, program=self._program))

    def tools(self) -> tuple[e.ServerFailed | e.ToolsChanged, ...]:
        """Return entries for servers that failed, and for tools that changed or can be called again."""
        opened = self._journal.conversation.opened
        declared = () if opened is None else opened.tools
        failed, notes = self._server_failures(noted=True), self._recovered()
        now = self._toolbox.redeclare(declared)
        if opened is None or (now == declared and not notes):
            return failed
        from holdfast.agent.server_notices import change_note

        note = "\n".join(filter(None, (*notes, change_note(declared, now, program=self._program))))
        return (*failed, e.ToolsChanged(tools=now, note=note))

    def _recovered(self) -> tuple[str, ...]:
        """Return a note about servers that work again, and forget that their failure was reported."""
        reported = self._journal.failed_servers
        if not reported:
            return ()
        from holdfast.agent.server_notices import recovered, recovery_note

        back = recovered(reported, self._toolbox.server_reports())
        for server in back:
            del reported[server]
        return (recovery_note(back, program=self._program),) if back else ()


async def _server_entries(failed: tuple[e.ServerFailed, ...]) -> tuple[e.ServerFailed, ...]:
    return failed
