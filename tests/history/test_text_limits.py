"""Texts and arguments that are longer than a provider takes: told by their length, and shortened with a note.

The laws hold of every provider as if it took few characters, so that each conversation has texts to shorten.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.history import check, judged_document, repair
from holdfast.history.edits import Shorten
from holdfast.history.formats.format import Json, as_object, is_array, is_object
from holdfast.history.profiles import PAIRS, PROFILES
from holdfast.history.repair import NOT_REPAIRABLE
from holdfast.history.repairs.limits import shortened_arguments, shortened_text
from holdfast.history.rules.profile import Profile, TextLimits
from laws import law
from wire_documents import DOCUMENTS, mutations

TEXT, ARGUMENTS, DEPTH = 500, 400, 20
EVERY_FORMAT = pytest.mark.parametrize("form", DOCUMENTS)
A_LAW = law(shared_by=len(DOCUMENTS))
CHARACTERS = st.sampled_from(["x", "\n", '"', "\\", "é", "\U0001f600", "\x01"])
SAYING = {"content", "text", "output", "refusal", "args", "arguments", "input", "thinking", "reasoning_content", "x"}
RULES = {"text-too-long", "arguments-too-long"}


def limited(profile: Profile) -> Profile:
    """Return the profile as if the provider took few characters."""
    return msgspec.structs.replace(
        profile,
        texts=TextLimits(text=TEXT, arguments=ARGUMENTS, depth=DEPTH),
        rules={**profile.rules, **dict.fromkeys(RULES, "quoted"), "arguments-too-deep": "hearsay"},
    )


@contextmanager
def few_characters() -> Generator[None]:
    """Let every provider take few characters."""

    def find_limited(name: str | Profile, _form: str, *, default: str = "") -> Profile:
        del default
        return limited(PROFILES[name]) if isinstance(name, str) else name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judged_document, "find_profile", find_limited)
        yield


def longer(raw: object, data: st.DataObject) -> object:
    """Return the document with some of what is said in it longer, some of it shorter than the limit."""
    if is_array(raw):
        return [longer(each, data) for each in raw]
    if not is_object(raw):
        return raw
    return {
        key: f"{value}{data.draw(CHARACTERS) * data.draw(st.sampled_from([0, 0, 0, 150, 350, 700]))}"
        if isinstance(value, str) and key in SAYING
        else longer(value, data)
        for key, value in raw.items()
    }


@EVERY_FORMAT
@A_LAW
@given(data=st.data())
def test_what_is_shortened_is_valid_and_stays_as_it_is(form: str, data: st.DataObject) -> None:
    messages = longer(data.draw(mutations(form)), data)
    before = copy.deepcopy(messages)
    profile = data.draw(st.sampled_from(PAIRS[form]))
    with few_characters():
        repaired = repair(messages, format=form, profile=profile)
        left = check(repaired.messages, format=form, profile=profile)
        assert {each.rule for each in left} <= NOT_REPAIRABLE.keys()
        assert repaired.remaining == tuple(left)
        again = repair(repaired.messages, format=form, profile=profile)
        assert again.edits == ()
        assert again.messages is repaired.messages
        other = repair(copy.deepcopy(messages), format=form, profile=profile)
        assert (other.messages, other.edits) == (repaired.messages, repaired.edits)
    assert messages == before


@EVERY_FORMAT
@A_LAW
@given(data=st.data())
def test_what_was_sent_is_never_shortened(form: str, data: st.DataObject) -> None:
    messages = longer(data.draw(mutations(form)), data)
    assert is_array(messages)
    frozen = data.draw(st.integers(0, len(messages)))
    with few_characters():
        repaired = repair(messages, format=form, profile=data.draw(st.sampled_from(PAIRS[form])), frozen=frozen)
    assert all(is_now is was for is_now, was in zip(repaired.messages, messages[:frozen], strict=False))


@EVERY_FORMAT
def test_what_is_as_long_as_it_may_be_stays_the_same_object(form: str) -> None:
    with few_characters():
        repaired = repair(DOCUMENTS[form], format=form, tools=["f", "g", "h"])
        assert repaired.messages is DOCUMENTS[form]
        assert repaired.edits == ()


@given(st.text(min_size=300, max_size=900), st.integers(0, 300))
def test_a_shortened_text_has_its_beginning_and_its_end(text: str, most: int) -> None:
    short = shortened_text(text, most)
    assert len(short) <= most
    if most >= 200:
        begin, end = short.split("\n[", 1)[0], short.rsplit("]\n", 1)[1]
        assert (text[:50], text[-50:]) == (begin[:50], end[-50:]) or "\n[" in text or "]\n" in text
        assert len(begin) + len(end) > most - 100 or "\n[" in text or "]\n" in text


@example('"' * 60 + "x" * 600 + '"' * 60)
@given(st.text(alphabet='{}"\\\x01abé', min_size=500, max_size=900))
def test_shortened_arguments_are_the_text_of_an_object_that_quotes_them(text: str) -> None:
    short = shortened_arguments(text, ARGUMENTS)
    assert isinstance(short, str)
    assert ARGUMENTS // 2 < len(short) <= ARGUMENTS
    quoted = as_object(json.loads(short))["_unreadable_arguments"]
    assert isinstance(quoted, str)
    assert quoted.startswith(text[:5])
    assert quoted.endswith(text[-5:])


# --- what providers say ----------------------------------------------------------------------------------------------


def answer(arguments: object) -> Json:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}],
    }


USER: Json = {"role": "user", "content": "Go on."}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAD0lEQVR42mP4jwMwDC0JALoev0GJ6La7AAAAAElFTkSuQmCC" + "A" * 900
DONE: Json = {"role": "tool", "tool_call_id": "a", "content": "Done."}


def test_a_result_of_more_than_ten_million_characters_is_reported_with_openais_error_and_shortened() -> None:
    text = "begin" + "x" * 10_485_760 + "end"
    messages = [USER, answer("{}"), {**DONE, "content": text}]
    (found,) = check(messages, format="openai-chat")
    assert (found.rule, found.position) == ("text-too-long", "messages[2].content")
    assert found.error == (
        "Invalid 'messages[2].content': string too long. Expected a string with maximum length 10485760, but got a"
        " string with length 10485768 instead."
    )
    repaired = repair({"model": "m", "messages": messages}, format="openai-chat")
    short = as_object(repaired.messages[2])["content"]
    assert isinstance(short, str)
    assert short.startswith("beginx")
    assert short.endswith("xend")
    assert "characters are left out here" in short
    assert repaired.messages[:2] == messages[:2]
    assert repaired.document == {"model": "m", "messages": repaired.messages}
    assert repaired.edits == (Shorten((2, "content"), 10_485_760, "text"),)
    assert check([USER, answer("{}"), {**DONE, "content": "x" * 10_485_760}], format="openai-chat") == []


def test_arguments_of_more_than_a_million_characters_are_quoted_for_responses() -> None:
    call: Json = {"type": "function_call", "call_id": "a", "name": "f", "arguments": json.dumps({"x": "y" * 1_048_576})}
    items = [USER, call, {"type": "function_call_output", "call_id": "a", "output": "Done."}]
    (found,) = check(items, format="openai-responses")
    assert (found.rule, found.position) == ("arguments-too-long", "messages[1].arguments")
    assert found.error.startswith("Invalid 'input[1].arguments': string too long.")
    repaired = repair(items, format="openai-responses")
    written = as_object(repaired.messages[1])["arguments"]
    assert isinstance(written, str)
    assert len(written) <= 1_048_576
    assert json.loads(written)["_unreadable_arguments"].startswith('{"x": "yyy')
    assert repaired.messages[2] is items[2]
    assert check(repaired.messages, format="openai-responses") == []


def test_what_is_only_said_to_be_refused_is_a_warning() -> None:
    long, deep = json.dumps({"x": "y" * 1_048_576}), '{"x":' + "[" * 125 + "]" * 125 + "}"
    for arguments, rule in ((long, "arguments-too-long"), (deep, "arguments-too-deep")):
        messages = [USER, answer(arguments), DONE]
        assert check(messages, format="openai-chat") == []
        assert repair(messages, format="openai-chat").messages is messages
        found = check(messages, format="openai-chat", hearsay=True)
        assert [(each.rule, each.severity, each.position) for each in found] == [
            (rule, "warning", "messages[1].tool_calls[0].function.arguments")
        ]
    assert (
        check(
            [USER, answer(deep.replace("[[", "[", 1).replace("]]", "]", 1)), DONE], format="openai-chat", hearsay=True
        )
        == []
    )


def test_texts_that_are_joined_are_shortened_as_one() -> None:
    messages: list[object] = [{"role": "user", "content": "x" * 300}, {"role": "user", "content": "y" * 300}]
    with few_characters():
        repaired = repair(messages, format="openai-chat", profile="openai-compatible")
        (joined,) = repaired.messages
        content = as_object(joined)["content"]
        assert isinstance(content, str)
        assert len(content) <= TEXT
        assert content.startswith("x" * 100)
        assert content.endswith("y" * 100)
        assert repaired.remaining == ()


def test_a_text_may_be_as_long_as_is_accepted_and_no_longer() -> None:
    with few_characters():
        assert check([{"role": "user", "content": "é" * TEXT}], format="openai-chat") == []
        longer = [{"role": "user", "content": "é" * (TEXT + 1)}]
        assert [each.position for each in check(longer, format="openai-chat")] == ["messages[0].content"]
        repaired = repair(longer, format="openai-chat", frozen=1)
        assert repaired.messages is longer
        assert [each.rule for each in repaired.remaining] == ["text-too-long"]


def test_bytes_ids_and_thinking_are_no_texts() -> None:
    source: Json = {"type": "base64", "media_type": "image/png", "data": PNG}
    shown: Json = {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": source}]}
    call: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer: Json = {"role": "assistant", "content": [call]}
    with few_characters():
        assert check([USER, answer, {"role": "user", "content": [shown]}], format="anthropic", tools=["f"]) == []
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 900}"}}
    thought = {"role": "assistant", "content": "So.", "reasoning_content": "h" * 900}
    messages = [{"role": "user", "content": [{"type": "text", "text": "look"}, image]}, thought, USER]
    with few_characters():
        assert [each for each in check(messages, format="openai-chat") if each.rule in RULES] == []


LEFT_OUT = re.compile(r"\n\[(\d+) characters are left out here: so long a text is not accepted\.\]\n")


@law(200)
@given(st.text(CHARACTERS, max_size=400), st.integers(300, 600))
@example("", 10_000)
def test_the_note_says_exactly_how_much_is_left_out(text: str, more: int) -> None:
    text += "y" * more
    short = shortened_text(text, len(text) * 2 // 3)
    assert len(short) <= len(text) * 2 // 3
    found = LEFT_OUT.search(short)
    assert found is not None
    head, tail = short[: found.start()], short[found.end() :]
    assert int(found[1]) == len(text) - len(head) - len(tail)
    assert (text[: len(head)], text[len(text) - len(tail) :]) == (head, tail)
    assert 0 <= len(head) - len(tail) <= 1
