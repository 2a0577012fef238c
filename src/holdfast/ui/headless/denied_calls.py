"""The calls that a run denied, and the option that would have allowed each."""

from __future__ import annotations

import shlex

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.model_notices import ONLY_USER_DECIDES
from holdfast.tools.permission_rules.permission_rule import rule_for
from holdfast.ui.view.sentences import call_line


class DeniedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that did not run because it was not allowed.

    `reason` is what the model read, `option` what would have allowed it on the command line: "" if nothing, as in plan
    mode, or for what only a user can decide.
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
        self._asked: dict[str, e.ApprovalAsked] = {}
        self._found: list[DeniedCall] = []

    def add(self, entry: e.Entry) -> None:
        """Note what the entry says of a call. A new prompt begins a new list."""
        match entry:
            case e.PromptAccepted():
                self._found.clear()
            case e.ResponseEnded(parts=parts):
                self._calls = {part.id: part for part in parts if isinstance(part, CallPart)}
            case e.ApprovalAsked(call=call):
                self._asked[call] = entry
            case e.ApprovalAnswered(call=call):
                self._asked.pop(call, None)
            case e.CallEnded(outcome="denied", call=call, text=text) if call in self._calls:
                asked = self._asked.get(call)
                option = "" if asked is None or text in ONLY_USER_DECIDES else option_for(asked)
                self._found.append(DeniedCall(call=self._calls[call], reason=text, option=option))
            case _:
                pass

    @property
    def found(self) -> tuple[DeniedCall, ...]:
        """Return the calls that were denied since the last prompt, in their order."""
        return tuple(self._found)


def option_for(asked: e.ApprovalAsked) -> str:
    """Return the option of the command line that allows the call without asking, as a shell reads it."""
    patterns = asked.patterns if asked.pattern is None else (asked.pattern, *asked.patterns)
    if patterns and all(pattern.effect == "write" for pattern in patterns):
        return "--permission-mode accept-edits"
    return " ".join(f"--allow {shlex.quote(rule_for(pattern))}" for pattern in patterns) or "-y"


def allowing(asked: e.ApprovalAsked | None) -> str:
    """Return what to do to have the call run, as a sentence without a full stop."""
    option = "-y" if asked is None else option_for(asked)
    return "Use -y, which runs everything" if option == "-y" else f"Use {option}, or -y, which runs everything"
