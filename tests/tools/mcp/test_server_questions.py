"""What servers ask the user within a call, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest
from test_connections import calls, connected, stdio

from holdfast.errors import ToolFailed
from holdfast.tool_calls import InputRequest, ServerAnswer
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import eventually

ERAS = ("asking", "modern")
ANN: dict[str, object] = {"name": "ann", "seat": "aisle"}


def calls_more_than(folder: Path, known: int) -> bool:
    return len(calls(folder)) > known


class User:
    """Answers each request with `action`; `requests` are those so far."""

    def __init__(self, *, action: str = "accept", silent: bool = False) -> None:
        self.requests: list[InputRequest] = []
        self.late: list[ToolOutput] = []
        self.silent = silent
        self.action = action

    async def consult(self, request: InputRequest) -> tuple[ServerAnswer, ...]:
        self.requests.append(request)
        if self.silent:
            await asyncio.Event().wait()
        content = ANN if self.action == "accept" and request.questions[0].schema else None
        action = "accept" if self.action == "accept" else "decline"
        return tuple(ServerAnswer(each.key, action, content) for each in request.questions)

    def context(self, stop: asyncio.Event | None = None, *, waits: InputRequest | None = None) -> ToolContext:
        return ToolContext(
            call="c1",
            stop=stop or asyncio.Event(),
            emit=lambda _: None,
            consult=self.consult,
            has_user=True,
            pending_request=waits,
            report_late=self.late.append,
        )


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_and_a_page_are_asked_and_answered(tmp_path: Path, era: str) -> None:
    user = User()
    async with connected(stdio(era, tmp_path), tmp_path, can_ask_user=True) as connections:
        output = await connections.call("srv", "mcp__srv__book", {}, user.context())
        assert json.loads(output.text) == {"action": "accept", "content": ANN}
        (request,) = user.requests
        assert (request.server, request.round, request.again) == ("srv", 1, era == "modern")
        assert request.questions[0].message == "Who travels?"
        assert request.state == ("opaque book \u00e9 1" if era == "modern" else None)
        output = await connections.call("srv", "mcp__srv__open", {}, user.context())
        assert json.loads(output.text) == {"action": "accept"}
        assert user.requests[1].questions[0].url == "https://pay.example.com/42"
        user.action = "decline"
        output = await connections.call("srv", "mcp__srv__book", {}, user.context())
        assert json.loads(output.text) == {"action": "decline"}


async def test_a_call_goes_on_after_a_crash_from_its_question(tmp_path: Path) -> None:
    user = User()
    async with connected(stdio("modern", tmp_path), tmp_path, can_ask_user=True) as connections:
        await connections.call("srv", "mcp__srv__book", {}, user.context())
    waits = user.requests[0]
    async with connected(stdio("modern", tmp_path), tmp_path, can_ask_user=True) as connections:
        output = await connections.call("srv", "mcp__srv__book", {}, user.context(waits=waits))
    assert json.loads(output.text)["content"] == ANN
    assert user.requests == [waits, waits]
    assert calls(tmp_path) == ["asked", "book", "did", "book", "did", "book"]  # not called again


async def test_a_state_that_the_server_does_not_know_any_more_fails_in_its_words(tmp_path: Path) -> None:
    user = User()
    async with connected(stdio("modern", tmp_path), tmp_path, can_ask_user=True) as connections:
        await connections.call("srv", "mcp__srv__book", {}, user.context())
        old = InputRequest(server="srv", round=1, questions=user.requests[0].questions, again=True, state="forgotten")
        with pytest.raises(ToolFailed, match="answered with an error: unknown state"):
            await connections.call("srv", "mcp__srv__book", {}, user.context(waits=old))


async def test_a_server_that_asks_for_ever_is_given_up(tmp_path: Path) -> None:
    user = User()
    async with connected(stdio("modern", tmp_path), tmp_path, can_ask_user=True) as connections:
        with pytest.raises(ToolFailed, match="asked more than 10 times"):
            await connections.call("srv", "mcp__srv__loop", {}, user.context())
    assert [each.round for each in user.requests] == list(range(1, 11))


@pytest.mark.parametrize("era", ERAS)
async def test_sampling_is_not_offered(tmp_path: Path, era: str) -> None:
    user = User()
    async with connected(stdio(era, tmp_path), tmp_path, can_ask_user=True) as connections:
        if era == "modern":
            with pytest.raises(ToolFailed, match=r"asked for .*sampling.* which holdfast does not offer"):
                await connections.call("srv", "mcp__srv__sample", {}, user.context())
        else:
            output = await connections.call("srv", "mcp__srv__sample", {}, user.context())
            assert "Sampling not supported" in output.text
    assert user.requests == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_stop_at_a_question(tmp_path: Path, era: str) -> None:
    user, stop = User(silent=True), asyncio.Event()
    async with connected(stdio(era, tmp_path), tmp_path, can_ask_user=True) as connections:
        task = asyncio.create_task(connections.call("srv", "mcp__srv__book", {}, user.context(stop)))
        await asyncio.to_thread(lambda: eventually(lambda: user.requests))
        stop.set()
        output = await task
        if era == "modern":  # nothing runs: the server has ended its request
            assert output.interrupted
        else:
            assert json.loads(output.text) == {"action": "cancel"}
            assert calls(tmp_path)[2:4] == ['{"action":', '"cancel"}']  # before the call itself is cancelled


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_user_it_is_declined_and_said(tmp_path: Path, era: str) -> None:
    context = ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None)
    async with connected(stdio(era, tmp_path), tmp_path) as connections:
        output = await connections.call("srv", "mcp__srv__book", {}, context)
    if era == "modern":
        assert "declined because no user can be asked in this run: Who travels?" in output.text
    else:  # it asks although that was not offered
        assert "Elicitation not supported" in output.text


async def test_an_answer_within_the_grace_counts_and_a_later_one_is_reported(tmp_path: Path) -> None:
    user = User()
    async with connected(stdio("asking", tmp_path), tmp_path, can_ask_user=True) as connections:
        before = 0
        for seconds, interrupted in (("0.05", False), ("1.5", True)):
            stop = asyncio.Event()
            task = asyncio.create_task(connections.call("srv", "mcp__srv__late", {"text": seconds}, user.context(stop)))
            await asyncio.to_thread(eventually, partial(calls_more_than, tmp_path, before))
            before = len(calls(tmp_path))
            stop.set()
            output = await task
            assert output.interrupted is interrupted
            assert (output.text == "late") is not interrupted
        await asyncio.to_thread(lambda: eventually(lambda: user.late))
    assert [each.text for each in user.late] == ["late"]
