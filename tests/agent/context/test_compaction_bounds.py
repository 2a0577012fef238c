"""What a compaction may never do: take what the model has not seen, run in circles, block a session, save nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec
import pytest

from agent_harness import Rig, opened, says
from compaction_sessions import LONG, TOO_LONG, compacted, long_session, shortenings, sized, texts, uncounted
from holdfast.agent.context import compaction
from holdfast.agent.context.summary_request import quoted_summary
from holdfast.errors import ProviderFailed, UsageError
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Pruned
from holdfast.session.journal.parts import Usage
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Fail, Finish, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.tools.tool import Instruction, ToolContext, ToolOutput
from long_texts import prose


def looking(*, window: int, fixed: int, result: int, why: str = "") -> Rig:
    """Return a session whose model looks until it has seen it, from the second turn on; sizes in tokens."""

    def reply(sent: Conversation) -> Reply:
        last = sent.messages[-1]
        assert isinstance(last, UserMessage)
        seen = any("begins" in result.text for result in last.results)
        goes_on = is_own(sent) and (last.results or "second" in "".join(last.texts))
        return [Call("look", {"why": why})] if goes_on and not seen else [Say("said")]

    store = MemoryStore()
    store.append([msgspec.structs.replace(opened(), system="x" * fixed * 4)], expected=0)
    model = ScriptedModel([reply] * 10, usage=Usage(output_tokens=1))
    rig = Rig(model, [says("look", "begins" + "w" * 4 * result + "ends")], store=store)
    sized(rig, window)
    return rig


def is_own(sent: Conversation) -> bool:
    """Return whether that was a request of the session, not for a summary of it."""
    return sent.system.startswith("x")


@pytest.mark.parametrize(
    ("window", "fixed", "prompt", "result"),
    [
        (32_000, 6_000, 300, 16_000),
        (32_000, 4_500, 5_000, 7_000),
        (16_000, 4_500, 2_500, 2_000),
        (16_000, 2_100, 300, 9_000),
        (16_000, 2_100, 3_000, 20_000),
        (8_192, 2_100, 900, 1_500),
        (8_192, 2_100, 300, 2_500),
    ],
)
async def test_new_results_are_seen_before_they_go(window: int, fixed: int, prompt: int, result: int) -> None:
    rig = looking(window=window, fixed=fixed, result=result)
    await rig.agent.run("p" * 4 * prompt)
    assert (await rig.agent.run("second" + "q" * 4 * prompt)).cause == "finished"
    assert len(compacted(rig)) <= 1
    sent = [each for each in rig.model.requests if is_own(each)]
    assert len(sent) == 3, "it looked once, and answered"
    last = sent[-1].messages[-1]
    assert isinstance(last, UserMessage)
    (seen,) = last.results
    assert "begins" in seen.text
    assert seen.text.endswith("ends")
    cut = [entry for entry in rig.entries if isinstance(entry, Pruned)]
    assert bool(cut) == ("too large to be sent whole" in seen.text) == (fixed + 2 * prompt + result > window)


async def test_what_is_dropped_unseen_is_dropped_once_in_a_turn() -> None:
    rig = looking(window=16_000, fixed=2_100, result=2_000, why="x" * 48_000)
    await rig.agent.run("one")
    assert (await rig.agent.run("second")).cause == "finished"
    assert len(compacted(rig)) == 1


async def test_several_results_share_what_room_there_is() -> None:
    tools = [says("small", "s" * 400), says("large", "l" * 40_000), says("larger", "r" * 80_000)]
    calls: Reply = [Call("small", {}), Call("large", {}), Call("larger", {})]
    rig = Rig(uncounted([calls, [Say("fine")]]), tools)
    sized(rig, 12_000)
    assert (await rig.agent.run("look at all")).cause == "finished"
    last = rig.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    small, large, larger = last.results
    assert small.text == "s" * 400
    assert len(large.text) == pytest.approx(len(larger.text), abs=50)
    assert 9_000 < len(small.text + large.text + larger.text) // 4 * 1.33 < 12_000


async def test_a_result_that_the_provider_finds_too_long_is_cut_and_sent_again() -> None:
    rig = Rig(uncounted([[Call("look", {})], [Fail(400, TOO_LONG)], [Say("fine")]]), [says("look", LONG * 4)])
    assert (await rig.agent.run("look")).cause == "finished"
    assert compacted(rig) == []
    last = rig.model.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert "too large to be sent whole" in last.results[0].text
    assert fold(rig.entries) == rig.agent.conversation


# --- a prompt that is too long ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [0, 2])
async def test_a_prompt_too_long_to_be_sent_does_not_stand_in_the_way_of_the_next(turns: int) -> None:
    rig = await long_session(turns=turns)
    giant = "begin " + "word " * 20_000 + "end"
    rig.model.extend(*([[Fail(400, TOO_LONG)], *([[Say("sum")], [Fail(400, TOO_LONG)]] if turns else [])]))
    assert (await rig.agent.run(giant)).cause == "provider"
    rig.model.extend([Fail(400, TOO_LONG)], [Say("the sum")], [Say("fine")], [Say("again")])
    assert (await rig.agent.run("short")).cause == "finished"
    note, *rest = texts(rig.model.requests[-1])
    assert rest[-1] == "short"
    assert giant not in "".join([note, *rest])
    assert "begin word" in note
    assert "left out here" in note
    assert compacted(rig)[-1].user_texts
    assert len(shortenings(rig.events)) == (2 if turns else 1)
    assert (await rig.agent.run("and now?")).cause == "finished"
    assert fold(rig.entries) == rig.agent.conversation
    await rig.agent.uncompact()
    assert giant in texts(rig.agent.conversation)


async def test_a_second_giant_is_left_out_as_the_first_was() -> None:
    rig = Rig(uncounted([]))
    for _ in range(2):
        rig.model.extend([Fail(400, TOO_LONG)])
        assert (await rig.agent.run(LONG * 4)).cause == "provider"
        rig.model.extend([Fail(400, TOO_LONG)], [Say("the sum")], [Fail(400, TOO_LONG)])
        assert (await rig.agent.run(LONG * 3)).cause == "provider"
    rig.model.extend([Fail(400, TOO_LONG)], [Say("the last sum")], [Say("fine")])
    assert (await rig.agent.run("short")).cause == "finished"
    assert [text for text in texts(rig.model.requests[-1]) if LONG in text] == []
    assert '{"earlier summary": ' in texts(rig.model.requests[-2])[0]


# --- what it saves ----------------------------------------------------------------------------------------------------


async def test_nothing_is_summarized_if_the_note_would_be_as_long() -> None:
    rig = Rig(uncounted([[Say("ok")], [Say(prose(6_000))], [Say("sum")]]))
    await rig.agent.run("p" * 4 * 600)
    await rig.agent.run("two")
    with pytest.raises(UsageError, match="Nothing to compact"):
        await rig.agent.compact()
    assert len(rig.model.requests) == 2, "the model was not asked"


async def test_a_summary_that_saves_nothing_changes_nothing() -> None:
    rig = await long_session([Say(prose(60_000))])
    before = rig.agent.conversation
    with pytest.raises(ProviderFailed, match="saves no tokens"):
        await rig.agent.compact()
    assert rig.agent.conversation == before


# --- what the note says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "title"),
    [
        ([Say("pushed")], "The last request, which was answered, word for word:\npush it"),
        ([Fail(400, "no")], "The last request, whose turn ended before it was done, word for word:\npush it"),
    ],
)
async def test_a_request_whose_turn_is_over_is_not_being_worked_on(end: Reply, title: str) -> None:
    rig = await long_session(turns=1)
    rig.model.extend(*[[Call("look", {"of": step})] for step in range(4)], end, [Say("sum")])
    await rig.agent.run("push it")
    entry = await rig.agent.compact()
    assert entry is not None
    assert title in entry.note
    assert "The current request" not in entry.note


async def test_words_given_while_the_turn_ran_go_word_for_word() -> None:
    async def run(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
        del context
        if arguments["of"] == 0:
            rig.agent.queue("but never touch main.py", "steer")
        return ToolOutput(text=LONG)

    rig = Rig(
        uncounted([*[[Call("look", {"of": step})] for step in range(4)], [Say("sum")], [Say("fine")]]),
        [FunctionTool("look", "read", run)],
    )
    sized(rig, 12_000)
    assert (await rig.agent.run("read all of them")).cause == "finished"
    (entry,) = compacted(rig)
    assert "What the user added to it during the turn, word for word:\nbut never touch main.py" in entry.note


async def test_a_summary_that_was_cut_says_so() -> None:
    rig = await long_session([Say("They were"), Finish("length")])
    entry = await rig.agent.compact()
    assert entry is not None
    assert "They were\n[The summary ends here: the model reached its output limit.]" in entry.note


def test_an_earlier_summary_is_quoted_before_lines_are() -> None:
    summary = "Goal: " + "what counts " * 400
    calls = [UserMessage((), (summary, *["word " * 200 for _ in range(400)]))]
    first, *rest = quoted_summary(calls, has_summary=True, room=9_000)
    assert summary.strip() in first
    assert rest


# --- what it waits for ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class SlowToolbox(FunctionToolbox):
    """A toolbox that takes its time over instructions."""

    seconds: float = 0.0

    def instructions(self) -> tuple[Instruction, ...]:
        """Return what was given, late."""
        time.sleep(self.seconds)
        return self.active_instructions


async def test_instructions_that_cannot_be_read_in_time_end_an_overflow_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = await long_session([Fail(400, TOO_LONG)])
    rig.toolbox = slow = SlowToolbox([says("look", LONG)])
    rig.agent = rig.new_agent()
    monkeypatch.setattr(compaction, "LOOK", 0.05)

    async def later(prompt: str) -> str:
        return (await rig.agent.run(prompt)).cause

    slow.seconds = 0.4
    assert await later("request 5") == "provider"
    assert any("Reading the instruction files took longer" in message for message in shortenings(rig.events))
    slow.seconds = 0.0
    rig.model.extend([Say("fine")])
    assert await later("request 6") == "finished"
