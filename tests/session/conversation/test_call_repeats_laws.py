"""Calls that repeat are counted from the journal alone: in a row, with their results, whatever the journal holds."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.questions import older_question
from holdfast.session import loop_notices
from holdfast.session.conversation.call_repeats import (
    ENDED,
    LONGEST_ROUND,
    REFUSED,
    TOLD,
    CallRepeats,
    Repetition,
    call_key,
)
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    Entry,
    PromptAccepted,
    ResponseEnded,
    Steered,
)
from holdfast.session.journal.parts import CallPart, Usage
from journals import journals
from laws import law

PROMPT = PromptAccepted(turn=1, text="go")


def response(*calls: tuple[str, str], step: int = 1) -> ResponseEnded:
    """Return a response with these calls: their ids, and what they are."""
    parts = tuple(CallPart(id=call, name="read", arguments=f'{{"path": "{what}"}}') for call, what in calls)
    return ResponseEnded(step=step, model="m", parts=parts, usage=Usage())


def row(*made: tuple[str, str]) -> CallRepeats:
    """Return what is counted after calls one after another: what each is, and its result."""
    repeats = CallRepeats()
    repeats.add(PROMPT)
    for number, (what, result) in enumerate(made):
        repeats.add(response((f"c{number}", what), step=number))
        repeats.add(CallEnded(call=f"c{number}", outcome="ok", text=result))
    return repeats


def next_of(repeats: CallRepeats, what: str, *, call: str = "next") -> Repetition:
    repeats.add(response((call, what)))
    return repeats.of(call)


@law()
@given(journals)
def test_it_takes_any_entries_and_counts_within_its_bounds(entries: list[Entry]) -> None:
    repeats = CallRepeats()
    for entry in entries:
        repeats.add(entry)
        for call in "abcd":
            found = repeats.of(call)
            assert found.times >= 0
            assert 1 <= found.calls <= LONGEST_ROUND


@law()
@given(journals, st.integers(0, 25))
def test_a_journal_that_is_read_again_from_its_beginning_counts_the_same(entries: list[Entry], cut: int) -> None:
    once, again = CallRepeats(), CallRepeats()
    for entry in entries[:cut]:
        once.add(entry)
    for entry in entries:
        again.add(entry)
    for entry in entries[cut:]:
        once.add(entry)
    assert [once.of(call) for call in "abcd"] == [again.of(call) for call in "abcd"]


@law()
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=LONGEST_ROUND, unique=True), st.integers(1, ENDED))
@example(["a"], ENDED)
@example(["a", "b"], REFUSED)
def test_a_round_is_counted_as_often_as_it_came(calls: list[str], times: int) -> None:
    made = [(what, f"of {what}") for _ in range(times) for what in calls]
    repeats = row(*made[:-1])
    assert next_of(repeats, made[-1][0]).times == times
    assert repeats.with_result("next", "ok", made[-1][1], ()).times == times


@law()
@given(st.integers(1, ENDED), st.integers(1, ENDED))
def test_a_result_that_differs_begins_to_count_from_one(before: int, after: int) -> None:
    repeats = row(*[("a", "old")] * before)
    repeats.add(response(("changed", "a")))
    assert repeats.with_result("changed", "ok", "new", ()).times == 1
    assert repeats.with_result("changed", "failed", "old", ()).times == 1
    repeats.add(CallEnded(call="changed", outcome="ok", text="new"))
    more = row(*[("a", "old")] * before, *[("a", "new")] * after)
    assert next_of(more, "a").times == after + 1


def test_what_was_told_or_not_run_counts_as_the_same_result() -> None:
    repeats = row(("a", "x"), ("a", "x"))
    repeats.add(response(("third", "a")))
    told = loop_notices.repetition_line(repeats.with_result("third", "ok", "x", ()))
    repeats.add(CallEnded(call="third", outcome="ok", text=f"x\n{told}", repeats=TOLD))
    assert next_of(repeats, "a", call="fourth") == Repetition(4, 1, "x")
    assert repeats.with_result("fourth", "ok", "y", ()).times == 1
    repeats.add(CallEnded(call="fourth", outcome="not_started", text="Not started", repeats=4))
    assert next_of(repeats, "a", call="fifth") == Repetition(5, 1, "x")


def test_a_prompt_a_message_and_a_yes_begin_a_new_row() -> None:
    many = [("a", "x")] * 8
    for begins in (PROMPT, Steered(queued="q", text="look again")):
        repeats = row(*many)
        repeats.add(begins)
        assert next_of(repeats, "a").times == 1
    repeats = row(*many)
    assert next_of(repeats, "a").times == 9
    repeats.add(ApprovalAsked(call="next", question=older_question("next", "Let it go on?"), repeats=9))
    repeats.add(ApprovalAnswered(call="next", allowed=True))
    assert repeats.of("next").times == 1
    repeats.add(CallEnded(call="next", outcome="ok", text="x"))
    assert next_of(repeats, "a", call="after").times == 2


def test_a_yes_to_the_call_itself_begins_no_new_row() -> None:
    repeats = row(*[("a", "x")] * 4)
    repeats.add(response(("next", "a")))
    repeats.add(ApprovalAsked(call="next", question=older_question("next", "It needs approval.")))
    repeats.add(ApprovalAnswered(call="next", allowed=True))
    assert repeats.of("next").times == 5


def test_calls_of_one_response_stand_in_the_order_in_which_they_were_written() -> None:
    repeats = CallRepeats()
    repeats.add(PROMPT)
    for number in range(3):
        first, second = f"a{number}", f"b{number}"
        repeats.add(response((first, "a"), (second, "b"), step=number))
        for call in (second, first) if number % 2 else (first, second):  # they end in any order
            repeats.add(CallEnded(call=call, outcome="ok", text="x"))
    assert (repeats.place("a2"), repeats.place("b2"), repeats.place("a1")) == (1, 2, 0)
    assert next_of(repeats, "a").times == 3
    assert repeats.of("next").calls == 2


def test_a_read_that_another_of_its_response_stands_for_does_not_count() -> None:
    repeats = CallRepeats()
    repeats.add(PROMPT)
    repeats.add(response(*((f"c{number}", "a") for number in range(300))))
    for number in range(1, 300):
        repeats.add(CallEnded(call=f"c{number}", outcome="not_started", text="the same", same_as="c0"))
    repeats.add(CallEnded(call="c0", outcome="ok", text="x"))
    assert next_of(repeats, "a").times == 2


def test_arguments_are_compared_by_their_meaning() -> None:
    def key(arguments: str) -> tuple[str, str]:
        return call_key(CallPart(id="c", name="read", arguments=arguments))

    assert key('{"a": 1, "b": 2}') == key('{"b":2,"a":1}')
    assert key('{"a": 1}') != key('{"a": 2}')
    assert key("{not json}") == key(" {not json}\n")
    assert key("[" * 90_000) == ("read", "[" * 90_000)
    assert call_key(CallPart(id="c", name="write", arguments="{}")) != key("{}")
