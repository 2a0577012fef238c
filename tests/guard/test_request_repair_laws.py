"""The laws of the guard's core, each tried on the conversations of the corpus and on bodies made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import StorageFailed
from holdfast.guard import mended
from holdfast.guard.request_repair import LARGEST_BODY, MOST_MESSAGES, judge
from holdfast.history import NO_RESULT, check, repair
from laws import law
from polling import HANGS

pytestmark = pytest.mark.deep

CORPUS = Path(__file__).parents[1] / "corpus"
URLS = {
    "anthropic": "https://api.anthropic.com/v1/messages",
    "openai-chat": "https://api.openai.com/v1/chat/completions",
    "openai-responses": "https://api.openai.com/v1/responses",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
}
KEYS = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input", "gemini": "contents"}
MODELS = {"anthropic": "claude-sonnet-4-5", "openai-chat": "gpt-4.1", "openai-responses": "gpt-5.5", "gemini": None}
JSON = {"Content-Type": "application/json"}
CALL_ITEM = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
LONE_RESPONSE = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": 1}}}]}
LOCAL = "http://localhost:8000/v1/chat/completions"
ROUTER = "https://openrouter.ai/api/v1/chat/completions"
TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]


def body_of(form: str, messages: Sequence[object], **more: object) -> bytes:
    model = MODELS[form]
    named = {"model": model} if model is not None else {}
    return json.dumps({**named, KEYS[form]: list(messages), **more}).encode()


def messages_of(form: str, body: bytes) -> list[msgspec.Raw]:
    return msgspec.json.decode(
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])[KEYS[form]], type=list[msgspec.Raw]
    )


def corpus() -> list[tuple[str, str, list[Any]]]:
    """Return each conversation of the corpus that is a request's: its name, its format and its messages."""
    found: list[tuple[str, str, list[Any]]] = []
    for file in sorted(CORPUS.glob("*.json")):
        case = json.loads(file.read_text())
        if case.get("provider_format") in URLS:
            found.append((file.stem, case["provider_format"], case["messages"]))
    return found


CASES = corpus()


def call(identifier: str, name: str = "deploy", arguments: str = "{}") -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat(*ids: str) -> list[Any]:
    """Return a conversation in which calls have no results."""
    return [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [call(each) for each in ids]},
        {"role": "user", "content": "Go on"},
    ]


def test_the_corpus_has_conversations_that_are_repaired() -> None:
    repaired = [name for name, form, messages in CASES if mended(URLS[form], JSON, body_of(form, messages))]
    assert len(CASES) > 30
    assert len(repaired) > 8, repaired


# --- law 1: unsure, so unchanged --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "headers", "body"),
    [
        ("https://api.openai.com/v1/embeddings", JSON, body_of("openai-chat", chat("c1"))),
        ("https://api.openai.com/v1/chat/completions/more", JSON, body_of("openai-chat", chat("c1"))),
        ("wss://api.openai.com/v1/responses", JSON, body_of("openai-chat", chat("c1"))),
        ("https://[api.openai.com/v1/chat/completions", JSON, body_of("openai-chat", chat("c1"))),
        ("https://api.anthropic.com/v1/chat/completions", JSON, body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"] + "/" * 9000 + "chat/completions", JSON, body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"], {"content-encoding": "gzip"}, body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"], {"Content-Type": "application/json; charset=utf-16"}, body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"], {"content-type": "multipart/form-data"}, body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"], JSON, b""),
        (URLS["openai-chat"], JSON, b"{"),
        (URLS["openai-chat"], JSON, b"[]"),
        (URLS["openai-chat"], JSON, body_of("openai-chat", chat("c1")).decode().encode("utf-16")),
        (URLS["openai-chat"], JSON, b"\xef\xbb\xbf" + body_of("openai-chat", chat("c1"))),
        (URLS["openai-chat"], JSON, json.dumps({"model": "gpt-4.1", "messages": "Go"}).encode()),
        (URLS["openai-chat"], JSON, json.dumps({"messages": chat("c1")}).encode()),
        (URLS["openai-chat"], JSON, json.dumps({"model": None, "messages": chat("c1")}).encode()),
        (URLS["openai-chat"], JSON, json.dumps({"model": 4, "messages": chat("c1")}).encode()),
        (LOCAL, JSON, json.dumps({"model": "qwen3", "messages": chat("c1")}).encode()),
        (ROUTER, JSON, json.dumps({"model": "deepseek/v3", "messages": chat("c1")}).encode()),
        (URLS["openai-responses"], JSON, body_of("openai-responses", [CALL_ITEM], previous_response_id="resp_1")),
        (URLS["openai-responses"], JSON, body_of("openai-responses", [CALL_ITEM], conversation="conv_1")),
        (URLS["openai-responses"], JSON, json.dumps({"model": "gpt-5.5", "input": "Go"}).encode()),
        (URLS["gemini"], JSON, body_of("gemini", [LONE_RESPONSE], cachedContent="cachedContents/x")),
    ],
)
def test_a_request_in_doubt_goes_on_as_it_is(url: str, headers: Mapping[str, str], body: bytes) -> None:
    assert mended(url, headers, body) is None


