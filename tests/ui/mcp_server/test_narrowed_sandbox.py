"""A client of the server may ask for a sandbox, and never for less than the user configured."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.errors import UsageError
from holdfast.session.catalog import Catalog
from holdfast.ui.mcp_server.delegated_sessions import DelegatedOptions, DelegatedSessions
from holdfast.ui.mcp_server.main import command_parser
from holdfast.ui.mcp_server.session_tools import TOOLS, call_tool


def sessions(folder: Path) -> DelegatedSessions:
    return DelegatedSessions(Catalog(folder / "sessions"), folders=[folder], environ={}, options=("--sandbox", "auto"))


async def _silent(entries: int, doing: str) -> None:
    del entries, doing


@pytest.mark.parametrize("asked", ["off", "auto", "", "none", True])
def test_a_client_cannot_ask_for_less(tmp_path: Path, asked: object) -> None:
    arguments = {"prompt": "go", "cwd": str(tmp_path), "sandbox": asked}
    with pytest.raises(UsageError, match="sandbox"):
        asyncio.run(call_tool("start_session", arguments, sessions=sessions(tmp_path), progress=_silent))
    assert not (tmp_path / "sessions").exists()


@pytest.mark.parametrize("name", ["start_session", "continue_session"])
def test_the_tools_declare_that_one_value(name: str) -> None:
    (tool,) = (each for each in TOOLS if each.name == name)
    assert '"sandbox"' in str(tool.parameters).replace("'", '"')
    assert "['require']" in str(tool.parameters)


def test_a_client_that_asks_for_a_sandbox_gets_it_whatever_the_server_uses(tmp_path: Path) -> None:
    """Its words come after those of the server, and the last one counts."""
    words = sessions(tmp_path)._words  # pyright: ignore[reportPrivateUsage] - what a worker would be started with
    assert words(DelegatedOptions(require_sandbox=True))[:2] == ("--sandbox", "require")
    assert "--sandbox" not in words(DelegatedOptions())


def test_the_server_has_the_option() -> None:
    assert "--sandbox {off,auto,require}" in command_parser().format_help()
