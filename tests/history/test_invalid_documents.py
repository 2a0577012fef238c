"""Documents that providers refuse are found, and the repair of each is valid and keeps what can be kept."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.history import check, repair

Json = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGNoEBCAIwbiOAALQwoBIMOqSAAAAABJRU5ErkJggg=="
USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
SAID: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


def responses(*items: Json) -> list[Json]:
    return [USER, *items, USER]


def searched(**action: object) -> list[Json]:
    return responses({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}, SAID)


def shown(url: str) -> list[Json]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def input_image(url: str) -> list[Json]:
    return [{"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url}]}]


INVALID: dict[str, tuple[list[Json], str, str, str]] = {
    "a page that was opened has no query": (
        searched(type="open_page", url="https://e.org", query="q"),
        "openai-responses",
        "openai-responses",
        "field-mistyped",
    ),
    "a call has a status or none": (
        responses({**CALL, "status": None}, OUTPUT),
        "openai-responses",
        "openai-responses",
        "field-mistyped",
    ),
    "a message has a status or none": (
        responses({**SAID, "status": None}),
        "openai-responses",
        "openai-responses",
        "field-mistyped",
    ),
    "OpenAI takes no video": (
        [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://e.org/a.mp4"}}]}],
        "openai-chat",
        "openai-chat",
        "foreign-content",
    ),
    **{
        f"{url[:24]} is no address in {form}": (make(url), form, form, "media-invalid")
        for url in ("/tmp/a.png", "a.png", "file:/srv/a.png", PNG, "C:\\a.png", "sandbox:/mnt/a.png")
        for form, make in (("openai-chat", shown), ("openai-responses", input_image))
    },
    "a picture of a result has an address": (
        responses(CALL, {**OUTPUT, "output": [{"type": "input_image", "image_url": PNG}]}),
        "openai-responses",
        "openai-responses",
        "media-invalid",
    ),
}
VALID: dict[str, tuple[list[Json], str, str]] = {
    "a page": (searched(type="open_page", url="https://e.org"), "openai-responses", "openai-responses"),
    "a search": (searched(type="search", query="q"), "openai-responses", "openai-responses"),
    "a status": (responses({**CALL, "status": "completed"}, OUTPUT), "openai-responses", "openai-responses"),
    "the null status of a result": (
        responses(CALL, {**OUTPUT, "status": None}),
        "openai-responses",
        "openai-responses",
    ),
    **{
        f"{url[:12]} in {form}": (make(url), form, form)
        for url in ("https://e.org/a.png", "HTTP://e.org/a.png", f"data:image/png;base64,{PNG}")
        for form, make in (("openai-chat", shown), ("openai-responses", input_image))
    },
}


@pytest.mark.parametrize("name", INVALID)
def test_what_a_provider_refuses_is_found_and_repaired(name: str) -> None:
    messages, form, profile, rule = INVALID[name]
    assert [each.rule for each in check(messages, format=form, profile=profile)] == [rule]
    repaired = repair(messages, format=form, profile=profile)
    assert repaired.remaining == ()
    assert check(repaired.messages, format=form, profile=profile) == []


@pytest.mark.parametrize("name", VALID)
def test_what_a_provider_accepts_is_no_finding(name: str) -> None:
    messages, form, profile = VALID[name]
    assert check(messages, format=form, profile=profile) == []


UNSIGNED: list[Json] = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
]


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        (None, ["signature-required"]),
        ("gemini-3-flash", ["signature-required"]),
        ("gemini-3.1-pro-preview", ["signature-required"]),
        ("gemini-2.5-flash", []),
        ("models/gemini-2.5-pro", []),
        ("google:gemini-2.0-flash", []),
    ],
)
def test_only_gemini_3_requires_the_signatures_of_calls(model: str | None, rules: list[str]) -> None:
    assert [each.rule for each in check(UNSIGNED, format="gemini", model=model)] == rules
    body: Json = {"contents": UNSIGNED} | ({"model": model} if model else {})
    assert [each.rule for each in check(body, format="gemini")] == rules
