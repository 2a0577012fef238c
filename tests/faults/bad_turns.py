"""Turns that are wrong in the usual ways, over the same store, model and tools: what the harness must find.

Two rules. Each is what a careful person would write first. None is used for anything but being found out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from left_behind import MODEL
from scenario_runner import Play

from holdfast.agent.agent import Agent
from holdfast.agent.cancellation import StopSignal
from holdfast.agent.events import Event, Fact
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.tool_runner import Calls
from holdfast.agent.turn.turn import Turn
from holdfast.providers.model import Model, StreamFinished
from holdfast.questions import ApprovalAnswer
from holdfast.session import model_notices
from holdfast.session.conversation.call_ids import call_id
from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    CallEnded,
    CallStarted,
    Entry,
    ModeChanged,
    Part,
    PromptAccepted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.tasks import TaskEnded
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


class AppendsAsItGoes:
    """Journals each fact when it happens, in the task that a stop cancels."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._task: asyncio.Task[object] | None = None
        self._model: Model | None = None

    async def run(self, prompt: str) -> None:
        """Run one turn."""
        self._task = asyncio.current_task()
        try:
            turn = fold(self._entries).turns + 1
            self._append(PromptAccepted(turn=turn, text=prompt))
            while calls := await self._response():
                outputs = await asyncio.gather(*(self._call(call) for call in calls))
                for call, output in zip(calls, outputs, strict=True):
                    self._append(CallEnded(call=call.id, outcome="ok", text=output.text))
            self._append(TurnEnded(turn=turn, reason="end_turn", cause="finished"))
            self._save()
        finally:
            self._task = None

    def stop(self) -> None:
        """Cancel the turn."""
        if self._task is not None:
            self._task.cancel()

    async def _response(self) -> list[CallPart]:
        self._model = self._model or await self._play.connect(MODEL)
        conversation = fold(self._entries)
        parts: Sequence[Part] = ()
        async with self._model.stream(conversation) as events:
            async for event in events:
                if isinstance(event, StreamFinished):
                    parts = event.parts
        step = conversation.steps + len(conversation.messages)
        response_parts = tuple(
            msgspec.structs.replace(part, id=call_id("bad", step, index, is_taken=lambda _: False))
            if isinstance(part, CallPart)
            else part
            for index, part in enumerate(parts)
        )
        self._append(ResponseEnded(step=step, model=MODEL, parts=response_parts, usage=Usage()))
        return [part for part in response_parts if isinstance(part, CallPart)]

    async def _call(self, call: CallPart) -> ToolOutput:
        plan = self._play.toolbox.tools[call.name].plan(call.id, call.arguments)
        self._append(CallStarted(call=call.id, effect=plan.effect))
        return await plan.run(ToolContext(call=call.id, stop=asyncio.Event(), emit=lambda _: None))

    @property
    def _entries(self) -> list[Entry]:
        return self._play.entries

    def _append(self, entry: Entry) -> None:
        self._play.witness.append([entry], expected=self._play.store.length)

    def _save(self) -> None:
        """Do nothing: it is journalled."""


class SavesAtTheEnd(AppendsAsItGoes):
    """Keeps the turn in memory, and saves it when it is over."""

    def __init__(self, play: Play) -> None:
        super().__init__(play)
        self._unsaved: list[Entry] = []

    @property
    def _entries(self) -> list[Entry]:
        return [*self._play.entries, *self._unsaved]

    def _append(self, entry: Entry) -> None:
        self._unsaved.append(entry)

    def _save(self) -> None:
        unsaved, self._unsaved = self._unsaved, []
        self._play.witness.append(unsaved, expected=self._play.store.length)


class TidiesUp(AppendsAsItGoes):
    """Journals as it goes; when it is cancelled it settles what is open, in a clean-up that can be cancelled."""

    async def run(self, prompt: str) -> None:
        """Run one turn."""
        try:
            await super().run(prompt)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)  # to close this and that
            conversation = fold(self._entries)
            for call in conversation.open_calls:
                self._append(CallEnded(call=call.part.id, outcome="not_started", text="Cancelled."))
            if conversation.open_turn is not None:
                self._append(TurnEnded(turn=conversation.open_turn, reason="cancelled", cause="user"))
            raise


