"""The laws of the count: all that is sent is in it, what a provider counted is believed, and every change shows."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.conversation.token_estimate import Tally, context_tokens, estimate, overhead_tokens
from holdfast.session.journal.entries import (
    CallEnded,
    Compacted,
    Entry,
    ModelChanged,
    PromptAccepted,
    Pruned,
    Repaired,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    Rewound,
    SessionOpened,
    Steered,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.tool_calls import ToolSchema
from holdfast.ui.tui.agent_thread.host_messages import CONTEXT_ENTRIES
from journals import journals
from laws import law

MODEL = "openai-chat:m"
TOOL = ToolSchema(name="write", description="Write a file." * 20, parameters={"type": "object", "properties": {}})
opened = SessionOpened(session="s", cwd="/", model=MODEL, system="S" * 4000, tools=(TOOL,), version="0")
KB = 1000


def answer(*parts: TextPart | ThinkingPart | CallPart, counted: int = 0, model: str = MODEL) -> ResponseEnded:
    return ResponseEnded(step=1, model=model, parts=parts, usage=Usage(input_tokens=counted, output_tokens=9))


def near(tokens: int, expected: int, share: float = 0.02) -> bool:
    return abs(tokens - expected) <= share * expected


@given(journals)
def test_what_is_added_counts_and_nothing_is_negative(journal: list[Entry]) -> None:
    folded = Fold([opened])
    for entry in journal:
        folded.add(entry)
        assert context_tokens(folded.conversation()) >= 0
    folded.add(PromptAccepted(turn=7, text="go on"))  # what is said of a call that was open changes with it
    now = folded.conversation()
    folded.add(Repaired(findings=(), note="n" * 4 * KB))
    folded.add(PromptAccepted(turn=8, text="p" * 4 * KB))
    assert context_tokens(folded.conversation()) >= context_tokens(now) + 2 * KB


@given(journals, st.sampled_from([MODEL, "other:m"]))
def test_a_tally_counts_the_same_as_it_grows(journal: list[Entry], model: str) -> None:
    folded, tally = Fold([opened]), Tally()
    for entry in [*journal, ModelChanged(model=model), *journal]:
        folded.add(entry)
        if isinstance(entry, CONTEXT_ENTRIES):
            tally = Tally()
        assert tally.tokens(folded.conversation()) == context_tokens(folded.conversation())


@given(journals, st.sampled_from(["openai-chat:m", "anthropic:m", "other:m"]))
def test_without_a_count_it_is_the_estimate_of_all_that_is_sent(journal: list[Entry], model: str) -> None:
    conversation = fold([opened, *journal, ModelChanged(model=model)])
    if conversation.counted is None or conversation.counted.model != model:
        assert context_tokens(conversation) > estimate(conversation.messages, model)


@law()
@given(journals)
def test_where_a_provider_counts_as_we_do_it_is_the_estimate_after_every_entry(journal: list[Entry]) -> None:
    """Whatever is stopped, denied, repaired, left out, summarized, rewound or given to another model."""
    folded = Fold([opened, PromptAccepted(turn=1, text="go" * KB)])
    for entry in journal:
        if not isinstance(entry, SessionOpened) and (ended := large(entry, folded.conversation())):
            folded.add(ended)
            now = folded.conversation()
            expected = overhead_tokens(now.opened) + estimate(now.messages, now.model)
            assert abs(context_tokens(now) - expected) <= 60 + 0.03 * expected


def large(entry: Entry, before: Conversation) -> Entry | None:
    """Return the entry with words that weigh something, None for one that only a damaged journal has there."""
    match entry:
        case ResponseEnded():
            if before.open_calls or not before.messages or not isinstance(before.messages[-1], UserMessage):
                return None
            counted = Usage(input_tokens=overhead_tokens(before.opened) + estimate(before.messages, before.model))
            parts = tuple(
                msgspec.structs.replace(part, text=part.text * 400) if isinstance(part, TextPart) else part
                for part in entry.parts
            )
            return msgspec.structs.replace(entry, model=before.model, parts=parts, usage=counted)
        case PromptAccepted() | Steered() | CallEnded() | ResponseCheckpoint():
            return msgspec.structs.replace(entry, text=entry.text * 400)
        case Compacted() | TurnEnded() | Rewound() | Repaired():
            return msgspec.structs.replace(entry, note=entry.note * 400)
        case _:
            return entry


def test_ten_writes_of_40_kb_count_about_100k_before_any_response_was_counted() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="write")]
    for number in range(10):
        part = CallPart(id=f"c{number}", name="write", arguments='{"path": "f", "content": "%s"}' % ("x" * 40 * KB))
        journal += [answer(part), CallEnded(call=part.id, outcome="ok", text="Wrote f.")]
    assert near(context_tokens(fold(journal)), 101_500)


def test_the_system_prompt_and_the_tools_count_before_anything_is_said() -> None:
    assert context_tokens(fold([])) == 0
    assert 1_000 + 65 < context_tokens(fold([opened])) < 1_000 + 130


def test_what_the_provider_counted_is_taken_and_what_came_after_is_estimated() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go" * KB)]
    journal.append(answer(CallPart(id="a", name="read", arguments="{}"), counted=50_000))
    assert near(context_tokens(fold(journal)), 50_020)
    journal.append(CallEnded(call="a", outcome="denied", text="The user said no. " * 400))
    assert near(context_tokens(fold(journal)), 50_000 + 1_840), "a denial is told the model"
    journal.append(answer(counted=60_000))
    assert near(context_tokens(fold(journal)), 51_840), "a response without a word is no message"
    journal.append(TurnEnded(turn=1, reason="cancelled", cause="user", note="[stopped]"))
    journal.append(PromptAccepted(turn=2, text="on"))
    assert near(context_tokens(fold(journal)), 51_850)


def test_words_that_were_streamed_before_a_stop_count() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go"), answer(TextPart("done"), counted=7_000)]
    journal += [PromptAccepted(turn=2, text="more"), RequestStarted(step=2, attempt=1, model=MODEL)]
    journal += [ResponseCheckpoint(step=2, text="w" * 8 * KB)]
    journal += [TurnEnded(turn=2, reason="cancelled", cause="user"), PromptAccepted(turn=3, text="so?")]
    assert near(context_tokens(fold(journal)), 9_020)


def test_after_a_repair_its_note_counts() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go"), answer(TextPart("done"), counted=7_000)]
    journal += [Repaired(findings=("gone",), note="n" * 4 * KB), PromptAccepted(turn=2, text="more")]
    assert near(context_tokens(fold(journal)), 8_010)


def test_after_a_rewind_it_is_what_was_counted_then() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go"), answer(TextPart("done"), counted=7_000)]
    before = context_tokens(fold(journal))
    left: list[Entry] = [PromptAccepted(turn=2, text="x" * 400 * KB), answer(TextPart("long"), counted=160_000)]
    assert near(context_tokens(fold([*journal, *left])), 160_005)
    assert context_tokens(fold([*journal, *left, Rewound(turn=2)])) == before


def test_another_model_counts_for_itself_and_the_first_has_its_count_again() -> None:
    thinking = ThinkingPart("t" * 40 * KB, signature="sig")
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go"), answer(TextPart("done"), counted=70_000)]
    journal += [PromptAccepted(turn=2, text="on"), answer(thinking, TextPart("done"), counted=70_010)]
    first = context_tokens(fold(journal))
    assert near(first, 80_010)
    journal.append(ModelChanged(model="anthropic:m"))
    assert near(context_tokens(fold(journal)), 1_130, 0.1), "an estimate, without thinking that does not go there"
    assert context_tokens(fold([*journal, ModelChanged(model=MODEL)])) == first


def test_after_a_prune_it_is_the_share_that_is_left_of_what_was_counted() -> None:
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go")]
    for name in "ab":
        journal += [answer(CallPart(id=name, name="read", arguments="{}"))]
        journal += [CallEnded(call=name, outcome="ok", text=name * 200 * KB)]
    journal += [answer(TextPart("done"), counted=150_000)]  # by our estimate it were 101,100
    journal += [TurnEnded(turn=1, reason="end_turn", cause="finished"), PromptAccepted(turn=2, text="on")]
    assert near(context_tokens(fold(journal)), 150_006)
    journal.append(Pruned(outputs={"a": "[left out]"}))
    assert near(context_tokens(fold(journal)), 76_000)
    assert near(estimate(fold(journal).messages, MODEL), 50_060)


def test_a_summary_counts_in_place_of_what_it_stands_for_until_it_is_undone() -> None:
    journal: list[Entry] = [opened]
    for turn in (1, 2):
        journal += [PromptAccepted(turn=turn, text="p" * 40 * KB), RequestStarted(step=turn, attempt=1, model=MODEL)]
        ended = answer(TextPart("a" * 40 * KB), counted=(15_000, 45_000)[turn - 1])  # half as many again as we estimate
        journal += [
            msgspec.structs.replace(ended, step=turn),
            TurnEnded(turn=turn, reason="end_turn", cause="finished"),
        ]
    assert near(context_tokens(fold(journal)), 55_000)
    journal.append(Compacted(step=1, note="n" * 4 * KB, why="asked", summary="s", model=MODEL, usage=Usage()))
    has_summary = context_tokens(fold(journal))
    assert near(has_summary, 22_100 * 45_000 // 31_070, 0.05), "the share that is left of what was counted"
    other = fold([*journal, ModelChanged(model="anthropic:m")])
    assert near(context_tokens(other), 22_100, 0.05), "another model's is an estimate of what it would be sent"
    assert near(context_tokens(fold([*journal, Rewound(turn=2)])), 25_000), "it was not summed up then"
    assert near(context_tokens(fold([*journal, Uncompacted()])), 55_000, 0.1)


def test_thinking_that_is_sealed_counts_by_its_seal() -> None:
    sealed = ThinkingPart("", signature="s" * 4 * KB)
    journal: list[Entry] = [opened, PromptAccepted(turn=1, text="go")]
    with_it, without = fold([*journal, answer(sealed, TextPart("a"))]), fold([*journal, answer(TextPart("a"))])
    assert context_tokens(with_it) == context_tokens(without) + 1_000
    assert isinstance(with_it.messages[0], UserMessage)
