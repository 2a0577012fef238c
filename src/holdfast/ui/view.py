"""The view: what the driver tells, folded into the blocks a person sees, in order.

One rule: a session read from its journal gives the blocks it gave live, by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from holdfast.agent.events import (
    Event,
    Fact,
    Finding,
    LiveCall,
    LiveOutput,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
)
from holdfast.session.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    Entry,
    ProcessStarted,
    PromptAccepted,
    Queued,
    Recalled,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    Rewound,
    ShellEnded,
    ShellStarted,
    Steered,
    TextPart,
    ThinkingPart,
    TurnEnded,
)
from holdfast.session.words import went_back, what_happened
from holdfast.ui.blocks import (
    Answer,
    Block,
    Call,
    Key,
    Note,
    NoteKind,
    Prompt,
    Thinking,
    call_block,
    ended,
    own_command,
)
from holdfast.ui.column import Column
from holdfast.ui.notes import Noted, failure, notes, turn_end


@dataclass(slots=True)
class _Request:
    """The request whose response is coming: the keys of its blocks in order, and whether they come live."""

    origin: str
    step: int
    keys: list[Key] = field(default_factory=list[Key])
    calls: dict[int, Key] = field(default_factory=dict[int, Key])
    live: bool = False


class View:
    """The blocks of one session, as far as it has been told.

    Laws (`tests/ui/test_view_laws.py`): facts alone give the blocks that facts and live events give, but for the times
    and the calls that were never finished writing, which no journal holds; any prefix of any journal gives blocks.
    """

    def __init__(self) -> None:
        self._column = Column()
        self._calls: dict[str, Key] = {}
        self._open: dict[Key, None] = {}  # what has no end yet
        self._request: _Request | None = None
        self._told = 0
        self._failed = ""  # why the last request that was given up failed, as it is shown

    @property
    def keys(self) -> Sequence[Key]:
        """Return the keys of all blocks, in order; the sequence changes with the view."""
        return self._column.keys

    def block(self, key: Key) -> Block | None:
        """Return the block as it is now, None if there is none; costs what its text is long, so ask once a frame."""
        return self._column.block(key)

    def blocks(self) -> tuple[Block, ...]:
        """Return all blocks, in order."""
        return tuple(block for key in self.keys if (block := self.block(key)) is not None)

    def take(self, event: Event, *, at: float | None = None) -> frozenset[Key]:
        """Fold in an event that came at `at` on the clock of your choice, and return the keys of what changed.

        Without a time nobody is told how long anything has taken so far. A new key is in `keys`; that of a block which
        is gone is not.
        """
        match event:
            case Fact(seq=seq, entry=entry):
                self._fact(str(seq), entry, at)
            case LiveText(step=step, text=text):
                self._thought(at)
                self._stream(self._response(step, live=True), "answer", text, at)
            case LiveThinking(step=step, text=text):
                self._stream(self._response(step, live=True), "thinking", text, at)
            case LiveCall():
                self._thought(at)
                self._write(event)
            case LiveOutput(call=call, text=text):
                self._column.output(self._calls.get(call, ""), text)
            case NotRecorded(message=message) | Finding(message=message) | Shortening(message=message):
                self._told += 1
                self._note(f"told{self._told}", "context" if isinstance(event, Shortening) else "trouble", message)
        return self._column.changes()

    def load(self, facts: Iterable[Event]) -> None:
        """Fold in what a journal holds of a session that nobody runs: what has no end in it is `cut` or `lost`.

        A call that waits for a person still does: whoever goes on with the session is asked.
        """
        for fact in facts:
            self.take(fact)
        unended = self._request
        self._rest(asks=True)
        self._request = unended  # whoever goes on with the session says how it ended, of the same blocks
        for key in self._column.with_output:
            self._end(key)
        self._column.changes()

    def _fact(self, seq: str, entry: Entry, at: float | None) -> None:
        if isinstance(entry, Noted):
            for note in notes(seq, entry):
                self._column.add(note)
            return
        match entry:
            case ShellStarted():  # it runs beside whatever runs: no turn that ends is its end
                key = self._calls[entry.id] = f"{seq}.shell"
                self._column.add(own_command(key, entry, since=at))
                self._column.begin_output(key)
            case ShellEnded():
                self._over(self._called(entry.id, seq), entry)
            case PromptAccepted() | Queued() | Recalled() | Steered() | Rewound():
                self._said(seq, entry)
            case RequestStarted(step=step):
                self._cut_response()
                self._request = _Request(seq, step)
            case RequestFailed():
                self._cut_response()
                self._failed = entry.message if entry.retry_in is None else ""
                self._column.add(failure(seq, entry))
            case ResponseCheckpoint(step=step, text=text, thinking=thinking):
                response = self._response(step, seq)
                if not response.live:  # else it has all been shown
                    self._stream(response, "thinking", thinking, at)
                    if text:
                        self._thought(at)
                    self._stream(response, "answer", text, at)
            case ResponseEnded():
                self._thought(at)
                self._ended(entry, seq)
            case ApprovalAsked() | ApprovalAnswered() | CallStarted() | CallEnded() | CallLate():
                self._call(entry, seq, at)
            case ProcessStarted():
                pass  # what its call says is enough
            case TurnEnded():
                self._rest()
                self._column.add(turn_end(seq, entry, told=self._failed))
            case _:
                assert_never(entry)

    # What a person says.

    def _said(self, seq: str, entry: PromptAccepted | Queued | Recalled | Steered | Rewound) -> None:
        match entry:
            case PromptAccepted():
                self._rest()
                self._column.add(Prompt(key=f"{seq}.prompt", turn=entry.turn, text=entry.text))
            case Steered():
                self._column.add(Prompt(key=f"{seq}.steered", turn=0, text=entry.text))
            case Queued() | Recalled():
                pass  # what waits is in `Conversation.queued`
            case Rewound():
                self._rest()
                self._note(f"{seq}.rewound", "rewound", went_back(entry.turn))

    # What a model says.

    def _response(self, step: int, seq: str = "", *, live: bool = False) -> _Request:
        """Return the request whose response this is part of; what comes for another begins one of its own."""
        if self._request is None or self._request.step != step:
            self._cut_response()
            self._told += 1
            self._request = _Request(seq or f"told{self._told}", step)
        self._request.live = self._request.live or live
        return self._request

    def _stream(self, response: _Request, kind: Literal["thinking", "answer"], text: str, at: float | None) -> None:
        """Add to the one thinking or the one answer that a response has until its end says which parts it was."""
        key = f"{response.origin}.{kind}0"
        self._column.grow(key, text)
        if self._column.peek(key) is None and text.strip():  # an answer of white space is none
            block = (
                Thinking(key=key, text="", live=True, since=at)
                if kind == "thinking"
                else Answer(key=key, text="", state="live")
            )
            at_top = kind == "thinking" and response.keys
            self._column.add(block, before=response.keys[0] if at_top else None)
            response.keys.insert(0 if at_top else len(response.keys), key)
            self._open[key] = None

    def _write(self, event: LiveCall) -> None:
        response = self._response(event.step, live=True)
        key = response.calls.get(event.index)
        if key is None:
            key = response.calls[event.index] = f"{response.origin}.call{len(response.calls)}"
            response.keys.append(key)
            self._column.add(Call(key=key, call="", name="", title="", arguments="", state="writing"))
            self._open[key] = None
        block = self._column.peek(key)
        if isinstance(block, Call) and event.name:
            self._column.set(replace(block, name=block.name + event.name))
        self._column.grow(key, event.arguments)

    def _thought(self, at: float | None) -> None:
        """Take note that the model is past its thinking."""
        block = self._column.peek(f"{self._request.origin}.thinking0") if self._request is not None else None
        if isinstance(block, Thinking) and block.live:
            seconds = None if at is None or block.since is None else at - block.since
            self._column.set(replace(block, live=False, since=None, seconds=seconds))

    def _ended(self, entry: ResponseEnded, seq: str) -> None:
        """Put the parts of the response in the place of what was streamed of it."""
        response = self._response(entry.step, seq)
        thought = self._column.peek(f"{response.origin}.thinking0")
        seconds = thought.seconds if isinstance(thought, Thinking) else None
        blocks: list[Answer | Thinking | Call] = []
        counts = {"answer": 0, "thinking": 0, "call": 0}
        for part in entry.parts:
            kind = "answer" if isinstance(part, TextPart) else "thinking" if isinstance(part, ThinkingPart) else "call"
            key = f"{response.origin}.{kind}{counts[kind]}"
            counts[kind] += 1
            match part:
                case TextPart(text=text):
                    if text.strip():
                        blocks.append(Answer(key=key, text=text, state="done" if entry.cut is None else "cut"))
                case ThinkingPart(text=text):
                    if text.strip():
                        blocks.append(Thinking(key=key, text=text, seconds=seconds))
                        seconds = None
                case CallPart():
                    blocks.append(call_block(part, key, cut=entry.cut is not None))
                    self._calls[part.id] = key
        for key in response.keys:
            self._open.pop(key, None)
        self._column.replace(response.keys, blocks)
        for block in blocks:
            if isinstance(block, Call) and block.state == "ready":
                self._open[block.key] = None
        if entry.cut is not None and not any(isinstance(block, Answer) for block in blocks):  # which says so itself
            self._note(f"{seq}.cut", "cut", f"The response was cut off: {what_happened(entry.cut)}.")
        self._request = None

    def _cut_response(self) -> None:
        """Take note that no more of the response will come."""
        response, self._request = self._request, None
        for key in response.keys if response is not None else ():
            self._end(key)

    # What a call does.

    def _call(
        self, entry: ApprovalAsked | ApprovalAnswered | CallStarted | CallEnded | CallLate, seq: str, at: float | None
    ) -> None:
        call = self._called(entry.call, seq)
        match entry:
            case CallLate():
                how = entry.outcome.replace("_", " ")
                self._note(f"{seq}.late", "late", f"{call.title}: {how}, after its turn had ended", detail=entry.text)
            case CallEnded() if call.seconds is None:  # it has one fate, the first
                self._over(call, entry)
            case ApprovalAsked(why=why) if call.seconds is None:
                self._column.set(replace(call, state="waiting", asked=why))
                self._open[call.key] = None
            case ApprovalAnswered() if call.state in ("waiting", "lost"):
                self._column.set(replace(call, state="ready"))
                self._open[call.key] = None
            case CallStarted(effect=effect) if call.seconds is None:
                self._column.set(replace(call, state="running", effect=effect, since=at))
                self._column.begin_output(call.key)
                self._open[call.key] = None
            case _:
                pass

    def _over(self, call: Call, entry: CallEnded | ShellEnded) -> None:
        self._column.set(ended(call, entry))
        self._column.end_output(call.key)
        self._open.pop(call.key, None)

    def _called(self, call: str, seq: str) -> Call:
        """Return the block of a call; one that the journal does not have gets one here."""
        block = self._column.peek(self._calls.get(call, ""))
        if isinstance(block, Call):
            return block
        title = f"a call that is not in the journal ({call})"
        made = Call(key=f"{seq}.call", call=call, name="", title=title, arguments="", state="lost")
        self._calls[call] = made.key
        self._column.add(made)
        return made

    # What has no end.

    def _rest(self, *, asks: bool = False) -> None:
        """Take note that nothing runs, and unless `asks` that nobody is asked."""
        self._cut_response()
        for key in tuple(self._open):
            block = self._column.peek(key)
            if not (asks and isinstance(block, Call) and block.state == "waiting"):
                self._end(key)

    def _end(self, key: Key) -> None:
        """End a block whose end was not told."""
        self._open.pop(key, None)
        match self.block(key):
            case Answer(state="live") as answer:
                self._column.set(replace(answer, state="cut"))
            case Thinking(live=True) as thinking:
                self._column.set(replace(thinking, live=False, since=None))
            case Call(state="writing") as call:
                self._column.set(replace(call, state="not_started"))
            case Call(state="ready" | "waiting" | "running") as call:
                self._column.set(replace(call, state="lost", since=None))
            case _:
                pass

    def _note(self, key: Key, kind: NoteKind, text: str, detail: str = "") -> None:
        self._column.add(Note(key=key, kind=kind, text=text, detail=detail))
