"""Journals that an earlier process left: a long one, and those of one that died in the middle of something."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.agent.recovery.settle_tasks import task_ended
from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.tasks import TaskStarted

MODEL = "openai-chat:scripted"


def long_history(turns: int) -> list[Entry]:
    """Return so many turns with a call each, whose results are long enough to be left out one day."""
    entries: list[Entry] = []
    for turn in range(1, turns + 1):
        call = CallPart(id=f"old{turn:06}", name="look", arguments="{}")
        step = 2 * turn - 1
        entries += [
            PromptAccepted(turn=turn, text=f"question {turn}"),
            RequestStarted(step=step, attempt=1, model=MODEL),
            ResponseEnded(step=step, model=MODEL, parts=(call,), usage=Usage(), finish="calls"),
            CallStarted(call=call.id, effect="read"),
            CallEnded(call=call.id, outcome="ok", text=f"result {turn} " * 200),
            RequestStarted(step=step + 1, attempt=1, model=MODEL),
            ResponseEnded(step=step + 1, model=MODEL, parts=(TextPart(f"answer {turn}"),), usage=Usage()),
            TurnEnded(turn=turn, reason="end_turn", cause="finished"),
        ]
    return entries


def left_open() -> list[Entry]:
    """Return the journal of a process that died while two calls of three had begun, and one had finished."""
    calls = [CallPart(id=f"dead0000{index}", name="look", arguments="{}") for index in range(3)]
    return [
        *_called([TextPart("I look."), *calls]),
        CallStarted(call=calls[0].id, effect="read"),
        CallStarted(call=calls[1].id, effect="execute"),
        CallEnded(call=calls[0].id, outcome="ok", text="seen before the crash"),
    ]


def left_asking() -> list[Entry]:
    """Return the journal of a process that died while the user was asked about the second call of three."""
    calls = [CallPart(id=f"dead0000{index}", name="act", arguments=f'{{"of": "{index}"}}') for index in range(3)]
    return [
        *_called(calls),
        CallStarted(call=calls[0].id, effect="execute"),
        ApprovalAsked(call=calls[1].id, question=older_question(calls[1].id, "The call 'act' runs a command.")),
    ]


def left_consulting(name: str, arguments: object) -> list[Entry]:
    """Return the journal of a process that died while a plan or a question of the model was put to the user."""
    call = CallPart(id="dead00000", name=name, arguments=json.dumps(arguments))
    return [*_called([call]), ApprovalAsked(call=call.id, question=older_question(call.id, "It is for you to decide."))]


def left_with_tasks() -> list[Entry]:
    """Return the journal of a process that died with two background tasks: one ran, the end of one was not told yet."""
    calls = [CallPart(id=f"dead0000{index}", name="serve", arguments=f'{{"of": "{index}"}}') for index in range(2)]
    entries = _called(calls)
    for index, call in enumerate(calls):
        entries += [
            CallStarted(call=call.id, effect="execute"),
            TaskStarted(id=f"t{len(entries) + 2}", call=call.id, command=f"serve {index}"),
            CallEnded(call=call.id, outcome="ok", text="Runs as a background task."),
        ]
    first = next(entry for entry in entries if isinstance(entry, TaskStarted))
    return [*entries, task_ended(first, "ok", "served", 1.0)]


def _called(parts: Sequence[TextPart | CallPart]) -> list[Entry]:
    return [
        PromptAccepted(turn=1, text="before the crash"),
        RequestStarted(step=1, attempt=1, model=MODEL),
        ResponseEnded(step=1, model=MODEL, parts=tuple(parts), usage=Usage(), finish="calls"),
    ]
