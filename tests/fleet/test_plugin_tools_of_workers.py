"""A worker serves the tools of its user's plug-ins, also in a session that another worker began."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memory_record import MemoryRecord

from holdfast.fleet.places.place import FolderPlace
from holdfast.session.journal.entries import SessionOpened
from holdfast.system.user_directories import homes
from holdfast.tools.toolbox import LocalToolbox
from holdfast.ui.commands.fleet.session_agents import SessionAgents
from holdfast.ui.startup.arguments import Arguments

PLUGIN = """
from holdfast.testing import FunctionTool
from holdfast.tools.tool import ToolOutput

async def stock(arguments, context):
    return ToolOutput(text="3 pieces")

holdfast_plugin = 1
tools = [FunctionTool("stock", "read", stock, description="How many pieces there are.")]
"""


async def test_a_tool_of_a_plug_in_is_served_by_the_next_worker_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    folder = homes(os.environ).plugins
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text(PLUGIN)
    record = MemoryRecord(place={"kind": "folder", "cwd": str(tmp_path), "model": "openai:gpt-5.5"})
    for worker in ("first", "second"):
        agents = SessionAgents(Arguments(), os.environ, folder_of=lambda _, worker=worker: tmp_path / worker)
        host = agents(record.take(), FolderPlace(cwd=tmp_path, identity="here", host="here"))
        try:
            toolbox = host.session.toolbox
            assert isinstance(toolbox, LocalToolbox)
            assert "stock" in {each.name for each in toolbox.schemas}, worker
            assert toolbox.tools["stock"].plan("c", "{}").effect == "read"
        finally:
            await host.close()
    (opened,) = (each for each in record.journal if isinstance(each, SessionOpened))
    assert "stock" in {each.name for each in opened.tools}
