"""Document 004: unprocessed tool calls, and every other way a turn was lost."""

from __future__ import annotations

import msgspec
import pytest
from reference_harness import FAST, ONE_WIRE, Line, Stage, read_rounds, texts

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.entries import RequestFailed
from holdfast.session.journal.parts import CallPart
from holdfast.testing.script import Call, Fail, Hold, Ping, ReceivedRequest, Reply, Say
from holdfast.tools.tool import Plan

ROUNDS = 6


@pytest.mark.parametrize("during", ["request", "call"])
async def test_abort_after_n_finished_rounds_then_n_prompts(stage: Stage, during: str) -> None:
    """Its issue #258: after six finished rounds six prompts failed, each of them eating one finished round."""
    shown = stage.write_files(ROUNDS)
    if during == "request":
        await stage.stopped("work", *read_rounds(ROUNDS), [Hold("never")], until=stage.requests_reach(ROUNDS + 1))
    else:
        command = [Call("bash", {"command": "echo begun; exec sleep 60"})]
        await stage.stopped("work", *read_rounds(ROUNDS), command, until=lambda: stage.printed("begun"))
    for number in range(ROUNDS):
        sent = await stage.goes_on(f"prompt {number}")
        assert texts(sent, "result")[:ROUNDS] == shown
        assert texts(sent, "user")[0] == "work"


async def test_provider_500_after_five_rounds_keeps_them(stage: Stage) -> None:
    shown = stage.write_files(5)
    failures: list[Reply] = [[Fail(500, "The server had an error.")]] * FAST.attempts
    ended = await stage.run_turn("work", *read_rounds(5), *failures)
    assert (ended.reason, ended.cause) == ("error", "provider")
    assert "The server had an error." in ended.detail
    sent = await stage.goes_on()
    assert texts(sent, "result") == shown
    assert texts(sent, "user")[0] == "work"


