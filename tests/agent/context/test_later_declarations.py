"""Tools that come later: those for background tasks with the first task, in the same turn; questions with a user."""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.agent.context.later_declarations import later_declarations
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import AssistantMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import SessionOpened, ToolsChanged
from holdfast.session.journal.parts import ThinkingPart
from holdfast.session.journal.store import MemoryStore
from holdfast.session.journal.tasks import TaskStarted
from holdfast.testing.script import Call, Reply, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.tool_calls import ToolSchema
from holdfast.tools.permission_rules.permission_rule import permission_rule
from holdfast.tools.permission_rules.rule_set import NO_RULES, RuleSet
from holdfast.tools.tool_choice import chosen_tools
from holdfast.tools.toolbox import LocalToolbox
from process_leaks import linux_only

MODEL = "openai-chat:scripted"


class Kept(MemoryStore):
    """A journal that can be read when it was closed."""

    def close(self) -> None:
        """Do nothing."""


def toolbox_in(folder: Path) -> LocalToolbox:
    (folder / "home" / "s").mkdir(parents=True, exist_ok=True)
    return LocalToolbox(folder, folder / "home" / "s", declared=chosen_tools(MODEL))


def beginning(box: LocalToolbox) -> SessionOpened:
    return msgspec.structs.replace(opened(f"rig-{uuid.uuid4().hex}"), tools=box.schemas)


@linux_only
async def test_the_next_request_has_them_and_thinking_stays(tmp_path: Path) -> None:
    box, store = toolbox_in(tmp_path), Kept()
    store.append([beginning(box)], expected=0)
    replies: list[Reply] = [
        [Think("A server is needed."), Call("bash", {"command": "sleep 60", "background": True})],
        [Say("It runs.")],
        [Say("Still.")],
    ]
    model = ScriptedModel(replies)

    async def connect(name: str) -> Model:
        del name
        return model

    agent = Agent(store=store, toolbox=box, connect=connect, mode="yolo", emit=lambda _: None, limits=FAST)
    await agent.run("serve")
    await agent.run("and now?")
    await agent.close()
    declared = [{tool.name for tool in request.opened.tools} for request in model.requests if request.opened]
    assert ["task" in names for names in declared] == [False, True, True]
    assert ["stop_task" in names for names in declared] == [False, True, True]
    entries = [record.entry for record in store.read().records]
    (changed,) = [entry for entry in entries if isinstance(entry, ToolsChanged)]
    assert changed.added
    assert [tool.name for tool in changed.tools if tool not in box.schemas] == ["task", "stop_task"]
    (first, *_) = [each for each in fold(entries).messages if isinstance(each, AssistantMessage)]
    assert [part.text for part in first.parts if isinstance(part, ThinkingPart)] == ["A server is needed."]


def test_a_kill_before_the_entry_changes_nothing(tmp_path: Path) -> None:
    box = toolbox_in(tmp_path)
    before = Fold([beginning(box)])
    assert later_declarations(before, box, NO_RULES, has_user=False) == ()
    before.add(TaskStarted(id="t1", call="c", command="sleep 60", spool="s"))
    (entry,) = later_declarations(
        before, box, NO_RULES, has_user=False
    )  # also in the process after a kill: the journal says it
    before.add(entry)
    assert later_declarations(before, box, NO_RULES, has_user=False) == ()


def test_a_rule_that_denies_them_keeps_them_away(tmp_path: Path) -> None:
    box = toolbox_in(tmp_path)
    journal = Fold([beginning(box), TaskStarted(id="t1", call="c", command="sleep 60", spool="s")])
    rules = RuleSet(rules=(permission_rule("TaskStop", "deny", source="--deny"),))
    (entry,) = later_declarations(journal, box, rules, has_user=False)
    assert [tool.name for tool in entry.tools if tool not in box.schemas] == ["task"]


def test_they_stand_before_the_tools_of_servers(tmp_path: Path) -> None:
    box = toolbox_in(tmp_path)
    remote = ToolSchema(name="mcp__trip__book", description="Book.", parameters={"type": "object"})
    start = msgspec.structs.replace(beginning(box), tools=(*box.schemas, remote))
    journal = Fold([start, TaskStarted(id="t1", call="c", command="sleep 60", spool="s")])
    (entry,) = later_declarations(journal, box, NO_RULES, has_user=False)
    assert [tool.name for tool in entry.tools][-3:] == ["task", "stop_task", "mcp__trip__book"]


def begun_headless(folder: Path, *without: str) -> tuple[LocalToolbox, Fold]:
    """Return a session of `holdfast -p`, begun without these tools as well."""
    (folder / "home" / "s").mkdir(parents=True, exist_ok=True)
    box = LocalToolbox(folder, folder / "home" / "s", declared=chosen_tools(MODEL, has_user=False) - {*without})
    return box, Fold([beginning(box)])


def test_questions_come_with_the_first_turn_in_which_a_user_can_answer(tmp_path: Path) -> None:
    box, journal = begun_headless(tmp_path)
    assert "ask_user" not in {tool.name for tool in box.schemas}
    assert later_declarations(journal, box, NO_RULES, has_user=False) == ()
    (entry,) = later_declarations(journal, box, NO_RULES, has_user=True)
    assert {tool.name for tool in entry.tools if tool not in box.schemas} == {"ask_user", "present_plan"}
    journal.add(entry)
    assert later_declarations(journal, box, NO_RULES, has_user=True) == ()
    assert later_declarations(journal, box, NO_RULES, has_user=False) == ()  # and they stay


def test_a_user_who_chose_fewer_tools_gets_no_more(tmp_path: Path) -> None:
    for name in ("fetch", "todo", "bash"):
        (tmp_path / name).mkdir()
        box, journal = begun_headless(tmp_path / name, name)
        assert later_declarations(journal, box, NO_RULES, has_user=True) == ()
    box, journal = begun_headless(tmp_path)
    rules = RuleSet(rules=(permission_rule("AskUserQuestion", "deny", source="--deny"),))
    (entry,) = later_declarations(journal, box, rules, has_user=True)
    assert [tool.name for tool in entry.tools if tool not in box.schemas] == ["present_plan"]
