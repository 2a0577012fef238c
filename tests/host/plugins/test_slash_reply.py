"""A slash command of a plug-in has a bound in time and in size, and a closed list of effects."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable
from typing import cast

import pytest

from holdfast.errors import UsageError
from holdfast.host.commands import Rename, UseMode
from holdfast.host.plugins.contributions import PluginSlashCommand, Said, SlashFacts
from holdfast.host.plugins.slash_reply import LONGEST_SAID, MOST_SAID, said_by
from holdfast.host.session_host import SessionHost
from holdfast.session.catalog import Catalog
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.user_directories import homes
from holdfast.ui.library.surface_hosts import UsersHosts


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[SessionHost]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    async with UsersHosts(os.environ).open(asks_user=True, model="openai:gpt-5.5") as opened:
        yield opened


def command(run: Callable[[SlashFacts, str], object]) -> PluginSlashCommand:
    return PluginSlashCommand("hours", "when it is open", cast("Callable[[SlashFacts, str], Said]", run))


async def test_a_command_that_does_not_end_is_bounded_and_journals_nothing(host: SessionHost) -> None:
    over = threading.Event()

    def waits(facts: SlashFacts, rest: str) -> Said:
        del facts, rest
        over.wait()
        return Said(("late",), Rename("late"))

    with pytest.raises(UsageError, match=r"Command '/hours' of a plug-in failed: it did not end within 0.05 s"):
        await said_by(command(waits), host.agent, host.session, "", within=0.05)
    over.set()
    folder = Catalog(homes(os.environ).sessions).folder(host.session.id)
    assert [type(each.entry).__name__ for each in read_copy(folder).records] == ["SessionOpened"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("text", "it returned str (expected Said)"),
        (Said((), cast("Rename", UseMode("yolo"))), "it wants UseMode (expected Prompt, Rename or Compact)"),
        (ZeroDivisionError("no luck"), "ZeroDivisionError: no luck"),
    ],
    ids=["no answer", "a mode", "a fault"],
)
async def test_what_a_command_may_not_do_is_refused_by_its_name(host: SessionHost, answer: object, why: str) -> None:
    def run(facts: SlashFacts, rest: str) -> object:
        del facts, rest
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(UsageError) as refused:
        await said_by(command(run), host.agent, host.session, "")
    assert why in str(refused.value)
    assert host.agent.mode != "yolo"


async def test_a_flood_of_lines_is_cut(host: SessionHost) -> None:
    flood = Said(("x" * (LONGEST_SAID + 1),) * (MOST_SAID + 1))
    said = await said_by(command(lambda _, __: flood), host.agent, host.session, "")
    assert len(said.lines) == MOST_SAID
    assert {len(line) for line in said.lines} == {LONGEST_SAID}


async def test_a_surface_without_a_model_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="No model configured"):
        async with UsersHosts(os.environ).open(asks_user=True):
            pass
    assert not Catalog(homes(os.environ).sessions).all()
