"""Images in what is sent: shown where a provider takes them, a note where not, and never taken away once shown."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.calls import Image
from holdfast.history.profiles import ANTHROPIC, GEMINI, OPENAI_CHAT, OPENAI_COMPATIBLE, MediaLimits, Profile
from holdfast.session.conversation import Said, UserMessage
from holdfast.session.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded
from holdfast.session.fold import fold
from holdfast.session.gate import admit
from holdfast.session.outgoing import outgoing
from holdfast.session.parts import CallPart, Usage
from shown_images import picture

BLIND = msgspec.structs.replace(OPENAI_COMPATIBLE, media=MediaLimits(types=frozenset()))


def sent(profile: Profile, *entries: Entry) -> list[Said]:
    """Return what the user's side says of the journal, as it is sent."""
    conversation = fold(entries)
    assert admit(conversation, profile).violations == ()
    messages = outgoing(conversation, profile).messages
    return [said for message in messages if isinstance(message, UserMessage) for said in message.said]


def prompt(turn: int, *images: Image) -> PromptAccepted:
    return PromptAccepted(turn=turn, text=f"prompt {turn}", images=images)


def test_a_prompts_images_stand_named_before_its_words() -> None:
    shot = picture("shot.png")
    assert sent(ANTHROPIC, prompt(1, shot)) == [f"[Image {shot.described}:]", shot, "prompt 1"]


def test_images_of_results_stand_behind_them_in_the_order_of_the_calls() -> None:
    calls = tuple(CallPart(id=each * 9, name="look", arguments="{}") for each in "ab")
    first, second = picture("first.png"), picture("second.png")
    journal: list[Entry] = [
        prompt(1),
        ResponseEnded(step=1, model="openai-chat:m", parts=calls, usage=Usage()),
        CallStarted(call="a" * 9, effect="read"),
        CallStarted(call="b" * 9, effect="read"),
        CallEnded(call="b" * 9, outcome="ok", text="two", images=(second,)),
        CallEnded(call="a" * 9, outcome="ok", text="one", images=(first,)),
    ]
    shown = [said.name for said in sent(OPENAI_CHAT, *journal) if isinstance(said, Image)]
    assert shown == ["first.png", "second.png"]
    last = outgoing(fold(journal), OPENAI_CHAT).messages[-1]
    assert isinstance(last, UserMessage)
    assert [(result.text, result.images) for result in last.results] == [("one", ()), ("two", ())]


@pytest.mark.parametrize(
    ("profile", "image", "why"),
    [
        (BLIND, picture(), "this model cannot see images"),
        (GEMINI, Image(media_type="image/gif", data=b"GIF89a", name="a.gif"), "this model takes no image/gif"),
        (ANTHROPIC, Image(media_type="image/png", data=bytes(5_000_001), name="a.png"), "it is larger than"),
        (ANTHROPIC, picture(width=8001), "it is larger than"),
    ],
)
def test_what_a_model_does_not_take_is_a_note_in_its_place(profile: Profile, image: Image, why: str) -> None:
    note, words = sent(profile, prompt(1, image))
    assert isinstance(note, str)
    assert note.startswith(f"[Image {image.described} cannot be shown: {why}")
    assert words == "prompt 1"


@given(st.lists(st.booleans(), min_size=18, max_size=30))
def test_no_image_that_was_shown_is_taken_away_by_more_of_them(large: list[bool]) -> None:
    """Anthropic takes more than twenty only if all of them are small: a limit that grows tighter with the history."""
    journal = [
        prompt(turn, picture(f"{turn}.png", width=3000 if wide else 2, height=1)) for turn, wide in enumerate(large, 1)
    ]
    before: list[Said] = []
    for count in range(1, len(journal) + 1):
        now = sent(ANTHROPIC, *journal[:count])
        assert now[: len(before)] == before
        before = now
    shown = sum(isinstance(said, Image) for said in before)
    assert shown == len(large) if not any(large) else shown >= min(len(large), 20)
