"""What a program may do at the edges: an async `ask`, a cancelled async tool, and a stream that is left early."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.session.journal.entries import CallEnded, TurnEnded
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing import Call, Say, ScriptedProvider, Wait
from polling import HANGS

MODEL = "openai:gpt-5.5"
LONG: list[object] = [Say("one "), Wait(600), Say("two")]


@pytest.fixture
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    with ScriptedProvider(request.param) as scripted:
        for name, value in scripted.environ().items():
            monkeypatch.setenv(name, value)
        yield scripted
        assert (scripted.refusals, scripted.complaints) == ((), ())


def plays(*answers: list[object]) -> pytest.MarkDecorator:
    """Return the script of a test's provider."""
    return pytest.mark.parametrize("provider", [list(answers)], indirect=True, ids=["script"])


def ends(folder: Path) -> list[tuple[str, str]]:
    """Return how each turn ended, and by which cause."""
    entries = (each.entry for each in read_copy(folder).records)
    return [(each.reason, each.cause) for each in entries if isinstance(each, TurnEnded)]


def outcomes(folder: Path) -> list[tuple[str, str]]:
    entries = (each.entry for each in read_copy(folder).records)
    return [(each.outcome, each.text) for each in entries if isinstance(each, CallEnded)]


def order(article: str) -> str:
    """Order an article."""
    return f"ordered {article}"


# --- asking ---------------------------------------------------------------------------------------------------------


@plays([Call("order", {"article": "tea"})], [Say("done")])
def test_an_async_ask_runs_on_the_loop_and_its_answer_holds(tmp_path: Path, provider: ScriptedProvider) -> None:
    threads: list[threading.Thread] = []

    async def ask(question: holdfast.Question) -> str:
        threads.append(threading.current_thread())
        await asyncio.sleep(0)
        return question.choices[0].name

    async def main() -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order], ask=ask) as session:
            return await session.prompt("Go")

    assert asyncio.run(main()) == "done"
    assert threads == [threading.main_thread()]
    assert outcomes(tmp_path / "s") == [("ok", "ordered tea")]
    assert len(provider.requests) == 2


@plays([Call("order", {"article": "tea"})], [Say("next")])
def test_an_async_ask_is_cancelled_when_its_turn_is_stopped(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> list[str]:
        said: list[str] = []
        asked = asyncio.Event()

        async def ask(question: holdfast.Question) -> str:
            del question
            asked.set()
            try:
                await asyncio.sleep(HANGS)
            finally:
                said.append("cancelled")
            return "once"

        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order], ask=ask) as session:
            turn = session.submit(holdfast.Prompt("Go"))
            await asked.wait()
            session.stop()
            ended = await turn.ended
            assert isinstance(ended, TurnEnded)
            said.append(ended.cause)
            said.append(await session.prompt("Again"))  # nothing of the old question is left
        return said

    assert asyncio.run(main()) == ["cancelled", "user", "next"]
    assert [outcome for outcome, _ in outcomes(tmp_path / "s")] == ["not_started"]
    assert len(provider.requests) == 2


@plays([Call("order", {"article": "tea"})])
def test_an_async_ask_that_raises_runs_nothing_and_is_raised(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def ask(question: holdfast.Question) -> str:
        raise LookupError(question.text)

    async def main() -> None:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order], ask=ask) as session:
            with pytest.raises(LookupError, match="Run this"):
                await session.prompt("Go")

    asyncio.run(main())
    assert [outcome for outcome, _ in outcomes(tmp_path / "s")] == ["not_started"]
    assert len(provider.requests) == 1


# --- a cancelled tool -----------------------------------------------------------------------------------------------


@plays([Call("work", {})])
def test_a_stopped_async_tool_cleans_up_and_its_call_is_interrupted(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> list[str]:
        said: list[str] = []
        running = asyncio.Event()

        async def work() -> str:
            running.set()
            try:
                await asyncio.sleep(HANGS)
            finally:
                said.append("cleaned up")
            return "never"

        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[work], mode="yolo") as session:
            turn = session.submit(holdfast.Prompt("Go"))
            await running.wait()
            session.stop()
            await turn.ended
            said.append("ended")
        return said

    assert asyncio.run(main()) == ["cleaned up", "ended"]
    ((outcome, text),) = outcomes(tmp_path / "s")
    assert outcome == "interrupted"
    assert "Effect unknown" in text
    assert len(provider.requests) == 1


@plays([Call("work", {})])
def test_an_async_tool_that_ignores_its_cancellation_does_not_hold_the_turn(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    async def main() -> TurnEnded:
        running, over = asyncio.Event(), asyncio.Event()

        async def work() -> str:
            running.set()
            while not over.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await over.wait()
            return "late"

        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[work], mode="yolo") as session:
            turn = session.submit(holdfast.Prompt("Go"))
            await running.wait()
            session.stop()
            ended = await turn.ended
            over.set()
            assert isinstance(ended, TurnEnded)
            return ended

    assert asyncio.run(main()).cause == "user"
    assert [outcome for outcome, _ in outcomes(tmp_path / "s")] == ["interrupted"]
    assert len(provider.requests) == 1


# --- a stream that is left ------------------------------------------------------------------------------------------


async def broken(session: holdfast.Session) -> None:
    async for _ in session.stream("Go"):
        break


async def raised(session: holdfast.Session) -> None:
    with contextlib.suppress(LookupError):
        async for _ in session.stream("Go"):
            raise LookupError


async def collected(session: holdfast.Session) -> None:
    stream = session.stream("Go")
    assert await anext(stream) == "one "
    circle: list[object] = [stream]
    circle.append(circle)  # only the collector finds it
    del stream, circle
    gc.collect()


async def closed(session: holdfast.Session) -> None:
    async with contextlib.aclosing(session.stream("Go")) as stream:
        assert await anext(stream) == "one "


async def cancelled(session: holdfast.Session) -> None:
    async def read() -> None:
        async for _ in session.stream("Go"):
            task.cancel()

    task = asyncio.get_running_loop().create_task(read())
    await asyncio.wait({task})
    assert task.cancelled()


@pytest.mark.parametrize("leave", [broken, raised, collected, closed, cancelled])
@plays(LONG, [Say("next")])
def test_a_stream_that_is_left_stops_its_turn_and_not_the_next_one(
    leave: Callable[[holdfast.Session], Awaitable[None]], tmp_path: Path, provider: ScriptedProvider
) -> None:

    async def main() -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order]) as session:
            await leave(session)
            return await session.prompt("Next")

    assert asyncio.run(main()) == "next"
    assert ends(tmp_path / "s") == [("cancelled", "user"), ("end_turn", "finished")]
    assert len(provider.requests) <= 2


@plays([Say("next")])
def test_a_stream_that_is_never_read_stops_its_turn_before_a_request(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    async def main() -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order]) as session:
            session.stream("Go")
            return await session.prompt("Next")

    assert asyncio.run(main()) == "next"
    assert ends(tmp_path / "s") == [("cancelled", "user"), ("end_turn", "finished")]
    assert len(provider.requests) == 1


@plays([Say("one"), Say(" two")])
def test_a_stream_that_is_read_to_its_end_stops_nothing(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order]) as session:
            return "".join([text async for text in session.stream("Go")])

    assert asyncio.run(main()) == "one two"
    assert ends(tmp_path / "s") == [("end_turn", "finished")]
    assert len(provider.requests) == 1
