"""A session as messages for the page: its blocks as HTML, and its status.

The messages:

- `reset`: forget all blocks; `order`: these are all blocks, forget others;
- `set`: the block `key` is now `html`, placed before the block `before` if it is new; `drop`: delete these blocks;
- `status`: title, model, mode, tokens, cost, the open question, the queued messages.

A connection begins with the full transcript, or, if the client has seen it up to a position, with the order of its
blocks and those that are not finished. Live text changes blocks without a position: a client that reconnects gets their
journalled text.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.errors import ToolFailed
from holdfast.questions import EDITS, NO, Question, QuestionRules
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.store import StoredEntry
from holdfast.text import literal
from holdfast.tool_calls import Mode
from holdfast.tools.approval.question import PLAN_CHOICES, question_of_the_model
from holdfast.typed_data import decode_json
from holdfast.ui.export.block_html import block_html
from holdfast.ui.service.event_stream import ServerEvent
from holdfast.ui.view.blocks import AnswerBlock, Block, CallBlock, Note, Thinking, TurnEnd, UserBlock
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name
from holdfast.ui.view.session_costs import Spending
from holdfast.ui.view.view import View


def page_question(part: CallPart, entry: e.ApprovalAsked, *, mode: Mode, rules: QuestionRules) -> Question:
    """Return the question about a call, with signs that reorder text or are invisible written out."""
    question = question_of_entry(part, entry, mode=mode, rules=rules)
    choices = tuple(
        msgspec.structs.replace(
            each,
            label=literal(each.label),
            subject=literal(each.subject),
            option=literal(each.option),
            note=literal(each.note),
        )
        for each in question.choices
    )
    return msgspec.structs.replace(
        question,
        text=literal(question.text),
        why=literal(question.why),
        warnings=tuple(map(literal, question.warnings)),
        title=literal(question.title),
        detail=literal(question.detail),
        choices=choices,
    )


def question_of_entry(part: CallPart, entry: e.ApprovalAsked, *, mode: Mode, rules: QuestionRules) -> Question:
    """Return the question of the entry. That of an older journal is built from its call, as well as one can.

    The next process that drives the session asks the older one again, with all that belongs to it.
    """
    question = entry.question
    if question.id:
        return question
    call, name = part.id, declared_name(part)
    change = msgspec.structs.replace
    if name == "present_plan":
        return change(question, id=call, text="Carry out this plan?", why="", choices=PLAN_CHOICES)
    if name == "ask_user":
        return change(_of_the_model(part), id=call, call=call)
    choices = [each for each in question.choices if rules.allow(each)]
    if mode == "ask" and question.patterns and all(each.effect == "write" for each in question.patterns):
        choices.insert(choices.index(NO), EDITS)
    return change(
        question,
        id=call,
        text="Run this command?" if name == "bash" else question.text,
        warnings=(entry.notice,) if entry.notice else (),
        detail=_whole_call(part),
        choices=tuple(choices),
    )


def _whole_call(part: CallPart) -> str:
    """Return all of a command, or the call with all of its arguments: a user sees what an answer allows."""
    arguments = declared_arguments(part)
    try:
        fields = decode_json(arguments, dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # invalid arguments: shown as they are
        fields = {}
    command = fields.pop("command", None)
    if not isinstance(command, str):
        return f"{part.name} {arguments}"
    return "\n".join((command, *([msgspec.json.encode(fields).decode()] if fields else [])))


def _of_the_model(part: CallPart) -> Question:
    from holdfast.tools.builtin.ask_user import AskUserTool

    try:
        plan = AskUserTool().plan(part.id, declared_arguments(part))
    except ToolFailed:
        return Question(text="The model asks:", choices=())
    if plan.question is None:
        return Question(text="The model asks:", choices=())
    return msgspec.structs.replace(question_of_the_model(plan.question, detail=plan.detail), detail=plan.detail)


# --- page blocks ---

_LIVE_EVERY = 0.1
"""Seconds between two messages with live text: each redraws the full block."""
_REST = 4
"""A redraw is followed by so many times its duration for all else that the server does."""
LONGEST_LIVE_BLOCK = 16_384
"""Characters of a text shown while it is written: all of it would be parsed and sent ten times a second."""


class PageDialect:
    """Translates entries and live events to messages for the page.

    `before` are the entries so far; the client has those up to `seen`. With `project`, an answer may be remembered for
    the folder.
    """

    def __init__(self, before: Sequence[StoredEntry], *, seen: int, project: bool) -> None:
        self._rules = QuestionRules(project=project)
        self._view = View()
        self._fold = Fold(())
        self._costs = Spending()
        self._status: dict[str, object] = {}
        self._shown: set[str] = set()
        self._pending: set[str] = set()  # blocks with live text that is not sent yet
        self._next_draw = 0.0
        old = [each for each in before if each.seq <= seen]
        for record in old:
            self._take(record)
            self._view.take(Fact(record.seq, record.entry))
        known = set(self._view.keys) if seen else set[str]()
        changed: set[str] = {each.key for each in self._view.blocks() if _is_open(each)}
        for record in before[len(old) :]:
            self._take(record)
            changed |= self._view.take(Fact(record.seq, record.entry))
        if seen:
            first: list[dict[str, object]] = [{"type": "order", "keys": list(self._view.keys)}]
            self._shown = known & set(self._view.keys)
            first += self._sets(changed | (set(self._view.keys) - known))
        else:
            first = [{"type": "reset"}, *self._sets(set(self._view.keys))]
        first += self._changed_status()
        self.first = [ServerEvent(msgspec.json.encode(each)) for each in first]
        """The first messages of the connection."""

    def of(self, item: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the messages for an entry or a live event."""
        messages: list[dict[str, object]]
        if isinstance(item, StoredEntry):
            self._take(item)
            messages = self._sets(self._view.take(Fact(item.seq, item.entry)) | self._pending)
            self._pending = set()
            messages += self._changed_status() or [self._status]
        else:
            self._pending |= self._view.take(item)
            if (began := time.monotonic()) < self._next_draw:
                return []
            messages = self._sets(self._pending)
            self._pending = set()
            self._next_draw = began + max(_LIVE_EVERY, (1 + _REST) * (time.monotonic() - began))
        return [ServerEvent(msgspec.json.encode(each)) for each in messages]

    def _take(self, record: StoredEntry) -> None:
        self._fold.add(record.entry)
        self._costs.take(record.entry)

    def _sets(self, changed: Iterable[str]) -> list[dict[str, object]]:
        """Return the messages that show these blocks, last first: a new one is placed before its successor."""
        keys = list(self._view.keys)
        deleted = sorted(self._shown - set(keys))
        found: list[dict[str, object]] = [{"type": "drop", "keys": deleted}] if deleted else []
        self._shown -= set(deleted)
        changed_keys = set(changed)
        after = ""
        placed: list[dict[str, object]] = []
        for key in reversed(keys):
            block = self._view.block(key) if key in changed_keys else None
            if block is not None and (html := block_html(_shown(block))):
                message: dict[str, object] = {"type": "set", "key": key, "label": _label(block), "html": html}
                placed.append({**message, "before": after} if after else message)
                self._shown.add(key)
            if key in self._shown:
                after = key
        return [*found, *placed]

    def _changed_status(self) -> list[dict[str, object]]:
        now = self._fold.conversation()
        usage = self._costs.total()
        mode = now.mode or "ask"
        question: Question | None = None
        for call in now.open_calls:
            if (
                call.approval_request is not None
                and call.approval_answer is None
                and call.started is None
                and now.open_turn is not None
            ):
                question = page_question(call.part, call.approval_request, mode=mode, rules=self._rules)
                break
        status: dict[str, object] = {
            "type": "status",
            "title": now.title,
            "model": now.chosen_model,
            "mode": mode,
            "tokens": usage.input_tokens + usage.output_tokens,
            "cost": usage.cost or "",
            "asks": question,
            "queued": [{"id": each.message.id, "text": each.message.text, "held": each.on_hold} for each in now.queued],
        }
        if status == self._status:
            return []
        self._status = status
        return [status]


