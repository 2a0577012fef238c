"""Imported items as journal entries that fold to a valid conversation: each call one result, each result one call.

Two rules. Which result answers which call is decided by `history.pairing`, as for checks and repairs. Every text and
every result survives, at worst quoted in a note; but not what a repair made up, where there is better.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.history import shape
from holdfast.history.pairing import Answer, Call, pair
from holdfast.history.shape import NO_FLAGS, NO_RESULT, Flag, Grammar, Path, Shape
from holdfast.session.entries import (
    CallEnded,
    CallLate,
    CallPart,
    Entry,
    Part,
    PromptAccepted,
    Repaired,
    RequestStarted,
    ResponseEnded,
    TextPart,
    TurnEnded,
)
from holdfast.session.ids import call_id, is_call_id
from holdfast.session.items import Answered, Changes, Item, Noted, Said, Wrote

_CUT = "[Note from holdfast: your response above was cut off where it ends.]"
_UNFINISHED = (
    "[Note from holdfast: this conversation was imported; its record ends here, before the previous turn had ended.]"
)


def mend(items: Sequence[Item], changes: Changes, *, ended: TurnEnded | None = None) -> tuple[Entry, ...]:
    """Return the entries that follow a `SessionOpened`; what had to be mended is added to `changes`.

    `ended` is how the last turn ended, if the document says it.
    """
    mending = _Mending(items, changes)
    for place, item in enumerate(items):
        match item:
            case Wrote() if _says_something(item):
                mending.heard(place)
                mending.wrote(place, item)
            case Wrote():
                changes.add(item.at, "the response had neither text nor calls and was left out.")
            case _:
                pass  # heard before the next response
    mending.heard(len(items))
    mending.end(ended)
    return tuple(mending.entries)


class _Mending:
    def __init__(self, items: Sequence[Item], changes: Changes) -> None:
        self.entries: list[Entry] = []
        self._items = items
        self._changes = changes
        self._turn = 0
        self._step = 0
        self._last = -1  # the place of the last response
        self._finished = False  # the last thing was a response that asks for nothing
        self._ids: set[str] = set()
        self._own: dict[Path, str] = {}  # the same, by the places of their calls
        told = _shape(items)
        pairing = pair(told)
        self._calls = {told.messages[step.last].index: step.calls for step in pairing.steps}
        self._untold = {answer.item.message: (answer, call) for answer, call in pairing.answers}

    def wrote(self, place: int, item: Wrote) -> None:
        """Add a response."""
        if not self._turn and not self._step:
            self._changes.add(item.at, "the record begins with a response; the model is told so.")
        self._step += 1
        self._last = place
        parts = tuple(self._owned(part, index, item.at) for index, part in enumerate(item.parts))
        self.entries.append(RequestStarted(step=self._step, attempt=1, model=item.model))
        self.entries.append(
            ResponseEnded(step=self._step, model=item.model, parts=parts, usage=item.usage, finish=item.finish)
        )
        if item.was_cut:
            self._changes.add(item.at, "the response was cut off; the model is told so.")
            self.entries.append(Repaired(findings=(), note=_CUT))
        self._finished = place not in self._calls

    def heard(self, end: int) -> None:
        """Add what stands between the last response and `end`: results, what is told of others, then prompts."""
        places = range(self._last + 1, end)
        said = [place for place in places if isinstance(self._items[place], Said)]
        if said and any(place in self._untold for place in range(said[0], end)):
            self._changes.add(self._items[said[0]].at, "a prompt stood before a result; results come first now.")
        for call in self._calls.get(self._last, ()):
            self._settle(call, end)
        for place in places:
            if place in self._untold:
                self._stray(*self._untold[place])
        for place in places:
            match self._items[place]:
                case Said(text=text):
                    self._prompt(text)
                case Noted(text=text):
                    self.entries.append(Repaired(findings=(), note=text))
                case _:
                    pass  # told; and a session has its own system prompt

    def end(self, ended: TurnEnded | None) -> None:
        """Close the last turn: as it ended, if that is known."""
        if not self._turn:
            return
        if ended is not None:
            self.entries.append(msgspec.structs.replace(ended, turn=self._turn))
        elif self._finished:
            self.entries.append(TurnEnded(turn=self._turn, reason="end_turn", cause="finished"))
        else:
            self.entries.append(TurnEnded(turn=self._turn, reason="cancelled", cause="import", note=_UNFINISHED))

    def _owned(self, part: Part, index: int, at: int) -> Part:
        """Return the part; a call under an id of ours."""
        if not isinstance(part, CallPart):
            return part
        own = part.id
        if not is_call_id(own) or own in self._ids:
            if own in self._ids or not own:
                self._changes.add(at, "a call had no id, or one that an earlier call had; it has one of its own now.")
            own = call_id("import", self._step, index, taken=self._ids.__contains__)
        self._ids.add(own)
        self._own[self._last, index] = own
        return msgspec.structs.replace(part, id=own)

    def _settle(self, call: Call, end: int) -> None:
        """Journal the one result of a call: of those before `end` the real one."""
        own = self._own[call.item.path]
        for answer in (call.answer, call.replaced):
            if answer is not None and answer.item.message < end:
                del self._untold[answer.item.message]
                result = self._result(answer)
                self.entries.append(CallEnded(call=own, outcome=result.outcome, text=result.text))
                return
        self._changes.add(self._items[call.item.message].at, f"a call had no result; the model is told: {NO_RESULT}")
        self.entries.append(CallEnded(call=own, outcome="interrupted", text=NO_RESULT))

    def _stray(self, answer: Answer, call: Call | None) -> None:
        """Tell of a result that no call of the last response has use for."""
        stray = self._result(answer)
        if call is None or call.answer is None:
            self._changes.add(stray.at, "a result without its call is quoted in a note.")
            self._quote(f"a result of {stray.name} whose call is not in the imported record", stray.text)
        elif answer.verdict == "made-up":
            self._changes.add(stray.at, "a made-up result gave way to the real one.")
        elif stray.synthetic:
            self._changes.add(stray.at, "a made-up result of a call that has a real one was left out.")
        elif answer.verdict == "late":
            self._changes.add(stray.at, "a result came after the conversation had gone on; it is told as late.")
            self.entries.append(CallLate(call=self._own[call.item.path], outcome=stray.outcome, text=stray.text))
        elif self._result(call.answer).text == stray.text:
            self._changes.add(stray.at, "a result that was recorded twice counts once.")
        else:
            self._changes.add(stray.at, "a second, different result of one call is quoted in a note.")
            self._quote(f"a further result of the earlier call of {stray.name}", stray.text)

    def _result(self, answer: Answer) -> Answered:
        result = self._items[answer.item.message]
        assert isinstance(result, Answered)
        return result

    def _quote(self, what: str, text: str) -> None:
        self.entries.append(Repaired(findings=(), note=f"[Note from holdfast: {what}:\n{text}]"))

    def _prompt(self, text: str) -> None:
        if self._finished and self._turn:
            self.entries.append(TurnEnded(turn=self._turn, reason="end_turn", cause="finished"))
        self._finished = False
        self._turn += 1
        self.entries.append(PromptAccepted(turn=self._turn, text=text))


def _shape(items: Sequence[Item]) -> Shape:
    """Return the responses with their calls, and the results, as messages with their places in `items`."""
    messages: list[shape.Message] = []
    for place, item in enumerate(items):
        match item:
            case Wrote() if _says_something(item):
                calls = tuple(
                    shape.Item("call", "assistant", (place, index), part.id or None, part.name)
                    for index, part in enumerate(item.parts)
                    if isinstance(part, CallPart)
                )
                messages.append(shape.Message(place, "assistant", calls))
            case Answered():
                flags: frozenset[Flag] = frozenset({"synthetic"}) if item.synthetic else NO_FLAGS
                result = shape.Item("result", "tool", (place,), item.id or None, item.name, flags)
                messages.append(shape.Message(place, "tool", (result,)))
            case _:
                pass  # a prompt parts no call from its result
    return Shape("imported", Grammar(results="own"), tuple(messages))


def _says_something(item: Wrote) -> bool:
    """Return whether the response has a call, or a text that is not blank."""
    return any(
        isinstance(part, CallPart) or (isinstance(part, TextPart) and bool(part.text.strip())) for part in item.parts
    )
