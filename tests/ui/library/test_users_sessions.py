"""A program's session among the user's own obeys the user's rules; one in a folder of the program's stands alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import holdfast
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import CallEnded
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.user_directories import homes
from holdfast.testing import Call, Say, ScriptedProvider

MODEL = "openai:gpt-5.5"
MCP_SERVER = Path(__file__).parents[2] / "mcp_server.py"

PLUGIN = """
from holdfast.host.plugins.contributions import PluginSlashCommand, Said
from holdfast.testing import FunctionTool
from holdfast.tools.tool import ToolOutput

async def stock(arguments, context):
    return ToolOutput(text="3 pieces")

holdfast_plugin = 1
tools = [FunctionTool("stock", "read", stock, description="How many pieces there are.")]
"""


@holdfast.tool
def order(article: str) -> str:
    """Order an article."""
    return f"ordered {article}"


@pytest.fixture
def home() -> Path:
    """Return the folder of the user's config."""
    folder = homes(os.environ).config.parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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


def prompted(*tools: object, session: Path | None = None, mode: str = "yolo") -> list[str]:
    """Run one turn and return the outcomes of its calls, with their texts."""

    async def turn() -> str:
        opened = holdfast.open_session(MODEL, session=session, tools=tools, mode=mode)  # pyright: ignore[reportArgumentType] - a mode
        async with opened as running:
            await running.prompt("Go")
            return running.id

    session_id = asyncio.run(turn())
    folder = Catalog(homes(os.environ).sessions).folder(session_id) if session is None else session
    ended = [each.entry for each in read_copy(folder).records if isinstance(each.entry, CallEnded)]
    return [f"{each.outcome}: {each.text}" for each in ended]


def declared(provider: ScriptedProvider) -> list[str]:
    body = cast("dict[str, list[dict[str, str]]]", provider.requests[0].body)
    return [each["name"] for each in body["tools"]]


ORDERS: tuple[list[object], ...] = ([Call("order", {"article": "tea"})], [Say("Done.")])


@plays(*ORDERS)
def test_a_rule_that_denies_holds_among_the_users_own_in_every_mode(home: Path, provider: ScriptedProvider) -> None:
    (home / "config.toml").write_text('[permissions]\ndeny = ["order"]\n')
    (outcome,) = prompted(order)
    assert outcome.startswith("denied: ")
    assert "order" in outcome
    assert len(provider.requests) == 2


@plays(*ORDERS)
def test_a_rule_of_the_user_says_nothing_about_a_folder_of_the_program(
    home: Path, tmp_path: Path, provider: ScriptedProvider
) -> None:
    (home / "config.toml").write_text('[permissions]\ndeny = ["order"]\n')
    assert prompted(order, session=tmp_path / "s") == ["ok: ordered tea"]
    assert len(provider.requests) == 2


@plays(*ORDERS)
def test_a_rule_that_allows_needs_no_answer_among_the_users_own(home: Path, provider: ScriptedProvider) -> None:
    (home / "config.toml").write_text('[permissions]\nallow = ["order"]\n')
    assert prompted(order, mode="ask") == ["ok: ordered tea"]
    assert len(provider.requests) == 2


@plays([Call("stock", {})], [Call("mcp__srv__echo", {"text": "hi"})], [Say("Done.")])
def test_plug_ins_and_servers_of_the_user_are_in_their_sessions(home: Path, provider: ScriptedProvider) -> None:
    give_all(home)
    assert prompted() == ["ok: 3 pieces", "ok: echo hi"]
    assert {"read", "bash", "stock", "mcp__srv__echo"} <= set(declared(provider))


@plays([Say("Done.")])
def test_a_session_in_a_folder_of_the_program_has_none_of_them(
    home: Path, tmp_path: Path, provider: ScriptedProvider
) -> None:
    give_all(home)
    assert prompted(session=tmp_path / "s") == []
    names = declared(provider)
    assert "read" in names
    assert [name for name in names if name == "stock" or name.startswith("mcp")] == []


@plays([Say("Done.")])
def test_a_program_that_names_its_tools_has_no_others(home: Path, provider: ScriptedProvider) -> None:
    give_all(home)
    assert prompted(order, "read") == []
    assert sorted(declared(provider)) == ["order", "read"]


@plays([Say("Done.")])
def test_what_a_run_would_tell_the_user_is_a_warning(home: Path, provider: ScriptedProvider) -> None:
    (home / "plugins").mkdir()
    (home / "plugins" / "broken.py").write_text("1 / 0")
    with pytest.warns(UserWarning, match=r"Plug-in 'broken' .* is not in use: ZeroDivisionError"):
        prompted()
    assert len(provider.requests) == 1


def give_all(home: Path) -> None:
    """Give the user a plug-in and an MCP server."""
    (home / "plugins").mkdir()
    (home / "plugins" / "shop.py").write_text(PLUGIN)
    server = {"command": sys.executable, "args": [str(MCP_SERVER), "plain", str(home / "marker")]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"srv": server}}))
