"""The front door for programs: `open_session` and `tool`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

import holdfast
from holdfast.errors import UsageError
from holdfast.session.journal.entries import CallEnded, SessionOpened, ToolsChanged
from holdfast.session.journal.store import StoredEntry
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.testing import Call, Say, ScriptedProvider
from polling import HANGS, eventually
from tiers import sampled

MODEL = "openai:gpt-5.5"


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


def records(folder: Path) -> tuple[StoredEntry, ...]:
    return read_copy(folder).records


def tools_sent(provider: ScriptedProvider, request: int) -> list[str]:
    """Return the names of the tools that a request declared."""
    body = cast("dict[str, list[dict[str, str]]]", provider.requests[request].body)
    return [each["name"] for each in body["tools"]]


def results(folder: Path) -> list[tuple[str, str]]:
    return [(each.entry.outcome, each.entry.text) for each in records(folder) if isinstance(each.entry, CallEnded)]


# --- opening --------------------------------------------------------------------------------------------------------


@plays([Say("one")], [Say("two")])
def test_the_same_call_creates_and_resumes_a_folder(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def turn() -> str:
        async with holdfast.open_session(
            MODEL, session=str(tmp_path / "a" / "s"), system="Help.", tools=[add]
        ) as session:
            return await session.prompt("Go")

    assert [asyncio.run(turn()), asyncio.run(turn())] == ["one", "two"]
    assert [isinstance(each.entry, SessionOpened) for each in records(tmp_path / "a" / "s")].count(True) == 1
    assert cast("dict[str, list[object]]", provider.requests[1].body)["input"][0] == {
        "role": "system",
        "content": "Help.",
    }


@plays([Say("hello")])
def test_a_session_killed_before_its_first_entry_is_opened(tmp_path: Path, provider: ScriptedProvider) -> None:
    for folder in (left := tmp_path / "folder", empty := tmp_path / "journal"):
        if folder == left:
            left.mkdir()
        else:
            SqliteStore.create(empty).close()

        async def opened(folder: Path = folder) -> str:
            async with holdfast.open_session(MODEL, session=folder, tools=[add]) as session:
                return session.id

        assert asyncio.run(opened()) == folder.name
        assert isinstance(records(folder)[0].entry, SessionOpened)
    assert provider.requests == ()


@plays([Say("one")], [Say("two")])
def test_a_session_of_the_user_is_resumed_by_the_beginning_of_its_id(provider: ScriptedProvider) -> None:
    async def main() -> tuple[str, str, str]:
        async with holdfast.open_session(MODEL, tools=[add]) as first:
            await first.prompt("Go")
        async with holdfast.open_session(MODEL, resume=first.id[:-1], tools=[add]) as second:
            return first.id, second.id, await second.prompt("Go on")

    first, second, answer = asyncio.run(main())
    assert (second, answer) == (first, "two")
    assert len(provider.requests) == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"session": "s", "resume": "r"}, "Arguments session= and resume= were both given"),
        ({"mode": "all"}, "Mode 'all' is unknown"),
        ({"tools": "read"}, "Write tools=[read]"),
        ({"tools": [3]}, "Tool 3 cannot be used: it is int"),
        ({"tools": ["reed"]}, "Tool 'reed' is unknown"),
        ({"session": ""}, "session= is empty"),
        ({"name": " "}, "name=' ' cannot be the name of a program"),
        ({"name": "a]: b"}, "name='a]: b' cannot be"),
        ({"name": "n" * 41}, "expected up to 40 letters"),
        ({"ask": "yes"}, "ask='yes' cannot be called"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_by_name(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        holdfast.open_session(MODEL, **arguments)  # pyright: ignore[reportArgumentType] - what an author passes
    assert why in str(refused.value)


# --- tools ----------------------------------------------------------------------------------------------------------


@holdfast.tool("read")
def add(first: int, second: int = 2) -> int:
    """Add two numbers."""
    return first + second


def test_a_tool_is_described_by_its_types_and_its_docstring() -> None:
    assert add.schema.description == "Add two numbers."
    assert add.schema.parameters["properties"] == {
        "first": {"type": "integer"},
        "second": {"type": "integer", "default": 2},
    }
    assert add.schema.parameters["required"] == ["first"]
    assert add(1) == 3


def test_a_tool_without_an_effect_may_do_anything() -> None:
    @holdfast.tool
    def go() -> None:
        """Go."""

    assert (add.effect, go.effect) == ("read", "execute")


def test_a_function_that_no_model_can_call_is_refused() -> None:
    def untyped(first) -> None: ...  # noqa: ANN001 # pyright: ignore - what an author forgets
    def rest(*words: str) -> None: ...

    wrong: list[tuple[Callable[..., None], str]] = [
        (untyped, "without a type"),
        (rest, "cannot pass by name"),
        (lambda: None, "no model can call"),
    ]
    for function, why in wrong:
        with pytest.raises(UsageError, match=why):
            holdfast.tool(function)
    with pytest.raises(UsageError, match="Effect 'reed'"):
        holdfast.tool("reed")  # pyright: ignore[reportCallIssue, reportArgumentType] - what an author misspells


@plays(
    [Call("text", {}), Call("nothing", {}), Call("data", {}), Call("broken", {}), Call("unknown", {})],
    [Say("done")],
)
def test_any_value_is_a_result_and_a_fault_is_the_tools(tmp_path: Path, provider: ScriptedProvider) -> None:
    class BadError(Exception):
        def __str__(self) -> str:
            raise ValueError

    async def text() -> str:
        return "a text"

    def nothing() -> None: ...
    def data() -> dict[str, list[int]]:
        return {"a": [1]}

    def broken() -> None:
        raise BadError

    def unknown() -> object:
        return object()

    async def main() -> str:
        tools = [text, nothing, data, broken, unknown]
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=tools, mode="yolo") as session:
            return await session.prompt("Go")

    assert asyncio.run(main()) == "done"
    ended = results(tmp_path / "s")
    assert ended[:3] == [("ok", "a text"), ("ok", "Done."), ("ok", '{"a":[1]}')]
    assert [outcome for outcome, _ in ended[3:]] == ["failed", "failed"]
    assert "'broken' failed while it ran: BadError" in ended[3][1]
    assert "returned object, which cannot be written as JSON" in ended[4][1]
    assert tools_sent(provider, 0) == [each.__name__ for each in (text, nothing, data, broken, unknown)]


@plays([Say("one")], [Say("two")])
def test_tools_that_changed_are_declared_and_journalled(tmp_path: Path, provider: ScriptedProvider) -> None:
    def more() -> str:
        """More."""
        return ""

    async def turn(*tools: object) -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=tools) as session:
            return await session.prompt("Go")

    asyncio.run(turn(add))
    asyncio.run(turn(add, more))
    assert tools_sent(provider, 1) == ["add", "more"]
    (changed,) = [each.entry for each in records(tmp_path / "s") if isinstance(each.entry, ToolsChanged)]
    assert changed.note == "[Note from holdfast: the tools have changed. New: more.]"


# --- asking ---------------------------------------------------------------------------------------------------------


def order(article: str) -> str:
    """Order an article."""
    return f"ordered {article}"


@plays([Call("order", {"article": "tea"})], [Say("done")])
def test_a_sync_function_is_asked_and_its_answer_holds(tmp_path: Path, provider: ScriptedProvider) -> None:
    asked: list[str] = []

    def ask(question: holdfast.Question) -> str:  # noqa: ARG001 - what is asked does not matter
        asked.append(threading.current_thread().name)
        return "once"

    async def main() -> str:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order], ask=ask) as session:
            return await session.prompt("Go")

    assert asyncio.run(main()) == "done"
    assert results(tmp_path / "s") == [("ok", "ordered tea")]
    assert asked == ["blocking work"]
    assert len(provider.requests) == 2


@plays([Call("order", {"article": "tea"})])
def test_an_answer_that_was_not_offered_runs_nothing_and_is_raised(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> None:
        tools, folder = [order], tmp_path / "s"
        async with holdfast.open_session(MODEL, session=folder, tools=tools, ask=lambda _: "yes") as session:
            with pytest.raises(UsageError, match=r"Function ask returned 'yes' .*expected one of once"):
                await session.prompt("Go")

    asyncio.run(main())
    assert [outcome for outcome, _ in results(tmp_path / "s")] == ["not_started"]
    assert len(provider.requests) == 1


@plays([Call("order", {"article": "tea"})])
def test_a_call_that_no_user_can_approve_says_what_to_pass(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> None:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[order]) as session:
            with pytest.raises(holdfast.PromptFailed, match=r"Pass ask="):
                await session.prompt("Go")

    asyncio.run(main())
    assert len(provider.requests) == 1


# --- stopping -------------------------------------------------------------------------------------------------------


@plays([Call("block", {})])
def test_a_stop_of_another_thread_ends_a_running_tool(tmp_path: Path, provider: ScriptedProvider) -> None:
    running, over = threading.Event(), threading.Event()

    def block() -> None:
        running.set()
        over.wait(HANGS)

    async def main() -> None:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[block], mode="yolo") as session:

            def stop() -> None:
                running.wait(HANGS)
                session.stop()

            threading.Thread(target=stop, daemon=True).start()
            with pytest.raises(holdfast.PromptFailed) as failed:
                await session.prompt("Go")
            assert (failed.value.ended.reason, failed.value.ended.cause) == ("cancelled", "user")
            assert not over.is_set()  # the turn did not wait for the thread

    asyncio.run(main())
    over.set()
    assert [outcome for outcome, _ in results(tmp_path / "s")] == ["interrupted"]
    assert len(provider.requests) == 1


@plays([Say("hello")])
def test_events_end_with_the_session_and_a_command_can_be_awaited(tmp_path: Path, provider: ScriptedProvider) -> None:
    async def main() -> tuple[list[str], object]:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[add]) as session:
            events = session.events()
            ended = await session.submit(holdfast.Prompt("Go"))
        return [type(each).__name__ async for each in events], ended

    kinds, ended = asyncio.run(main())
    assert (kinds[0], kinds[-1]) == ("Busy", "Closed")
    assert {"Fact", "LiveText", "Idle"} <= set(kinds)
    assert getattr(ended, "reason", "") == "end_turn"
    assert len(provider.requests) == 1


# --- a killed process -----------------------------------------------------------------------------------------------

EXAMPLE = """\
import asyncio, sys, time
import holdfast
from pathlib import Path

