"""Pruning a conversation: what goes, what stays, and that the fold sends exactly that."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.history.profiles import PROFILES
from holdfast.history.rules.profile import Profile
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import AssistantMessage, ConversationMessage, Result, UserMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.conversation.prune_results import prune_entry
from holdfast.session.journal.entries import (
    CallEnded,
    Entry,
    PromptAccepted,
    Pruned,
    RequestStarted,
    ResponseEnded,
    Rewound,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.validate import violations
from holdfast.tool_calls import Image, Outcome
from journals import journals, opened
from laws import law

SMALL = ContextSettings(prune_protect=1_000, prune_least=500, prune_turns=1)
BIG = "line\n" * 800  # 1,000 tokens


Made = tuple[str, str, Outcome, str]
"""A call: its id, its tool, how it ended, what it gave."""


def turn(number: int, *calls: Made, signature: str | None = None) -> list[Entry]:
    """Return a turn that ended by itself, with a response for each call."""
    entries: list[Entry] = [PromptAccepted(turn=number, text=f"prompt {number}")]
    for call, tool, outcome, text in calls:
        thought = ThinkingPart("hm", signature=signature, provider="p")
        part = CallPart(id=call, name=tool, arguments="{}")
        entries += [ResponseEnded(step=1, model="openai-chat:m", parts=(thought, part), usage=Usage())]
        entries += [CallEnded(call=call, outcome=outcome, text=text)]
    entries += [ResponseEnded(step=1, model="openai-chat:m", parts=(TextPart("done"),), usage=Usage())]
    return [*entries, TurnEnded(turn=number, reason="end_turn", cause="finished")]


def results(*messages: ConversationMessage) -> dict[str, Result]:
    return {each.call: each for message in messages if isinstance(message, UserMessage) for each in message.results}


def pruned(journal: list[Entry], settings: ContextSettings = SMALL) -> set[str]:
    return {call for entry in prune_entry(fold(journal), settings) for call in entry.outputs}


OLD = turn(1, ("a", "read", "ok", BIG), ("b", "bash", "failed", BIG))
NEXT = PromptAccepted(turn=9, text="now")


def test_old_outputs_go_and_the_words_in_their_place_say_what_they_were() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG)), NEXT]
    (entry,) = prune_entry(fold(journal), SMALL)
    assert set(entry.outputs) == {"a", "b"}
    assert "old output (ok; 4,000 characters, 801 lines) left out" in entry.outputs["a"]
    assert "(failed; " in entry.outputs["b"]
    sent, before = fold([*journal, entry]).messages, fold(journal).messages
    assert results(*sent)["a"] == Result("a", "read", "ok", entry.outputs["a"])
    assert results(*sent)["c"] == results(*before)["c"]
    assert [type(message) for message in sent] == [type(message) for message in before]
    assert entry.saved == 2_000 - sum(-(-len(text) // 4) for text in entry.outputs.values())


def test_a_second_prune_finds_nothing() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG)), NEXT]
    assert pruned([*journal, *prune_entry(fold(journal), SMALL)]) == set()


def test_the_newest_turns_are_protected_whatever_they_hold() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG * 9)), NEXT]
    two = msgspec.structs.replace(SMALL, prune_turns=2)
    assert pruned(journal, two) == {"a", "b"}, "turn 9 and turn 2 are the newest"
    assert pruned([opened, *OLD, NEXT], two) == set()
    wide = msgspec.structs.replace(two, prune_protect=1_010)
    assert pruned([opened, *OLD, *turn(2, ("c", "read", "ok", "")), NEXT], wide) == {"a"}, "b is among the newest"
    assert pruned(journal, msgspec.structs.replace(SMALL, prune_turns=3)) == set()


def test_small_savings_are_not_worth_reading_everything_again() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG)), NEXT]
    assert pruned(journal, msgspec.structs.replace(SMALL, prune_least=1_950)) == set()


def test_what_did_not_run_is_unknown_or_still_to_be_done_stays() -> None:
    """The model reads it nowhere else: the user's refusal, what may have happened, the open tasks."""
    calls: tuple[Made, ...] = (
        ("a", "read", "denied", BIG),
        ("b", "bash", "interrupted", BIG),
        ("c", "bash", "not_started", BIG),
    )
    todo: tuple[Made, ...] = (("d", "todo", "ok", BIG), ("e", "todo", "ok", BIG))
    journal = [opened, *turn(1, *calls, *todo), *turn(2, ("f", "read", "ok", BIG)), NEXT]
    assert pruned(journal) == {"d"}, "an older list is none any more"


def test_nothing_goes_in_an_open_turn_nor_when_it_is_off() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG)), NEXT]
    part = CallPart(id="z", name="read", arguments="{}")
    answered: list[Entry] = [ResponseEnded(step=1, model="openai-chat:m", parts=(part,), usage=Usage())]
    assert pruned(journal, msgspec.structs.replace(SMALL, prune="off")) == set()
    started = RequestStarted(step=1, attempt=1, model="openai-chat:m")
    assert pruned([*journal, started, *answered, CallEnded(call="z", outcome="ok", text="")]) == set()