def test_the_same_request_without_the_doubt_is_repaired() -> None:
    body = body_of("openai-chat", chat("c1"))
    for url in (
        URLS["openai-chat"],
        "http://localhost:8000/v1/chat/completions",
        "https://a.openai.azure.com/openai/v1/chat/completions?api-version=1",
    ):
        assert mended(url, JSON, body) is not None
    assert mended(URLS["openai-responses"], {}, body_of("openai-responses", [CALL_ITEM]))
    assert mended(URLS["gemini"], {}, body_of("gemini", [LONE_RESPONSE]))


def test_a_key_that_occurs_twice_is_left_to_the_provider() -> None:
    body = body_of("openai-chat", chat("c1"))
    assert (
        mended(URLS["openai-chat"], JSON, body.replace(b'"name": "deploy"', b'"name": "a", "name": "deploy"')) is None
    )
    assert mended(URLS["openai-chat"], JSON, body[:-1] + b', "messages": []}') is None
    assert mended(URLS["openai-chat"], JSON, body[:-1] + b', "x": {"y": 1, "y": 2}}') is None


def test_a_body_or_a_conversation_that_is_too_long_goes_on_as_it_is() -> None:
    long = [{"role": "user", "content": "x"}] * (MOST_MESSAGES - 2)
    assert mended(URLS["openai-chat"], JSON, body_of("openai-chat", [*long, *chat("c1")])) is None
    assert mended(URLS["openai-chat"], JSON, body_of("openai-chat", chat("c1")) + b" " * LARGEST_BODY) is None


def test_a_conversation_that_no_edit_makes_valid_goes_on_as_it_is() -> None:
    body = body_of("openai-chat", [])
    found = judge(URLS["openai-chat"], JSON, body)
    assert found is not None
    assert [each.rule for each in found.remaining] == ["no-messages"]
    assert mended(URLS["openai-chat"], JSON, body) is None


def test_an_edit_beyond_pairing_and_form_is_only_reported() -> None:
    """A tool that is renamed, a picture that is left out, a setting that is changed: the author's affair."""
    messages = chat("c1")
    messages[1]["tool_calls"][0]["function"]["name"] = "no such name!"
    body = body_of("openai-chat", messages)
    found = judge(URLS["openai-chat"], JSON, body)
    assert found is not None
    assert found.edits
    assert found.body is None


@pytest.mark.parametrize(("name", "form", "messages"), CASES, ids=[each[0] for each in CASES])
def test_what_is_repaired_is_valid_and_what_is_valid_is_left_alone(name: str, form: str, messages: list[Any]) -> None:
    body = body_of(form, messages)
    new = mended(URLS[form], JSON, body)
    if new is None:
        return  # in doubt, or valid
    assert not check(json.loads(new), format=form, model=MODELS[form] or "gemini-2.5-flash"), name
    assert mended(URLS[form], JSON, new) is None


# --- law 2: the same bytes each time ---------------------------------------------------------------------------------


def more_of(form: str, turn: int) -> list[Any]:
    """Return one more turn of a conversation."""
    match form:
        case "gemini":
            return [
                {"role": "model", "parts": [{"text": f"Answer {turn}."}]},
                {"role": "user", "parts": [{"text": f"More {turn}"}]},
            ]
        case "openai-responses":
            text = [{"type": "output_text", "text": f"Answer {turn}."}]
            return [
                {"type": "message", "role": "assistant", "content": text},
                {"role": "user", "content": f"More {turn}"},
            ]
        case _:
            return [
                {"role": "assistant", "content": f"Answer {turn}."},
                {"role": "user", "content": f"More {turn}"},
            ]


