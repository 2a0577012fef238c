"""The window of a model on your own server: asked on its pages, read in its refusals, and used."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path

import pytest

from holdfast.config.model_servers import ModelOverrides, Server
from holdfast.config.settings import Config, Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.connect import connect
from holdfast.providers.learned_windows import (
    forget_windows,
    keep_window,
    learned_window,
    window_in_refusal,
)
from holdfast.providers.registry import known_providers, resolve_endpoint
from holdfast.providers.window_question import LARGEST_PAGE, ask_window
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.ui.startup.run_options import RunOptions
from own_model_server import Local, serving

LIMITS = Limits()


@pytest.fixture(autouse=True)
def _nothing_learned() -> Generator[None]:
    forget_windows()
    yield
    forget_windows()


def options(local: Local, tmp_path: Path, models: dict[str, ModelOverrides] | None = None) -> RunOptions:
    """Return the options of a run with the server as provider `home`."""
    servers = {"home": Server(kind="openai-chat", base_url=local.address)}
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    return RunOptions(
        cwd=tmp_path,
        environ=environ,
        config=Config(providers=servers, models=models or {}),
        providers=known_providers(servers),
    )


LIST: dict[str, object] = {"object": "list"}
PAGES: dict[str, tuple[dict[str, object], int]] = {
    "llama.cpp": (
        {"/v1/models": {**LIST, "data": [{"id": "file.gguf", "meta": {"n_ctx": 4096, "n_ctx_train": 32768}}]}},
        4096,
    ),
    "vLLM": ({"/v1/models": {**LIST, "data": [{"id": "m", "max_model_len": 16384}, {"id": "other"}]}}, 16384),
    "llama.cpp, older": (
        {"/v1/models": {**LIST, "data": [{"id": "m"}]}, "/props": {"default_generation_settings": {"n_ctx": 8192}}},
        8192,
    ),
    "LM Studio": (
        {
            "/v1/models": {**LIST, "data": [{"id": "m"}]},
            "/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 6000}]},
        },
        6000,
    ),
    "Ollama, loaded": (
        {
            "/v1/models": {**LIST, "data": [{"id": "m"}]},
            "/api/ps": {"models": [{"name": "m", "context_length": 4096}]},
            "/api/show": {"model_info": {"llama.context_length": 131072}},
        },
        4096,
    ),
    "Ollama with num_ctx": (
        {
            "/api/ps": {"models": []},
            "/api/show": {"parameters": "stop  x\nnum_ctx   8192\n", "model_info": {"llama.context_length": 131072}},
        },
        8192,
    ),
    "Ollama": (
        {
            "/api/ps": {"models": []},
            "/api/show": {"model_info": {"general.architecture": "llama", "llama.context_length": 32768}},
        },
        32768,
    ),
    "many models, none of them this": (
        {"/v1/models": {**LIST, "data": [{"id": "a", "max_model_len": 9000}, {"id": "b", "max_model_len": 8000}]}},
        0,
    ),
    "nothing": ({}, 0),
    "pages that are no JSON": (dict.fromkeys(("/v1/models", "/props", "/api/ps", "/api/show"), b"<html>"), 0),
    "numbers that are none": (
        {
            "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx": True}, "max_model_len": "x"}]},
            "/props": {"default_generation_settings": {"n_ctx": -5}},
            "/api/ps": {"models": []},
            "/api/show": {"parameters": "num_ctx 99999999999999999", "model_info": {"a.context_length": 2**60}},
        },
        0,
    ),
    "a page without an end": ({"/props": b" " * (LARGEST_PAGE + 1)}, 0),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_window_is_read_on_the_pages_of_a_server(name: str, tmp_path: Path) -> None:
    pages, window = PAGES[name]
    with serving(Local(pages)) as local:
        run = options(local, tmp_path)
        assert run.windows.at_hand("home:m") == 0
        assert run.windows.learned("home:m") == window
        assert run.windows.at_hand("home:m") == window
        asked = len(local.asked)
        assert run.windows.learned("home:m") == window
        assert len(local.asked) == asked, "it is asked once"


def test_the_config_and_the_table_win_and_no_server_is_asked(tmp_path: Path) -> None:
    with serving(Local(PAGES["vLLM"][0])) as local:
        run = options(local, tmp_path, models={"home:m": ModelOverrides(context_window=5000)})
        assert run.windows.learned("home:m") == 5000
        assert run.windows.learned("openai:gpt-5.5") > 100_000
    assert local.asked == []


def test_nothing_is_posted_to_a_server_that_is_not_ollama(tmp_path: Path) -> None:
    """A hosted API behind a proxy on this computer would log or bill a request that it does not know."""
    with serving(Local({"/api/show": {"model_info": {"a.context_length": 4096}}})) as local:
        assert options(local, tmp_path).windows.learned("home:m") == 0
    assert local.asked
    assert not any("/api/show" in str(each) for each in local.asked)


def test_a_server_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    with serving(Local({})) as local:
        pass
    assert options(local, tmp_path).windows.learned("home:m") == 0


def test_a_server_elsewhere_is_not_asked() -> None:
    target = resolve_endpoint("openai-chat:m", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://192.0.2.1:9/v1"})
    assert ask_window(target, LIMITS) == 0


@pytest.mark.parametrize(
    ("error", "window"),
    [
        ({"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 7151, "n_ctx": 4096,
          "message": "request (7151 tokens) exceeds the available context size (4096 tokens)"}, 4096),
        ({"message": "the request exceeds the available context size (6144 tokens). try increasing"}, 6144),
        ({"message": "This model's maximum context length is 32768 tokens. However, you requested 40000"}, 32768),
        ({"message": "The input (9000 tokens) is longer than the model's context length (8192 tokens)."}, 8192),
        ({"message": "loaded with context length of only 4096 tokens, which is not enough. context window"}, 4096),
        ({"message": "the context window is exceeded"}, 0),
        ({"message": "maximum context length is 99999999999999999999 tokens"}, 0),
    ],
)  # fmt: skip
def test_the_window_is_read_in_a_refusal(error: dict[str, object], window: int) -> None:
    assert window_in_refusal(json.dumps({"error": error}).encode()) == window


def test_a_refusal_teaches_the_window(tmp_path: Path) -> None:
    refusal = {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096, "message": "context size"}}

    async def refused(local: Local) -> None:
        opened = SessionOpened(session="s", cwd="/", model="home:m", system="S", tools=(), version="0")
        model = await connect(options(local, tmp_path).endpoint("home:m"), LIMITS)
        try:
            with pytest.raises(ProviderFailed) as caught:
                async with model.stream(fold([opened, PromptAccepted(turn=1, text="go")])):
                    pass
            assert caught.value.fault == "too_long"
        finally:
            await model.aclose()

    with serving(Local({}, refusal)) as local:
        asyncio.run(refused(local))
        assert options(local, tmp_path).windows.at_hand("home:m") == 4096


@pytest.mark.parametrize("window", [0, -1, 255, 2**41])
def test_what_cannot_be_a_window_is_left_out(window: int) -> None:
    keep_window("home:m", window)
    assert learned_window("home:m") == 0
