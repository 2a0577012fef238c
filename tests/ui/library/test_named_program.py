"""A program that has its own name: the model reads that name, and never another, in all that is written for it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.host.commands import Compact, Rewind
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing import Call, Say, ScriptedProvider
from polling import HANGS, eventually

MODEL = "openai:gpt-5.5"

PROGRAM = """\
import asyncio, sys, time
import holdfast
from pathlib import Path

@holdfast.tool
def deploy(step: str) -> str:
    "Deploy a step."
    Path("effects.log").write_text(step)
    time.sleep(60)
    return step

async def main() -> None:
    tools = [deploy, *sys.argv[2:]]
    async with holdfast.open_session("openai:gpt-5.5", session="s", tools=tools, mode="yolo", name="Butler") as session:
        print(await session.prompt(sys.argv[1]))

asyncio.run(main())
"""


def read_by_model(provider: ScriptedProvider) -> str:
    """Return all that was sent to the model."""
    return "\n".join(json.dumps(each.body) for each in provider.requests)


def use(provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in provider.environ().items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("tools", [(), ("read", "bash")], ids=["own tools alone", "holdfast's tools too"])
def test_after_a_kill_the_model_reads_the_programs_own_name(
    tools: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    program, log = tmp_path / "program.py", folder / "effects.log"
    program.write_text(PROGRAM)
    with ScriptedProvider([[Say("First "), Call("deploy", {"step": "notify"})], [Say("I see.")]]) as provider:
        use(provider, monkeypatch)
        killed = subprocess.Popen([sys.executable, program, "Go", *tools], cwd=folder, env=dict(os.environ))
        try:
            eventually(log.exists)
        finally:
            killed.kill()
            killed.wait()
        again = subprocess.run(
            [sys.executable, program, "Go on", *tools],
            check=False,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=HANGS,
        )
        assert (again.stdout, again.stderr) == ("I see.\n", "")
        sent = read_by_model(provider)
    assert "Interrupted: Butler's process ended without recording why" in sent
    assert "You are Butler" in sent
    assert "holdfast" not in sent.replace(str(folder), "").lower()
    assert "[Note from Butler: " in sent
    first = read_copy(folder / "s").records[0].entry
    assert isinstance(first, SessionOpened)
    assert first.program == "Butler"


def first() -> str:
    """First."""
    return "x" * 20_000


def second() -> str:
    """Second."""
    return ""


def test_every_note_of_a_long_life_has_the_programs_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed tool, calls that repeat, a compaction, and a rewind over what ran."""
    repeats = [[Call("first", {})] for _ in range(3)]
    script = [*repeats, [Say("Done.")], [Say("Two.")], [Say("A summary.")], [Say("Three.")], [Say("Four.")]]

    async def turns() -> None:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=[first], mode="yolo", name="Butler") as s:
            await s.prompt("One")
        async with holdfast.open_session(
            MODEL, session=tmp_path / "s", tools=[second], mode="yolo", name="Butler"
        ) as s:
            await s.prompt("Two")
            await s.submit(Compact())
            await s.prompt("Three")
            await s.submit(Rewind(1))
            assert await s.prompt("Four") == "Four."

    with ScriptedProvider(script) as provider:
        use(provider, monkeypatch)
        asyncio.run(turns())
        sent = read_by_model(provider)
    for words in (
        "the tools have changed",
        "are the same as the last",
        "this conversation grew long",
        "the user rewound",
    ):
        assert words in sent
    assert "[Note from Butler: " in sent
    assert "holdfast" not in sent.lower()


def test_a_session_without_its_own_name_says_holdfast_in_an_unchanged_first_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def opened() -> None:
        async with holdfast.open_session(MODEL, session=tmp_path / "s", tools=["read"]):
            pass

    with ScriptedProvider([]) as provider:
        use(provider, monkeypatch)
        asyncio.run(opened())
    entry = read_copy(tmp_path / "s").records[0].entry
    assert isinstance(entry, SessionOpened)
    assert entry.program == "holdfast"
    assert '"program"' not in entry_json(entry)
    assert "[Note from holdfast: where you work." in entry.facts


def entry_json(entry: SessionOpened) -> str:
    import msgspec

    return msgspec.json.encode(entry).decode()