@pytest.mark.parametrize(("name", "form", "messages"), CASES, ids=[each[0] for each in CASES])
def test_a_conversation_that_grows_begins_with_the_same_bytes(name: str, form: str, messages: list[Any]) -> None:
    closed = [*messages, *more_of(form, 0)]
    before: list[msgspec.Raw] | None = None
    for turns in range(3):
        grown = [*closed, *(each for turn in range(1, turns + 1) for each in more_of(form, turn))]
        new = mended(URLS[form], JSON, body_of(form, grown))
        if new is None:
            assert before is None, name
            return
        found = messages_of(form, new)
        if before is not None:
            assert [bytes(each) for each in found[: len(before)]] == [bytes(each) for each in before]
        before = found


def test_the_same_request_gives_the_same_bytes() -> None:
    bodies = {form: body_of(form, messages) for _, form, messages in CASES}
    code = (
        "import sys, json\nfrom holdfast.guard import mended\n"
        "for url, body in json.loads(sys.stdin.read()):\n"
        "    print(repr(mended(url, {}, body.encode())))"
    )
    asked = json.dumps([(URLS[form], body.decode()) for form, body in bodies.items()])
    results = {
        subprocess.run(
            [sys.executable, "-c", code], input=asked, capture_output=True, text=True, timeout=HANGS, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(results) == 1
    here = [repr(mended(URLS[form], {}, body)) for form, body in bodies.items()]
    assert results.pop().splitlines() == here


SPELLED = (
    b'{ "model":"gpt-4.1" ,\n "temperature": 1.10, "big": 123456789012345678901234567890, "e": "\\u00e4",'
    b' "messages": [ {"role": "user", "content": "G\\u006f"}, '
    b'{"role":"assistant", "content": null, "tool_calls":[{"id":"c1","type":"function",'
    b'"function":{"name":"deploy","arguments":"{\\"a\\": 1.10}"}}] }, {"role" :"user","content":"\\ud83d\\ude00"} ] }'
)


def test_all_that_is_not_repaired_keeps_its_bytes() -> None:
    new = mended(URLS["openai-chat"], JSON, SPELLED)
    assert new is not None
    for piece in (
        b'"temperature":1.10,',
        b'"big":123456789012345678901234567890,',
        b'"e":"\\u00e4"',
        b'{"role": "user", "content": "G\\u006f"}',
        b'"arguments":"{\\"a\\": 1.10}"}}] }',
        b'{"role" :"user","content":"\\ud83d\\ude00"}',
    ):
        assert piece in new
    assert json.loads(new)["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": NO_RESULT}


def test_a_cache_marker_stays_on_its_block() -> None:
    marked = {"type": "text", "text": "Go on", "cache_control": {"type": "ephemeral"}}
    messages: list[Any] = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [marked]},
    ]
    new = mended(URLS["anthropic"], JSON, body_of("anthropic", messages, max_tokens=10, tools=TOOLS))
    assert new is not None
    blocks = json.loads(new)["messages"][2]["content"]
    assert [each["type"] for each in blocks] == ["tool_result", "text"]
    assert blocks[1] == marked


# --- law 4: nothing is stored ----------------------------------------------------------------------------------------


