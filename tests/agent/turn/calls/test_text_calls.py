"""A call written as text is run where the server is the user's own; elsewhere it is no success."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agent_harness import Rig, opened, says
from holdfast.agent.events import CheckFinding, LiveText
from holdfast.session.conversation.conversation import AssistantMessage
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tools.tool import Tool

TEXT = 'I will look.\n<tool_call>\n{"name": "look", "arguments": {"path": "a"}}\n</tool_call>\nThen I am done.'
LAST = 'I will look.\n<tool_call>\n{"name": "look", "arguments": {"path": "a"}}\n</tool_call>'


def rig(model: str, *script: tuple[Say | Call, ...], entries: tuple[Entry, ...] = ()) -> Rig:
    """Return a rig whose model has this name."""
    store = MemoryStore()
    begun = opened()
    first = type(begun)(session="s", cwd="/", model=model, system="S", tools=(), version="0")
    store.append(entries or (first,), expected=0)
    return Rig(ScriptedModel(script, name=model), [says("look"), says("act", effect="execute")], store=store)


def kinds(found: Rig, kind: type[Entry]) -> list[Entry]:
    return [entry for entry in found.entries if isinstance(entry, kind)]


@pytest.mark.parametrize("model", ["ollama:m", "llamacpp:m", "vllm:m", "lmstudio:m"])
async def test_on_a_server_of_the_users_own_it_is_run(model: str) -> None:
    found = rig(model, (Say(TEXT),), (Say("It is there."),))
    end = await found.agent.run("go")
    assert (end.cause, len(kinds(found, CallStarted))) == ("finished", 1)
    first = kinds(found, ResponseEnded)[0]
    assert isinstance(first, ResponseEnded)
    text, call = first.parts
    assert isinstance(text, TextPart)
    assert text.text.strip() == "I will look."
    assert isinstance(call, CallPart)
    assert (call.name, call.arguments, call.wire_id) == ("look", '{"path": "a"}', None)
    assert first.written.strip() == TEXT.removeprefix("I will look.\n")
    message = next(each for each in found.agent.conversation.messages if isinstance(each, AssistantMessage))
    assert [type(part) for part in message.parts] == [TextPart, CallPart]
    assert "Then I am done" not in str(found.model.requests[1].messages)
    notes = [event.message for event in found.events if isinstance(event, CheckFinding)]
    assert [("writes its calls as text" in note) for note in notes] == [True]


async def test_it_is_said_once_in_a_run() -> None:
    texts = [f'{{"name": "look", "arguments": {{"path": "{name}"}}}}' for name in "abc"]
    found = rig("ollama:m", *((Say(text),) for text in texts), (Say("done"),))
    assert (await found.agent.run("go")).cause == "finished"
    assert len(kinds(found, CallStarted)) == 3
    assert len([event for event in found.events if isinstance(event, CheckFinding)]) == 1


@pytest.mark.parametrize("model", ["openai-chat:scripted", "openrouter:x/y", "anthropic:m", "google:m", "mistral:m"])
@pytest.mark.parametrize("text", [LAST, '{"name": "look", "arguments": {"path": "a"}}'])
async def test_elsewhere_it_is_no_success_and_the_user_reads_what_to_do(model: str, text: str) -> None:
    found = rig(model, (Say(text),), (Say("fine"),))
    end = await found.agent.run("go")
    assert (end.cause, end.reason, kinds(found, CallStarted)) == ("text_call", "error", [])
    assert "a call of look as text" in end.detail
    assert f'set compat = {{ text_calls = "auto" }} in [providers.{model.partition(":")[0]}]' in end.detail
    assert "a tool call written as text" in end.note
    assert "compat" not in end.note
    (first,) = kinds(found, ResponseEnded)
    assert isinstance(first, ResponseEnded)
    assert first.written == ""
    assert (await found.agent.run("go on")).cause == "finished"


async def test_elsewhere_an_answer_about_calls_is_an_answer() -> None:
    found = rig("anthropic:m", (Say(TEXT),))
    assert (await found.agent.run("how does Qwen write calls?")).cause == "finished"


async def test_a_call_that_no_tool_takes_is_no_success_either() -> None:
    found = rig("ollama:m", (Say('<tool_call>{"name": "frobnicate", "arguments": {}}</tool_call>'),))
    end = await found.agent.run("go")
    assert (end.cause, "a call of frobnicate as text" in end.detail) == ("text_call", True)


async def test_calls_that_came_as_calls_stand_for_themselves() -> None:
    found = rig("ollama:m", (Say(LAST), Call("act", {})), (Say("done"),))
    await found.agent.run("go")
    assert [type(entry) for entry in kinds(found, CallStarted)] == [CallStarted]
    (first, *_) = kinds(found, ResponseEnded)
    assert isinstance(first, ResponseEnded)
    assert (first.written, first.parts[0]) == ("", TextPart(LAST))


async def test_killed_at_any_entry_the_next_process_goes_on() -> None:
    whole = rig("ollama:m", (Say(TEXT),), (Say("It is there."),))
    await whole.agent.run("go")
    for cut in range(2, len(whole.entries)):
        again = rig("ollama:m", (Say("fine"),), entries=tuple(whole.entries[:cut]))
        assert (await again.agent.run("go on")).cause == "finished"
        assert len(kinds(again, CallEnded)) == any(isinstance(each, ResponseEnded) for each in whole.entries[:cut])
        assert isinstance(again.entries[-1], TurnEnded)


def shown(found: Rig) -> str:
    return "".join(event.text for event in found.events if isinstance(event, LiveText))


async def test_a_call_is_not_shown_as_text_while_it_arrives() -> None:
    found = rig("ollama:m", (Say(TEXT, chunk=3),), (Say("It is there."),))
    assert (await found.agent.run("go")).cause == "finished"
    assert shown(found) == "I will look.\nIt is there."


async def test_what_turns_out_to_be_text_is_shown() -> None:
    text = '<tool_call>{"name": "frobnicate", "arguments": {}}</tool_call>'
    found = rig("ollama:m", (Say(text, chunk=3),))
    assert (await found.agent.run("go")).cause == "text_call"
    assert shown(found) == text


async def test_elsewhere_it_is_shown_as_it_comes() -> None:
    found = rig("anthropic:m", (Say(TEXT, chunk=3),))
    await found.agent.run("how does Qwen write calls?")
    assert shown(found) == TEXT
    assert len([event for event in found.events if isinstance(event, LiveText)]) > len(TEXT) / 6


class Unnamed(FunctionToolbox):
    """Tools that cannot be named."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        raise OSError("the folder is gone")


async def test_tools_that_cannot_be_named_do_not_cost_the_response() -> None:
    found = rig("ollama:m", (Say(TEXT, chunk=3),), (Say("fine"),))
    found.toolbox = Unnamed(())
    found.agent = found.new_agent()
    with pytest.raises(OSError, match="the folder is gone"):
        await found.agent.run("go")
    (first,) = kinds(found, ResponseEnded)
    assert isinstance(first, ResponseEnded)
    assert (first.parts, first.written) == ((TextPart(TEXT),), "")
    assert shown(found) == TEXT
    assert isinstance(found.entries[-1], TurnEnded)
