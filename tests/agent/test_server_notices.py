"""Failures of MCP servers: reported once, before the prompt or with the call, and again after the server worked."""

from __future__ import annotations

from agent_harness import Rig, says
from holdfast.agent.server_notices import failures
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tool_calls import ToolSchema
from holdfast.tools.tool import ToolContext, ToolOutput

CODE = "It exited with code 4."


def failed(rig: Rig) -> list[e.ServerFailed]:
    return [entry for entry in rig.entries if isinstance(entry, e.ServerFailed)]


def asking(*replies: Reply, servers: dict[str, str]) -> Rig:
    toolbox = FunctionToolbox((says("look"),), servers=servers)
    return Rig(ScriptedModel(list(replies)), toolbox=toolbox)


async def test_a_failure_is_reported_once_and_again_after_the_server_worked() -> None:
    servers = {"srv": f"{CODE}\npid 1"}
    replies: list[Reply] = [[Say("ok")]] * 4
    rig = asking(*replies, servers=servers)
    await rig.agent.run("one")
    (entry,) = failed(rig)
    assert entry == e.ServerFailed(
        server="srv",
        reason=f"{CODE}\npid 1",
        note="[Note from holdfast: MCP server 'srv' failed: It exited with code 4. pid 1. "
        "Its tools are not available.]",
    )
    kinds = [type(each) for each in rig.entries]
    assert kinds.index(e.ServerFailed) < kinds.index(e.PromptAccepted)
    assert entry in rig.facts

    servers["srv"] = f"{CODE}\npid 2"  # the same, but for what it printed
    await rig.agent.run("two")
    assert len(failed(rig)) == 1

    servers["srv"] = ""
    await rig.agent.run("three")
    (changed,) = [each for each in rig.entries if isinstance(each, e.ToolsChanged)]
    assert changed.note == "[Note from holdfast: MCP servers that failed can be reached again: srv.]"
    message = rig.agent.conversation.messages[-2]
    assert isinstance(message, UserMessage)
    assert changed.note in str(message)

    servers["srv"] = CODE
    await rig.agent.run("four")
    assert len(failed(rig)) == 2


async def test_another_process_does_not_repeat_what_the_journal_has() -> None:
    servers = {"srv": CODE}
    rig = asking([Say("ok")], [Say("ok")], servers=servers)
    await rig.agent.run("one")
    again = Rig(ScriptedModel([[Say("ok")]]), store=rig.store, toolbox=FunctionToolbox((), servers=servers))
    await again.agent.run("two")
    assert len(failed(again)) == 1


async def test_a_failure_in_a_turn_follows_the_outcome_of_its_call() -> None:
    servers: dict[str, str] = {}

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        servers["srv"] = CODE
        return ToolOutput(text="cannot be reached", ok=False)

    toolbox = FunctionToolbox((FunctionTool("look", "read", run),), servers=servers)
    rig = Rig(ScriptedModel([[Call("look", {}), Call("look", {"at": 2})], [Say("ok")]]), toolbox=toolbox)
    await rig.agent.run("go")
    (entry,) = failed(rig)
    assert (entry.reason, entry.note) == (CODE, "")
    kinds = [type(each) for each in rig.entries]
    assert kinds[kinds.index(e.CallEnded) + 1] is e.ServerFailed


def test_the_tools_of_the_server_are_named() -> None:
    declared = [ToolSchema(name=name, description="", parameters={}) for name in ("read", "mcp__a__x", "mcp__b__y")]
    (entry,) = failures({}, {"a": CODE, "b": "", "c": ""}, declared, noted=True)
    assert entry.tools == ("mcp__a__x",)
    assert entry.note.endswith("Its tools cannot be called now: mcp__a__x.]")
    assert list(failures({"a": CODE}, {"a": CODE}, declared, noted=True)) == []
    assert len(list(failures({"a": "other"}, {"a": CODE}, declared, noted=False))) == 1
