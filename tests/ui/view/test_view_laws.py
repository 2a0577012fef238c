"""Laws of the view, over any journal: it never raises, and live events change nothing but what no journal holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.agent.events import Event, Fact, LiveCall, LiveOutput, LiveText, LiveThinking
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    Rewound,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.ui.view.blocks import Block, CallBlock, Thinking
from holdfast.ui.view.view import View
from journals import journals


def facts(entries: Sequence[Entry]) -> list[Fact]:
    return [Fact(seq, entry) for seq, entry in enumerate(entries, 1)]


def lived(entries: Sequence[Entry]) -> Iterator[Event]:
    """Yield the facts as an agent tells them: what a response holds came live before it was durable."""
    step: int | None = None
    for fact in facts(entries):
        match fact.entry:
            case RequestStarted():
                step = fact.entry.step
            case ResponseCheckpoint() as saved if saved.step == step:
                yield LiveThinking(saved.step, saved.thinking)
                for character in saved.text:
                    yield LiveText(saved.step, character)
            case ResponseEnded() as ended:
                if ended.step == step:
                    for index, part in enumerate(ended.parts):
                        match part:
                            case TextPart(text=text):
                                yield LiveText(ended.step, text)
                            case ThinkingPart(text=text):
                                yield LiveThinking(ended.step, text)
                            case CallPart():
                                yield LiveCall(ended.step, index, part.name, part.arguments)
                step = None
            case CallEnded() as done:
                yield LiveOutput(done.call, "printed")
            case TurnEnded() | RequestFailed():
                if step is not None:
                    yield LiveCall(step, 7, "bash", '{"comm')
                step = None
            case ResponseCheckpoint() | PromptAccepted() | Rewound():  # of another step; or the request is over
                step = None
            case _:
                pass
        yield fact


def fold(events: Sequence[Event]) -> View:
    view = View()
    for at, event in enumerate(events):
        view.take(event, at=float(at))
    return view


def in_the_journal(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks without what no journal holds: times, and calls that were never finished writing."""
    journalled: list[Block] = []
    for block in blocks:
        match block:
            case Thinking():
                journalled.append(replace(block, since=None, seconds=None))
            case CallBlock(call=""):
                pass
            case CallBlock():
                journalled.append(replace(block, since=None, output=""))
            case _:
                journalled.append(block)
    return journalled


@given(journals)
def test_any_journal_gives_blocks_and_so_does_any_prefix(entries: list[Entry]) -> None:
    view = View()
    for fact in facts(entries):
        changed = view.take(fact)
        blocks = view.blocks()
        assert [block.key for block in blocks] == list(view.keys)
        assert len(set(view.keys)) == len(view.keys)
        assert all(view.block(key) is None or key in view.keys for key in changed)


@given(journals, st.data())
def test_what_was_not_said_to_have_changed_has_not(entries: list[Entry], data: st.DataObject) -> None:
    events = list(lived(entries))
    view = fold(events[: (half := data.draw(st.integers(0, len(events))))])
    before = {key: view.block(key) for key in view.keys}
    changed = {key for event in events[half:] for key in view.take(event, at=1.0)}
    assert all(view.block(key) == block for key, block in before.items() if key not in changed)
    assert changed >= set(view.keys) - before.keys()


@given(journals)
def test_live_events_change_nothing_that_the_journal_holds(entries: list[Entry]) -> None:
    live = fold(list(lived(entries)))
    assert in_the_journal(live.blocks()) == in_the_journal(fold(facts(entries)).blocks())


@given(journals)
def test_reading_at_any_time_gives_what_reading_at_the_end_gives(entries: list[Entry]) -> None:
    view, read = View(), View()
    for at, event in enumerate(lived(entries)):
        view.take(event, at=float(at))
        read.take(event, at=float(at))
        read.blocks()
    assert view.blocks() == read.blocks()


@given(journals)
def test_a_loaded_session_is_at_rest(entries: list[Entry]) -> None:
    view = View()
    view.load(facts(entries))
    states = {block.state for block in view.blocks() if isinstance(block, CallBlock)}
    assert not states & {"writing", "ready", "running"}