class TellsFirst(AppendsAsItGoes):
    """Shows what happens at once, and journals it right after."""

    def _append(self, entry: Entry) -> None:
        self._play.witness.told(Fact(self._play.store.length + 1, entry))
        super()._append(entry)


class ActsFirst(AppendsAsItGoes):
    """Journals that a call started as soon as it has."""

    async def _call(self, call: CallPart) -> ToolOutput:
        plan = self._play.toolbox.tools[call.name].plan(call.id, call.arguments)
        output = await plan.run(ToolContext(call=call.id, stop=asyncio.Event(), emit=lambda _: None))
        self._append(CallStarted(call=call.id, effect=plan.effect))
        return output


def agent_that_emits_first(play: Play) -> Agent:
    """Return the agent, which says of each entry that it is in the journal right before it is."""
    agent = play.agent()
    journal = agent.journal
    append, emit = journal.append, journal._emit

    def quiet(event: Event) -> None:
        if not isinstance(event, Fact):
            emit(event)

    def tells_first(*entries: Entry) -> None:
        for seq, entry in enumerate(entries, start=journal._length + 1):
            emit(Fact(seq, entry))
        journal._emit = quiet
        append(*entries)
        journal._emit = emit

    journal.append = tells_first
    return agent


def agent_that_runs_questions(play: Play) -> Agent:
    """Return the agent, which gives a question its answer first, and its outcome when that was looked at."""

    def change(calls: Calls) -> None:
        async def ask_model_question(call: OpenCall, plan: Plan, why: str) -> None:
            answer = await calls._ask_user(call, plan, why)
            call_id = call.part.id
            entry = ApprovalAnswered(call=call_id, allowed=answer.allowed, words=answer.reason, chosen=answer.chosen)
            play_journal.append(entry)
            calls._to(Signal.ANSWER)
            await calls._stop.race(asyncio.sleep(0.1))
            text = model_notices.question_answered(answer.chosen, answer.reason)
            play_journal.append(CallEnded(call=call_id, outcome="ok" if answer.allowed else "denied", text=text))

        calls._ask_model_question = ask_model_question

    agent = _with_calls(play, change)
    play_journal = agent.journal
    return agent


def agent_that_takes_silence_for_consent(play: Play) -> Agent:
    """Return the agent, which takes the first option of a question that the user does not answer for an hour."""

    def change(calls: Calls) -> None:
        ask_user = calls._ask_user

        async def impatient(call: OpenCall, plan: Plan, why: str) -> ApprovalAnswer:
            try:
                return await asyncio.wait_for(ask_user(call, plan, why), 3600)
            except TimeoutError:
                assert plan.question is not None
                return ApprovalAnswer(allowed=True, chosen=(plan.question.options[0].label,))

        calls._ask_user = impatient

    return _with_calls(play, change)


def agent_that_approves_plans_first(play: Play) -> Agent:
    """Return the agent, which changes the mode of an approved plan, and then journals that."""
    return _without(play, ModeChanged, later=True)


def agent_that_forgets_tasks(play: Play) -> Agent:
    """Return the agent, which takes the end of a background task for its own affair."""
    return _without(play, TaskEnded, later=False)


def _with_calls(play: Play, change: Callable[[Calls], None]) -> Agent:
    """Return the agent, the calls of whose turns are changed."""
    agent = play.agent()
    next_turn = agent._next_turn

    def changed(stop: StopSignal) -> Turn:
        turn = next_turn(stop)
        change(turn._calls)
        return turn

    agent._next_turn = changed
    return agent


def _without(play: Play, kind: type[Entry], *, later: bool) -> Agent:
    """Return the agent, which appends entries of one kind by themselves, `later` than the rest, or never."""
    agent = play.agent()
    append = agent.journal.append

    def parted(*entries: Entry) -> None:
        append(*(entry for entry in entries if not isinstance(entry, kind)))
        for entry in entries:
            if later and isinstance(entry, kind):
                append(entry)

    agent.journal.append = parted
    return agent
