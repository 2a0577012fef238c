"""What a program does wrong, in its functions or its arguments, is named as what it is, and its session continues."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

import holdfast
from holdfast.errors import HoldfastError, SessionBusy, StateError, UsageError
from holdfast.host.author_tools import LONGEST_RETURNED
from holdfast.host.commands import LONGEST_MESSAGE_ID
from holdfast.session.journal.entries import CallEnded, PromptAccepted, Queued, Recalled, TurnEnded
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing import Call, Say, ScriptedProvider
from holdfast.tools.returned_output import LARGEST_OUTPUT_IMAGE, LONGEST_OUTPUT, MOST_OUTPUT_IMAGES
from holdfast.tools.tool import ToolOutput
from holdfast.ui.library.given_arguments import LONGEST_SYSTEM
from holdfast.ui.library.library_session import LONGEST_ASK_FAULT
from polling import HANGS

MODEL = "openai:gpt-5.5"


def ends(folder: Path) -> list[TurnEnded]:
    return [each.entry for each in read_copy(folder).records if isinstance(each.entry, TurnEnded)]


def outcomes(folder: Path) -> list[CallEnded]:
    return [each.entry for each in read_copy(folder).records if isinstance(each.entry, CallEnded)]


@contextmanager
def scripted(monkeypatch: pytest.MonkeyPatch, *answers: Sequence[Call | Say]) -> Generator[ScriptedProvider]:
    """Serve these answers, and then "after", as the provider of the sessions."""
    with ScriptedProvider(list(answers), after=[Say("after")]) as made:
        for name, value in made.environ().items():
            monkeypatch.setenv(name, value)
        yield made


def act(x: int) -> str:
    """Act."""
    return f"acted {x}"


# --- cancelling -------------------------------------------------------------------------------------------------------


async def test_a_cancelled_prompt_stops_its_turn_and_the_next_begins_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def slow(x: int) -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(x)
        return "slept"

    with scripted(monkeypatch, [Call("slow", {"x": 600})]):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[slow], mode="yolo") as session:
            prompt = asyncio.ensure_future(session.prompt("first"))
            await asyncio.wait_for(begun.wait(), HANGS)
            prompt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await prompt
            (ended,) = ends(tmp_path / "s")  # before the cancellation is raised
            assert (ended.reason, ended.cause) == ("cancelled", "external")
            assert await session.prompt("second") == "after"
    records = [each.entry for each in read_copy(tmp_path / "s").records]
    assert [each.text for each in records if isinstance(each, PromptAccepted)] == ["first", "second"]
    assert not any(isinstance(each, Queued) for each in records)


async def test_a_cancelled_prompt_that_waits_for_another_turn_is_recalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(x: int) -> str:
        """Wait."""
        begun.set()
        await go_on.wait()
        return f"slept {x}"

    with scripted(monkeypatch, [Call("slow", {"x": 1})], [Say("first answer")]):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[slow], mode="yolo") as session:
            first = asyncio.ensure_future(session.prompt("first"))
            await asyncio.wait_for(begun.wait(), HANGS)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.prompt("second"), 0.05)
            go_on.set()
            assert await first == "first answer"
    records = [each.entry for each in read_copy(tmp_path / "s").records]
    assert [type(each) for each in records if isinstance(each, Queued | Recalled)] == [Queued, Recalled]
    assert [each.cause for each in records if isinstance(each, TurnEnded)] == ["finished"]


async def test_a_prompt_that_a_stopped_turn_did_not_reach_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def slow(x: int) -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(x)
        return "slept"

    with scripted(monkeypatch, [Call("slow", {"x": 600})]):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[slow], mode="yolo") as session:
            first = asyncio.ensure_future(session.prompt("first"))
            await asyncio.wait_for(begun.wait(), HANGS)
            second = session.submit(holdfast.Prompt("second"))
            await second.accepted
            session.stop()
            for each in (first, second):
                ended = (await asyncio.wait_for(asyncio.gather(each, return_exceptions=True), HANGS))[0]
                assert "cancelled" in str(ended)


async def test_the_events_of_a_closed_session_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(monkeypatch):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[act]) as session:
            before = session.events()
        heard = [type(each).__name__ async for each in before]
        assert heard[-1] == "Closed"
        async with asyncio.timeout(HANGS):
            later = [each async for each in session.events()]
        assert later == []


# --- ask --------------------------------------------------------------------------------------------------------------


class Down(ConnectionError):
    pass


def failing(question: holdfast.Question) -> str:
    raise Down(f"the approval service is down: {question.call}")


def nothing(question: holdfast.Question) -> object:
    del question
    return None


def yes(question: holdfast.Question) -> object:
    del question
    return "yes"


def yolo(question: holdfast.Question) -> object:
    del question
    return "yolo"


def wrong_words(question: holdfast.Question) -> object:
    del question
    return holdfast.ApprovalAnswer("once", words=5)  # pyright: ignore[reportArgumentType] - what an author writes


async def cancelled(question: holdfast.Question) -> str:
    asyncio.get_running_loop().call_soon(cast("asyncio.Task[object]", asyncio.current_task()).cancel)
    await asyncio.sleep(HANGS)
    return question.choices[0].name


async def leaving(question: holdfast.Question) -> str:
    sys.exit(f"left at {question.call}")


@pytest.mark.parametrize(
    ("ask", "raised", "said"),
    [
        (failing, Down, "Down: the approval service is down: "),
        (nothing, UsageError, "returned None"),
        (yes, UsageError, "returned 'yes'"),
        (yolo, UsageError, "expected one of once"),
        (wrong_words, UsageError, "answer with a wrong field: Expected `str`"),
        (cancelled, UsageError, "Function ask was cancelled before it had answered"),
        (leaving, SystemExit, "SystemExit: left at"),
    ],
    ids=["raises", "none", "yes", "not offered", "wrong field", "cancelled", "exits"],
)
async def test_an_ask_that_does_not_answer_is_raised_and_told_as_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., str], raised: type[BaseException], said: str
) -> None:
    with scripted(monkeypatch, [Call("act", {"x": 1})]) as provider:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[act], ask=ask) as session:
            with pytest.raises(raised):
                async with asyncio.timeout(HANGS):
                    await session.prompt("go")
            assert await session.prompt("next") == "after"
        read = str(provider.requests[-1].body)
    assert "user stopped" not in read
    assert "the program that runs holdfast cancelled the turn (its function ask did not answer: " in read
    ended = ends(tmp_path / "s")[0]
    assert ended.cause == "external"
    assert said in ended.detail
    assert [each.outcome for each in outcomes(tmp_path / "s")] == ["not_started"]


# --- tools ------------------------------------------------------------------------------------------------------------


def picture(x: int) -> ToolOutput:
    """Take a picture."""
    return ToolOutput(text="see", images=[f"/tmp/{x}.png"])  # pyright: ignore[reportArgumentType] - what an author writes


async def exits(x: int) -> str:
    """Exit."""
    sys.exit(x)


def exits_on_a_thread(x: int) -> str:
    """Exit."""
    sys.exit(x)


async def closes(x: int) -> str:
    """Raise what ends a generator."""
    raise GeneratorExit(x)


async def test_no_fault_of_a_function_damages_the_journal_or_ends_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = (picture, exits, exits_on_a_thread, closes)
    with scripted(monkeypatch, [Call(each.__name__, {"x": 3}) for each in tools]):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=tools, mode="yolo") as session:
            assert await session.prompt("go") == "after"
    assert read_copy(tmp_path / "s").findings == ()
    ended = outcomes(tmp_path / "s")
    assert [each.outcome for each in ended] == ["failed"] * 4
    assert "wrong field: Expected `object`, got `str` - at `$.images[0]`" in ended[0].text
    assert ["SystemExit: 3" in each.text for each in ended] == [False, True, True, False]
    assert "GeneratorExit: 3" in ended[3].text


def long_text(x: int) -> str:
    """Return much."""
    return "y" * x


def long_data(x: int) -> list[str]:
    """Return much."""
    return ["y" * x]


async def test_a_long_result_of_a_function_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = (long_text, long_data)
    with scripted(monkeypatch, [Call(each.__name__, {"x": 1_000_000}) for each in tools]):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=tools, mode="yolo") as session:
            await session.prompt("go")
    for each in outcomes(tmp_path / "s"):
        assert each.outcome == "ok"
        assert LONGEST_RETURNED < len(each.text) < LONGEST_RETURNED + 200
        assert "left out here" in each.text


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"session": b"s"}, "session= is bytes"),
        ({"session": 5}, "session= is int"),
        ({"session": "\0x"}, "session='\\x00x' is no path"),
        ({"session": "x" * 5000}, "is too long for a path"),
        ({"resume": 5}, "resume= is int"),
        ({"name": None}, "name= is NoneType"),
        ({"system": 5}, "system= is int"),
        ({"system": "x" * 1_000_001}, "system= has 1000001 characters (at most 1000000)"),
        ({"cwd": None}, "cwd= is NoneType"),
        ({"cwd": "\0"}, "cwd='\\x00' is no path"),
        ({"model": 5}, "model= is int"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused_by_name(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        holdfast.open_session(**{"model": MODEL, **arguments})  # pyright: ignore[reportArgumentType] - what a program may pass
    assert why in str(refused.value)


@pytest.mark.parametrize("kind", ["pipe", "folder"])
async def test_a_journal_that_is_no_file_is_refused_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (tmp_path / "s").mkdir()
    journal = tmp_path / "s" / "session.db"
    if kind == "pipe":
        os.mkfifo(journal)
    else:
        journal.mkdir()
    with (
        scripted(monkeypatch),
        pytest.raises(StateError, match=r"session\.db' cannot be used: it is .*\(expected a file"),
    ):
        await holdfast.open_session(MODEL, session=tmp_path / "s", tools=[act]).__aenter__()


async def test_a_session_that_this_process_has_is_named_as_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(monkeypatch):
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[act]):
            with pytest.raises(SessionBusy, match="is already open in this process") as busy:
                await holdfast.open_session(MODEL, session=tmp_path / "s", tools=[act]).__aenter__()
    assert isinstance(busy.value, HoldfastError)


def test_the_page_of_limits_has_those_of_results() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "limits.md").read_text().partition("## Results")[2]
    numbers = [row.split(" | ")[1].split()[0] for row in page.splitlines() if row.startswith("| ")][1:]
    assert numbers == [
        f"{each:,}"
        for each in (
            LONGEST_OUTPUT,
            LONGEST_RETURNED,
            MOST_OUTPUT_IMAGES,
            LARGEST_OUTPUT_IMAGE,
            LONGEST_SYSTEM,
            LONGEST_ASK_FAULT,
            LONGEST_MESSAGE_ID,
        )
    ]
