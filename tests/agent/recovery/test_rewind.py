"""Rewinding to before a prompt: what is sent afterwards, what stays, and what the model reads about it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest

from agent_harness import Rig, says, waits
from holdfast.errors import UsageError
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import CallLate, PromptAccepted, Rewound, SessionOpened
from holdfast.session.journal.store import Finding, MemoryStore, Reading
from holdfast.session.transfer.export import export
from holdfast.session.transfer.transfer import import_document
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import FileChange
from holdfast.tools.tool import ToolContext, ToolOutput
from holdfast.ui.view.journal_listing import transcript


def texts(sent: Conversation) -> list[str]:
    return [text for message in sent.messages if isinstance(message, UserMessage) for text in message.texts]


async def three_turns() -> Rig:
    rig = Rig(ScriptedModel([[Say("first")], [Call("look", {})], [Say("second")], [Say("third")]]), [says("look")])
    for prompt in ("one", "two", "three"):
        await rig.agent.run(prompt)
    return rig


async def test_a_session_goes_on_from_before_the_prompt_and_counts_on() -> None:
    rig = await three_turns()
    steps = rig.agent.conversation.steps
    assert [(prompt.turn, prompt.text) for prompt in rig.agent.conversation.prompts] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]
    assert await rig.agent.rewind(2) == "two"
    rig.model.extend([Say("another second")])
    ended = await rig.agent.run("rather this")
    assert ended.turn == 4
    assert texts(rig.model.requests[-1]) == ["one", "rather this"]
    assert rig.model.requests[-1].steps == steps
    assert [prompt.turn for prompt in rig.agent.conversation.prompts] == [1, 4]
    prompts = [entry.text for entry in rig.entries if isinstance(entry, PromptAccepted)]
    assert prompts == ["one", "two", "three", "rather this"], "the branch that was left stays in the journal"


async def test_a_command_that_the_user_shared_survives_a_rewind() -> None:
    rig = Rig(ScriptedModel([[Say("first")], [Say("second")]]), [says("bash", "all clean", effect="execute")])
    for prompt in ("one", "two"):
        await rig.agent.run(prompt)
    await rig.agent.shell("git status", share=True)
    await rig.agent.rewind(2)
    rig.model.extend([Say("another second")])
    await rig.agent.run("rather this")
    first, note, prompt = texts(rig.model.requests[-1])
    assert (first, prompt) == ("one", "rather this")
    assert "$ git status\nall clean" in note


async def test_the_first_prompt_can_be_rewound_and_so_can_a_second_branch() -> None:
    rig = await three_turns()
    assert await rig.agent.rewind(3) == "three"
    assert await rig.agent.rewind(1) == "one"
    assert rig.agent.conversation.messages == ()
    rig.model.extend([Say("a new start")])
    await rig.agent.run("again")
    assert texts(rig.model.requests[-1]) == ["again"]
    assert rig.agent.conversation.rewound == (3, 1)


async def test_the_model_reads_what_was_not_undone() -> None:
    change = FileChange(path="src/app.py", before=None, after="f" * 64)

    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del arguments, context
        return ToolOutput(text="done")

    tools = [says("look"), says("shell", effect="execute"), FunctionTool("write", "write", run, change=change)]
    script = [[Say("hello")], [Call("look", {}), Call("write", {}), Call("shell", {})], [Say("done")], [Say("ok")]]
    rig = Rig(ScriptedModel(script), tools)
    await rig.agent.run("hi")
    await rig.agent.run("change it")
    await rig.agent.rewind(2)
    await rig.agent.rewind(1)
    await rig.agent.run("and now?")
    note, prompt = texts(rig.model.requests[-1])
    assert prompt == "and now?"
    assert "src/app.py" in note
    assert "Commands that were run: 1" in note
    assert "not undone" in note


async def test_what_only_looked_is_not_spoken_of() -> None:
    rig = await three_turns()
    await rig.agent.rewind(2)
    assert Rewound(turn=2, note="") in rig.entries


async def test_only_an_idle_session_is_rewound_and_only_to_a_turn_that_is_part_of_it() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Say("hi")], [Call("slow", {})]]), [waits("slow", started=started)])
    await rig.agent.run("one")
    turn = asyncio.create_task(rig.agent.run("two"))
    await started.wait()
    with pytest.raises(UsageError, match="is running"):
        await rig.agent.rewind(1)
    rig.agent.stop()
    await turn
    with pytest.raises(UsageError, match="1, 2"):
        await rig.agent.rewind(3)
    await rig.agent.rewind(2)
    with pytest.raises(UsageError, match="Turn 2 is not part"):
        await rig.agent.rewind(2)
    rig.model.extend([Say("fine")])
    assert (await rig.agent.run("go on")).cause == "finished"


async def test_a_turn_that_a_crash_left_open_is_settled_first() -> None:
    started = asyncio.Event()
    rig = Rig(ScriptedModel([[Call("slow", {})]]), [waits("slow", started=started)])
    turn = asyncio.create_task(rig.agent.run("one"))
    await started.wait()
    store = MemoryStore()
    store.append(rig.entries, expected=0)
    again = Rig(ScriptedModel([[Say("hi")]]), [waits("slow")], store=store)
    assert await again.agent.rewind(1) == "one"
    await again.agent.run("two")
    first, second = texts(again.model.requests[-1])
    assert "Commands that were run: 1" in first
    assert second == "two"
    rig.agent.stop()
    await turn


class Damaged(MemoryStore):
    """A journal of which something cannot be read."""

    def read(self) -> Reading:
        return Reading(super().read().records, (Finding(seq=3, what="Checksum is wrong."),))


async def test_the_model_reads_of_damage_even_if_a_rewind_comes_first() -> None:
    rig = await three_turns()
    store = Damaged()
    store.append(rig.entries, expected=0)
    again = Rig(ScriptedModel([[Say("fine")], [Say("good")]]), store=store)
    await again.agent.rewind(3)
    for _ in range(2):
        await again.agent.run("rather this")
        assert sum("damaged" in text for text in texts(again.model.requests[-1])) == 1
        await again.agent.rewind(again.agent.conversation.turns)


class Late:
    """A rig whose first turn was stopped while a deaf tool ran, which ends when it is let go."""

    def __init__(self) -> None:
        self._begun, self._go = asyncio.Event(), asyncio.Event()

        async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
            del arguments, context
            self._begun.set()
            while not self._go.is_set():
                with suppress(asyncio.CancelledError):
                    await self._go.wait()
            return ToolOutput(text="it is deployed")

        script = [[Call("deploy", {})], [Say("a")], [Say("b")], [Say("c")]]
        self.rig = Rig(ScriptedModel(script), [FunctionTool("deploy", "execute", run)])

    async def stopped(self) -> None:
        turn = asyncio.create_task(self.rig.agent.run("one"))
        await self._begun.wait()
        self.rig.agent.stop()
        await turn

    async def ends(self) -> None:
        self._go.set()
        while not any(isinstance(entry, CallLate) for entry in self.rig.entries):  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0)

    def outcome_sent(self) -> list[bool]:
        return ["it is deployed" in text for text in texts(self.rig.model.requests[-1])]


async def test_the_late_outcome_of_a_kept_call_is_sent_again() -> None:
    late = Late()
    agent = late.rig.agent
    await late.stopped()
    await agent.run("two")
    await late.ends()
    await agent.run("three")
    assert any(late.outcome_sent())
    await agent.rewind(2)
    await agent.run("four")
    assert sum(late.outcome_sent()) == 1


async def test_the_late_outcome_of_a_call_that_was_left_behind_is_not_told() -> None:
    for rewound_first in (True, False):
        late = Late()
        await late.stopped()
        if rewound_first:
            await late.rig.agent.rewind(1)
            await late.ends()
        else:
            await late.ends()
            await late.rig.agent.rewind(1)
        await late.rig.agent.run("two")
        assert set(late.outcome_sent()) == {False}


async def test_the_branch_that_was_left_is_named_and_a_copy_knows_of_it() -> None:
    rig = await three_turns()
    await rig.agent.rewind(2)
    records = rig.store.read().records
    lines = [line.text for line in transcript(records)]
    assert "second" in lines
    assert any(line.startswith("Rewound to before turn 2.") for line in lines)
    document = export(rig.agent.conversation)
    assert document["rewound"] == [2]
    imported = import_document(json.dumps(document).encode())
    assert imported.repairs == ()
    store = MemoryStore()
    store.append(fork_entries(Reading(records), "copy"), expected=0)
    copy = Rig(ScriptedModel([[Say("hello")]]), store=store)
    await copy.agent.run("from here")
    assert texts(copy.model.requests[-1]) == ["one", "from here"]
    assert isinstance(store.read().records[0].entry, SessionOpened)
