"""A text that repeats itself without an end is cut in time, kept once, and nothing else is touched."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_harness import Rig, says
from holdfast.agent.model_request.periodic_text import (
    LEAST_PERIOD,
    LONGEST_PERIOD,
    SHORT_RUN,
    TIMES,
    Periodic,
    PeriodicText,
    written_once,
)
from holdfast.session.conversation.conversation import AssistantMessage
from holdfast.session.journal.entries import RequestFailed, RequestStarted, ResponseCheckpoint, ResponseEnded
from holdfast.session.journal.parts import TextPart
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.script import Call, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from laws import law

SENTENCE = "I will now read the file README.md to see its title. "


def words(seed: int, size: int) -> str:
    """Return a text of so many characters without a period."""
    random = Random(seed)
    text = ""
    while len(text) < size:
        text += f"{random.randrange(10 ** random.randrange(1, 9)):x} "
    return text[:size]


def taken(text: str, sizes: list[int]) -> int | None:
    """Return how much of the text arrives, in pieces of these sizes, before it is cut; None if it is not cut."""
    periods, at, number = PeriodicText(), 0, 0
    while at < len(text):
        piece = text[at : at + sizes[number % len(sizes)]]
        at, number = at + len(piece), number + 1
        try:
            periods.add(piece)
        except Periodic:
            return at
    return None


sizes = st.lists(st.integers(1, 700), min_size=1, max_size=5)


@law()
@given(st.integers(0, 3_000), st.integers(LEAST_PERIOD, LONGEST_PERIOD), sizes)
@example(0, LEAST_PERIOD, [1])
@example(0, LONGEST_PERIOD, [700])
def test_a_period_is_found_in_time_in_whatever_pieces_it_comes(before: int, period: int, pieces: list[int]) -> None:
    unit, beginning = words(period, period), words(1, before)
    times = TIMES + 1 + 400 // period
    text = beginning + unit * times
    found = taken(text, pieces)
    assert found is not None
    assert before + period * TIMES - period <= found <= before + period * TIMES + 200 + max(pieces)
    once = written_once(text)
    assert once.startswith(beginning)
    assert once.endswith((f" [repeated {times} times]", f" [repeated {times - 1} times]"))
    assert len(once) <= before + period + 30


@law()
@given(st.integers(0, 2_000), st.integers(1, LEAST_PERIOD - 1), sizes)
def test_a_short_period_has_to_fill_thousands(before: int, period: int, pieces: list[int]) -> None:
    beginning, unit = words(1, before), words(period, period)
    short = beginning + unit * ((SHORT_RUN - before) // period - 1)
    assert taken(short, pieces) is None
    assert written_once(short) == short
    assert taken(beginning + unit * (2 * SHORT_RUN // period + 700), pieces) is not None


@law()
@given(st.integers(0, 10**6), st.integers(1, 9_000), sizes)
def test_any_other_text_is_left_alone(seed: int, size: int, pieces: list[int]) -> None:
    text = words(seed, size)
    assert taken(text, pieces) is None
    assert written_once(text) == text
    often = SENTENCE * (TIMES - 1) + text
    assert taken(often, pieces) is None


@law()
@given(sizes)
def test_a_code_fence_may_repeat_itself_and_what_stands_around_it_may_not(pieces: list[int]) -> None:
    code = "    values.append(measure(sensor, at=now()))  # each one\n"
    fenced = "Here it is:\n```python\n" + code * 50
    assert taken(fenced, pieces) is None
    assert written_once(fenced) == fenced
    assert taken(fenced + "```\nThat is all.\n" + words(1, 500), pieces) is None
    assert taken(fenced + "```\n" + SENTENCE * 30, pieces) is not None
    whole = f"I write the file again.\n```python\n{code}```\nThat is the file, as you asked.\n"
    assert taken(whole * 30, pieces) is not None, "each period has a fence of its own"
    assert taken("~~~\n" + code * 50, pieces) is None
    assert taken("Inline ```code``` is no fence.\n" + SENTENCE * 30, pieces) is not None


def test_what_is_written_once_begins_where_the_text_does() -> None:
    assert written_once(SENTENCE * 25) == f"{SENTENCE.rstrip()} [repeated 25 times]"
    cut = (SENTENCE * 25)[:-17]  # in the middle of a word
    assert written_once(f"Well.\n{cut}") == f"Well.\n{SENTENCE.rstrip()} [repeated 24 times]"


def test_a_fast_stream_costs_next_to_nothing() -> None:
    text = words(5, 400_000)
    periods = PeriodicText()
    began = time.process_time()
    for at in range(0, len(text), 4):
        periods.add(text[at : at + 4])
    assert time.process_time() - began < 1.0  # 100,000 tokens: 50 s of a fast model


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ((Say("Well. " + SENTENCE * 4_000),), "Well. I will now read the file README.md to see its title [repeated"),
        ((Say("So. "), Think(SENTENCE * 4_000)), "So."),
    ],
    ids=["text", "thinking"],
)
async def test_an_answer_that_repeats_itself_is_cut_and_kept_once(said: tuple[Say | Think, ...], kept: str) -> None:
    rig = Rig(ScriptedModel([(Call("look", {}), *said), (Say("fine"),)]), tools=[says("look")])
    first = await rig.agent.run("go")
    assert (first.cause, first.reason) == ("periodic", "error")
    assert "the same 53 characters" in first.detail
    assert [entry.attempt for entry in rig.entries if isinstance(entry, RequestStarted)] == [1]
    failed = [(entry.fault, entry.retry_in) for entry in rig.entries if isinstance(entry, RequestFailed)]
    assert failed == [("periodic", None)]
    (message,) = (each for each in rig.agent.conversation.messages if isinstance(each, AssistantMessage))
    (part,) = message.parts
    assert isinstance(part, TextPart)
    assert part.text.startswith(kept)
    assert len(part.text) < 120
    assert (
        sum(len(entry.text + entry.thinking) for entry in rig.entries if isinstance(entry, ResponseCheckpoint)) < 2_000
    )
    assert (await rig.agent.run("go on")).cause == "finished"


async def test_killed_at_any_entry_it_is_kept_once_too() -> None:
    rig = Rig(ScriptedModel([(Say(SENTENCE * 4_000),), (Say("fine"),)]))
    await rig.agent.run("go")
    entries = rig.entries
    checkpoints = [place for place, entry in enumerate(entries) if isinstance(entry, ResponseCheckpoint)]
    for cut in range(checkpoints[-1] + 1, len(entries)):
        store = MemoryStore()
        store.append(entries[:cut], expected=0)
        again = Rig(ScriptedModel([(Say("fine"),)]), store=store)
        assert (await again.agent.run("go on")).cause == "finished"
        texts = [
            part.text
            for entry in again.entries
            if isinstance(entry, ResponseEnded)
            for part in entry.parts
            if isinstance(part, TextPart)
        ]
        assert texts[0].startswith(SENTENCE.rstrip() + " [repeated ")
