"""A surface of a plug-in opens hosts among the user's sessions; what a slash command leaves there."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable
from typing import cast

import pytest

from holdfast.errors import UsageError
from holdfast.host.commands import Rename
from holdfast.host.plugins.contributions import PluginSlashCommand, Said, SlashFacts
from holdfast.host.plugins.slash_reply import said_by
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


async def test_a_surface_without_a_model_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="No model configured"):
        async with UsersHosts(os.environ).open(asks_user=True):
            pass
    assert not Catalog(homes(os.environ).sessions).all()
