"""What to do is said by the surface: each has a sentence for every fault, and offers only what can be done on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from holdfast.agent.sessions import create
from holdfast.errors import Fault, HoldfastError, UsageError
from holdfast.session.catalog import Catalog
from holdfast.session.storage.lease import Lease
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.ui.advice import COMMAND_LINE, EDITOR, SCREEN, with_advice
from holdfast.ui.export.export import write
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.command_parser import SLASH_COMMANDS

SHELL = re.compile(r"holdfast [a-z]|--[a-z]| -[mcp] ")
SLASH = re.compile(r"(?<![\w/])/([a-z]+)")


@pytest.mark.parametrize("table", [COMMAND_LINE, SCREEN, EDITOR], ids=["command line", "screen", "editor"])
def test_there_is_a_sentence_for_every_fault(table: dict[Fault, str]) -> None:
    assert set(table) == set(get_args(Fault))
    assert all(re.fullmatch(r"[A-Z].*\.", sentence) for sentence in table.values())


def test_the_screen_offers_its_own_commands_and_none_of_the_shell() -> None:
    names = {name for command in SLASH_COMMANDS for name in (command.name, *command.aliases)}
    for sentence in SCREEN.values():
        assert not SHELL.search(sentence), sentence
        assert set(SLASH.findall(sentence)) <= names, sentence


@pytest.mark.parametrize("table", [COMMAND_LINE, SCREEN, EDITOR], ids=["command line", "screen", "editor"])
def test_after_a_refusal_that_no_row_knows_it_names_rewind_and_another_model(table: dict[Fault, str]) -> None:
    assert "/rewind" in table["rejected"]
    assert "another model" in table["rejected"]


def test_an_error_that_says_what_to_do_itself_gets_no_advice() -> None:
    assert with_advice(UsageError("It failed. Do that."), SCREEN) == "It failed. Do that."


def test_what_depends_on_the_surface_is_left_to_it(tmp_path: Path) -> None:
    """Each of these messages is free of advice, and carries the fault for it."""
    catalog = Catalog(tmp_path)
    session = create(catalog, cwd=tmp_path, model="demo")
    failed: list[HoldfastError] = []

    def fails(what: Callable[[], object]) -> None:
        with pytest.raises(HoldfastError) as raised:
            what()
        failed.append(raised.value)

    fails(lambda: catalog.find("zz"))
    fails(lambda: catalog.folder("../x"))
    fails(lambda: Lease.take(catalog.folder(session.id)))
    fails(lambda: write(tmp_path / session.id, ""))
    fails(lambda: Connections(RunOptions(cwd=tmp_path, environ={})).check("anthropic:claude"))
    session.store.close()
    (catalog.folder(session.id) / "session.db").unlink()
    fails(lambda: read_copy(catalog.folder(session.id)))
    assert [error.fault for error in failed] == [
        *("no_session", "no_session", "session_in_use", "file_exists", "no_key", "no_session"),
    ]
    assert not any(SHELL.search(with_advice(error, SCREEN)) for error in failed)
    assert with_advice(failed[-1], COMMAND_LINE).endswith("See them all: holdfast sessions list.")
