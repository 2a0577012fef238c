"""A session keeps the tools it was started with (P8), whatever tools there are by now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from agent_harness import FAST
from holdfast.agent.agent import Agent
from holdfast.agent.sessions import OpenSession, create, first_entry, new_store, resume
from holdfast.errors import UsageError
from holdfast.providers.model import Model
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import EditDialect
from holdfast.tools.tool_choice import SMALL_WINDOW, chosen_tools, wanted_tools
from holdfast.tools.toolbox import LocalToolbox

MODEL = "openai-chat:scripted"


def begun_with(catalog: Catalog, tools: Sequence[str], cwd: Path) -> OpenSession:
    """Return a session as an older holdfast left it, which had only these tools."""
    session = catalog.new_id()
    folder = catalog.folder(session)
    with new_store(folder) as store:
        opened = first_entry(session, cwd=cwd, model=MODEL, toolbox=LocalToolbox(cwd, folder))
        old = tuple(tool for tool in opened.tools if tool.name in tools)
        store.append([msgspec.structs.replace(opened, tools=old)], expected=0)
    store.close()
    return resume(catalog, catalog.find(session))


async def test_a_tool_that_a_session_was_not_begun_with_is_none_of_it(tmp_path: Path) -> None:
    session = begun_with(Catalog(tmp_path / "sessions"), ("read", "glob"), tmp_path)
    replies: list[Reply] = [[Call("todo", {"items": []}), Call("glob", {"pattern": "*.none"})], [Say("done")]]
    model = ScriptedModel(replies)

    async def connect(name: str) -> Model:
        del name
        return model

    agent = Agent(
        store=session.store, toolbox=session.toolbox, connect=connect, mode="yolo", emit=lambda _: None, limits=FAST
    )
    await agent.run("go")
    ended = [record.entry for record in session.store.read().records if isinstance(record.entry, CallEnded)]
    assert [entry.outcome for entry in ended] == ["failed", "ok"]
    assert ended[0].text == "Tool 'todo' does not exist (expected one of glob, read). Nothing was done."
    opened = fold(record.entry for record in session.store.read().records).opened
    assert opened is not None
    assert [tool.name for tool in opened.tools] == ["read", "glob"]
    await agent.close()


async def test_a_new_session_has_them_all(tmp_path: Path) -> None:
    session = create(Catalog(tmp_path / "sessions"), cwd=tmp_path, model=MODEL)
    names = [
        "read",
        "write",
        "edit",
        "bash",
        "grep",
        "glob",
        "fetch",
        "todo",
        "present_plan",
        "ask_user",
    ]
    assert [tool.name for tool in session.toolbox.schemas] == names
    session.store.close()


@pytest.mark.parametrize(
    ("model", "dialect", "edits_with"),
    [
        ("openai:gpt-5.5", "auto", "apply_patch"),
        ("openrouter:openai/gpt-4.1-mini", "auto", "apply_patch"),
        ("openai:gpt-5-codex", "auto", "apply_patch"),
        ("ollama:gpt-oss:20b", "auto", "apply_patch"),
        ("openai:gpt-4o", "auto", "edit"),
        ("anthropic:claude-sonnet-5-5", "auto", "edit"),
        ("google:gemini-3-pro", "auto", "edit"),
        ("openai:gpt-5.5", "edit", "edit"),
        ("anthropic:claude-sonnet-5-5", "patch", "apply_patch"),
    ],
)
def test_files_are_edited_as_the_model_was_trained_to(
    tmp_path: Path, model: str, dialect: EditDialect, edits_with: str
) -> None:
    tools = chosen_tools(model, dialect=dialect)
    session = create(Catalog(tmp_path / "sessions"), cwd=tmp_path, model=model, tools=tools)
    session.store.close()
    again = resume(Catalog(tmp_path / "sessions"), Catalog(tmp_path / "sessions").find(session.id))
    for box in (session.toolbox, again.toolbox):
        names = [schema.name for schema in box.schemas]
        assert [name for name in names if name in ("edit", "apply_patch")] == [edits_with]
        assert set(box.tools) == {*names, "task", "stop_task"}  # which come with the first background task
    again.store.close()


def test_no_question_is_declared_where_no_user_can_answer() -> None:
    left_out = chosen_tools(MODEL) - chosen_tools(MODEL, has_user=False)
    assert left_out == {"ask_user", "present_plan"}


@pytest.mark.parametrize(("window", "count"), [(0, 10), (SMALL_WINDOW - 1, 6), (SMALL_WINDOW, 10)])
def test_a_small_window_gets_few_tools(window: int, count: int) -> None:
    tools = chosen_tools(MODEL, window=window)
    assert len(tools) == count
    assert {"read", "write", "edit", "bash", "grep", "glob"} <= tools


def test_the_tools_that_a_user_names_are_the_only_ones() -> None:
    wanted = wanted_tools(["Read", " bash", "TodoWrite", "Edit"], source="--tools", search=False)
    assert wanted == {"read", "bash", "todo", "edit"}
    assert chosen_tools(MODEL, only=wanted, window=4096) == wanted
    assert chosen_tools("openai:gpt-5.5", only=wanted) == {"read", "bash", "todo", "apply_patch"}
    assert chosen_tools(MODEL, only=wanted_tools([""], source="--tools", search=False)) == set()
    with pytest.raises(UsageError, match=r"--tools names an unknown tool 'rea' \(expected some of "):
        wanted_tools(["rea"], source="--tools", search=False)
    with pytest.raises(UsageError, match="'search', which needs a search service"):
        wanted_tools(["search"], source="--tools", search=False)
    assert wanted_tools(["search"], source="--tools", search=True) == {"search"}
