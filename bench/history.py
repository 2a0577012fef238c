"""Conversations to measure with: turn after turn the same, two calls and an answer, as long as is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage

MODEL = "openai-chat:m"
RESULT = "A line of a file that was read. " * 100

_OPENED = SessionOpened(session="bench", cwd="/", model=MODEL, system="SYSTEM", tools=(), version="0")
_USAGE = Usage(input_tokens=1000, output_tokens=50, cost="0.001")
_ENTRIES_OF_A_TURN = 10
_MESSAGES_OF_A_TURN = 4


def journal_of(entries: int) -> tuple[Entry, ...]:
    """Return a journal of exactly so many entries; its last turn may be open."""
    return (_OPENED, *islice(_turns(), entries - 1))


def conversation(messages: int) -> tuple[Entry, ...]:
    """Return the journal of a conversation of so many messages, an even number, with no turn open."""
    full, rest = divmod(messages, _MESSAGES_OF_A_TURN)
    if rest:
        ended = TurnEnded(turn=1, reason="end_turn", cause="finished")
        short = (PromptAccepted(turn=1, text="Hello."), *_answer(1), ended)
        return (_OPENED, *short, *islice(_turns(1), full * _ENTRIES_OF_A_TURN))
    return (_OPENED, *islice(_turns(), full * _ENTRIES_OF_A_TURN))


def _turns(before: int = 0) -> Iterator[Entry]:
    """Yield the entries of one turn after another, the first being number `before` + 1."""
    for number in count(1):
        turn, step = before + number, before + 2 * number - 1
        calls = (f"a{turn:08}", f"b{turn:08}")
        yield PromptAccepted(turn=turn, text="What is in this file?")
        yield RequestStarted(step=step, attempt=1, model=MODEL)
        parts = tuple(CallPart(id=call, name="read", arguments='{"path": "notes.txt"}') for call in calls)
        yield ResponseEnded(step=step, model=MODEL, parts=parts, usage=_USAGE, finish="calls")
        for call in calls:
            yield CallStarted(call=call, effect="read")
        for call in calls:
            yield CallEnded(call=call, outcome="ok", text=RESULT, seconds=0.01)
        yield from _answer(step + 1)
        yield TurnEnded(turn=turn, reason="end_turn", cause="finished")


def _answer(step: int) -> Iterator[Entry]:
    yield RequestStarted(step=step, attempt=1, model=MODEL)
    yield ResponseEnded(step=step, model=MODEL, parts=(TextPart("It is a list."),), usage=_USAGE, finish="stop")
