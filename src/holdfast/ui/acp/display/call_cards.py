"""A tool call as the client shows it: its kind, its files, what it changes, and how it ended. Pure.

The protocol has two final states, `completed` and `failed`; holdfast has five outcomes. Every outcome but `ok` is
`failed` there, and the content says which it was: denied, not started, or interrupted with an unknown effect.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.text import literal, printable
from holdfast.tool_calls import FileChange, Outcome
from holdfast.tools.tool import Plan
from holdfast.typed_data import decode_json
from holdfast.ui.view.blocks import CallBlock, call_block, with_outcome
from holdfast.ui.view.declared_arguments import declared_arguments
from holdfast.ui.view.edit_changes import EditChange

AcpFields = dict[str, object]
"""An object of the protocol."""

LARGEST_SHOWN = 1024 * 1024
"""Maximum characters of a change that is shown; a larger one is only described."""

LONGEST_RAW = 20_000
"""Characters shown of arguments that are larger than that."""

_KINDS = {
    "read": "read",
    "grep": "search",
    "glob": "search",
    "edit": "edit",
    "write": "edit",
    "apply_patch": "edit",
    "bash": "execute",
    "fetch": "fetch",
    "present_plan": "switch_mode",
    "todo": "think",
}

_VERBATIM_TOOLS = ("bash", "read", "grep", "glob", "task")
"""Tools whose results are not Markdown, and are shown in a code block."""

_PROGRESS = {"open": "pending", "doing": "in_progress", "done": "completed"}

OUTCOMES: dict[Outcome, str] = {
    "ok": "completed",
    "failed": "failed",
    "denied": "failed",
    "not_started": "failed",
    "interrupted": "failed",
}
"""The status of a call with this outcome."""

_OUTCOME_LABELS: dict[Outcome, str] = {
    "denied": "Denied.",
    "not_started": "Not started.",
    "interrupted": "Interrupted.",
}


class CallCard:
    """One call. Its methods return the updates to show, in the order in which a call goes through them."""

    def __init__(self, part: CallPart, root: Path, *, longest: int) -> None:
        self.block: CallBlock = call_block(part, part.id, cut=False)
        self._part = part
        self._root = root
        self._longest = longest
        self._shows_change = False

    def created_update(self) -> AcpFields:
        """Return the call as the model wrote it."""
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": self._part.id,
            "title": self.title,
            "kind": _KINDS.get(self._part.name, "other"),
            "status": "pending",
            "locations": self._locations(),
            "rawInput": raw_input(self._part),
        }

    @property
    def title(self) -> str:
        return literal(self.block.title) or self._part.name

    def approval_update(self, plan: Plan, warnings: tuple[str, ...]) -> AcpFields:
        """Return the call with the details that the user needs to approve it."""
        content: list[AcpFields] = []
        if warnings:
            content.append(text_content(f"Attention: {'; '.join(warnings)}."))
        if plan.asks_level == "outside":
            content.append(text_content(f"Outside the sandbox. The model says why: {printable(plan.leaves)}"))
        if plan.presents:
            content.append(text_content(printable(plan.detail)))
        elif changes := self._changes(plan.changes):
            content += changes
        elif plan.command:
            content.append(text_content(code_block(literal(plan.command))))
        elif plan.detail:
            content.append(text_content(code_block(literal(plan.detail))))
        return {
            "toolCallId": self._part.id,
            "title": literal(plan.title) or self.title,
            "kind": _KINDS.get(self._part.name, "other"),
            "status": "pending",
            "content": content,
            "locations": self._locations(),
            "rawInput": raw_input(self._part),
        }

    def started_update(self, entry: e.CallStarted) -> AcpFields:
        """Return the update that the call runs, with the change that it makes."""
        update = self._update("in_progress")
        if entry.confined:
            update["_meta"] = {"holdfast/confined": entry.confined}
        changed = [each.path for each in entry.changes]
        if changed:
            update["locations"] = [{"path": str(self._root / path)} for path in changed]
        if changes := self._changes(entry.changes):
            self._shows_change = True
            update["content"] = changes
        return update

    def output_update(self, output: str) -> AcpFields:
        """Return the update with the end of the running call's output."""
        return {**self._update("in_progress"), "content": [text_content(code_block(printable(output)))]}

    def finished_update(self, entry: e.CallEnded) -> AcpFields:
        """Return the update with the call's outcome. A change that was made stays on display."""
        self.block = with_outcome(self.block, entry)
        update = self._update(OUTCOMES[entry.outcome])
        if not (self._shows_change and entry.outcome == "ok"):
            update["content"] = [text_content(self._result(entry.outcome, entry.text))]
        return update

    def late_update(self, entry: e.CallLate) -> AcpFields:
        """Return the update with an outcome that came after the end of the turn."""
        result = self._result(entry.outcome, entry.text)
        return {
            **self._update(OUTCOMES[entry.outcome]),
            "content": [text_content(f"After the end of the turn:\n{result}")],
        }

    def plan_update(self) -> AcpFields | None:
        """Return the to-do list that the call wrote, None for another call."""
        if not self.block.todo:
            return None
        entries = [
            {"content": printable(each.text), "priority": "medium", "status": _PROGRESS[each.state]}
            for each in self.block.todo
        ]
        return {"sessionUpdate": "plan", "entries": entries}

    def _update(self, status: str) -> AcpFields:
        return {"sessionUpdate": "tool_call_update", "toolCallId": self._part.id, "status": status}

    def _result(self, outcome: Outcome, text: str) -> str:
        shown = head_and_tail(printable(text), self._longest)
        label = _OUTCOME_LABELS.get(outcome, "")
        if label and text.startswith(label.removesuffix(".")):
            label = ""
        body = code_block(shown) if self._part.name in _VERBATIM_TOOLS and shown.strip() else shown
        return "\n\n".join(filter(None, (label, body)))

    def _locations(self) -> list[AcpFields]:
        paths = [edit.path for edit in self.block.edits] or [_path_of(self._part)]
        if self._part.name not in ("read", "edit", "write", "apply_patch", "grep", "glob"):
            return []
        return [{"path": str(self._root / path)} for path in paths if path]

    def _changes(self, planned: tuple[FileChange, ...]) -> list[AcpFields]:
        """Return the changes of the call that can be shown."""
        edits = self.block.edits
        if sum(len(edit.new) + len(edit.old or "") for edit in edits) > LARGEST_SHOWN:
            return [text_content("The change is too large to be shown here.")]
        exists = len(planned) == 1 and planned[0].before is not None
        if len(edits) == 1 and edits[0].old is None and exists:
            return [text_content(f"The whole file is replaced by:\n{code_block(printable(edits[0].new))}")]
        return [_diff(edit, self._root) for edit in edits]


def _diff(edit: EditChange, root: Path) -> AcpFields:
    old = None if edit.old is None else printable(edit.old)
    return {"type": "diff", "path": str(root / edit.path), "oldText": old, "newText": printable(edit.new)}


def raw_input(part: CallPart) -> object:
    """Return the arguments as JSON, or as the model's text if it is not JSON or too large to be shown."""
    if len(part.arguments) > LARGEST_SHOWN:
        return {"text": head_and_tail(part.arguments, LONGEST_RAW)}
    try:
        decoded: object = msgspec.json.decode(part.arguments or "{}")
        msgspec.json.encode(decoded)  # what cannot be written again must not break the connection
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError, OverflowError):
        return {"text": part.arguments}
    return decoded


class _Path(msgspec.Struct, frozen=True):
    path: str = ""


def _path_of(part: CallPart) -> str:
    try:
        return decode_json(declared_arguments(part), _Path).path
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""


def text_content(text: str) -> AcpFields:
    """Return text as the content of a call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def code_block(text: str) -> str:
    """Return the text as a code block, with a fence that the text cannot close."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{ticks}"


def head_and_tail(text: str, longest: int) -> str:
    """Return the text, or its head and its tail if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters …]\n{text[-half:]}"