@holdfast.tool
def deploy(step: str, seconds: float = 0) -> str:
    "Deploy a step."
    with Path("effects.log").open("a") as log:
        log.write(step + "\\n")
    time.sleep(seconds)
    return step + " done"

async def main() -> None:
    async with holdfast.open_session("openai:gpt-5.5", session="s", tools=[deploy], mode="yolo") as session:
        print(await session.prompt(sys.argv[1]))

asyncio.run(main())
"""


@plays([Call("deploy", {"step": "upload"}), Call("deploy", {"step": "notify", "seconds": 60})], [Say("I see.")])
def test_a_killed_program_is_resumed_by_the_same_call(tmp_path: Path, provider: ScriptedProvider) -> None:
    program = tmp_path / "program.py"
    program.write_text(EXAMPLE)
    log = tmp_path / "effects.log"
    killed = subprocess.Popen([sys.executable, program, "Go"], cwd=tmp_path, env=dict(os.environ))
    try:
        eventually(lambda: log.exists() and "notify" in log.read_text())
    finally:
        killed.kill()
        killed.wait()
    again = subprocess.run(
        [sys.executable, program, "Go on"], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS
    )
    assert (again.stdout, again.stderr) == ("I see.\n", "")
    assert log.read_text().split() == ["upload", "notify"]
    (ok, interrupted) = results(tmp_path / "s")
    assert ok == ("ok", "upload done")
    assert interrupted[0] == "interrupted"
    assert "effect unknown" in interrupted[1].lower()
    assert len(provider.requests) == 2


# --- at each entry --------------------------------------------------------------------------------------------------

KILLS_ITSELF = """
import os, signal
from holdfast.session.storage.sqlite_store import SqliteStore
append = SqliteStore.append