def test_no_key_of_an_address_is_in_what_is_reported() -> None:
    url = (
        "https://user:pass@generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent?key=SECRET"
    )
    contents: list[Any] = [
        {"role": "user", "parts": [{"text": "Go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"text": "Go on"}]},
    ]
    found = judge(url, {"authorization": "Bearer SECRET"}, body_of("gemini", contents))
    assert found is not None
    assert found.body is not None
    assert "SECRET" not in repr(found.endpoint)
    assert "pass" not in repr(found.endpoint)


# --- thinking, and what a provider signed ----------------------------------------------------------------------------


def test_a_turn_whose_thinking_would_change_is_left_alone() -> None:
    messages: list[Any] = [
        {"role": "user", "content": "Go"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": ""},
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            ],
        },
        {"role": "user", "content": "Go on"},
    ]
    body = body_of("anthropic", messages, max_tokens=10, tools=TOOLS)
    found = judge(URLS["anthropic"], JSON, body)
    assert found is not None
    assert found.edits
    assert found.body is None
    messages[1]["content"].pop(0)
    new = mended(URLS["anthropic"], JSON, body_of("anthropic", messages, max_tokens=10, tools=TOOLS))
    assert new is not None
    assert json.loads(new)["messages"][1] == messages[1]


def test_items_of_the_provider_are_not_touched() -> None:
    reasoning: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    items: list[Any] = [
        {"role": "user", "content": "Go"},
        {"type": "item_reference", "id": "msg_9"},
        reasoning,
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"role": "user", "content": "Go on"},
    ]
    new = mended(URLS["openai-responses"], JSON, body_of("openai-responses", items))
    assert new is not None
    found = json.loads(new)["input"]
    assert found[1] == items[1]
    assert found[2] == reasoning
    assert found[4] == {"type": "function_call_output", "call_id": "c1", "output": NO_RESULT}


# --- law 8: no outcome is claimed, but by a ledger -------------------------------------------------------------------


class _Ledger:
    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self.asked: list[str] = []

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        self.asked += ids
        return self._texts


def results(body: bytes | None) -> dict[str, str]:
    assert body is not None
    return {each["tool_call_id"]: each["content"] for each in json.loads(body)["messages"] if each["role"] == "tool"}


def test_no_outcome_is_claimed_without_a_ledger() -> None:
    assert results(mended(URLS["openai-chat"], JSON, body_of("openai-chat", chat("c1", "c2")))) == {
        "c1": NO_RESULT,
        "c2": NO_RESULT,
    }


def test_a_ledger_says_what_is_known() -> None:
    ledger = _Ledger({"c1": "tag done"})
    assert results(mended(URLS["openai-chat"], JSON, body_of("openai-chat", chat("c1", "c2")), ledger)) == {
        "c1": "tag done",
        "c2": NO_RESULT,
    }
    assert ledger.asked == ["c1", "c2"]
    valid = [{"role": "user", "content": "Go"}]
    assert mended(URLS["openai-chat"], JSON, body_of("openai-chat", valid), ledger) is None
    assert ledger.asked == ["c1", "c2"]


def test_a_ledger_that_cannot_be_read_leaves_the_request_alone() -> None:
    class Broken(_Ledger):
        def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
            raise StorageFailed(f"no disk for {ids}")

    assert mended(URLS["openai-chat"], JSON, body_of("openai-chat", chat("c1")), Broken({})) is None


# --- anything at all -------------------------------------------------------------------------------------------------

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@law(200)
@given(st.sampled_from(sorted(URLS)), st.lists(ANY_JSON, max_size=4), st.data())
@example("openai-chat", [[]], None)
def test_whatever_comes_the_guard_raises_nothing_and_sends_only_what_is_valid(
    form: str, messages: list[Any], data: Any
) -> None:
    if data is not None:
        known = [each for _, other, found in CASES if other == form for each in found]
        messages = [*messages, *data.draw(st.lists(st.sampled_from(known), max_size=5))]
    new = mended(URLS[form], JSON, body_of(form, messages))
    if new is not None:
        assert check(json.loads(new), format=form, model=MODELS[form] or "gemini-2.5-flash") == []


# --- an answer that is to be continued --------------------------------------------------------------------------------

PREFILL = [{"role": "user", "content": "As JSON."}, {"role": "assistant", "content": "{"}]
MISTRAL = "https://api.mistral.ai/v1/chat/completions"


@pytest.mark.parametrize(
    ("model", "is_repaired"),
    [
        ("claude-3-haiku-20240307", False),
        ("claude-3-5-haiku-20241022", False),
        ("claude-opus-4-20250514", False),
        ("claude-opus-4-1", False),
        ("claude-sonnet-4-5", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-6", True),
        ("claude-sonnet-5-5", True),
    ],
)
def test_the_beginning_of_an_answer_is_left_to_models_that_continue_it(model: str, *, is_repaired: bool) -> None:
    body = json.dumps({"model": model, "max_tokens": 9, "messages": PREFILL}).encode()
    assert (mended(URLS["anthropic"], JSON, body) is not None) == is_repaired
    assert (mended(URLS["anthropic"] + "/count_tokens", JSON, body) is not None) == is_repaired


@pytest.mark.parametrize(("prefix", "is_repaired"), [(True, False), (False, True)])
def test_an_answer_with_prefix_is_continued(*, prefix: bool, is_repaired: bool) -> None:
    messages = [PREFILL[0], {**PREFILL[1], "prefix": prefix}]
    body = json.dumps({"model": "mistral-large-latest", "messages": messages}).encode()
    assert (mended(MISTRAL, JSON, body) is not None) == is_repaired
    cut = [*chat("c" * 9)[:2], {"role": "user", "content": "As JSON."}, {**PREFILL[1], "prefix": True}]
    repaired = repair(cut, format="openai-chat", profile="mistral", model="mistral-large-latest").messages
    assert isinstance(repaired, list)
    assert repaired[-1] == cut[-1]
