"""The turn table, the causes and the words for them: complete, and consistent with each other."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from holdfast.agent.model_request.retry import retry_delay
from holdfast.agent.recovery.settle import Evidence, settle
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.states import TRANSITIONS, Signal, State, cause_after, step
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.model import ModelFinish
from holdfast.session import model_notices
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Cause,
    Entry,
    PromptAccepted,
    ResponseEnded,
    StopReason,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.tool_calls import FileChange, FileCheck
from holdfast.tools.tool import ToolOutput, Traces
from journals import journals
from laws import law

CAUSES = get_args(Cause)


def test_every_state_can_be_left_and_every_signal_is_used() -> None:
    for state in State:
        assert state is State.SETTLING or TRANSITIONS[state, Signal.LEAVE] is State.SETTLING
    assert TRANSITIONS[State.SETTLING, Signal.SETTLED] is State.IDLE
    assert {signal for _, signal in TRANSITIONS} == set(Signal)


def test_every_state_is_reachable_and_reaches_idle() -> None:
    reachable = {State.IDLE}
    for _ in State:
        reachable |= {after for (before, _), after in TRANSITIONS.items() if before in reachable}
    assert reachable == set(State)
    assert {state for (state, signal) in TRANSITIONS if signal is Signal.SETTLED} == {State.SETTLING}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("signal", Signal)
def test_what_the_table_does_not_hold_is_a_bug(state: State, signal: Signal) -> None:
    if (state, signal) in TRANSITIONS:
        assert step(state, signal) is TRANSITIONS[state, signal]
    else:
        with pytest.raises(AssertionError, match=signal.value):
            step(state, signal)


def test_every_cause_has_its_reason_and_its_words() -> None:
    assert set(model_notices.REASONS) == set(model_notices.CLAUSES) == set(CAUSES)
    assert set(model_notices.REASONS.values()) == set(get_args(StopReason))
    clauses = list(model_notices.CLAUSES.values())
    assert len(set(clauses)) == len(clauses), "two causes are told in the same words"


@pytest.mark.parametrize("cause", CAUSES)
def test_only_a_timeout_is_reported_as_one_and_only_the_users_stop_as_theirs(cause: Cause) -> None:
    notices = model_notices.interrupted(cause) + model_notices.not_started(cause) + model_notices.turn_note(cause, "")
    assert ("time limit" in notices) == (cause == "timeout")
    assert ("the user stopped" in notices) == (cause == "user")


@pytest.mark.parametrize("finish", get_args(ModelFinish))
def test_calls_run_only_after_a_response_that_ended_well(finish: ModelFinish) -> None:
    after = cause_after(finish, calls=2)
    assert (after is None) == (finish in ("stop", "calls"))
    assert cause_after(finish, calls=0) is not None


@law()
@given(journals)
def test_settling_leaves_nothing_open_and_settling_twice_adds_nothing(journal: list[Entry]) -> None:
    folded = Fold(journal)
    for entry in settle(folded.conversation(), StopCause("crash")):
        folded.add(entry)
    after = folded.conversation()
    assert (after.open_calls, after.open_turn, after.streaming) == ((), None, None)
    assert settle(after, StopCause("crash")) == ()


@law()
@given(journals)
def test_settling_gives_each_open_call_exactly_one_outcome(journal: list[Entry]) -> None:
    before = fold(journal)
    ended = [entry.call for entry in settle(before, StopCause("user")) if isinstance(entry, CallEnded)]
    assert ended == [call.part.id for call in before.open_calls]


CALL = CallPart(id="A", name="edit", arguments="{}")
BEGUN: list[Entry] = [
    PromptAccepted(turn=1, text="go"),
    ResponseEnded(step=1, model="m:m", parts=(CALL,), usage=Usage()),
]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("after", "had landed all the same"),
        ("before", "did not land"),
        ("other", "neither its earlier nor the intended"),
        ("unreadable", "could not be read"),
    ],
)
def test_an_interrupted_edit_says_what_was_found(check: FileCheck, message: str) -> None:
    change = FileChange(path="app.py", before="0" * 64, after="1" * 64)
    conversation = fold([*BEGUN, CallStarted(call="A", effect="write", changes=(change,))])
    ended = settle(conversation, StopCause("crash"), known=Evidence(file_checks={"A": (("app.py", check),)}))[0]
    assert isinstance(ended, CallEnded)
    assert ended.outcome == "interrupted"
    assert message in ended.text
    assert "app.py" in ended.text


def test_an_interrupted_command_says_that_its_effect_is_unknown_and_what_it_printed() -> None:
    conversation = fold([*BEGUN, CallStarted(call="A", effect="execute", spool="A.out")])
    left = Traces(output=ToolOutput(text="compiling…", interrupted=True), seconds=9)
    ended = settle(conversation, StopCause("user"), known=Evidence(traces={"A": left}, seconds={"A": 2.5}))[0]
    assert isinstance(ended, CallEnded)
    assert "Effect unknown" in ended.text
    assert ended.text.endswith("compiling…")
    assert ended.seconds == 2.5


@pytest.mark.parametrize("ok", [True, False])
def test_a_command_that_ended_after_the_crash_has_its_own_outcome(*, ok: bool) -> None:
    conversation = fold([*BEGUN, CallStarted(call="A", effect="execute", spool="A.out")])
    left = Traces(output=ToolOutput(text="all of it\n(exit code …)", ok=ok), seconds=9)
    ended = settle(conversation, StopCause("crash"), known=Evidence(traces={"A": left}))[0]
    assert isinstance(ended, CallEnded)
    assert (ended.outcome, ended.seconds) == ("ok" if ok else "failed", 9)
    assert ended.text.startswith("all of it\n(exit code …)\n[Note from holdfast: holdfast's process ended")


@pytest.mark.parametrize("fault", get_args(ProviderFault))
def test_what_was_shown_is_never_sent_again(fault: ProviderFault) -> None:
    failed = ProviderFailed("It failed. Try again.", fault=fault)
    if fault == "empty":  # nothing of an answer was shown: see test_empty_answers.py
        assert [retry_delay(failed, 1, limits=Limits(), shown=True, empty=each) for each in (1, 2)] == [0.0, None]
        return
    assert retry_delay(failed, 1, limits=Limits(), shown=True) is None
    assert (retry_delay(failed, 1, limits=Limits(), shown=False) is not None) == failed.retryable


def test_backing_off_doubles_up_to_its_limit_and_obeys_the_provider() -> None:
    limits = Limits(attempts=9, backoff=1, longest_backoff=5)
    failed = ProviderFailed("Busy. Wait.", fault="overloaded")
    assert [retry_delay(failed, attempt, limits=limits, shown=False) for attempt in range(1, 6)] == [1, 2, 4, 5, 5]
    busy = ProviderFailed("Busy. Wait.", fault="rate_limited", retry_after=3)
    assert retry_delay(busy, 1, limits=limits, shown=False) == 3
