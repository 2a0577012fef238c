"""Images are not lost: they move to where a provider takes them, in the form that it takes, or a note says why not."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import Repair, check, repair
from holdfast.history.formats.format import Json, as_array, as_object, is_array, is_object
from holdfast.history.profiles import PAIRS
from judges import judge
from laws import law

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGNoEBCAIwbiOAALQwoBIMOqSAAAAABJRU5ErkJggg=="
URL = f"data:image/png;base64,{PNG}"
WEB = "https://example.org/a.png"
WORDS = "a shot."
FORMS = ("openai-chat", "openai-responses", "anthropic", "gemini")

PICTURES: dict[str, Json] = {
    "MCP": {"type": "image", "data": PNG, "mimeType": "image/png"},
    "MCP, with a data URL": {"type": "image", "data": URL, "mimeType": "image/png"},
    "MCP, a file": {"type": "resource", "resource": {"uri": "f://a", "blob": PNG, "mimeType": "image/png"}},
    "Anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "Anthropic, an address": {"type": "image", "source": {"type": "url", "url": WEB}},
    "Chat": {"type": "image_url", "image_url": {"url": URL}},
    "Chat, an address": {"type": "image_url", "image_url": {"url": WEB}},
    "Responses": {"type": "input_image", "image_url": URL},
    "Responses, as Chat": {"type": "input_image", "image_url": {"url": URL}},
    "Gemini": {"inlineData": {"mimeType": "image/png", "data": PNG}},
    "LangChain": {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG},
    "LangChain, newer": {"type": "image", "base64": PNG, "mime_type": "image/png"},
    "AI SDK": {"type": "image", "image": PNG, "mediaType": "image/png"},
    "AI SDK, a file": {"type": "file", "data": URL, "mediaType": "image/png"},
}


def text(form: str, words: str, role: str = "user") -> Json:
    match form:
        case "gemini":
            return {"text": words}
        case "openai-responses":
            return {"type": "output_text" if role == "assistant" else "input_text", "text": words}
        case _:
            return {"type": "text", "text": words}


def said(form: str, *parts: Json, role: str = "user") -> Json:
    match form:
        case "gemini":
            return {"role": "model" if role == "assistant" else role, "parts": list(parts)}
        case "openai-responses":
            return {"type": "message", "role": role, "content": list(parts)}
        case _:
            return {"role": role, "content": list(parts)}


def called(form: str, *calls: str) -> list[Json]:
    match form:
        case "openai-chat":
            made = [{"id": call, "type": "function", "function": {"name": "shot", "arguments": "{}"}} for call in calls]
            return [{"role": "assistant", "content": "", "tool_calls": made}]
        case "openai-responses":
            return [{"type": "function_call", "call_id": call, "name": "shot", "arguments": "{}"} for call in calls]
        case _:
            uses: list[object] = [{"type": "tool_use", "id": call, "name": "shot", "input": {}} for call in calls]
            return [{"role": "assistant", "content": uses}]


def answered(form: str, results: list[tuple[str, list[Json]]], *, failed: bool = False) -> list[Json]:
    match form:
        case "openai-chat":
            return [{"role": "tool", "tool_call_id": call, "content": parts} for call, parts in results]
        case "openai-responses":
            return [{"type": "function_call_output", "call_id": call, "output": parts} for call, parts in results]
        case _:
            error = {"is_error": True} if failed else {}
            blocks = [
                {"type": "tool_result", "tool_use_id": call, "content": parts, **error} for call, parts in results
            ]
            return [{"role": "user", "content": blocks}]


def repaired(form: str, messages: Sequence[object], profile: str | None = None) -> Repair:
    profile = profile or PAIRS[form][0]
    done = repair(messages, format=form, profile=profile)
    assert done.remaining == ()
    assert check(done.messages, format=form, profile=profile) == []
    assert repair(done.messages, format=form, profile=profile).edits == ()
    return done


def shown(raw: object, form: str) -> Iterator[str]:
    """Yield the image of each part that has the form which the format gives to images."""
    if is_array(raw):
        for each in raw:
            yield from shown(each, form)
    elif is_object(raw):
        match form, raw:
            case "anthropic", {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": str(data)},
            }:
                yield data
            case "anthropic", {"type": "image", "source": {"type": "url", "url": str(url)}}:
                yield url
            case "openai-chat", {"type": "image_url", "image_url": {"url": str(url)}}:
                yield url.removeprefix("data:image/png;base64,")
            case "openai-responses", {"type": "input_image", "image_url": str(url)}:
                yield url.removeprefix("data:image/png;base64,")
            case "gemini", {"inlineData": {"mimeType": "image/png", "data": str(data)}}:
                yield data
            case "gemini", {"fileData": {"fileUri": str(url)}}:
                yield url
            case _:
                for key in ("content", "output", "parts"):
                    yield from shown(raw.get(key), form)


def wanted(picture: Json) -> str:
    return WEB if WEB in json.dumps(picture) else PNG


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PICTURES)
def test_an_image_of_the_user_is_written_in_the_form_of_the_format(name: str, form: str) -> None:
    messages = [said(form, text(form, WORDS), PICTURES[name])]
    done = repaired(form, messages)
    assert list(shown(done.messages, form)) == [wanted(PICTURES[name])]
    assert WORDS in json.dumps(done.messages)
    said_so = ["form that the provider knows" in each.sentence for each in done.edits]
    assert said_so in ([], [True])


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("name", PICTURES)
def test_an_image_in_a_result_is_shown(name: str, form: str) -> None:
    for profile in PAIRS[form]:
        messages = [said(form, text(form, "x")), *called(form, "call_1")]
        messages += answered(form, [("call_1", [text(form, WORDS), PICTURES[name]])])
        messages += [said(form, text(form, "y"))]
        done = repaired(form, messages, profile)
        assert list(shown(done.messages, form)) == [wanted(PICTURES[name])], profile
        assert WORDS in json.dumps(done.messages)
        assert "call_1" in json.dumps(done.messages) or profile in ("any", "mistral", "mistral-templates")


MOVED = "An image or a file that was here follows in the user's message."


@pytest.mark.parametrize("profile", ["openai-chat", "mistral", "openai-compatible", "any"])
def test_where_results_hold_no_images_they_stand_behind_all_results_in_one_message(profile: str) -> None:
    image = PICTURES["Chat"]
    results = [("a", [text("openai-chat", WORDS), image]), ("b", [image]), ("c", [text("openai-chat", "none")])]
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a", "b", "c")]
    done = repaired("openai-chat", [*messages, *answered("openai-chat", results)], profile)
    roles = [as_object(message)["role"] for message in done.messages]
    reply = ["assistant"] if profile in ("mistral", "openai-compatible", "any") else []
    assert roles == ["user", "assistant", "tool", "tool", "tool", *reply, "user"]
    assert json.dumps(done.messages[2:5]).count(MOVED) == 2
    lead: Json = {"type": "text", "text": "[From the result of shot:]"}
    assert as_object(done.messages[-1])["content"] == [lead, image, lead, image]
    assert any("the provider accepts no images in a result" in edit.sentence for edit in done.edits)


def test_they_join_what_the_user_says_next() -> None:
    image = PICTURES["Chat"]
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a")]
    messages += [*answered("openai-chat", [("a", [image])]), {"role": "user", "content": "next"}]
    done = repaired("openai-chat", messages, "openai-compatible")
    assert [as_object(message)["role"] for message in done.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert as_array(as_object(done.messages[-1])["content"])[1:] == [image, {"type": "text", "text": "next"}]


def test_results_that_move_take_their_images_along() -> None:
    image, late = PICTURES["Chat"], {"role": "user", "content": "by the way"}
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a", "b")]
    messages += [*answered("openai-chat", [("a", [image])]), late, *answered("openai-chat", [("b", [image])])]
    done = repaired("openai-chat", messages)
    assert [as_object(message)["role"] for message in done.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]
    assert list(shown(done.messages, "openai-chat")) == [PNG, PNG]


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
@pytest.mark.parametrize("kind", ["image", "document", "search result", "MCP"])
def test_what_is_no_text_goes_behind_a_result_that_reports_an_error(kind: str, profile: str) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "page"}
    blocks: dict[str, Json] = {
        "image": PICTURES["Anthropic"],
        "document": {"type": "document", "source": source},
        "search result": {"type": "search_result", "source": "s", "title": "t", "content": [text("anthropic", "page")]},
        "MCP": PICTURES["MCP"],
    }
    results = answered("anthropic", [("a", [text("anthropic", "failed"), blocks[kind]])], failed=True)
    messages = [said("anthropic", text("anthropic", "x")), *called("anthropic", "a"), *results]
    rules = {each.rule for each in check(messages, format="anthropic", profile=profile)}
    assert "error-result-not-text" in rules
    content = as_array(as_object(repaired("anthropic", messages, profile).messages[2])["content"])
    answer, lead, moved = map(as_object, content)
    assert (answer["content"], answer["is_error"]) == (f"failed\n[{MOVED}]", True)
    assert lead == text("anthropic", "[From the result of shot:]")
    assert moved == (PICTURES["Anthropic"] if kind == "MCP" else blocks[kind])


def test_a_reference_to_a_tool_in_an_error_is_said_in_words() -> None:
    named: Json = {"type": "tool_reference", "tool_name": "shot"}
    results = answered("anthropic", [("a", [text("anthropic", "failed"), named, PICTURES["Anthropic"]])], failed=True)
    messages = [said("anthropic", text("anthropic", "x")), *called("anthropic", "a"), *results]
    done = repaired("anthropic", messages)
    content = as_array(as_object(done.messages[2])["content"])
    assert "tool_reference" in str(as_object(content[0])["content"])
    assert list(shown(done.messages, "anthropic")) == [PNG]


@pytest.mark.parametrize("failed", ["", " ", [], None, [{"type": "text", "text": ""}]])
@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
def test_an_error_without_words_says_that_it_is_empty(failed: object, profile: str) -> None:
    answer: Json = {"type": "tool_result", "tool_use_id": "a", "content": failed, "is_error": True}
    messages = [
        said("anthropic", text("anthropic", "x")),
        *called("anthropic", "a"),
        {"role": "user", "content": [answer]},
    ]
    assert "error-result-empty" in {each.rule for each in check(messages, format="anthropic", profile=profile)}
    done = repaired("anthropic", messages, profile)
    assert as_array(as_object(done.messages[2])["content"]) == [{**answer, "content": "(empty)"}]


def test_an_error_without_content_too() -> None:
    answer: Json = {"type": "tool_result", "tool_use_id": "a", "is_error": True}
    messages = [
        said("anthropic", text("anthropic", "x")),
        *called("anthropic", "a"),
        {"role": "user", "content": [answer]},
    ]
    done = repaired("anthropic", messages)
    assert as_array(as_object(done.messages[2])["content"]) == [{**answer, "content": "(empty)"}]


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("name", ["Chat", "Anthropic", "Responses", "MCP"])
def test_an_image_of_the_assistant_goes_to_the_user(name: str, form: str) -> None:
    for profile in PAIRS[form]:
        messages = [
            said(form, text(form, "x")),
            said(form, text(form, WORDS, "assistant"), PICTURES[name], role="assistant"),
        ]
        done = repaired(form, [*messages, said(form, text(form, "y"))], profile)
        assert list(shown(done.messages, form)) == [PNG], profile
        roles = [as_object(message)["role"] for message in done.messages if list(shown(message, form))]
        assert roles == ["user"]
        assert json.dumps(done.messages).count(MOVED) == 1


def test_an_image_of_the_system_prompt_goes_to_the_user() -> None:
    messages = [said("openai-chat", text("openai-chat", "s"), PICTURES["Chat"], role="system")]
    done = repaired("openai-chat", [*messages, said("openai-chat", text("openai-chat", "y"))])
    assert [as_object(message)["role"] for message in done.messages][:2] == ["system", "user"]
    assert list(shown(done.messages[1:], "openai-chat")) == [PNG]


BARE: dict[str, tuple[str, Json]] = {
    "a data URL in base64": (
        "anthropic",
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": URL}},
    ),
    "a data URL as an address": ("anthropic", {"type": "image", "source": {"type": "url", "url": URL}}),
    "base64 as an address": ("anthropic", {"type": "image", "source": {"type": "url", "url": PNG}}),
    "base64 in Chat": ("openai-chat", {"type": "image_url", "image_url": {"url": PNG}}),
    "base64 in Responses": ("openai-responses", {"type": "input_image", "image_url": PNG}),
    "a data URL in Gemini": ("gemini", {"inlineData": {"mimeType": "image/png", "data": URL}}),
}


@pytest.mark.parametrize("what", BARE)
def test_bytes_are_not_taken_for_an_address(what: str) -> None:
    form, part = BARE[what]
    messages = [said(form, text(form, WORDS), part)]
    assert [each.rule for each in check(messages, format=form)] == ["media-invalid"]
    done = repaired(form, messages)
    assert list(shown(done.messages, form)) == [PNG]
    if form == "anthropic":
        judge(form, {"model": "m", "max_tokens": 1, "messages": done.messages})


def test_a_pdf_loses_the_beginning_of_a_data_url() -> None:
    body = b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    data = base64.b64encode(body + b"3 0 obj<</Type/Page>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF").decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": f"data:application/pdf;base64,{data}"}
    messages = [said("anthropic", text("anthropic", WORDS), {"type": "document", "source": source})]
    done = repaired("anthropic", messages)
    (_, paper) = as_array(as_object(done.messages[0])["content"])
    assert as_object(as_object(paper)["source"])["data"] == data


def test_a_screenshot_gets_the_type_of_its_bytes() -> None:
    action = {"type": "screenshot"}
    call: Json = {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c",
        "action": action,
        "status": "completed",
        "pending_safety_checks": [],
    }
    seen = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": PNG}}
    done = repaired("openai-responses", [said("openai-responses", text("openai-responses", "x")), call, seen])
    assert as_object(as_object(done.messages[2])["output"])["image_url"] == URL


@pytest.mark.parametrize("url", ["shots/a.png", "file:a.png", "a.png", "blob:x"])
@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
def test_an_address_that_no_provider_can_read_leaves_a_note(form: str, url: str) -> None:
    parts: dict[str, Json] = {
        "openai-chat": {"type": "image_url", "image_url": {"url": url}},
        "openai-responses": {"type": "input_image", "image_url": url},
        "anthropic": {"type": "image", "source": {"type": "url", "url": url}},
    }
    messages = [said(form, text(form, WORDS), parts[form])]
    assert [each.rule for each in check(messages, format=form)] == ["media-invalid"]
    done = repaired(form, messages)
    assert "no address that a provider can read" in json.dumps(done.messages)


def test_an_image_for_a_model_without_eyes_is_not_moved() -> None:
    image = PICTURES["Chat"]
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a")]
    messages += answered("openai-chat", [("a", [text("openai-chat", WORDS), image])])
    done = repair(messages, format="openai-chat", text_only=True)
    assert done.remaining == ()
    assert list(shown(done.messages, "openai-chat")) == []
    assert "text-only model" in json.dumps(done.messages)
    assert [as_object(message)["role"] for message in done.messages] == ["user", "assistant", "tool"]


def test_what_is_left_out_does_not_move() -> None:
    broken: Json = {"type": "image_url", "image_url": {"url": "shots/a.png"}}
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a")]
    messages += answered("openai-chat", [("a", [broken, PICTURES["Chat"]])])
    done = repaired("openai-chat", messages)
    assert list(shown(done.messages, "openai-chat")) == [PNG]
    assert json.dumps(done.messages).count("no address that a provider can read") == 1


@pytest.mark.parametrize("form", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("written", ["openai-chat", "openai-responses", "anthropic"])
def test_a_result_in_the_form_of_another_provider_keeps_its_image(written: str, form: str) -> None:
    own = {"openai-chat": "Chat", "openai-responses": "Responses", "anthropic": "Anthropic"}[written]
    results = answered(written, [("call_1", [text(written, WORDS), PICTURES[own]])])
    for profile in PAIRS[form]:
        messages = [said(form, text(form, "x")), *called(form, "call_1"), *results, said(form, text(form, "y"))]
        done = repaired(form, messages, profile)
        assert list(shown(done.messages, form)) == [PNG], profile
        assert json.dumps(done.messages).count(WORDS) == 1


def test_a_failed_result_in_the_form_of_another_provider_keeps_its_image_too() -> None:
    answer: Json = {"role": "tool", "tool_call_id": "a", "content": [PICTURES["Chat"]], "is_error": True}
    done = repaired("anthropic", [said("anthropic", text("anthropic", "x")), *called("anthropic", "a"), answer])
    assert list(shown(done.messages, "anthropic")) == [PNG]


def test_a_result_without_a_call_keeps_its_image_in_the_quotation() -> None:
    messages = [said("openai-chat", text("openai-chat", "x"))]
    messages += answered("openai-chat", [("gone", [text("openai-chat", WORDS), PICTURES["Chat"]])])
    done = repaired("openai-chat", messages)
    assert list(shown(done.messages, "openai-chat")) == [PNG]


def test_what_was_sent_keeps_its_images() -> None:
    messages = [said("openai-chat", text("openai-chat", "x")), *called("openai-chat", "a")]
    messages += answered("openai-chat", [("a", [PICTURES["Chat"]])])
    assert repair(messages, format="openai-chat", frozen=3).messages == messages


HOLOGRAM: Json = {"type": "hologram", "data": "x"}
PARTS = st.lists(st.sampled_from([*PICTURES.values(), HOLOGRAM]), max_size=3)


@law()
@given(st.sampled_from(["openai-chat", "openai-responses", "anthropic"]), st.data())
def test_no_image_is_lost_wherever_it_stands(form: str, data: st.DataObject) -> None:
    profile = data.draw(st.sampled_from(PAIRS[form]))
    first, second, own, late = (data.draw(PARTS) for _ in range(4))
    messages = [said(form, text(form, "x"), *first), said(form, text(form, "so", "assistant"), *own, role="assistant")]
    messages += [said(form, text(form, "y")), *called(form, "a", "b")]
    failed = form == "anthropic" and data.draw(st.booleans())
    messages += answered(form, [("a", [text(form, WORDS), *second]), ("b", late or [text(form, "w")])], failed=failed)
    expected = sorted(wanted(part) for part in (*first, *own, *second, *late) if part.get("type") != "hologram")
    if len(expected) <= 8:
        done = repaired(form, messages, profile)
        assert sorted(shown(done.messages, form)) == expected


@pytest.mark.parametrize("profile", ["anthropic", "deepseek"])
@pytest.mark.parametrize("odd", [5, [], None])
def test_a_text_that_is_none_in_a_result_with_an_error_is_repaired(profile: str, odd: object) -> None:
    part = {"type": "text", "text": odd}
    for content in ([part], [part, text("anthropic", WORDS)], [part, PICTURES["Anthropic"]]):
        messages = [said("anthropic", text("anthropic", "x")), *called("anthropic", "a")]
        messages += answered("anthropic", [("a", content)], failed=True)
        done = repaired("anthropic", messages, profile)
        pictures = [each for each in content if each is PICTURES["Anthropic"]]
        assert len(list(shown(done.messages, "anthropic"))) == len(pictures)
        assert WORDS in json.dumps(done.messages) or len(content) == 1 or pictures


@pytest.mark.parametrize("profile", ["openai-chat", "openai-compatible"])
def test_the_images_of_an_answer_of_openrouter_go_to_the_user(profile: str) -> None:
    """It answers with a field `images`, which no provider reads when it comes back."""
    image: Json = {"type": "image_url", "image_url": {"url": URL}}
    answer: Json = {"role": "assistant", "content": "here", "images": [image]}
    messages: list[Json] = [{"role": "user", "content": "x"}, answer, {"role": "user", "content": "y"}]
    assert {each.rule for each in check(messages, format="openai-chat", profile=profile)} == {
        "block-misplaced",
        "unknown-field",
    }
    done = repair(messages, format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert "images" not in as_object(done.messages[1])
    assert "follows in the user's message" in str(as_object(done.messages[1])["content"])
    assert image in as_array(as_object(done.messages[2])["content"])
    alone = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "images": [image]}]
    assert URL in json.dumps(repair(alone, format="openai-chat", profile=profile).messages)


FILE: Json = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}


@pytest.mark.parametrize(
    ("profile", "moves"), [("openai-chat", True), ("mistral", False), ("openai-compatible", False)]
)
def test_a_file_in_a_result_of_chat_goes_where_files_are_known(profile: str, *, moves: bool) -> None:
    call: Json = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[Json] = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "f", "tool_call_id": "abcdefghi", "content": [{"type": "text", "text": "a"}, FILE]},
    ]
    assert "foreign-content" in {each.rule for each in check(messages, format="openai-chat", profile=profile)}
    done = repair(messages, format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert any("no files in a result" in edit.sentence for edit in done.edits) is moves
    users = [as_object(each)["content"] for each in done.messages if as_object(each)["role"] == "user"]
    assert (FILE in as_array(users[-1])) is moves
    assert "a.pdf" in json.dumps(done.messages)


def test_an_image_that_a_tool_of_openai_made_goes_to_the_user_of_another_server() -> None:
    made: Json = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PNG}
    messages: list[Json] = [
        {"role": "user", "content": "draw"},
        {**made, "revised_prompt": "a cat"},
        {"role": "user", "content": "now a dog"},
    ]
    assert check(messages, format="openai-responses") == []
    assert [each.rule for each in check(messages, format="openai-responses", profile="openai-compatible")] == [
        "foreign-content"
    ]
    done = repair(messages, format="openai-responses", profile="openai-compatible")
    assert done.remaining == ()
    parts = [part for each in done.messages for part in as_array(as_object(each)["content"])]
    assert {"type": "input_image", "image_url": URL} in parts
    assert "a cat" in json.dumps(done.messages)
    blind = repair(messages, format="openai-responses", profile="openai-compatible", text_only=True)
    assert blind.remaining == ()
    assert "input_image" not in json.dumps(blind.messages)


FILES = {
    "camel": ("functionResponse", {"inlineData": {"mimeType": "image/png", "data": PNG}}),
    "snake": ("function_response", {"inline_data": {"mime_type": "image/png", "data": PNG}}),
    "an address": ("functionResponse", {"fileData": {"fileUri": "https://example.org/a.pdf"}}),
}


@pytest.mark.parametrize(("field", "part"), FILES.values(), ids=FILES)
def test_a_file_in_a_result_moves_to_the_user_for_a_gemini_before_3(field: str, part: Json) -> None:
    no_arguments: Json = {}
    call: Json = {"functionCall": {"name": "shot", "args": no_arguments}, "thoughtSignature": "QUJD"}
    answer: Json = {field: {"name": "shot", "response": {"output": WORDS}, "parts": [part, part]}}
    contents: list[Json] = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [answer]},
    ]
    new: Json = {"model": "gemini-3-flash", "contents": contents}
    assert check(new, format="gemini") == []
    old: Json = {"model": "gemini-2.5-flash", "contents": contents}
    assert [found.rule for found in check(old, format="gemini")] == ["foreign-content"]
    repaired = repair(old, format="gemini")
    assert check(repaired.document, format="gemini") == []
    assert [type(each).__name__ for each in repaired.edits] == ["MoveContent"]
    kept = as_object(as_array(as_object(as_array(as_object(repaired.document)["contents"])[2])["parts"])[0])[field]
    assert "parts" not in as_object(kept)
    assert as_object(as_object(kept)["response"])["output"] == WORDS
    assert as_array(as_object(as_array(as_object(repaired.document)["contents"])[2])["parts"])[-2:] == [part, part]
