"""Images in what is sent: shown where a provider takes them, a note where not, and never taken away once shown."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.history.profiles import ANTHROPIC, BEDROCK, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_COMPATIBLE, PROFILES
from holdfast.history.rules.profile import NO_MEDIA, MediaLimits, Profile
from holdfast.session.conversation.conversation import UserContent, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.request.normalize import normalize
from holdfast.session.request.validate import validate_request
from holdfast.tool_calls import Image
from shown_images import picture

BLIND = msgspec.structs.replace(OPENAI_COMPATIBLE, media=NO_MEDIA)


def sent(profile: Profile, *entries: Entry) -> list[UserContent]:
    """Return what the user's side says of the journal, as it is sent."""
    conversation = fold(entries)
    assert validate_request(conversation, profile).violations == ()
    messages = normalize(conversation, profile).messages
    return [part for message in messages if isinstance(message, UserMessage) for part in message.content]


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
    shown = [part.name for part in sent(OPENAI_CHAT, *journal) if isinstance(part, Image)]
    assert shown == ["first.png", "second.png"]
    last = normalize(fold(journal), OPENAI_CHAT).messages[-1]
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
    before: list[UserContent] = []
    for count in range(1, len(journal) + 1):
        now = sent(ANTHROPIC, *journal[:count])
        assert now[: len(before)] == before
        before = now
    shown = sum(isinstance(part, Image) for part in before)
    assert shown == len(large) if not any(large) else shown >= min(len(large), 20)


FEW = msgspec.structs.replace(ANTHROPIC, media=MediaLimits(size=50, crowded=3, crowded_side=2_000, most=5, total=120))


def blob(size: int, side: int) -> Image:
    """Return an image of so many bytes; 0 pixels are not known."""
    return Image(media_type="image/png", data=bytes(size), name="a.png", width=side, height=side)


pictures = st.builds(blob, st.sampled_from([1, 20, 40, 60]), st.sampled_from([0, 2, 3_000]))


@given(st.lists(pictures, max_size=12))
@example([blob(20, 2)] * 7)
def test_nor_by_their_number_or_their_bytes(images: list[Image]) -> None:
    journal = [prompt(turn, image) for turn, image in enumerate(images, 1)]
    before: list[UserContent] = []
    for count in range(1, len(journal) + 1):
        now = sent(FEW, *journal[:count])
        assert now[: len(before)] == before
        before = now
    shown = [part for part in before if isinstance(part, Image)]
    assert len(shown) <= 5
    assert sum(len(image.data) for image in shown) <= 120
    assert len(shown) <= 3 or all(0 < image.width <= 2_000 for image in shown)


@pytest.mark.parametrize(
    ("profile", "most"), [(MISTRAL, 8), (BEDROCK, 20), (OPENAI_COMPATIBLE, 20), (ANTHROPIC, 100), (OPENAI_CHAT, 130)]
)
def test_no_more_are_sent_than_a_request_may_hold(profile: Profile, most: int) -> None:
    parts = sent(profile, *(prompt(turn, picture(f"{turn}.png")) for turn in range(1, 131)))
    assert [each.name for each in parts if isinstance(each, Image)] == [f"{turn}.png" for turn in range(1, most + 1)]
    notes = [each for each in parts if isinstance(each, str) and f"there are {most} already" in each]
    assert len(notes) == 130 - most


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_request_with_as_many_bytes_of_images_as_it_may_hold_has_room_for_words(profile: Profile) -> None:
    large = blob(3_700_000, 1_500)
    parts = sent(profile, *(prompt(turn, large) for turn in range(1, 21)))
    shown = sum(len(each.data) for each in parts if isinstance(each, Image))
    assert shown > profile.media.total - 3_700_000
    assert shown * 4 / 3 < {"anthropic": 32e6, "openai-chat": 50e6, "openai-responses": 50e6}.get(profile.name, 20e6)
