"""A model that refuses images: the turn goes on without them, and so does the session."""

from __future__ import annotations

import pytest

from agent_harness import Rig
from holdfast.agent.events import Fact
from holdfast.agent.turn.image_refusals import image_refusal
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry, PromptAccepted, RequestFailed, ResponseEnded, SessionOpened
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.testing.script import Call, Fail, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionTool
from holdfast.tool_calls import Image
from holdfast.tools.tool import ToolContext, ToolOutput
from holdfast.ui.view.sentences import Narrator
from shown_images import picture

REFUSED = Fail(400, "this model does not support image input")
BROKEN = Fail(400, "Could not process image")


async def look(arguments: dict[str, object], context: ToolContext) -> ToolOutput:
    del arguments, context
    return ToolOutput(text="an image", images=(picture("found.png"),))


def shown(sent: Conversation) -> list[str]:
    """Return the images of a request, by name."""
    contents = [one for message in sent.messages if isinstance(message, UserMessage) for one in message.content]
    return [one.name for one in contents if isinstance(one, Image)]


def failures(rig: Rig) -> list[tuple[str, float | None]]:
    return [(each.fault, each.retry_in) for each in rig.entries if isinstance(each, RequestFailed)]


async def test_a_prompt_with_an_image_is_sent_again_without_it_to_a_model_that_refuses() -> None:
    rig = Rig(ScriptedModel([[REFUSED], [Say("words, then")], [Say("fine")]]))
    assert (await rig.agent.run("see @a.png", images=(picture(),))).cause == "finished"
    first, second = rig.model.requests
    assert (shown(first), shown(second)) == (["a.png"], [])
    assert "cannot be shown: this model cannot see images" in str(second.messages)
    assert failures(rig) == [("no_images", 0.0)]
    (failed,) = [each.entry for each in rig.events if isinstance(each, Fact) and isinstance(each.entry, RequestFailed)]
    (sentence,) = Narrator().sentences(failed)
    assert (
        sentence.text
        == "The model does not accept images; the request is sent again without them, with notes in their place."
    )

    assert (await rig.new_agent().run("go on")).cause == "finished"  # another process, from the same journal
    assert shown(rig.model.requests[-1]) == []
    assert len(rig.model.requests) == 3


async def test_what_a_tool_read_does_not_end_the_turn_nor_the_session() -> None:
    script = [[Call("look", {})], [REFUSED], [Say("blind")], [Call("look", {})], [Say("still")]]
    rig = Rig(ScriptedModel(script), [FunctionTool("look", "read", look)])
    assert (await rig.agent.run("look")).cause == "finished"
    assert (await rig.agent.run("look again")).cause == "finished"
    assert [len(shown(sent)) for sent in rig.model.requests] == [0, 1, 0, 0, 0]


async def test_another_model_is_shown_them_and_the_first_is_not_again() -> None:
    rig = Rig(ScriptedModel([[REFUSED], [Say("one")], [Say("two")], [Say("three")]]))
    await rig.agent.run("see", images=(picture(),))
    rig.agent.use_model("openai-chat:sees")
    await rig.agent.run("and you?")
    rig.agent.use_model("openai-chat:scripted")
    await rig.agent.run("back")
    assert [len(shown(sent)) for sent in rig.model.requests] == [1, 0, 1, 0]


async def test_a_rewind_does_not_make_it_see() -> None:
    rig = Rig(ScriptedModel([[REFUSED], [Say("one")], [Say("two")]]))
    await rig.agent.run("see", images=(picture(),))
    await rig.agent.rewind(1)
    await rig.agent.run("see", images=(picture(),))
    assert [len(shown(sent)) for sent in rig.model.requests] == [1, 0, 0]


async def test_a_refusal_that_stays_ends_the_turn() -> None:
    rig = Rig(ScriptedModel([[REFUSED], [REFUSED]]))
    assert (await rig.agent.run("see", images=(picture(),))).cause == "provider"
    assert failures(rig) == [("no_images", 0.0), ("rejected", None)]


