"""Imported items as journal entries that fold to a valid conversation: each call one result, each result one call.

Two rules. Which result answers which call is decided by position: the calls of the response before it come first, so
that ids may be used twice. Every text and every result survives, at worst quoted in a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from holdfast.history.shape import NO_RESULT
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
from holdfast.session.items import Answered, Changes, Instructed, Item, Noted, Said, Wrote

_CUT = "[Note from holdfast: your response above was cut off where it ends.]"
_UNFINISHED = (
    "[Note from holdfast: this conversation was imported; its record ends here, before the previous turn had ended.]"
)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call under its id of ours; `key` pairs it with results, `answer` is what the record answers it with."""

    at: int
    key: str
    part: CallPart
    answer: Answered | None = None


def mend(items: Iterable[Item], changes: Changes, *, ended: TurnEnded | None = None) -> tuple[Entry, ...]:
    """Return the entries that follow a `SessionOpened`; what had to be mended is added to `changes`.

    `ended` is how the last turn ended, if the document says it.
    """
    mending = _Mending(changes)
    between: list[Said | Noted | Answered] = []
    for item in items:
        match item:
            case Wrote() if not any(_says_something(part) for part in item.parts):
                changes.add(item.at, "the response had neither text nor calls and was left out.")
            case Wrote():
                mending.heard(between)
                mending.wrote(item)
                between = []
            case Instructed():
                pass  # a session has its own system prompt
            case _:
                between.append(item)
    mending.heard(between)
    mending.end(ended)
    return tuple(mending.entries)


class _Mending:
    def __init__(self, changes: Changes) -> None:
        self.entries: list[Entry] = []
        self._changes = changes
        self._turn = 0
        self._step = 0
        self._finished = False  # the last thing was a response that asks for nothing
        self._ids: set[str] = set()
        self._calls: list[_Call] = []  # of the last response, in order
        self._waiting: dict[str, list[int]] = {}  # those without an answer, by the document's id for them
        self._answered: dict[str, int] = {}  # the last one with an answer, by the same
        self._past: dict[str, _Call] = {}  # every settled call, the last one of each id

    def wrote(self, item: Wrote) -> None:
        """Add a response."""
        if not self._turn and not self._step:
            self._changes.add(item.at, "the record begins with a response; the model is told so.")
        self._step += 1
        parts = tuple(self._own(part, index, item.at) for index, part in enumerate(item.parts))
        self.entries.append(RequestStarted(step=self._step, attempt=1, model=item.model))
        self.entries.append(
            ResponseEnded(step=self._step, model=item.model, parts=parts, usage=item.usage, finish=item.finish)
        )
        if item.was_cut:
            self._changes.add(item.at, "the response was cut off; the model is told so.")
            self.entries.append(Repaired(findings=(), note=_CUT))
        self._finished = not self._calls

    def heard(self, items: list[Said | Noted | Answered]) -> None:
        """Add what stands between two responses: results first, then what is told of others, then prompts."""
        strays = [item for item in items if isinstance(item, Answered) and not self._assign(item)]
        said = [index for index, item in enumerate(items) if isinstance(item, Said)]
        results = [index for index, item in enumerate(items) if isinstance(item, Answered)]
        if said and results and said[0] < results[-1]:
            self._changes.add(items[0].at, "a prompt stood before a result; results come first now.")
        self._settle()
        for stray in strays:
            self._stray(stray)
        for item in items:
            match item:
                case Said():
                    self._prompt(item.text)
                case Noted():
                    self.entries.append(Repaired(findings=(), note=item.text))
                case Answered():
                    pass

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

    def _own(self, part: Part, index: int, at: int) -> Part:
        """Return the part; a call under an id of ours, waiting for its answer."""
        if not isinstance(part, CallPart):
            return part
        own = part.id
        if not is_call_id(own) or own in self._ids:
            if own in self._ids or not own:
                self._changes.add(at, "a call had no id, or one that an earlier call had; it has one of its own now.")
            own = call_id("import", self._step, index, taken=self._ids.__contains__)
        self._ids.add(own)
        call = msgspec.structs.replace(part, id=own)
        key = _key(part.id, part.name)
        self._waiting.setdefault(key, []).append(len(self._calls))
        self._calls.append(_Call(at, key, call))
        return call

    def _assign(self, answer: Answered) -> bool:
        """Give the answer to a call of the last response; return whether one had use for it."""
        key = _key(answer.id, answer.name)
        if waiting := self._waiting.get(key):
            named = (place for place in waiting if self._calls[place].part.name == answer.name)
            place = next(named, waiting[0])
            waiting.remove(place)
        elif (last := self._answered.get(key)) is not None and self._beats(answer, self._calls[last].answer):
            place = last
        else:
            return False
        self._answered[key] = place
        self._calls[place] = replace(self._calls[place], answer=answer)
        return True

    def _beats(self, answer: Answered, earlier: Answered | None) -> bool:
        """Return whether `answer` is real and the earlier one was made up by a repair."""
        if earlier is None or not earlier.synthetic or answer.synthetic:
            return False
        self._changes.add(earlier.at, "a made-up result gave way to the real one.")
        return True

    def _settle(self) -> None:
        """Journal one result for every call of the last response."""
        for call in self._calls:
            answer = call.answer
            if answer is None:
                self._changes.add(call.at, f"a call had no result; the model is told: {NO_RESULT}")
                self.entries.append(CallEnded(call=call.part.id, outcome="interrupted", text=NO_RESULT))
            else:
                self.entries.append(CallEnded(call=call.part.id, outcome=answer.outcome, text=answer.text))
            self._past[call.key] = call
        self._calls.clear()
        self._waiting.clear()
        self._answered.clear()

    def _stray(self, stray: Answered) -> None:
        """Tell of a result that no call of the last response has use for."""
        call = self._past.get(stray.id) if stray.id else None
        if call is None:
            self._changes.add(stray.at, "a result without its call is quoted in a note.")
            self._quote(f"a result of {stray.name} whose call is not in the imported record", stray.text)
        elif stray.synthetic:
            self._changes.add(stray.at, "a made-up result of a call that has a real one was left out.")
        elif call.answer is None or call.answer.synthetic:
            self._changes.add(stray.at, "a result came after the conversation had gone on; it is told as late.")
            self.entries.append(CallLate(call=call.part.id, outcome=stray.outcome, text=stray.text))
            self._past[call.key] = replace(call, answer=stray)
        elif call.answer.text == stray.text:
            self._changes.add(stray.at, "a result that was recorded twice counts once.")
        else:
            self._changes.add(stray.at, "a second, different result of one call is quoted in a note.")
            self._quote(f"a further result of the earlier call of {stray.name}", stray.text)

    def _quote(self, what: str, text: str) -> None:
        self.entries.append(Repaired(findings=(), note=f"[Note from holdfast: {what}:\n{text}]"))

    def _prompt(self, text: str) -> None:
        if self._finished and self._turn:
            self.entries.append(TurnEnded(turn=self._turn, reason="end_turn", cause="finished"))
        self._finished = False
        self._turn += 1
        self.entries.append(PromptAccepted(turn=self._turn, text=text))


def _key(call: str, name: str) -> str:
    """Return what pairs a call with its result: the id or, if there is none, the name."""
    return call or f"\0{name}"


def _says_something(part: Part) -> bool:
    return isinstance(part, CallPart) or (isinstance(part, TextPart) and bool(part.text.strip()))
