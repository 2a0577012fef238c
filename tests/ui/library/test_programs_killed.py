"""Programs in real processes: two that create one folder at once, and one that is killed while it asks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded, SessionOpened
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing import Call, Say, ScriptedProvider
from polling import HANGS, eventually

OPENS = """\
import asyncio, sys, time
from pathlib import Path
import holdfast

async def main(name: str) -> None:
    await asyncio.sleep(0)
    Path(f"ready-{name}").touch()
    while not Path("go").exists():
        time.sleep(0.001)
    try:
        async with holdfast.open_session("openai:gpt-5.5", session="s", tools=["read"]) as session:
            Path(f"won-{name}").write_text(session.id)
            while not Path("end").exists():
                time.sleep(0.01)
    except holdfast.HoldfastError as error:
        Path(f"lost-{name}").write_text(f"{type(error).__name__}: {error}")

import holdfast.ui.library.library_opening
asyncio.run(main(sys.argv[1]))
"""

ASKS = """\
import asyncio, sys, time
from pathlib import Path
import holdfast

def order(article: str) -> str:
    "Order an article."
    with Path("effects.log").open("a") as log:
        log.write(article + "\\n")
    return "ordered " + article

async def ask(question: holdfast.Question) -> str:
    Path("asked").write_text(question.text)
    if sys.argv[1] == "wait":
        await asyncio.sleep(600)
    return "once"

async def main() -> None:
    async with holdfast.open_session("openai:gpt-5.5", session="s", tools=[order], ask=ask) as session:
        if sys.argv[1] == "continue":
            ended = await session.submit(holdfast.Continue())
            print("nothing" if ended is None else ended.reason)
        else:
            print(await session.prompt(sys.argv[2]))

asyncio.run(main())
"""


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


def program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def started(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(path), *words]
    return subprocess.Popen(
        command, cwd=path.parent, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@plays()
def test_of_programs_that_create_one_folder_at_once_one_wins_and_the_others_say_who_has_it(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    path = program(tmp_path, OPENS)
    names = ["a", "b", "c"]
    running = {name: started(path, name) for name in names}
    try:
        eventually(lambda: all((tmp_path / f"ready-{name}").exists() for name in names))
        (tmp_path / "go").touch()
        eventually(lambda: len([*tmp_path.glob("won-*"), *tmp_path.glob("lost-*")]) == len(names))
        (winner,) = tmp_path.glob("won-*")
        losers = [each.read_text() for each in tmp_path.glob("lost-*")]
        assert len(losers) == 2
        for each in losers:
            assert each.startswith("SessionBusy: ")
            assert f"pid {running[winner.name[-1]].pid}" in each
        (tmp_path / "end").touch()
        ended = {name: each.communicate(timeout=HANGS) for name, each in running.items()}
        assert [each for _, errors in ended.values() for each in errors.splitlines()] == []
    finally:
        for each in running.values():
            each.kill()
            each.wait()
    entries = [type(each.entry) for each in read_copy(tmp_path / "s").records]
    assert entries == [SessionOpened]
    assert provider.requests == ()


@plays([Call("order", {"article": "tea"})], [Say("Done.")])
def test_a_question_that_a_kill_left_open_is_asked_again_and_its_call_runs_once(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    path = program(tmp_path, ASKS)
    killed_while_it_asks(path)
    again = started(path, "continue")
    out, errors = again.communicate(timeout=HANGS)
    assert (out, errors) == ("end_turn\n", "")
    assert (tmp_path / "effects.log").read_text() == "tea\n"
    entries = [each.entry for each in read_copy(tmp_path / "s").records]
    assert len([each for each in entries if isinstance(each, ApprovalAsked)]) == 1
    assert [each.choice for each in entries if isinstance(each, ApprovalAnswered)] == ["once"]
    assert [each.outcome for each in entries if isinstance(each, CallEnded)] == ["ok"]
    assert len(provider.requests) == 2
    third = started(path, "continue")
    assert third.communicate(timeout=HANGS)[0] == "nothing\n"


@plays([Call("order", {"article": "tea"})], [Say("I see.")])
def test_a_prompt_after_a_kill_settles_the_open_question_and_nothing_runs(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    path = program(tmp_path, ASKS)
    killed_while_it_asks(path)
    again = started(path, "prompt", "Leave it.")
    assert again.communicate(timeout=HANGS) == ("I see.\n", "")
    assert not (tmp_path / "effects.log").exists()
    entries = [each.entry for each in read_copy(tmp_path / "s").records]
    assert [each.outcome for each in entries if isinstance(each, CallEnded)] == ["not_started"]
    assert len(provider.requests) == 2


def killed_while_it_asks(path: Path) -> None:
    killed = started(path, "wait", "Go")
    try:
        eventually((path.parent / "asked").exists)
    finally:
        killed.kill()
        killed.communicate()
