"""The tools for background tasks are declared with the first task, from the next request on, in the same turn."""

from __future__ import annotations

import uuid
from pathlib import Path

import msgspec

from agent_harness import FAST, opened
from holdfast.agent.agent import Agent
from holdfast.agent.context.task_declarations import task_declarations
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
    assert task_declarations(before, box, NO_RULES) == ()
    before.add(TaskStarted(id="t1", call="c", command="sleep 60", spool="s"))
    (entry,) = task_declarations(before, box, NO_RULES)  # also in the process after a kill: the journal says it
    before.add(entry)
    assert task_declarations(before, box, NO_RULES) == ()


def test_a_rule_that_denies_them_keeps_them_away(tmp_path: Path) -> None:
    box = toolbox_in(tmp_path)
    journal = Fold([beginning(box), TaskStarted(id="t1", call="c", command="sleep 60", spool="s")])
    rules = RuleSet(rules=(permission_rule("TaskStop", "deny", source="--deny"),))
    (entry,) = task_declarations(journal, box, rules)
    assert [tool.name for tool in entry.tools if tool not in box.schemas] == ["task"]


def test_they_stand_before_the_tools_of_servers(tmp_path: Path) -> None:
    box = toolbox_in(tmp_path)
    remote = ToolSchema(name="mcp__trip__book", description="Book.", parameters={"type": "object"})
    start = msgspec.structs.replace(beginning(box), tools=(*box.schemas, remote))
    journal = Fold([start, TaskStarted(id="t1", call="c", command="sleep 60", spool="s")])
    (entry,) = task_declarations(journal, box, NO_RULES)
    assert [tool.name for tool in entry.tools][-3:] == ["task", "stop_task", "mcp__trip__book"]
