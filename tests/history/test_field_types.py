"""Fields as programs and providers write them are of no wrong type; what a wrong one says is kept."""

from __future__ import annotations

import base64
import json

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import Json
from shown_images import png

SAID: Json = {"type": "message", "role": "user", "content": "hi"}
ASKED: Json = {"role": "user", "content": "hi"}
SEARCH: Json = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
SHELL: Json = {"type": "local_shell_call", "id": "l", "call_id": "a", "status": "completed"}
VIDEO: Json = {"file_uri": "https://youtu.be/x", "mime_type": None, "display_name": None}
CALLED: Json = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


@pytest.mark.parametrize(
    ("form", "messages"),
    [
        pytest.param("openai-responses", [SAID, SEARCH, SAID], id="a search without an id, as Codex sends it"),
        pytest.param(
            "openai-responses",
            [SAID, {**SEARCH, "id": "ws_1", "action": {"type": "find_in_page", "pattern": "og:image"}}],
            id="a look in a page without its address",
        ),
        pytest.param(
            "openai-responses",
            [
                SAID,
                {**SHELL, "action": {"type": "exec", "command": ["ls"], "env": None, "timeout_ms": 1000.0}},
                {"type": "local_shell_call_output", "id": "lo", "call_id": "a", "output": "x"},
            ],
            id="a shell without an environment",
        ),
        pytest.param(
            "gemini",
            [{"role": "user", "parts": [{"text": "x"}, {"file_data": VIDEO}]}],
            id="a file as google-genai's model_dump writes it",
        ),
        pytest.param(
            "gemini",
            [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"executableCode": {"language": 1, "code": "1"}}]},
                {"role": "user", "parts": [{"text": "x"}]},
            ],
            id="the number of an enumeration",
        ),
    ],
)
def test_what_is_sent_and_taken_is_left_as_it_is(form: str, messages: list[object]) -> None:
    assert check(messages, format=form) == []
    assert repair(messages, format=form).messages is messages


@pytest.mark.parametrize(
    ("form", "messages"),
    [
        (
            "openai-chat",
            [
                ASKED,
                CALLED,
                {"role": "tool", "tool_call_id": "a", "content": [{"type": "image_url", "image_url": ["ZEBRA"]}]},
            ],
        ),
        (
            "openai-chat",
            [
                ASKED,
                CALLED,
                {
                    "role": "tool",
                    "tool_call_id": "a",
                    "content": [{"type": "file", "file": {"file_id": "f", "file_data": ["ZEBRA"]}}],
                },
            ],
        ),
        (
            "openai-chat",
            [{"role": "user", "content": [{"type": "image_url", "image_url": [{"url": "https://a/ZEBRA"}]}]}],
        ),
        ("openai-chat", [ASKED, {"role": "assistant", "content": None, "refusal": {"summary": "ZEBRA"}}, ASKED]),
        (
            "gemini",
            [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": [{"name": "f", "args": {"url": "ZEBRA"}}]}]},
                {"role": "user", "parts": [{"text": "x"}]},
            ],
        ),
        (
            "anthropic",
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "document",
                            "source": {"type": "text", "media_type": "text/plain", "data": "x"},
                            "context": {"summary": "ZEBRA"},
                        }
                    ],
                }
            ],
        ),
    ],
)
def test_what_a_field_of_a_wrong_type_says_is_kept(form: str, messages: list[object]) -> None:
    done = repair(messages, format=form)
    assert done.remaining == ()
    assert "ZEBRA" in json.dumps(done.messages)
    assert repair(done.messages, format=form).edits == ()


@pytest.mark.parametrize("declared", [[], 7, {"type": "image/jpeg"}])
def test_an_image_whose_type_is_no_text_is_declared_as_what_it_is(declared: object) -> None:
    blob = {"mimeType": declared, "data": base64.b64encode(png()).decode()}
    done = repair([{"role": "user", "parts": [{"text": "x"}, {"inlineData": blob}]}], format="gemini")
    assert done.remaining == ()
    assert done.messages == [
        {"role": "user", "parts": [{"text": "x"}, {"inlineData": {**blob, "mimeType": "image/png"}}]}
    ]
