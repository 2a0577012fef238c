"""The calls that a run denied, and the option that would have allowed each."""

from __future__ import annotations

import shlex

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.model_notices import ONLY_USER_DECIDES
from holdfast.tools.approval.decision import NOT_CONFINED_HERE
from holdfast.tools.permission_rules.permission_rule import rule_for
from holdfast.ui.view.sentences import call_line


class DeniedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that did not run because it was not allowed.

    `reason` is the text that the model read. `option` is the command-line option that would have allowed the call, ""
    if there is none, as in plan mode, or if only the user can decide.
    """

    call: CallPart
    reason: str
    option: str

    @property
    def line(self) -> str:
        """Return the call as one line, with the option."""
        return call_line(self.call) + (f" (allow it with {self.option})" if self.option else "")


class DeniedCalls:
    """Collects the denied calls from the entries of a run, one by one."""

    def __init__(self) -> None:
        self._calls: dict[str, CallPart] = {}
        self._approvals: dict[str, e.ApprovalAsked] = {}
        self._found: list[DeniedCall] = []

    def add(self, entry: e.Entry) -> None:
        """Add an entry of the run. A new prompt starts a new list."""
        match entry:
            case e.PromptAccepted():
                self._found.clear()
            case e.ResponseEnded(parts=parts):
                self._calls = {part.id: part for part in parts if isinstance(part, CallPart)}
            case e.ApprovalAsked(call=call):
                self._approvals[call] = entry
            case e.ApprovalAnswered(call=call):
                self._approvals.pop(call, None)
            case e.CallEnded(outcome="denied", call=call, text=text) if call in self._calls:
                approval = self._approvals.get(call)
                option = "" if approval is None or text in ONLY_USER_DECIDES else option_for(approval)
                self._found.append(DeniedCall(call=self._calls[call], reason=text, option=option))
            case _:
                pass

    @property
    def found(self) -> tuple[DeniedCall, ...]:
        """Return the calls that were denied since the last prompt, in order."""
        return tuple(self._found)


def option_for(approval: e.ApprovalAsked) -> str:
    """Return the command-line option, quoted for a shell, that allows the call without asking."""
    patterns = approval.question.patterns
    is_helped = NOT_CONFINED_HERE not in approval.question.why  # by accepted edits
    if patterns and is_helped and all(pattern.effect == "write" for pattern in patterns):
        return "--permission-mode accept-edits"
    return " ".join(f"--allow {shlex.quote(rule_for(pattern))}" for pattern in patterns) or "-y"


def allow_advice(approval: e.ApprovalAsked | None) -> str:
    """Return the advice how to allow the call, as a sentence without a full stop."""
    option = "-y" if approval is None else option_for(approval)
    return "Use -y, which runs everything" if option == "-y" else f"Use {option}, or -y, which runs everything"
