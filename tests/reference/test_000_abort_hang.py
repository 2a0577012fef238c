"""Document 000: after ESC every later prompt hung for two minutes, and the damage survived a reload."""

from __future__ import annotations

import io

import pytest
from reference_harness import KEYS, Stage, texts

from holdfast.errors import EXIT_OK
from holdfast.session.journal.entries import Repaired
from holdfast.testing.script import Call, Hold, Say
from holdfast.ui.commands import sessions

ESC_NOTE = "[Note from holdfast: the user stopped the turn; the previous turn ended there.]"


async def test_esc_new_message_reload_new_message(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("alpha\n")
    three = [
        Say("I will look."),
        Call("read", {"path": "a.txt"}),
        Call("bash", {"command": "echo half; exec sleep 60"}),
        Call("write", {"path": "b.txt", "content": "never"}),
    ]
    ended = await stage.stopped("fix the tests", three, until=lambda: stage.printed("half"))
    assert (ended.reason, ended.cause) == ("cancelled", "user")

    before = await stage.goes_on("what happened?")
    sent = [(who, text) for who, text in before if who not in ("system", "result")]
    assert sent == [
        ("user", "fix the tests"),
        ("assistant", "I will look."),
        ("call", "read"),
        ("call", "bash"),
        ("call", "write"),
        ("user", ESC_NOTE),
        ("user", "what happened?"),
    ]
    read, bash, write = texts(before, "result")
    assert read == "1\talpha"
    assert bash.startswith("Interrupted: the user stopped the turn while this call was running. Effect unknown")
    assert "half" in bash
    assert write == "Not started: the user stopped the turn before this call began. It had no effect."
    assert not (stage.workspace / "b.txt").exists()

    await stage.restart()
    after = await stage.goes_on("and now?")
    assert after == [*before, ("assistant", "still here"), ("user", "and now?")]


async def test_three_calls_three_retry_prompts_two_user_prompts(stage: Stage) -> None:
    """The shape from the document's log: retry-prompts are answers, so there is nothing to clean up."""
    calls = [{"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": f"c{n}"} for n in range(3)]
    retries = [
        {"part_kind": "retry-prompt", "tool_name": "read", "content": f"no file {n}", "tool_call_id": f"c{n}"}
        for n in range(3)
    ]
    twice = [{"part_kind": "user-prompt", "content": "hello"}, {"part_kind": "user-prompt", "content": "hello?"}]
    await stage.load(
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "read three files"}]},
            {"kind": "response", "parts": calls},
            {"kind": "request", "parts": [*retries, *twice]},
        ]
    )
    sent = await stage.goes_on()
    assert texts(sent, "call") == ["read"] * 3
    assert [text.split("\n")[0] for text in texts(sent, "result")] == ["no file 0", "no file 1", "no file 2"]
    assert [text for text in texts(sent, "user") if "hello" in text] == ["hello", "hello?"]


ROUNDS = 4


def rounds(*, without: int | None = None) -> list[object]:
    """Return a saved history of four tool rounds, the result of one of them missing."""
    messages: list[object] = []
    for number in range(ROUNDS):
        call = {"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": f"c{number}"}
        result = {
            "part_kind": "tool-return",
            "tool_name": "read",
            "content": f"result {number}",
            "tool_call_id": f"c{number}",
        }
        answer = {"part_kind": "text", "content": f"answer {number}"}
        messages += [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": f"prompt {number}"}]},
            {"kind": "response", "parts": [call]},
            *([] if number == without else [{"kind": "request", "parts": [result]}]),
            {"kind": "response", "parts": [answer]},
        ]
    return messages


@pytest.mark.parametrize("place", range(ROUNDS))
async def test_dangling_in_the_middle(stage: Stage, place: int) -> None:
    await stage.load(rounds(without=place))
    sent = await stage.goes_on()
    results = texts(sent, "result")
    assert [text for number, text in enumerate(results) if number != place] == [
        f"result {number}" for number in range(ROUNDS) if number != place
    ]
    assert results[place] == "No result was recorded for this call; it may or may not have run."
    assert [text for text in texts(sent, "user") if text.startswith("prompt")] == [f"prompt {n}" for n in range(ROUNDS)]
    assert texts(sent, "assistant") == [f"answer {n}" for n in range(ROUNDS)]


async def test_corrupted_history_is_repaired_once_and_reported(stage: Stage) -> None:
    report = await stage.load(rounds(without=1))
    repaired = [entry for entry in stage.entries if isinstance(entry, Repaired)]
    assert len(repaired) == 1
    assert all(finding in report.replace("\n", " ") for finding in repaired[0].findings)
    before = await stage.goes_on()
    await stage.restart()
    assert (await stage.goes_on("again"))[: len(before)] == before
    assert [entry for entry in stage.entries if isinstance(entry, Repaired)] == repaired


async def test_invalidate_agent_cache(stage: Stage) -> None:
    """After a stop the connection is closed and the next request makes its own; after an answer it is kept."""
    await stage.goes_on("one")
    await stage.goes_on("two")
    assert len(stage.connections) == 1
    await stage.stopped("three", [Hold("never")], until=stage.requests_reach(3))
    assert vars(stage.connections[0])["_http"].is_closed
    await stage.goes_on("four")
    assert len(stage.connections) == 2
    assert [request.ended for request in stage.provider.requests] == [
        "completed",
        "completed",
        "client_gone",
        "completed",
    ]


async def test_a_resumed_session_shows_what_happened(stage: Stage) -> None:
    await stage.stopped("speak", [Say("half an answer"), Hold("never")], until=lambda: stage.streamed("half an answer"))
    shown = io.StringIO()
    arguments = ["show", stage.session.id]
    assert sessions.main(arguments, environ=stage.environ | KEYS, stdout=shown, stderr=shown) == EXIT_OK
    assert "half an answer" in shown.getvalue()
    assert "you stopped the turn" in shown.getvalue()
