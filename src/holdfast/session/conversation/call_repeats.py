"""How often the model made the same calls with the same results, one after another. Pure, from the journal alone.

How it works. The calls of the running turn stand in a row, in the order in which the model wrote them, each with its
result once it has one. The end of the row is compared with what stands before it: one call again and again, or a round
of up to four calls. A call whose result is not known yet fits any result, so the row answers two questions: is this
result the third in a row that is the same, and would this call, before it runs, be the sixth?

Why in a row, and not anywhere in the turn: a test that is run again after each edit, or a file that is looked at twice
in a hundred steps, is work. The same call with nothing in between that could change its result is not. Why the result
too: a poll whose answer changes is no loop, however often it is made.

A prompt, a message of the user in the turn, and the user's word that it may go on each begin a new row. Nothing here
is stored but the entries themselves, so a process that resumes the turn counts on where the last one was killed.

Example: `read(a)`, `read(b)`, `read(a)`, `read(b)`, `read(a)`, `read(b)`, each file with the same content every time,
is a round of two calls, three times. The last result says so to the model.

Laws (`tests/session/conversation/test_call_repeats_laws.py`): it takes any entries; a row that is cut anywhere and read
again counts the same; a result that differs from the one before begins to count from one.
"""

from __future__ import annotations

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Image

LONGEST_ROUND = 4
"""Calls of the longest round that is looked for."""

TOLD, REFUSED, ENDED = 3, 6, 9
"""At which time in a row the model reads it, the call is not run, and the turn ends, or the user is asked."""

_KEPT = LONGEST_ROUND * ENDED
"""Calls before the last response that are kept: the longest round, as often as it takes to end a turn."""

_LONGEST_ARGUMENTS = 100_000
"""Characters of arguments that are compared by their meaning. Longer ones are compared as they were written."""

CallKey = tuple[str, str]
"""What a call asks for: its name, and its arguments without what does not matter in JSON."""

_Result = tuple[str, str, tuple[Image, ...]]


class Repetition(msgspec.Struct, frozen=True):
    """The end of the row is a round of `calls` calls, `times` times. `returned` is the last known result, or ""."""

    times: int
    calls: int
    returned: str = ""


class _RowCall(msgspec.Struct):
    """A call of the row. `result` is None while it is not known; a call that did not run again has the one before."""

    key: CallKey
    result: _Result | None = None
    counts: bool = True


class CallRepeats:
    """The row of calls of the running turn, entry by entry."""

    def __init__(self) -> None:
        self._row: list[_RowCall] = []
        self._places: dict[str, int] = {}  # of the calls of the last response
        self._loop_questions: set[str] = set()  # calls about which the user is asked whether the loop may go on

    def add(self, entry: e.Entry) -> None:
        """Take one more entry of the journal."""
        match entry:
            case e.PromptAccepted() | e.Steered():
                self._row.clear()
                self._places.clear()
                self._loop_questions.clear()
            case e.ResponseEnded(cut=None, parts=parts):
                self._respond(tuple(part for part in parts if isinstance(part, CallPart)))
            case e.ApprovalAsked(repeats=repeats, call=call) if repeats:
                self._loop_questions.add(call)
            case e.ApprovalAnswered(allowed=True, call=call) if call in self._loop_questions:
                self._forget_before(call)
            case e.CallEnded(call=call) if call in self._places:
                self._end(entry, self._row[self._places[call]])
            case _:
                pass

    def place(self, call: str) -> int:
        """Return the place of a call in its response, from 1; 0 if it is not of the last response."""
        return self._places[call] - min(self._places.values()) + 1 if call in self._places else 0

    def of(self, call: str) -> Repetition:
        """Return how often the round that ends with this call has come, if its result is that of the last time."""
        return self._repetition(call, None)

    def with_result(self, call: str, outcome: str, text: str, images: tuple[Image, ...]) -> Repetition:
        """Return how often the round that ends with this call has come, with this result."""
        return self._repetition(call, (outcome, text, images))

    def _respond(self, calls: tuple[CallPart, ...]) -> None:
        self._row = [row_call for row_call in self._row if row_call.counts][-_KEPT:]
        self._places = {}
        for part in calls:
            self._places[part.id] = len(self._row)
            self._row.append(_RowCall(call_key(part)))

    def _forget_before(self, call: str) -> None:
        self._loop_questions.discard(call)
        for row_call in self._row[: self._places.get(call, 0)]:
            row_call.counts = False

    def _end(self, entry: e.CallEnded, row_call: _RowCall) -> None:
        if entry.same_as:
            row_call.counts = False
        elif not entry.repeats:
            row_call.result = entry.outcome, entry.text, entry.images
        elif entry.outcome != "not_started":  # told: the last line is holdfast's
            row_call.result = entry.outcome, entry.text.rpartition("\n")[0], entry.images

    def _repetition(self, call: str, result: _Result | None) -> Repetition:
        place = self._places.get(call)
        if place is None:
            return Repetition(0, 1)
        row = [_RowCall(self._row[place].key, result)]
        for row_call in reversed(self._row[:place]):
            if row_call.counts:
                row.append(row_call)
            if len(row) > _KEPT:
                break
        times, calls = max((_times(row, calls), -calls) for calls in range(1, LONGEST_ROUND + 1))
        known = (
            row_call.result[1] for row_call in row[1:] if row_call.key == row[0].key and row_call.result is not None
        )
        return Repetition(times, -calls, next(known, ""))


def call_key(part: CallPart) -> CallKey:
    """Return what the call asks for; two calls with the same key ask for the same."""
    try:
        if len(part.arguments) > _LONGEST_ARGUMENTS:
            return part.name, part.arguments
        return part.name, msgspec.json.encode(msgspec.json.decode(part.arguments), order="sorted").decode()
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return part.name, part.arguments.strip()


def _times(row: list[_RowCall], calls: int) -> int:
    """Return how often a round of so many calls stands at the end of the row, which is given from its end."""
    keys: list[CallKey] = []
    results: list[_Result | None] = [None] * calls
    length = 0
    for place, row_call in enumerate(row):
        seat = place % calls
        if place < calls:
            keys.append(row_call.key)
        elif row_call.key != keys[seat]:
            break
        if row_call.result is not None:
            if results[seat] is not None and results[seat] != row_call.result:
                break
            results[seat] = row_call.result
        length += 1
    return length // calls
