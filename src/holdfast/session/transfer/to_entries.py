"""Maps a valid pydantic-ai document to the entries of a journal.

`holdfast.history` has read and repaired it: every call has its own id, and one result after it. Two things differ in a
journal. Results come before the prompts that were between a call and its result, and a result that came after the
conversation had continued is a late one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import MappingProxyType

import msgspec

from holdfast.history import Repair
from holdfast.history.edits import Quote
from holdfast.history.formats.format import Json, as_array, as_object, as_text, quoted
from holdfast.history.formats.pydantic_ai.fields import RECORD_KINDS
from holdfast.history.formats.pydantic_ai.messages import FORMAT
from holdfast.history.formats.pydantic_ai.parts import call_part, kind_of, part_role
from holdfast.history.rules.profile import Profile, RuleEvidence
from holdfast.history.shape import NO_RESULT
from holdfast.session.conversation.call_ids import call_id, is_call_id
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.transfer.changes import Changes
from holdfast.session.transfer.imported_parts import model_of, part_text, response_part, result_of, usage_of

_ENFORCED = """
malformed-message unknown-role foreign-content block-misplaced field-mistyped tool-name-illegal call-without-result
result-without-call duplicate-result duplicate-call-id reused-call-id call-id-missing result-id-missing
"""
_INHERENT: RuleEvidence = "inherent"
JOURNAL = Profile(
    name="journal",
    rules=MappingProxyType(dict.fromkeys(_ENFORCED.split(), _INHERENT)),
    name_pattern=re.compile(r".*\S.*", re.DOTALL),
)
"""The rules of a journal. It accepts late results, speakers in any order, and arguments as they were written."""

_CUT = "[Note from holdfast: your response above was cut off where it ends.]"
_UNFINISHED = (
    "[Note from holdfast: this conversation was imported; its record ends here, before the previous turn had ended.]"
)


def entries_of(
    repaired: Repair, original: Sequence[object], changes: Changes, *, ended: e.TurnEnded | None = None
) -> tuple[e.Entry, ...]:
    """Return the entries that follow a `SessionOpened`. Differences from `original` are added to `changes`.

    `ended` is how the last turn ended, if the document says so.
    """
    builder = _Builder(repaired, original, changes)
    for message in map(as_object, repaired.messages):
        if message.get("kind") == "response":
            builder.respond(message)
        else:
            builder.request(message)
    builder.end(ended)
    return tuple(builder.entries)


class _Builder:
    def __init__(self, repaired: Repair, original: Sequence[object], changes: Changes) -> None:
        self.entries: list[e.Entry] = []
        self._changes = changes
        self._places = dict(_places(original))
        self._quotes = tuple(
            {quoted(edit.what, "").rstrip(): None for edit in repaired.edits if isinstance(edit, Quote)}
        )
        self._turn = 0
        self._step = 0
        self._finished = False  # the last response had no calls
        self._call_ids: dict[str, str] = {}  # holdfast's ids of the calls, by the document's
        self._ids: set[str] = set()
        # Since the last response:
        self._open: dict[str, e.CallEnded | None] = {}  # its calls, with the results that came
        self._late: list[e.CallLate] = []
        self._user_texts: list[tuple[bool, str]] = []  # whether it is a prompt, and the text

    def request(self, message: Json) -> None:
        """Add the results, prompts and notes of a request."""
        for part in map(as_object, as_array(message.get("parts"))):
            record = self._recorder(part)
            if part_role(part) == "tool":
                self._result(part, record)
            elif part_role(part) == "user" and kind_of(part) not in RECORD_KINDS:
                text = part_text(part, record)
                if text.strip():
                    self._user_texts.append((not self._is_quote(part), text))
                else:
                    record("an empty prompt was left out.")

    def respond(self, message: Json) -> None:
        """Add a response. Text that a repair quoted in it becomes a note after it."""
        record = self._recorder(message)
        cut = message.get("state") in ("interrupted", "incomplete")
        parts: list[e.Part] = []
        notes: list[tuple[bool, str]] = []
        for raw in _content_parts(message):
            part = response_part(raw, message, self._recorder(raw))
            if isinstance(part, ThinkingPart) and cut:
                record("thinking of a response that was cut off was left out: it is not complete.")
            elif isinstance(part, TextPart) and self._is_quote(raw):
                notes.append((False, part.text))
            else:
                parts.append(part)
        if any(isinstance(each, CallPart) or (isinstance(each, TextPart) and each.text.strip()) for each in parts):
            self._close()
            self._respond(message, parts, record)
            if cut:
                record("the response was cut off; a note tells the model.")
                self.entries.append(e.Repaired(findings=(), note=_CUT))
        elif not notes:
            record("the response had neither text nor calls and was left out.")
        self._user_texts += notes

    def end(self, ended: e.TurnEnded | None) -> None:
        """Close the last turn, as it ended if that is known."""
        self._close()
        if not self._turn:
            return
        if ended is not None:
            self.entries.append(msgspec.structs.replace(ended, turn=self._turn))
        elif self._finished:
            self.entries.append(e.TurnEnded(turn=self._turn, reason="end_turn", cause="finished"))
        else:
            self.entries.append(e.TurnEnded(turn=self._turn, reason="cancelled", cause="import", note=_UNFINISHED))

    def _respond(self, message: Json, parts: Sequence[e.Part], record: Callable[[str], None]) -> None:
        if not self._turn and not self._step:
            record("the record begins with a response; a note tells the model.")
        self._step += 1
        model = model_of(message)
        journal_parts = tuple(self._with_id(part, index) for index, part in enumerate(parts))
        self._open = {part.id: None for part in journal_parts if isinstance(part, CallPart)}
        self._finished = not self._open
        usage, finish = usage_of(message, record), as_text(message.get("finish_reason"))
        self.entries.append(e.RequestStarted(step=self._step, attempt=1, model=model))
        self.entries.append(
            e.ResponseEnded(step=self._step, model=model, parts=journal_parts, usage=usage, finish=finish)
        )

    def _with_id(self, part: e.Part, index: int) -> e.Part:
        """Return the part. A call gets an id of holdfast."""
        if not isinstance(part, CallPart):
            return part
        call = part.id
        if not is_call_id(call) or call in self._ids:
            call = call_id("import", self._step, index, is_taken=self._ids.__contains__)
        self._ids.add(call)
        self._call_ids[part.id] = call
        return msgspec.structs.replace(part, id=call)

    def _result(self, part: Json, record: Callable[[str], None]) -> None:
        call = self._call_ids[as_text(part.get("tool_call_id")) or ""]
        outcome, text = result_of(part, record)
        if call not in self._open:
            record("a result came after later messages; the model reads it as late.")
            self._late.append(e.CallLate(call=call, outcome=outcome, text=text))
            return
        self._open[call] = e.CallEnded(call=call, outcome=outcome, text=text)
        if any(is_prompt for is_prompt, _ in self._user_texts):
            record("a prompt was before a result; results come first now.")

    def _close(self) -> None:
        """Add the entries since the last response: results, late results, then prompts and notes."""
        for call, result in self._open.items():
            self.entries.append(result or e.CallEnded(call=call, outcome="interrupted", text=NO_RESULT))
        self.entries += self._late
        for is_prompt, text in self._user_texts:
            if is_prompt:
                self._prompt(text)
            else:
                self.entries.append(e.Repaired(findings=(), note=text))
        self._open, self._late, self._user_texts = {}, [], []

    def _prompt(self, text: str) -> None:
        if self._finished and self._turn:
            self.entries.append(e.TurnEnded(turn=self._turn, reason="end_turn", cause="finished"))
        self._finished = False
        self._turn += 1
        self.entries.append(e.PromptAccepted(turn=self._turn, text=text))

    def _recorder(self, raw: Json) -> Callable[[str], None]:
        """Return a function that records a change of this message or part."""
        return partial(self._changes.add, self._places.get(id(raw)))

    def _is_quote(self, part: Json) -> bool:
        """Return whether the part is only text that a repair quoted."""
        content = part.get("content")
        texts = [each for each in as_array(content) or (content,) if isinstance(each, str)]
        return id(part) not in self._places and bool(texts) and all(each.startswith(self._quotes) for each in texts)


def _places(original: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield the id() of each message, part and listed call with the index of its message."""
    for at, message in enumerate(map(as_object, original)):
        yield id(message), at
        for part in (*as_array(message.get("parts")), *as_array(message.get("tool_calls"))):
            yield id(part), at


def _content_parts(response: Json) -> Iterator[Json]:
    """Yield the parts of a response with content, and the calls that are only in `tool_calls`."""
    yield from (part for part in map(as_object, as_array(response.get("parts"))) if kind_of(part) not in RECORD_KINDS)
    yield from calls_listed_alone(response)


def calls_listed_alone(response: Json) -> list[Json]:
    """Return the calls of a response that are in its list `tool_calls` and not in its parts, as parts."""
    listed = as_array(response.get("tool_calls"))
    items = FORMAT.message(0, response).items if listed else ()
    return [call_part(as_object(listed[int(item.path[2])])) for item in items if item.path[1:2] == ("tool_calls",)]
