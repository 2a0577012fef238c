"""A call is recorded before it runs and when it has ended; a known one is not run again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import CallRepeated, StateError, ToolFailed, UsageError
from holdfast.history import NO_RESULT
from holdfast.ledger import Ledger

UNKNOWN = "Effect unknown: it may have done all, part or none of its work. Check before you run it again."


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "calls.db")


def run(ledger: Ledger, call: str, value: object, **more: Any) -> object:
    """Run a call that returns `value`, unless it ran before."""
    with ledger.call(call, "tool", {"a": 1}, **more) as entered:
        if not entered.done:
            entered.result = value
    return entered.result


def interrupt(ledger: Ledger, call: str, **more: Any) -> None:
    """Begin a call in a process that ends in the middle of it."""
    if (child := os.fork()) == 0:
        with ledger.call(call, "tool", {"a": 1}, **more):
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.mark.parametrize(
    "value", ["text", "", None, 3, 2.5, True, [1, {"k": [None]}], {"a": {"b": "c"}}, "\u00e4 \U0001f600"]
)
def test_a_call_that_has_ended_has_its_result_and_is_not_run(ledger: Ledger, value: object) -> None:
    assert run(ledger, "c1", value) == value
    assert run(ledger, "c1", "another run") == value
    assert ledger.outcomes(["c1"])["c1"].outcome == "ok"


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (SimpleNamespace(a=1), "namespace(a=1)"),
        ((1, 2), "(1, 2)"),
        ({1: 2}, "{1: 2}"),
        (float("nan"), "nan"),
        (1 << 70, str(1 << 70)),
        ("lone \ud800", "lone \ufffd"),
        ({"k": "\ud800"}, {"k": "\ufffd"}),
    ],
)
def test_a_result_that_json_does_not_give_back_is_stored_as_text(ledger: Ledger, value: object, stored: object) -> None:
    run(ledger, "c1", value)
    assert run(ledger, "c1", "another run") == stored


class WithoutText:
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("value", [10**5_000, WithoutText()], ids=["a number of 5,001 digits", "no text"])
def test_a_call_whose_result_has_no_text_has_ended(ledger: Ledger, value: object) -> None:
    run(ledger, "c1", value)
    known = ledger.outcomes(["c1"])["c1"]
    assert known.outcome == "ok"
    assert known.text.startswith(f"(The result, of the class '{type(value).__name__}', has no text: ValueError")


def test_a_result_that_holds_itself_is_text(ledger: Ledger) -> None:
    value: list[object] = []
    value.append(value)
    run(ledger, "c1", value)
    assert run(ledger, "c1", "another run") == "[[...]]"


def test_it_is_known_to_a_later_ledger_of_the_file(ledger: Ledger, tmp_path: Path) -> None:
    run(ledger, "c1", ["done"])
    ledger.close()
    again = Ledger(str(tmp_path / "calls.db"))
    assert run(again, "c1", "another run") == ["done"]
    assert (tmp_path / "calls.db").stat().st_mode & 0o777 == 0o600
    record = again.outcomes(["c1"])["c1"]
    assert (record.name, record.arguments, record.attempt) == ("tool", {"a": 1}, 1)


@pytest.mark.parametrize(("name", "args"), [("tool", {"a": 2}), ("other", {"a": 1}), ("tool", None)])
def test_other_arguments_or_another_tool_under_one_id_are_refused(ledger: Ledger, name: str, args: object) -> None:
    run(ledger, "c1", "done")
    with (
        pytest.raises(CallRepeated, match="other arguments, or of another tool") as caught,
        ledger.call("c1", name, args),
    ):
        pytest.fail("it ran")
    assert (caught.value.call, caught.value.outcome, caught.value.text) == ("c1", "ok", "done")


def test_equal_arguments_in_another_order_are_the_same(ledger: Ledger) -> None:
    with ledger.call("c1", "tool", {"a": 1, "b": {"x": 1, "y": 2}}) as call:
        call.result = "done"
    with ledger.call("c1", "tool", {"b": {"y": 2, "x": 1}, "a": 1}) as call:
        assert call.done


def test_the_same_id_in_another_scope_is_another_call(ledger: Ledger) -> None:
    run(ledger, "call_0", "one")
    other = ledger.scoped("thread-2")
    assert other.outcomes(["call_0"]) == {}
    assert run(other, "call_0", "two") == "two"
    assert run(ledger, "call_0", "three") == "one"


def test_an_exception_is_a_failure_with_its_text_and_is_raised(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="no such step"), ledger.call("c1", "tool"):
        raise ValueError("no such step")
    record = ledger.outcomes(["c1"])["c1"]
    assert (record.outcome, record.text) == ("failed", "ValueError: no such step")
    with ledger.call("c1", "tool") as call:
        assert call.done
    assert (call.outcome, call.result) == ("failed", "ValueError: no such step")


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"), [(_Unprintable(), "_Unprintable (its text cannot be read)"), (KeyError(), "KeyError")]
)
def test_an_exception_without_a_text_is_named_by_its_class(ledger: Ledger, error: Exception, text: str) -> None:
    with pytest.raises(type(error)), ledger.call("c1", "tool"):
        raise error
    assert ledger.outcomes(["c1"])["c1"].text == text


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_interrupts_the_call(ledger: Ledger, error: type[BaseException]) -> None:
    with pytest.raises(error), ledger.call("c1", "tool", {"a": 1}):
        raise error
    record = ledger.outcomes(["c1"])["c1"]
    assert (record.outcome, record.text) == (
        "interrupted",
        f"Interrupted: this call was cancelled while it was running. {UNKNOWN}",
    )
    with pytest.raises(CallRepeated, match="was not run again"):
        run(ledger, "c1", "again")
    assert run(ledger, "c1", "again", replay="safe") == "again"


def test_a_call_without_an_end_is_not_run_again(ledger: Ledger) -> None:
    interrupt(ledger, "c1")
    with pytest.raises(CallRepeated, match="c1") as caught:
        run(ledger, "c1", "again")
    assert caught.value.outcome == "interrupted"
    assert caught.value.text == f"Interrupted: the process ended while this call was running. {UNKNOWN}"
    assert run(ledger, "c1", "again", replay="safe") == "again"
    assert ledger.outcomes(["c1"])["c1"].attempt == 2
    assert run(ledger, "c1", "a third time", replay="safe") == "again"


def test_a_call_that_only_reads_had_no_effect(ledger: Ledger) -> None:
    interrupt(ledger, "c1", effect="read")
    assert ledger.outcomes(["c1"])["c1"].text.endswith("It only reads, so it had no effect.")


def test_a_look_that_finds_nothing_lets_it_run(ledger: Ledger) -> None:
    interrupt(ledger, "c1")
    assert run(ledger, "c1", "again", settle=lambda: False) == "again"
    assert ledger.outcomes(["c1"])["c1"].attempt == 2


@pytest.mark.parametrize(("found", "text"), [(True, "it had taken effect. Its result is lost."), (None, UNKNOWN)])
def test_a_look_that_finds_it_or_cannot_know_keeps_it_from_running(
    ledger: Ledger, *, found: bool | None, text: str
) -> None:
    interrupt(ledger, "c1")
    with pytest.raises(CallRepeated):
        run(ledger, "c1", "again", settle=lambda: found)
    assert ledger.outcomes(["c1"])["c1"].text.endswith(text)


def test_a_look_is_not_asked_about_a_call_that_ended_or_never_began(ledger: Ledger) -> None:
    def look() -> bool:
        raise AssertionError("it looked")

    assert run(ledger, "c1", "done", settle=look) == "done"
    assert run(ledger, "c1", "again", settle=look) == "done"


def test_a_call_that_runs_now_is_not_run_beside_it(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.call("c1", "tool", {"a": 1}, replay="safe"):
        for each in (ledger, Ledger(tmp_path / "calls.db")):
            with pytest.raises(CallRepeated, match=f"still running \\(in process {os.getpid()}\\)"):
                run(each, "c1", "again", replay="safe")
        assert ledger.outcomes(["c1"])["c1"].outcome == "running"
    assert ledger.outcomes(["c1"])["c1"].outcome == "ok"


def test_a_call_is_entered_once(ledger: Ledger) -> None:
    call = ledger.call("c1", "tool")
    with call:
        pass
    with pytest.raises(StateError, match="entered already"), call:
        pytest.fail("it ran")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"id": ""}, "'id' has 0 characters"),
        ({"id": "c" * 1001}, "'id' has 1001 characters"),
        ({"id": "\ud800"}, "'id' is '.ud800', which is not valid Unicode"),
        ({"name": ""}, "'name' has 0 characters"),
        ({"args": {"a": object()}}, "not JSON data"),
        ({"replay": "always"}, "'replay' is 'always'"),
        ({"effect": "none"}, "'effect' is 'none'"),
    ],
)
def test_what_cannot_be_recorded_is_refused(ledger: Ledger, words: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ledger.call(**{**words, "id": words.get("id", "c1"), "name": words.get("name", "tool")})


def test_a_scope_that_is_too_long_and_an_age_below_zero_are_refused(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="'scope' has 1001 characters"):
        ledger.scoped("s" * 1001)
    with pytest.raises(UsageError, match="'older_than' is -1"):
        ledger.prune(-1)


def test_an_id_that_is_not_valid_unicode_is_unknown(ledger: Ledger) -> None:
    assert ledger.outcomes(["\ud800"]) == {}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "\ud800a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    healed: Any = ledger.heal([{"role": "user", "content": "Go"}, message], format="openai-chat").messages
    assert healed[2]["content"] == NO_RESULT


# --- the decorator ---------------------------------------------------------------------------------------------------


def test_a_decorated_function_runs_once_for_an_id(ledger: Ledger) -> None:
    ran: list[str] = []

    @ledger.recorded()
    def deploy(step: str, *, times: int = 1) -> list[object]:
        ran.append(step)
        return [step, times]

    assert deploy("c1", "tag") == ["tag", 1]
    assert deploy("c1", "tag") == ["tag", 1]
    assert deploy("c1", step="tag", times=1) == ["tag", 1]
    assert ran == ["tag"]
    with pytest.raises(CallRepeated):
        deploy("c1", "tag", times=2)
    assert deploy.__name__ == "deploy"


def generated(step: str) -> Iterator[str]:
    yield step


async def generated_later(step: str) -> AsyncIterator[str]:
    yield step


async def later(step: str) -> str:
    return step


@pytest.mark.parametrize("function", [generated, generated_later])
def test_a_generator_is_not_recorded(ledger: Ledger, function: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match=rf"Function '{function.__name__}' is a generator"):
        ledger.recorded()(function)


@pytest.mark.parametrize("made", [later, generated, generated_later])
def test_what_has_still_to_run_is_no_result(ledger: Ledger, made: Callable[[str], object]) -> None:
    def start(step: str) -> object:
        return made(step)

    with pytest.raises(UsageError, match=r"Function 'start' returned a \w+, whose body has still to run"):
        ledger.recorded()(start)("c1", "tag")
    assert ledger.outcomes(["c1"])["c1"].outcome == "failed"


def test_a_decorated_function_that_failed_fails_again_without_running(ledger: Ledger) -> None:
    ran: list[str] = []

    @ledger.recorded("deploy")
    def fails(step: str) -> None:
        ran.append(step)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails("c1", "tag")
    with pytest.raises(ToolFailed, match="ValueError: no"):
        fails("c1", "tag")
    assert ran == ["tag"]


# --- histories -------------------------------------------------------------------------------------------------------


def calls(*ids: str) -> dict[str, object]:
    made = [{"id": each, "type": "function", "function": {"name": "tool", "arguments": '{"a": 1}'}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool_messages(messages: list[Any]) -> list[dict[str, str]]:
    return [each for each in messages if each.get("role") == "tool"]


def test_a_history_is_healed_with_what_is_known(ledger: Ledger) -> None:
    run(ledger, "done", {"k": 1})
    interrupt(ledger, "open")
    run(ledger, "silent", "")
    history = [
        {"role": "user", "content": "Go"},
        calls("done", "open", "silent", "unknown"),
        {"role": "user", "content": "On"},
    ]
    healed = ledger.heal(history, format="openai-chat")
    results = {each["tool_call_id"]: each["content"] for each in tool_messages(healed.messages)}
    assert results == {
        "done": '{"k":1}',
        "open": f"Interrupted: the process ended while this call was running. {UNKNOWN}",
        "silent": "(no output)",
        "unknown": NO_RESULT,
    }
    assert healed.remaining == ()
    assert ledger.heal(healed.messages, format="openai-chat").edits == ()


def test_an_id_of_two_calls_gets_no_result_of_either(ledger: Ledger) -> None:
    run(ledger, "same", "done")
    history = [{"role": "user", "content": "Go"}, calls("same"), {"role": "user", "content": "On"}, calls("same")]
    healed = ledger.heal(history, format="openai-chat", profile="mistral")
    assert [each["content"] for each in tool_messages(healed.messages)] == [NO_RESULT, NO_RESULT]


def test_a_result_that_is_there_is_left_alone(ledger: Ledger) -> None:
    run(ledger, "c1", "done")
    history = [
        {"role": "user", "content": "Go"},
        calls("c1"),
        {"role": "tool", "tool_call_id": "c1", "content": "said"},
    ]
    assert ledger.heal(history, format="openai-chat").messages is history


# --- age -------------------------------------------------------------------------------------------------------------


def test_old_calls_are_pruned_and_those_that_run_are_not(tmp_path: Path) -> None:
    now = [1000.0]
    ledger = Ledger(tmp_path / "calls.db", now=lambda: now[0])
    run(ledger, "old", "done")
    interrupt(ledger, "open")
    with ledger.call("running", "tool"):
        now[0] = 2000.0
        run(ledger, "new", "done")
        assert ledger.prune(older_than=500) == 2
        assert set(ledger.outcomes(["old", "open", "running", "new"])) == {"running", "new"}
    assert run(ledger, "old", "again") == "again"


def test_a_clock_that_was_set_back_loses_nothing(tmp_path: Path) -> None:
    now = [5000.0]
    ledger = Ledger(tmp_path / "calls.db", now=lambda: now[0])
    run(ledger, "c1", "done")
    with ledger.call("c2", "tool", {"a": 1}) as call:
        now[0] = 10.0
        call.result = "ended before it began, by the clock"
    assert ledger.prune(older_than=1) == 0
    assert ledger.outcomes(["c2"])["c2"].ended_at == 10.0
    assert run(ledger, "c1", "again") == "done"
    assert run(ledger, "c2", "again") == "ended before it began, by the clock"


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    run(ledger, "c1", "done")
    ledger.close()
    ledger.close()
    with pytest.raises(StateError, match="is closed"):
        run(ledger, "c2", "done")


def test_looking_makes_no_file(ledger: Ledger, tmp_path: Path) -> None:
    assert ledger.outcomes(["c1"]) == {}
    assert list(tmp_path.iterdir()) == []
