"""Entries and events as updates: what was streamed is not said twice, and what was rewound not at all."""

from __future__ import annotations

from pathlib import Path

from holdfast.agent.events import Fact, LiveText
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import StoredEntry
from holdfast.ui.acp.display.call_cards import AcpFields
from holdfast.ui.acp.display.session_updates import LONGEST_REPLAYED, SessionUpdates, replayed_updates

ROOT = Path("/project")


def response(step: int, *parts: e.Part, cut: e.Cause | None = None) -> e.ResponseEnded:
    return e.ResponseEnded(step=step, model="m", parts=parts, usage=Usage(), cut=cut)


def replayed(*entries: e.Entry) -> list[AcpFields]:
    records = [StoredEntry(seq=seq, at=0.0, entry=entry) for seq, entry in enumerate(entries, 1)]
    found = list(replayed_updates(records, ROOT))
    assert found == list(replayed_updates(records, ROOT))
    return found


def texts(updates: list[AcpFields], kind: str = "agent_message_chunk") -> list[object]:
    chunks: list[dict[str, object]] = [each for each in updates if each["sessionUpdate"] == kind]
    contents: list[dict[str, object]] = [each["content"] for each in chunks]  # pyright: ignore[reportAssignmentType] - of chunks
    return [each["text"] for each in contents]


def live(*events: Fact | LiveText) -> list[AcpFields]:
    updates = SessionUpdates(ROOT, live=True)
    return [update for event in events for update in updates.of(event)]


def test_only_what_was_not_streamed_follows() -> None:
    started = Fact(1, e.RequestStarted(step=1, attempt=1, model="m"))
    ended = Fact(2, response(1, TextPart("one two")))
    assert texts(live(started, LiveText(1, "one "), ended)) == ["one ", "two"]
    assert texts(live(started, LiveText(1, "one two"), ended)) == ["one two"]
    assert texts(live(started, ended)) == ["one two"]


def test_after_a_failed_attempt_the_whole_answer_follows() -> None:
    events = (
        Fact(1, e.RequestStarted(step=1, attempt=1, model="m")),
        LiveText(1, "one "),
        Fact(2, e.RequestFailed(step=1, attempt=1, fault="cut", message="no", retry_in=0.1)),
        Fact(3, e.RequestStarted(step=1, attempt=2, model="m")),
        Fact(4, response(1, TextPart("one two"))),
    )
    assert texts(live(*events)) == ["one ", "one two"]


def test_a_prompt_of_the_client_is_not_said_back_to_it() -> None:
    prompt = e.PromptAccepted(turn=1, text="do it")
    assert live(Fact(1, prompt)) == []
    assert texts(replayed(prompt), "user_message_chunk") == ["do it"]
    assert texts(live(Fact(1, e.PromptAccepted(turn=2, text="more", queued="q1"))), "user_message_chunk") == ["more"]


def test_what_was_rewound_is_left_out() -> None:
    found = replayed(
        e.PromptAccepted(turn=1, text="one"),
        response(1, TextPart("first")),
        e.PromptAccepted(turn=2, text="two"),
        response(2, TextPart("second")),
        e.Rewound(turn=2),
        e.PromptAccepted(turn=3, text="three"),
    )
    assert texts(found, "user_message_chunk") == ["one", "three"]
    assert texts(found) == ["first"]


def test_an_outcome_is_said_in_words_and_cut_to_its_ends() -> None:
    long = "x" * 10_000
    calls = [CallPart(id=f"c{n}", name="bash", arguments='{"command":"make"}') for n in range(3)]
    found = replayed(
        response(1, *calls),
        e.CallEnded(call="c0", outcome="ok", text=long),
        e.CallEnded(call="c1", outcome="denied", text="No."),
        e.CallEnded(call="c2", outcome="interrupted", text="Unknown effect."),
        e.CallLate(call="c2", outcome="ok", text="It ended."),
    )
    ended = [each for each in found if each["sessionUpdate"] == "tool_call_update"]
    assert [each["status"] for each in ended] == ["completed", "failed", "failed", "completed"]
    contents = [str(each["content"]) for each in ended]
    assert LONGEST_REPLAYED < len(contents[0]) < LONGEST_REPLAYED + 300
    assert "Denied." in contents[1]
    assert "Interrupted." in contents[2]
    assert texts(found) == ["After the end of its turn: bash make: ok."]


def test_calls_of_a_cut_response_are_not_shown() -> None:
    call = CallPart(id="c0", name="bash", arguments="{")
    assert not [each for each in replayed(response(1, call, cut="user")) if each["sessionUpdate"] == "tool_call"]


def test_nothing_that_a_terminal_acts_on_is_shown() -> None:
    found = replayed(response(1, TextPart("a\x1b[31mb\ud800")))
    assert texts(found) == ["ab\ufffd"]


def test_a_todo_list_is_a_plan() -> None:
    items = '{"items":[{"text":"one","state":"done"},{"text":"two"}]}'
    found = replayed(
        response(1, CallPart(id="c0", name="todo", arguments=items)), e.CallEnded(call="c0", outcome="ok", text="ok")
    )
    (plan,) = [each for each in found if each["sessionUpdate"] == "plan"]
    assert plan["entries"] == [
        {"content": "one", "priority": "medium", "status": "completed"},
        {"content": "two", "priority": "medium", "status": "pending"},
    ]


def test_arguments_that_json_cannot_hold_are_shown_as_text() -> None:
    for arguments in ("{", "1" * 400, "[" * 100_000):
        (card,) = replayed(response(1, CallPart(id="c0", name="bash", arguments=arguments)))
        assert card["rawInput"] is not None