def killed(store, entries, *, expected):
    length = append(store, entries, expected=expected)
    if len(sys.argv) > 2 and length >= int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return length

SqliteStore.append = killed
"""


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, program, *words]
    return subprocess.run(command, check=False, cwd=program.parent, capture_output=True, text=True, timeout=HANGS)


@pytest.mark.parametrize("entry", sampled(range(1, 10), 3))
def test_a_program_killed_at_an_entry_loses_nothing_and_its_model_reads_the_truth(
    entry: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first entry to the last one of a turn with a call."""
    program = tmp_path / "program.py"
    program.write_text(EXAMPLE.replace("\n@holdfast.tool", KILLS_ITSELF + "\n@holdfast.tool", 1))
    script = [[Call("deploy", {"step": "upload"})], [Say("Done.")]]
    with ScriptedProvider([*script, [Say("I see.")]]) as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        assert run(program, "Go", str(entry)).returncode == -9
        before = records(tmp_path / "s")
        sent = len(provider.requests)
    with ScriptedProvider([[Say("I see.")]]) as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        again = run(program, "Go on")
        assert (again.stdout, again.stderr, again.returncode) == ("I see.\n", "", 0)
        assert (provider.refusals, provider.complaints) == ((), ())
    assert records(tmp_path / "s")[: len(before)] == before
    log = tmp_path / "effects.log"
    effects = log.read_text().split() if log.exists() else []
    outcomes = [outcome for outcome, _ in results(tmp_path / "s")]
    if effects:
        assert effects == ["upload"]
        assert outcomes in (["ok"], ["interrupted"])
    else:
        assert outcomes in ([], ["not_started"], ["interrupted"])
    assert sent <= 2