def _shown(block: Block) -> Block:
    """Return the block, of a long text that is still written only the end."""
    if not isinstance(block, AnswerBlock | Thinking) or not _is_open(block) or len(block.text) <= LONGEST_LIVE_BLOCK:
        return block
    before = len(block.text) - LONGEST_LIVE_BLOCK
    note = f"[… {before:,} characters before these are shown when it is complete …]"
    return msgspec.structs.replace(block, text=f"{note}\n\n{block.text[before:]}")


def _is_open(block: Block) -> bool:
    match block:
        case AnswerBlock(state=state):
            return state == "live"
        case Thinking(live=live):
            return live
        case CallBlock(state=state):
            return state in {"writing", "ready", "waiting", "running"}
        case _:
            return False


def _label(block: Block) -> str:
    """Return the block's label for screen readers."""
    match block:
        case UserBlock(turn=turn):
            return f"Prompt of turn {turn}" if turn else "Message during the turn"
        case AnswerBlock(state=state):
            return "Answer" if state == "done" else f"Answer, {'being written' if state == 'live' else 'cut off'}"
        case Thinking():
            return "Thinking"
        case CallBlock(name=name, state=state):
            return f"Call {name}, {state.replace('_', ' ')}"
        case Note():
            return "Note"
        case TurnEnd():
            return "End of the turn"
