"""The permissions of a session: its mode, and the patterns that the user allowed in the session and its project."""

from __future__ import annotations

import msgspec

from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.seam import PlannedCall
from holdfast.config.project_decisions import Project
from holdfast.errors import HoldfastError, StateError
from holdfast.questions import ALL_ANSWERS, QuestionRules
from holdfast.session.journal.mode_changes import ModeChanged, resumed_mode
from holdfast.tool_calls import Mode, Pattern
from holdfast.tools.approval.decision import Decision, Policy, decide
from holdfast.tools.tool import Plan


class Permissions:
    """The permissions of one session. `mode` may be set at any time, also in a running turn."""

    def __init__(
        self, mode: Mode, journal: JournalWriter, *, project: Project | None, offered: QuestionRules = ALL_ANSWERS
    ) -> None:
        self.mode: Mode = mode
        """The approval mode. A change applies from the next decision on, also in a running turn."""
        self.project = project
        self.offered = offered
        """Which answers a question may offer."""
        self._journal = journal
        self._noticed = False

    def resume(self, *, chosen: bool) -> None:
        """Continue in the session's last mode; with `chosen`, keep the mode of this run."""
        self.mode = resumed_mode(self._journal.conversation.mode, self.mode, chosen=chosen)

    def use(self, mode: Mode) -> None:
        """Use the mode that the user chose, and journal it: a resumed session must not allow more than they did."""
        if mode == self.mode:
            return
        self.mode = mode  # also if it cannot be journalled: it may allow less
        try:
            self._journal.append(ModeChanged(mode=mode))
        except StateError as failed:
            self._journal.not_recorded(failed)

    def policy(self) -> Policy:
        """Return the policy at this moment: what runs without asking."""
        allowed = self._journal.conversation.allowed
        if self.project is None:
            return Policy(self.mode, allowed)
        return Policy(self.mode, (*self.project.patterns, *allowed), self.project.rules)

    def judge(self, planned: PlannedCall) -> Decision:
        """Return whether the rules let a call run, and how it is confined."""
        return decide(planned.plan, self.policy(), tool=planned.tool)

    def allowed_by(self, planned: PlannedCall) -> str:
        """Return what allowed a call that ran without a question."""
        from holdfast.tools.approval.allowed_by import allowed_by

        return allowed_by(planned.plan, self.policy(), tool=planned.tool)

    def with_notice(self, plan: Plan) -> Plan:
        """Return the plan for a question: the first of a run says if commands are not confined, no other does."""
        if self._noticed:
            return msgspec.structs.replace(plan, sandbox_notice="")
        self._noticed = bool(plan.sandbox_notice)
        return plan

    def remember(self, patterns: tuple[Pattern, ...]) -> None:
        """Allow the patterns in the project from now on; they are journalled for the session already."""
        if self.project is not None:
            try:
                for pattern in patterns:
                    self.project.allow(pattern)
            except HoldfastError as failed:
                self._journal.not_recorded(failed)  # it still applies in this session: the answer is journalled
