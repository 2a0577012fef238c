"""Document 003: what a resumed session sends, and what its clean-up passes took away."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest
from reference_harness import FAST, ONE_WIRE, Line, Stage, texts

from agent_harness import stubborn
from holdfast.agent.sessions import fork, resume
from holdfast.errors import SessionBusy
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    CallStarted,
    ModelChanged,
    PromptAccepted,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.testing.script import Action, Call, Cut, Finish, Hold, Reset, Say
from polling import expect_within


async def test_exactly_one_system_prompt_every_turn_and_after_resume(stage: Stage) -> None:
    for turn in range(5):
        await stage.goes_on(f"prompt {turn}")
    await stage.restart()
    await stage.goes_on("after a resume")
    prompts = [texts(sent, "system") for sent in stage.all_sent]
    assert len(prompts) == 6
    assert prompts == [[stage.agent.conversation.system]] * 6
    assert "You are holdfast" in prompts[0][0]


def saved() -> list[dict[str, object]]:
    """Return a saved history of two turns."""

    def message(kind: str, *parts: dict[str, object]) -> dict[str, object]:
        return {"kind": kind, "parts": list(parts)}

    call: dict[str, object] = {"part_kind": "tool-call", "tool_name": "read", "args": "{}", "tool_call_id": "c"}
    back: dict[str, object] = {"part_kind": "tool-return", "tool_name": "read", "content": "found", "tool_call_id": "c"}
    return [
        message(
            "request",
            {"part_kind": "system-prompt", "content": "stale"},
            {"part_kind": "user-prompt", "content": "one"},
        ),
        message("response", {"part_kind": "thinking", "content": "hm"}, call),
        message("request", back),
        message("response", {"part_kind": "text", "content": "answer one"}),
        message("request", {"part_kind": "user-prompt", "content": "two"}),
        message("response", {"part_kind": "text", "content": "answer two"}),
    ]


@pytest.mark.parametrize("start", range(6))
async def test_history_begins_with_a_user_message(stage: Stage, start: int) -> None:
    """A history cut off at any index: what is left of it is kept, and a user message comes before any answer."""
    rest = saved()[start:]
    await stage.load(rest)
    sent = [(who, text) for who, text in await stage.goes_on() if who != "system"]
    assert sent[0][0] == "user"
    assert all(text not in ("stale", "hm") for _, text in sent)
    everything = " ".join(text for _, text in sent)
    expected = [
        word for word, last in (("found", 2), ("answer one", 3), ("two", 4), ("answer two", 5)) if start <= last
    ]
    assert [word for word in expected if word not in everything] == []


@pytest.mark.parametrize("nothing", [[Finish("stop")], [Say(" \n"), Finish("stop")]], ids=["no part", "blank text"])
async def test_empty_response_is_dropped_nothing_else(stage: Stage, nothing: list[Action]) -> None:
    await stage.goes_on("one")
    ended = await stage.run_turn("two", nothing, nothing)
    assert (ended.reason, ended.cause) == ("error", "empty")
    _, asked, asked_again = stage.provider.requests
    assert asked_again.raw == asked.raw  # once more, with nothing of the empty response
    note = (
        "[Note from holdfast: the response had neither an answer nor a tool call "
        f"(Model {stage.model!r} gave no answer: its response is empty); the previous turn ended there.]"
    )
    sent = await stage.goes_on("three")
    assert sent[1:] == [
        ("user", "one"),
        ("assistant", "still here"),
        ("user", "two"),
        ("user", note),
        ("user", "three"),
    ]


async def test_aborted_before_answer_keeps_every_user_text(stage: Stage) -> None:
    for turn in range(1, 4):
        await stage.stopped(f"prompt {turn}", [Hold("never")], until=stage.requests_reach(turn))
    sent = await stage.goes_on()
    spoken = [text for text in texts(sent, "user") if not text.startswith("[")]
    assert spoken == ["prompt 1", "prompt 2", "prompt 3", "go on"]


async def test_escape_in_the_middle_of_text_keeps_text_and_question(stage: Stage) -> None:
    await stage.stopped(
        "tell me", [Say("Once upon a time"), Hold("never")], until=lambda: stage.streamed("Once upon a time")
    )
    sent = await stage.goes_on()
    assert sent[1] == ("user", "tell me")
    assert sent[2] == ("assistant", "Once upon a time")
    assert "the user stopped the turn" in sent[3][1]
    assert "Your response above was cut off at that point." in sent[3][1]


async def test_a_prompt_after_a_finished_tool_result_keeps_the_result(stage: Stage) -> None:
    """The reference dropped the trailing request here, and with it the result (its issue #258)."""
    (stage.workspace / "a.txt").write_text("alpha\n")
    await stage.stopped("read a", [Call("read", {"path": "a.txt"})], [Hold("never")], until=stage.requests_reach(2))
    sent = await stage.goes_on("what was in it?")
    assert texts(sent, "result") == ["1\talpha"]
    assert texts(sent, "user")[-1] == "what was in it?"


async def test_clean_up_is_idempotent(stage: Stage) -> None:
    """A process died in the middle of a call; recovering twice, in one process or in two, adds nothing."""
    calls = (CallPart(id="000000001", name="bash", arguments="{}"), CallPart(id="000000002", name="read", arguments=""))
    stage.session.store.append(
        [
            PromptAccepted(turn=1, text="work"),
            RequestStarted(step=1, attempt=1, model=stage.model),
            ResponseEnded(step=1, model=stage.model, parts=calls, usage=Usage()),
            CallStarted(call="000000001", effect="execute"),
        ],
        expected=1,
    )
    await stage.agent.recover()
    once = stage.journal
    await stage.agent.recover()
    await stage.restart()
    await stage.agent.recover()
    assert stage.journal == once
    assert [entry.outcome for entry in stage.entries if isinstance(entry, CallEnded)] == ["interrupted", "not_started"]
    await stage.goes_on()


async def test_a_crash_while_text_streams_keeps_the_text(stage: Stage) -> None:
    stage.session.store.append(
        [
            PromptAccepted(turn=1, text="speak"),
            RequestStarted(step=1, attempt=1, model=stage.model),
            ResponseCheckpoint(step=1, text="half an answer"),
        ],
        expected=1,
    )
    sent = await stage.goes_on()
    assert texts(sent, "assistant") == ["half an answer"]
    assert "ended without recording why" in texts(sent, "user")[1]


async def test_the_model_reads_a_late_result(stage: Stage) -> None:
    started, release = asyncio.Event(), asyncio.Event()
    stage.tools = [stubborn("deploy", "deployed after all", started=started, release=release)]
    stage.limits = msgspec.structs.replace(FAST, stop_grace=0.1, drop_wait=0.1)
    await stage.stopped("deploy", [Call("deploy", {})], until=started.is_set)
    release.set()
    async with asyncio.timeout(5):
        while not stage.facts(CallLate):  # noqa: ASYNC110 - no event reports what is awaited
            await asyncio.sleep(0.002)
    sent = await stage.goes_on()
    assert texts(sent, "result")[0].startswith("Interrupted")
    assert [text for text in texts(sent, "user") if "deployed after all" in text]


@pytest.mark.parametrize("end", [Cut(), Reset()], ids=["cut", "reset"])
async def test_stream_cut_does_not_execute_calls(stage: Stage, end: Action) -> None:
    reply = [Say("I will write."), Call("write", {"path": "a.txt", "content": "half a fi"}), end]
    ended = await stage.run_turn("write", reply)
    assert (ended.reason, ended.cause) == ("error", "provider")
    assert not (stage.workspace / "a.txt").exists()
    sent = await stage.goes_on()
    assert texts(sent, "call") == []
    assert texts(sent, "assistant") == ["I will write."]
    assert "(write) were not started" in texts(sent, "user")[1]


@pytest.mark.parametrize("end", [Cut(), Reset(), Hold("never")], ids=["cut", "reset", "silence"])
async def test_no_second_billed_request_after_shown_text(stage: Stage, end: Action) -> None:
    """No hidden fallback: what the user saw and what the model wrote are one text, requested once."""
    stage.limits = msgspec.structs.replace(FAST, idle_event=0.3)
    ended = await stage.run_turn("question", [Say("The answer is "), end])
    assert ended.cause == "provider"
    assert len(stage.provider.requests) == 1
    sent = await stage.goes_on()
    assert stage.streamed("The answer is ")
    assert texts(sent, "assistant") == ["The answer is "]
    assert texts(sent, "user").count("question") == 1


@ONE_WIRE
async def test_a_slow_stream_that_goes_on_is_not_cut(stage: Stage) -> None:
    """The deadline is on silence; the reference's watchdog was on the whole length of a healthy stream."""
    stage.limits = msgspec.structs.replace(FAST, first_event=0.9, idle_event=0.9)
    ended = await stage.run_turn("slowly", [Say("0123456789", chunk=1, delay=0.12)])
    assert ended.cause == "finished"
    assert len(stage.provider.requests) == 1


async def test_an_answer_in_one_chunk_is_shown(stage: Stage) -> None:
    await stage.run_turn("short", [Say("yes", chunk=1000)])
    assert stage.streamed("yes")


async def test_two_processes_one_session(stage: Stage) -> None:
    await stage.goes_on("mine")
    summary = stage.catalog.find(stage.session.id)
    began = time.monotonic()
    with pytest.raises(SessionBusy) as refused:
        resume(stage.catalog, summary)
    expect_within(2, began)
    assert "pid" in refused.value.holder
    copy = fork(stage.catalog, summary)
    assert copy.id != stage.session.id
    copy.store.close()
    sent = await stage.goes_on("still mine")
    assert texts(sent, "user") == ["mine", "still mine"]


async def test_a_session_continues_with_another_provider(stage: Stage) -> None:
    """Nothing in a journal is bound to one run, one process or one provider (the documents' `run_id`)."""
    (stage.workspace / "a.txt").write_text("alpha\n")
    await stage.run_turn("read a", [Call("read", {"path": "a.txt"})], [Say("read")])
    other = "anthropic" if stage.wire == "openai-chat" else "openai-chat"
    before: list[Line] = stage.sent
    stage.agent.use_model(f"{other}:m")
    assert ModelChanged(model=f"{other}:m") in stage.entries
    after = await stage.goes_on()
    assert stage.provider.requests[-1].wire == other
    assert after[: len(before)] == before