@ONE_WIRE
async def test_unreadable_file_never_ends_the_turn(stage: Stage) -> None:
    (stage.workspace / "101kb.txt").write_text(("x" * 100 + "\n") * 1_010)
    with (stage.workspace / "100mb.txt").open("w") as large:
        large.write("line\n" * 20_000)
        large.truncate(100 * 1024 * 1024)
    (stage.workspace / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    paths = ["101kb.txt", "100mb.txt", "image.png", "missing.txt", "."]
    write = [Call("write", {"path": "kept.txt", "content": "kept\n"})]
    ended = await stage.run_turn("read", write, [Call("read", {"path": path}) for path in paths], [Say("I see")])
    assert ended.cause == "finished"
    written, long, large_, image, missing, folder = texts(stage.sent, "result")
    assert written.startswith("Created kept.txt")
    assert "Read on with offset=" in long
    assert "Read on with offset=" in large_
    assert "is a PNG image" in image
    assert "missing.txt" in missing
    assert folder.strip()
    await stage.goes_on()


async def test_max_iterations_is_exact(stage: Stage) -> None:
    stage.limits = msgspec.structs.replace(FAST, max_steps=3)
    endless: list[Reply] = [[Call("glob", {"pattern": "*"})]] * 3
    ended = await stage.run_turn("loop", *endless)
    assert (ended.reason, ended.detail) == ("max_steps", "3 requests")
    assert len(stage.provider.requests) == 3
    assert len(texts(await stage.goes_on(), "result")) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_400_is_one_request_and_its_text_is_shown(stage: Stage, status: int) -> None:
    ended = await stage.run_turn("try", [Fail(status, "messages.3: the provider says why")])
    assert ended.cause == "provider"
    assert len(stage.provider.requests) == 1
    assert "messages.3: the provider says why" in ended.detail
    assert str(status) in ended.detail
    await stage.goes_on()


async def test_a_rate_limit_is_called_one(stage: Stage) -> None:
    ended = await stage.run_turn("try", [Fail(429, "slow down", retry_after=3600)])
    assert (ended.reason, len(stage.provider.requests)) == ("error", 1)
    assert "429" in ended.detail
    assert "slow down" in ended.detail
    await stage.goes_on()


async def test_stream_opens_and_says_nothing(stage: Stage) -> None:
    """Keep-alive bytes come, events do not: found within its own deadline, tried again, named, and not kept open."""
    stage.limits = msgspec.structs.replace(FAST, first_event=0.3, attempts=2)
    silence: Reply = [Ping(4, 0.05), Hold("never")]
    ended = await stage.run_turn("speak", silence, silence)
    assert ended.cause == "provider"
    assert f"Model {stage.model!r} sent nothing for 0.3 s" in ended.detail
    assert [request.ended for request in stage.provider.requests] == ["client_gone"] * 2
    assert [entry.fault for entry in stage.entries if isinstance(entry, RequestFailed)] == ["silent"] * 2
    await stage.goes_on()


async def test_a_provider_that_hangs_on_tool_history_is_named(stage: Stage) -> None:
    """The documents' Chutes/Devstral case: the history is valid, so the words blame the provider, and text survives."""

    def hangs_on_results(request: ReceivedRequest) -> Reply:
        del request
        return [Hold("never")]

    (stage.workspace / "a.txt").write_text("alpha\n")
    stage.limits = msgspec.structs.replace(FAST, first_event=0.3, attempts=1)
    stage.provider.extend([Call("read", {"path": "a.txt"})], hangs_on_results)
    ended = await stage.agent.run("read a")
    assert ended.cause == "provider"
    assert stage.model in ended.detail
    assert texts(await stage.goes_on(), "result") == ["1\talpha"]


async def test_the_loop_ends_by_itself(stage: Stage) -> None:
    """Its issue #260: the turn goes on while there are calls and ends with the first response that has none."""
    calls: list[Reply] = [[Call("glob", {"pattern": "*"})], [Say("and now"), Call("glob", {"pattern": "*"})]]
    ended = await stage.run_turn("go", *calls, [Say("done")])
    assert (ended.reason, stage.agent.conversation.answer) == ("end_turn", "done")
    assert len(stage.provider.requests) == 3


WRITTEN = (
    '<tool_call>{"name": "bash", "arguments": {"command": "touch ran"}}</tool_call>',
    '```json\n{"tool": "bash", "args": {"command": "touch ran"}}\n```',
    "<function=bash><parameter=command>touch ran</parameter></function>",
)


@pytest.mark.parametrize("written", WRITTEN)
async def test_a_call_written_as_text_is_text(stage: Stage, written: str) -> None:
    """The reference took it for a call, asked the user about it, and never ran it."""
    questions: list[str] = []

    async def ask(call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        del plan, why
        questions.append(call.name)
        return ApprovalAnswer(allowed=True)

    stage.mode, stage.ask = "ask", ask
    ended = await stage.run_turn("work", [Say(written)])
    assert ended.cause in ("text_call", "finished")  # what is no exact form is an answer
    assert questions == []
    assert not (stage.workspace / "ran").exists()
    sent = await stage.goes_on()
    assert texts(sent, "assistant") == [written]
    assert texts(sent, "call") == []


# --- the documents' unit list: find, remove, keep, clear --------------------------------------------------------------


def call(name: str) -> dict[str, object]:
    return {"part_kind": "tool-call", "tool_name": "read", "args": {"path": name}, "tool_call_id": name}


def back(name: str) -> dict[str, object]:
    return {"part_kind": "tool-return", "tool_name": "read", "content": f"{name} is here", "tool_call_id": name}


def request(*parts: dict[str, object]) -> dict[str, object]:
    return {"kind": "request", "parts": list(parts)}


def response(*parts: dict[str, object]) -> dict[str, object]:
    return {"kind": "response", "parts": list(parts)}


def user(text: str) -> dict[str, object]:
    return {"part_kind": "user-prompt", "content": text}


ASKED = request(user("read"))
ANSWERED = response({"part_kind": "text", "content": "well"})
UNKNOWN = "No result was recorded"

LISTS: dict[str, tuple[list[object], list[str]]] = {
    "trailing": ([ASKED, response(call("a"))], [UNKNOWN]),
    "non-trailing": ([ASKED, response(call("a")), request(user("next"))], [UNKNOWN]),
    "none": ([ASKED, ANSWERED], []),
    "matched are kept": ([ASKED, response(call("a")), request(back("a")), ANSWERED], ["a is here"]),
    "only the unmatched": (
        [ASKED, response(call("a"), call("b")), request(back("a")), ANSWERED],
        ["a is here", UNKNOWN],
    ),
    "id used again in a later turn": (
        [ASKED, response(call("a")), request(back("a")), response(call("a")), request(user("stop"))],
        ["a is here", UNKNOWN],
    ),
    "answered twice": ([ASKED, response(call("a")), request(back("a"), back("a")), ANSWERED], ["a is here"]),
    "empty response": ([ASKED, response(), request(user("hello?"))], []),
}


@pytest.mark.parametrize("name", LISTS)
async def test_dangling_tool_calls(stage: Stage, name: str) -> None:
    messages, expected = LISTS[name]
    await stage.load(messages)
    sent: list[Line] = await stage.goes_on()
    results = texts(sent, "result")
    assert [result[: len(begin)] for result, begin in zip(results, expected, strict=True)] == expected
    assert len(texts(sent, "call")) == len(results)
    assert "read" in texts(sent, "user")