def test_thinking_signed_after_the_first_of_them_goes_and_no_other() -> None:
    first = turn(1, ("x", "read", "ok", "small"), signature="s1")
    second = turn(2, ("a", "read", "ok", BIG), signature="s2")
    plain = turn(3, ("u", "read", "ok", "small"))
    journal = [opened, *first, *second, *plain, NEXT, Pruned(outputs={"a": "[left out]"})]
    parts = (ThinkingPart("hm", signature="s3"), TextPart("ok"))
    later = ResponseEnded(step=9, model="m:m", parts=parts, usage=Usage())
    signatures = [
        part.signature
        for message in fold([*journal, later]).messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, ThinkingPart)
    ]
    assert signatures == ["s1", "s2", None, "s3"], "what led to the call came before its result"


def test_a_rewind_does_not_bring_back_what_was_left_out() -> None:
    journal = [opened, *OLD, *turn(2, ("c", "read", "ok", BIG), signature="s"), NEXT]
    prune = Pruned(outputs={"b": "[left out]"})
    for back in (2, 9):
        now = fold([*journal, prune, Rewound(turn=back)]).messages
        assert now == fold([*journal, Rewound(turn=back), prune]).messages
        assert results(*now)["b"].text == "[left out]"


def test_a_rewind_does_not_bring_back_what_was_left_out_of_a_turn_that_was_cut_short() -> None:
    """Its last results stand in no message yet when the next prompt comes: they are among what a rewind brings back."""
    *cut, _, _ = turn(1, ("a", "read", "ok", BIG))
    cut.append(TurnEnded(turn=1, reason="cancelled", cause="user"))
    journal = [opened, *cut, *turn(2, ("b", "read", "ok", BIG))]
    back = fold([*journal, Pruned(outputs={"a": "[left out]"}), Rewound(turn=2)]).messages
    assert results(*back)["a"].text == "[left out]"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@law(shared_by=len(PROFILES))
@given(journal=journals, after=journals)
def test_whatever_is_pruned_whenever_every_provider_takes_it(
    profile: Profile, journal: list[Entry], after: list[Entry]
) -> None:
    """P3 and P8 for a decision that holdfast makes, at every place of every journal."""
    bare = ContextSettings(prune_protect=0, prune_least=0, prune_turns=1)
    folded = Fold([opened])
    for entry in (*journal, *turn(50), PromptAccepted(turn=51, text="now")):
        folded.add(entry)
    before = folded.conversation()
    decided = prune_entry(before, bare)
    assert decided == prune_entry(before, bare)
    for entry in decided:
        folded.add(entry)
    assert prune_entry(folded.conversation(), bare) == ()
    for entry in after:
        folded.add(entry)
        assert violations(folded.conversation(), profile) == ()


@given(journals)
def test_whatever_came_before_the_newest_turns_are_protected(journal: list[Entry]) -> None:
    """What was rewound, compacted or damaged before them moves no protection."""
    entries = [opened, *journal, *turn(50, ("zz", "read", "ok", BIG)), PromptAccepted(turn=51, text="now")]
    for turns in (1, 2):
        settings = ContextSettings(prune_protect=0, prune_least=0, prune_turns=turns)
        assert ("zz" in pruned(entries, settings)) == (turns == 1)


@example([*turn(1, ("a", "read", "ok", BIG)), *turn(2, ("b", "read", "ok", BIG), signature="s")], {"a": "[left out]"})
@given(journals, st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sampled_from(["[left out]", " "]), min_size=1))
def test_only_those_results_and_later_signed_thinking_change(journal: list[Entry], outputs: dict[str, str]) -> None:
    before = fold([opened, *journal]).messages
    after = fold([opened, *journal, Pruned(outputs=outputs)]).messages
    assert len(before) == len(after)
    touched = False
    for was, now in zip(before, after, strict=True):
        match was, now:
            case UserMessage(), UserMessage():
                assert now.texts == was.texts
                for old, new in zip(was.results, now.results, strict=True):
                    assert (new.call, new.name, new.outcome) == (old.call, old.name, old.outcome)
                    assert new.text in (old.text, outputs.get(new.call))
                    touched = touched or old.call in outputs
            case AssistantMessage(), AssistantMessage():
                left = [part for part in was.parts if part not in now.parts]
                assert all(isinstance(part, ThinkingPart) and part.signature for part in left)
                assert touched or not left
            case _:
                raise AssertionError(was, now)


def test_an_old_image_goes_with_its_result() -> None:
    shot = Image(media_type="image/png", data=b"png", name="shot.png", width=1000, height=1000)
    first = [*turn(1, ("a", "read", "ok", "an image"))]
    place = next(at for at, entry in enumerate(first) if isinstance(entry, CallEnded))
    first[place] = CallEnded(call="a", outcome="ok", text="an image", images=(shot,))
    journal = [opened, *first, *turn(2, ("b", "read", "ok", BIG)), NEXT]
    (entry,) = prune_entry(fold(journal), SMALL)
    assert "(ok; 8 characters, 1 image)" in entry.outputs["a"]
    assert results(*fold([*journal, entry]).messages)["a"].images == ()
    assert results(*fold(journal).messages)["a"].images == (shot,)
