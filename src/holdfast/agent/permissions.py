"""What may run without asking in a session: its mode, and what the user allowed in the session and in its project."""

from __future__ import annotations

from holdfast.agent.journal_writer import JournalWriter
from holdfast.config.project_decisions import Project
from holdfast.errors import HoldfastError
from holdfast.tool_calls import Mode, Pattern
from holdfast.tools.approval import Policy


class Permissions:
    """The permissions of one session. `mode` may be set at any time, also in a running turn."""

    def __init__(self, mode: Mode, journal: JournalWriter, *, project: Project | None) -> None:
        self.mode: Mode = mode
        """The approval mode. A change applies from the next decision on, also in a running turn."""
        self.project = project
        self._journal = journal

    def policy(self) -> Policy:
        """Return what runs without asking at this moment."""
        project = self.project.patterns if self.project is not None else ()
        return Policy(self.mode, (*project, *self._journal.conversation.allowed))

    def remember(self, patterns: tuple[Pattern, ...]) -> None:
        """Allow the patterns in the project from now on; they are journalled for the session already."""
        if self.project is not None:
            try:
                for pattern in patterns:
                    self.project.allow(pattern)
            except HoldfastError as failed:
                self._journal.not_recorded(failed)  # it still applies in this session: the answer is journalled