async def test_one_bad_image_costs_that_one_alone() -> None:
    script = [[Say("I see a")], [BROKEN], [Say("not that one")], [Say("I see c")], [Say("and still")]]
    rig = Rig(ScriptedModel(script))
    for name in "abc":
        image = picture(f"{name}.png", width=ord(name))
        assert (await rig.agent.run(f"see @{name}.png", images=(image,))).cause == "finished"
    assert [shown(sent) for sent in rig.model.requests] == [
        ["a.png"],
        ["a.png", "b.png"],
        ["a.png"],
        ["a.png", "c.png"],
    ]
    assert "b.png (PNG" in str(rig.model.requests[-1].messages)
    assert failures(rig) == [("bad_images", 0.0)]
    (failed,) = [each.entry for each in rig.events if isinstance(each, Fact) and isinstance(each.entry, RequestFailed)]
    (sentence,) = Narrator().sentences(failed)
    assert (
        sentence.text
        == "An image was refused; the request is sent again without the newest images, with notes in their place."
    )
    assert (await rig.new_agent().run("go on")).cause == "finished"
    assert shown(rig.model.requests[-1]) == ["a.png", "c.png"]


async def test_a_bad_image_that_a_tool_read_goes_for_good_and_another_model_is_shown_it() -> None:
    script = [[Call("look", {})], [BROKEN], [Call("look", {})], [Say("no")], [Say("I can")], [Say("still not")]]
    rig = Rig(ScriptedModel(script), [FunctionTool("look", "read", look)])
    assert (await rig.agent.run("look")).cause == "finished"
    rig.agent.use_model("openai-chat:sees")
    await rig.agent.run("and you?")
    rig.agent.use_model("openai-chat:scripted")
    await rig.agent.run("back")
    assert [len(shown(sent)) for sent in rig.model.requests] == [0, 1, 0, 0, 2, 0]


async def test_if_that_does_not_help_it_is_shown_none() -> None:
    rig = Rig(ScriptedModel([[Say("I see a")], [BROKEN], [BROKEN], [Say("words, then")], [Say("on")]]))
    for name in "ab":
        image = picture(f"{name}.png", width=ord(name))
        assert (await rig.agent.run(f"see @{name}.png", images=(image,))).cause == "finished"
    assert [len(shown(sent)) for sent in rig.model.requests] == [1, 2, 1, 0]
    assert failures(rig) == [("bad_images", 0.0), ("no_images", 0.0)]


async def test_one_without_images_is_not_sent_again() -> None:
    rig = Rig(ScriptedModel([[REFUSED]]))
    assert (await rig.agent.run("words alone")).cause == "provider"
    assert failures(rig) == [("rejected", None)]


JOURNAL: list[Entry] = [
    SessionOpened(session="s", cwd="/", model="home:vision-image-1", system="", tools=(), version="0"),
    PromptAccepted(turn=1, text="see", images=(picture(),)),
]
SEEN = fold(JOURNAL)


def answered(*parts: TextPart) -> ResponseEnded:
    return ResponseEnded(step=1, model="home:vision-image-1", parts=parts, usage=Usage())


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "No endpoints found that support image input"),
        (400, "messages[1]: unknown variant `image_url`, expected `text`"),
        (400, "llama3 is not a multimodal model"),
        (422, "messages.1.content: Input should be a valid string"),
        (400, "Unsupported content type"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    ],
)
def test_words_that_refuse_images(status: int, message: str) -> None:
    fault: ProviderFault = "rejected" if status < 500 else "overloaded"
    failed = ProviderFailed(
        f"Model 'home:vision-image-1' failed with status {status}: {message}", fault=fault, status=status
    )
    assert image_refusal(failed, SEEN) == "no_images"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "temperature must be at most 1"),
        (400, "no such provision"),
        (429, "too many images a minute"),
        (503, "the image is being pulled"),
        (None, "broke off within an image"),
    ],
)
def test_words_that_refuse_something_else(status: int | None, message: str) -> None:
    failed = ProviderFailed(f"Model 'home:vision-image-1' answered: {message}", fault="rejected", status=status)
    assert image_refusal(failed, SEEN) is None


@pytest.mark.parametrize(
    "message",
    [
        "Could not process image",
        "messages.3.content.1.image.source.base64.data: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
        "messages.0.content.0: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        "Image does not match the provided media type image/png",
        "You uploaded an unsupported image. Please make sure your image has one of the following formats: ['png']",
        "The image data you provided does not represent a valid image. Please check your input and try again.",
        "Unable to process input image. Please retry or report",
        "Provided image is not valid",
        "cannot identify image file <_io.BytesIO object>",
        "Failed to load image or audio file",
        "Too many images in request",
    ],
)
def test_words_that_refuse_one_image(message: str) -> None:
    failed = ProviderFailed(f"Model 'home:vision-image-1' answered: {message}", fault="rejected", status=400)
    assert image_refusal(failed, SEEN) == "bad_images"
    later = fold([*JOURNAL, answered(TextPart("I see")), PromptAccepted(turn=2, text="and now?")])
    assert image_refusal(failed, later) == "no_images", "none is new: it is none of them alone"
