"""Decides which result answers which call: by id if there is one, else by name and position, nearest first.

A result answers only an earlier call. Two different results of one call never count as one: the first wins, unless a
repair invented it and the other is real.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

import msgspec

from holdfast.history.shape import Item, Message, Shape

Verdict = Literal[
    "ok",  # in the place that its call requires
    "first",  # in the right message, but after other content
    "split",  # in a second message of results
    "displaced",  # other content is between it and the calls
    "late",  # the conversation went on without it
    "duplicate",  # its call has another result
    "made-up",  # a repair invented it, and its call has a real one
    "orphan",  # there is no such call before it
]

_FEW = 8  # up to this many calls, a scan is faster than an index


class PairedResult(msgspec.Struct, gc=False):
    """A result and its relation to its call; `at` is the position of its message."""

    item: Item
    verdict: Verdict
    at: int


class PairedCall(msgspec.Struct, gc=False):
    """A call, its result if any, and an invented result that this one replaces; `at` is its position."""

    item: Item
    at: int
    answer: PairedResult | None = None
    replaced: PairedResult | None = None


class CallStep(msgspec.Struct, gc=False):
    """The calls of one response. `last` is its last message, `tail` the last with results in place.

    `calls` is empty until the next response begins.
    """

    last: int
    tail: int
    calls: tuple[PairedCall, ...] = ()
    clean: bool = True  # only results in their place have followed
    closed: bool = False  # other messages have followed


class _OpenCalls:
    """The calls of the response that is being read, which results look for."""

    def __init__(self) -> None:
        self.calls: list[PairedCall] = []
        self._waiting: dict[tuple[str, str], deque[PairedCall]] | None = None

    def add(self, call: PairedCall) -> None:
        """Add the next call of the response."""
        self.calls.append(call)
        if self._waiting is not None:
            _index(self._waiting, call)

    def first(self, key: tuple[str, str]) -> PairedCall | None:
        """Return the first unanswered call with that id, name (`bare`: and no id), both, or `any`."""
        if len(self.calls) <= _FEW:
            by_id = key[0] == "id"  # almost always
            for call in self.calls:
                if call.answer is None and (call.item.id == key[1] if by_id else key in _keys(call.item)):
                    return call
            return None
        if self._waiting is None:
            self._waiting = {}
            for call in self.calls:
                _index(self._waiting, call)
        waiting = self._waiting.get(key)
        while waiting:
            if waiting[0].answer is None:
                return waiting[0]
            waiting.popleft()
        return None

    def take(self) -> tuple[PairedCall, ...]:
        """Return the calls, and forget them."""
        calls = tuple(self.calls)
        self.calls.clear()
        self._waiting = None
        return calls


def _index(waiting: dict[tuple[str, str], deque[PairedCall]], call: PairedCall) -> None:
    for key in _keys(call.item):
        waiting.setdefault(key, deque()).append(call)


def _keys(item: Item) -> tuple[tuple[str, str], ...]:
    """Return the keys by which a result can find the call."""
    return _key(item), _exact(item), ("name", item.name or ""), ("any", "")


def _key(item: Item) -> tuple[str, str]:
    """Return the key of a call: its id, else its name."""
    return ("bare", item.name or "") if item.id is None else ("id", item.id)


def _exact(item: Item) -> tuple[str, str]:
    """Return what distinguishes calls with the same id."""
    return ("exact", f"{item.id}\0{item.name}")


class Pairing(msgspec.Struct):
    """All steps that have calls, and all results in order, each with its call if there is one."""

    steps: list[CallStep]
    answers: list[tuple[PairedResult, PairedCall | None]]


def pair(shape: Shape, *, stored: bool = True) -> Pairing:
    """Return the calls and the results of a conversation, paired.

    `stored`: the provider keeps items that the conversation only refers to, so a call may be missing here.
    """
    walk = _Walk(shape, stored=stored)
    for at, message in enumerate(shape.messages):
        if message.role == "assistant":
            walk.response(at, message)
        else:
            walk.others(at, message)
    walk.end_step()
    return Pairing(walk.steps, walk.answers)


class _Walk:
    def __init__(self, shape: Shape, *, stored: bool) -> None:
        self._separate_results = shape.grammar.results == "own"
        self._side = shape.grammar.side
        self._atomic = shape.grammar.atomic
        self._joined = shape.joined
        self._stored = stored
        self._continued = stored and shape.continued
        self._elsewhere: set[str] = set()  # ids of answered calls that only the provider stores
        self._known: dict[tuple[str, str], PairedCall] = {}  # the last call of each id, or of each name without an id
        self._step = CallStep(last=-1, tail=-1, closed=True)
        self._open = _OpenCalls()
        self.steps: list[CallStep] = []
        self.answers: list[tuple[PairedResult, PairedCall | None]] = []

    def response(self, at: int, message: Message) -> None:
        """Add a message of the model."""
        if self._step.closed or not (self._atomic or at in self._joined):
            self.end_step()
            self._step = CallStep(last=at, tail=at)
        step = self._step
        step.last = step.tail = at
        for item in message.items:
            if item.kind == "call" and "misplaced" not in item.flags:
                call = PairedCall(item, at)
                self._open.add(call)
                self._known[_key(item)] = call
            elif item.kind == "result":
                self._result(item, at)
            elif "reference" in item.flags:
                self._continued = self._stored

    def end_step(self) -> None:
        """Add the step that was read, if it has calls."""
        if self._open.calls:
            self._step.calls = self._open.take()
            self.steps.append(self._step)

    def others(self, at: int, message: Message) -> None:
        """Add a message of another role."""
        step = self._step
        step.closed = True
        if not message.items:
            step.clean = False
        for item in message.items:
            if item.kind == "result":
                self._result(item, at)
            else:
                step.clean = False

    def _result(self, item: Item, at: int) -> None:
        step = self._step
        call = self._waiting(item)
        if call is not None:
            verdict = self._place_verdict(at) if item.role == self._side else "displaced"
            call.answer = PairedResult(item, verdict, at)
            self.answers.append((call.answer, call))
        else:
            verdict = self._stray(item, at)
        if verdict == "ok" and call is not None:
            step.tail = at
        elif verdict != "split":
            step.clean = False

    def _waiting(self, item: Item) -> PairedCall | None:
        """Return the call of this step that the result answers: by its id (equal ones by name too), else by name."""
        first, name = self._open.first, item.name
        if item.id is not None and (call := first(("id", item.id))):
            return call if name in (None, call.item.name) else first(_exact(item)) or call
        if name is not None:
            return first(("bare", name)) or (first(("name", name)) if item.id is None else None)
        return first(("any", "")) if item.id is None else None

    def _place_verdict(self, at: int) -> Verdict:
        step = self._step
        if self._separate_results:
            return "ok" if step.clean else "displaced"
        if at == step.last + 1:
            return "ok" if step.clean else "first"
        return "split" if step.clean and step.tail > step.last else "displaced"

    def _stray(self, item: Item, at: int) -> Verdict:
        """Add a result that no call of this step waits for."""
        call = self._known.get(_key(item))
        answer = PairedResult(item, "orphan", at)
        self.answers.append((answer, call))
        if call is None:
            if self._continued and item.id is not None:
                answer.verdict = "duplicate" if item.id in self._elsewhere else "ok"
                self._elsewhere.add(item.id)
            return answer.verdict
        earlier = call.answer
        if earlier is None:
            answer.verdict, call.answer = "late", answer
        elif "synthetic" in earlier.item.flags and "synthetic" not in item.flags:
            answer.verdict, call.answer, call.replaced = "late", answer, earlier
            earlier.verdict = "made-up"
        else:
            answer.verdict = "duplicate"
        return answer.verdict
