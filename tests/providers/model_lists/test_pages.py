"""What is read of a page of models, whatever a server sends."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.config.model_servers import ProtocolKind
from holdfast.providers.model_pages import LONGEST_NAME, ListedModel, ModelPage, page_of
from laws import law

KINDS: tuple[ProtocolKind, ...] = get_args(ProtocolKind)


def written(document: object) -> bytes:
    return json.dumps(document).encode()


def openai(*entries: object) -> bytes:
    return written({"object": "list", "data": list(entries)})


REAL: dict[str, tuple[ProtocolKind, object, ListedModel]] = {
    "OpenAI": ("openai-responses", {"id": "gpt-5.5", "object": "model", "owned_by": "o"}, ListedModel(id="gpt-5.5")),
    "Ollama": ("openai-chat", {"id": "qwen3:8b", "object": "model"}, ListedModel(id="qwen3:8b")),
    "OpenRouter": (
        "openai-chat",
        {
            "id": "a/b:free",
            "name": "A: B",
            "context_length": 200000,
            "pricing": {"prompt": "0.000003", "completion": "0.000015", "image": "0"},
        },
        ListedModel(id="a/b:free", title="A: B", window=200_000, input_price=3.0, output_price=15.0),
    ),
    "OpenRouter's own choice": (
        "openai-chat",
        {"id": "openrouter/auto", "name": "Auto", "pricing": {"prompt": "-1", "completion": "-1"}},
        ListedModel(id="openrouter/auto", title="Auto"),
    ),
    "Groq": ("openai-chat", {"id": "g", "active": True, "context_window": 131072}, ListedModel(id="g", window=131072)),
    "vLLM": ("openai-chat", {"id": "v", "max_model_len": 8192}, ListedModel(id="v", window=8192)),
    "Mistral": (
        "mistral",
        {"id": "m", "name": "m", "capabilities": {"completion_chat": True}, "max_context_length": 32768},
        ListedModel(id="m", window=32768),
    ),
    "Anthropic": (
        "anthropic",
        {"type": "model", "id": "claude-opus-5", "display_name": "Claude Opus 5"},
        ListedModel(id="claude-opus-5", title="Claude Opus 5"),
    ),
}


@pytest.mark.parametrize("maker", REAL)
def test_what_each_provider_sends_is_read(maker: str) -> None:
    kind, entry, model = REAL[maker]
    assert page_of(kind, openai(entry)) == ModelPage(models=(model,))


def test_a_list_without_an_object_round_it_is_one() -> None:
    assert page_of("openai-chat", written([{"id": "m"}])) == ModelPage(models=(ListedModel(id="m"),))


def test_geminis_models_that_write_answers_are_read() -> None:
    entries = [
        {
            "name": "models/gemini-3",
            "displayName": "Gemini 3",
            "inputTokenLimit": 1048576,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]},
    ]
    page = page_of("gemini", written({"models": entries, "nextPageToken": "t 2"}))
    model = ListedModel(id="gemini-3", title="Gemini 3", window=1048576)
    assert page == ModelPage(models=(model,), next="t 2")


def test_mistrals_models_that_do_not_chat_are_left_out() -> None:
    assert page_of("mistral", openai({"id": "embed", "capabilities": {"completion_chat": False}})).models == ()


def test_only_a_list_that_goes_on_has_a_next_page() -> None:
    page = {"data": [{"id": "a"}], "has_more": True, "last_id": "a"}
    assert page_of("anthropic", written(page)).next == "a"
    assert page_of("anthropic", written(page | {"has_more": False})).next == ""
    assert page_of("anthropic", written(page | {"has_more": "yes"})).next == ""
    assert page_of("openai-chat", written(page)).next == ""


@pytest.mark.parametrize(
    "entry",
    [
        *(None, 7, "m", [], {}),
        *({"id": name} for name in (None, 7, "", "  ", "\x1b[2J", "a\nb", "x" * (LONGEST_NAME + 1))),
    ],
    ids=repr,
)
def test_an_entry_without_a_usable_name_is_counted(entry: object) -> None:
    page = page_of("openai-chat", openai(entry, {"id": "m"}))
    assert page == ModelPage(models=(ListedModel(id="m"),), unusable=1)


def test_a_name_that_comes_twice_is_one_model() -> None:
    page = page_of("openai-chat", openai({"id": "m", "context_length": 5}, {"id": "m", "context_length": 6}))
    assert page == ModelPage(models=(ListedModel(id="m", window=5),))


@pytest.mark.parametrize("wrong", [None, True, -1, 0, 2**60, 1.5, "many", [], {}], ids=repr)
def test_a_wrong_window_is_none(wrong: object) -> None:
    assert page_of("openai-chat", openai({"id": "m", "context_length": wrong})).models == (ListedModel(id="m"),)


@pytest.mark.parametrize("wrong", [None, True, 3, "-1", "nan", "inf", "1e300", "free", "9" * 300, [], {}], ids=repr)
def test_a_wrong_price_is_none(wrong: object) -> None:
    entry = {"id": "m", "pricing": {"prompt": wrong, "completion": wrong}}
    assert page_of("openai-chat", openai(entry)).models == (ListedModel(id="m"),)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "body",
    [b"", b"<html>busy</html>", b"\xff\xfe", b"null", b"7", b"{}", b'{"data": null}', b'{"models": {}}', b"[" * 99_999],
    ids=lambda body: repr(body[:20]),
)
def test_what_is_no_list_is_said_to_be_none(kind: ProtocolKind, body: bytes) -> None:
    with pytest.raises(ValueError, match="the answer"):
        page_of(kind, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("id", "name", "data", "models", "pricing", "prompt", "context_length", "has_more", "last_id")
            )
            | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@law()
@given(kind=st.sampled_from(KINDS), document=JSON)
@example(kind="openai-chat", document={"data": [{"id": "m", "context_length": 7}, {"id": "\x1b"}, {"id": " "}]})
def test_whatever_json_comes_is_a_list_or_said_to_be_none(kind: ProtocolKind, document: object) -> None:
    try:
        page = page_of(kind, written(document))
    except ValueError:
        return
    for model in page.models:
        assert model.id.strip()
        assert model.id.isprintable()
        assert len(model.id) <= LONGEST_NAME
        assert model.window >= 0
