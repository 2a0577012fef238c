"""Which fields each model gets for a setting, and what the user reads about a setting that it does not take."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from holdfast.config.model_servers import ModelOverrides, Server
from holdfast.config.settings import Config
from holdfast.errors import ConfigInvalid
from holdfast.providers.credentials.redaction import key_variables
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.protocols.protocol import JsonObject
from holdfast.providers.protocols.setting_notes import setting_notes
from holdfast.providers.registry import Providers, known_providers, resolve_endpoint
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.journal.model_settings import ModelSettings
from sendable_conversations import conversation

NAMES = ("ANTHROPIC", "OPENAI", "GEMINI", "MISTRAL", "OPENROUTER", "DEEPSEEK", "GROQ", "XAI")
ENVIRON = {**{f"{name}_API_KEY": "k" for name in NAMES}, "TEAM_KEY": "sekret"}
GO = UserMessage((), ("go",))


OWN = known_providers(
    {"home": Server(kind="openai-chat", base_url="http://h/v1")},
    {name: ModelOverrides(reasoning="effort") for name in ("vllm:qwen3", "home:m", "ollama:m")},
)


def with_settings(name: str, **settings: Any) -> Conversation:
    return msgspec.structs.replace(conversation(name, GO), settings=ModelSettings(**settings))


def body(name: str, known: Providers = OWN, **settings: Any) -> JsonObject:
    target = resolve_endpoint(name, ENVIRON, known)
    raw = BodyWriter(target, protocol_of(target.provider.kind)).body(
        with_settings(name, **settings), non_streaming=False
    )
    return msgspec.json.decode(raw, type=dict[str, object])


def added(name: str, known: Providers = OWN, **settings: Any) -> JsonObject:
    """Return what the settings change in the body."""
    plain = body(name, known)
    return {key: value for key, value in body(name, known, **settings).items() if plain.get(key) != value}


EFFORTS: list[tuple[str, str, JsonObject]] = [
    ("openai:gpt-5.5", "high", {"reasoning": {"context": "all_turns", "effort": "high"}}),
    ("openai:gpt-5.1", "off", {"reasoning": {"effort": "none"}}),
    ("openai:gpt-5", "off", {"reasoning": {"effort": "minimal"}}),
    ("openai:gpt-5.1", "max", {"reasoning": {"effort": "high"}}),
    ("openai:gpt-4.1", "high", {}),
    ("openai-chat:gpt-5.1", "high", {"reasoning_effort": "high"}),
    ("openai-chat:gpt-5.4", "high", {"reasoning_effort": "none"}),
    ("openrouter:anthropic/claude-sonnet-5.5", "high", {"reasoning": {"effort": "high"}}),
    ("deepseek:deepseek-v4-pro", "max", {"reasoning_effort": "max"}),
    ("groq:openai/gpt-oss-120b", "max", {"reasoning_effort": "high"}),
    ("groq:qwen/qwen3-32b", "low", {"reasoning_effort": "default"}),
    ("xai:grok-4.7", "medium", {"reasoning_effort": "medium"}),
    ("mistral:mistral-medium-latest", "low", {"reasoning_effort": "high"}),
    ("mistral:mistral-medium-latest", "off", {"reasoning_effort": "none"}),
    ("mistral:magistral-medium-2509", "low", {}),
    ("vllm:qwen3", "high", {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"}}),
    ("vllm:qwen3", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("vllm:unknown", "high", {}),
    ("home:m", "high", {"reasoning_effort": "high"}),
    ("anthropic:claude-sonnet-4-5", "high", {"thinking": {"type": "enabled", "budget_tokens": 20_000}}),
    ("anthropic:claude-sonnet-4-5", "off", {}),
    (
        "anthropic:claude-opus-4-5",
        "max",
        {"thinking": {"type": "enabled", "budget_tokens": 48_000}, "output_config": {"effort": "high"}},
    ),
    ("anthropic:claude-opus-4-6", "xhigh", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
    ("anthropic:claude-sonnet-5-5", "low", {"output_config": {"effort": "low"}}),  # it thinks adaptively anyway
    ("anthropic:claude-sonnet-5-5", "off", {"thinking": {"type": "between_tools"}}),
    ("anthropic:claude-opus-5-5", "off", {"output_config": {"effort": "low"}}),
    (
        "google:gemini-2.5-flash",
        "low",
        {"generationConfig": {"responseModalities": ["TEXT"], "thinkingConfig": {"thinkingBudget": 2_048}}},
    ),
    (
        "google:gemini-2.5-flash",
        "off",
        {"generationConfig": {"responseModalities": ["TEXT"], "thinkingConfig": {"thinkingBudget": 0}}},
    ),
    (
        "google:gemini-3-pro-preview",
        "medium",
        {"generationConfig": {"responseModalities": ["TEXT"], "thinkingConfig": {"thinkingLevel": "LOW"}}},
    ),
]


@pytest.mark.parametrize(("name", "effort", "fields"), EFFORTS)
def test_each_model_gets_an_effort_in_its_own_words(name: str, effort: str, fields: JsonObject) -> None:
    assert added(name, effort=effort) == fields


def test_other_settings_have_the_names_of_each_protocol() -> None:
    assert added("openai:gpt-4.1", temperature=0.5, max_output=100, service_tier="flex") == {
        "temperature": 0.5,
        "max_output_tokens": 100,
        "service_tier": "flex",
    }
    assert added("openai-chat:gpt-4.1", max_output=100) == {"max_completion_tokens": 100}
    assert added("mistral:codestral-latest", temperature=0.5, max_output=100) == {"temperature": 0.5, "max_tokens": 100}
    assert added("anthropic:claude-sonnet-4-5", temperature=0.5, max_output=100, service_tier="standard_only") == {
        "temperature": 0.5,
        "max_tokens": 100,
        "service_tier": "standard_only",
    }
    assert added("google:gemini-2.0-flash", temperature=0.5, max_output=100, service_tier="flex") == {
        "generationConfig": {"responseModalities": ["TEXT"], "temperature": 0.5, "maxOutputTokens": 100},
        "serviceTier": "flex",
    }


@pytest.mark.parametrize(
    ("name", "settings", "note"),
    [
        ("openai:gpt-5.1", {"effort": "max"}, "openai:gpt-5.1 has no effort 'max': 'high' is sent."),
        ("openai:gpt-4.1", {"effort": "high"}, "openai:gpt-4.1 does not reason: no effort is sent."),
        ("openai:gpt-4.1", {"effort": "off"}, ""),
        (
            "openai:gpt-5",
            {"effort": "off"},
            "openai:gpt-5 cannot be told not to reason: effort 'minimal' is sent.",
        ),
        (
            "openai-chat:gpt-5.4",
            {"effort": "high"},
            (
                "openai-chat:gpt-5.4 takes no effort together with tools over Chat Completions: effort 'none' is sent. "
                "Use openai:gpt-5.4 for it."
            ),
        ),
        (
            "mistral:magistral-medium-2509",
            {"effort": "low"},
            "mistral:magistral-medium-2509 always reasons, and its effort cannot be set: none is sent.",
        ),
        (
            "home:other",
            {"effort": "low"},
            (
                "holdfast does not know whether home:other reasons: no effort is sent. To send one, set `reasoning` in "
                '[models."home:other"].'
            ),
        ),
        (
            "openai:gpt-5.5",
            {"temperature": 0.5},
            "openai:gpt-5.5 takes no temperature while it reasons: none is sent.",
        ),
        ("openai:gpt-5.1", {"temperature": 0.5}, ""),
        ("openai:o3", {"temperature": 0.5}, "openai:o3 takes no temperature: none is sent."),
        (
            "anthropic:claude-sonnet-4-5",
            {"temperature": 1.5},
            "anthropic:claude-sonnet-4-5 takes a temperature of at most 1: 1 is sent.",
        ),
        (
            "anthropic:claude-sonnet-4-5",
            {"temperature": 0.5, "effort": "low"},
            "anthropic:claude-sonnet-4-5 takes no temperature while it reasons: none is sent.",
        ),
        (
            "anthropic:claude-sonnet-4-5",
            {"effort": "low", "max_output": 1_000},
            "anthropic:claude-sonnet-4-5 cannot think within 1000 tokens of output: no effort is sent.",
        ),
        (
            "anthropic:claude-sonnet-4-5",
            {"max_output": 100_000},
            "anthropic:claude-sonnet-4-5 takes at most 64000 as max_output: 64000 is sent.",
        ),
        ("openai:gpt-5.5", {"max_output": 1}, "openai:gpt-5.5 takes at least 16 as max_output: 16 is sent."),
        (
            "anthropic:claude-opus-4-5",
            {"service_tier": "flex"},
            "anthropic:claude-opus-4-5 has no service tier 'flex' (expected one of auto, standard_only): none is sent.",
        ),
        (
            "home:m",
            {"service_tier": "flex"},
            "No service tiers are known of home:m: none is sent. Its own can be set in `extra_body`.",
        ),
    ],
)
def test_the_user_reads_what_is_sent_in_place_of_a_setting(name: str, settings: dict[str, Any], note: str) -> None:
    assert " ".join(setting_notes(with_settings(name, **settings), OWN)) == note


def test_a_model_that_holdfast_does_not_know_of_has_no_notes() -> None:
    assert setting_notes(with_settings("mine:m", effort="high"), OWN) == ()


def test_nothing_is_sent_through_pydantic_ai_and_the_user_reads_it() -> None:
    (note,) = setting_notes(with_settings("pydantic-ai:groq:m", effort="high"), OWN)
    assert note == "pydantic-ai:groq:m gets no settings: none is sent through pydantic-ai."


def test_thinking_with_a_budget_is_interleaved_at_anthropic() -> None:
    target = resolve_endpoint("anthropic:claude-sonnet-4-5", ENVIRON)
    wire = protocol_of("anthropic")
    thinking = wire.headers(target, with_settings("anthropic:claude-sonnet-4-5", effort="high"))
    assert thinking["anthropic-beta"] == "interleaved-thinking-2025-05-14"
    assert "anthropic-beta" not in wire.headers(target, with_settings("anthropic:claude-sonnet-4-5"))


def test_extra_body_is_merged_into_the_head_and_headers_are_sent() -> None:
    config = msgspec.toml.decode(
        """
        [models."openai:gpt-5.5"]
        extra_body = { reasoning = { summary = "auto" }, seed = 7 }
        headers = { X-Trace = "on", X-Team = { env = "TEAM_KEY" } }
        """,
        type=Config,
    )
    known = known_providers(config.providers, config.models)
    changed = added("openai:gpt-5.5", known, effort="low")
    assert changed == {"reasoning": {"context": "all_turns", "effort": "low", "summary": "auto"}}
    assert body("openai:gpt-5.5", known)["seed"] == 7
    target = resolve_endpoint("openai:gpt-5.5", ENVIRON, known)
    assert target.headers == {"x-trace": "on", "x-team": "sekret"}
    assert "sekret" in target.secrets
    assert "TEAM_KEY" in key_variables(known)  # no command and no output gets it


@pytest.mark.parametrize("field", ["messages", "model", "stream", "tools", "temperature", "max_tokens"])
def test_extra_body_cannot_have_what_holdfast_writes(field: str) -> None:
    with pytest.raises(ValueError, match=f"Field '{field}' cannot be in `extra_body`"):
        ModelOverrides(extra_body={field: 1})


def test_extra_body_cannot_turn_thinking_on_where_only_some_requests_may_have_it() -> None:
    overrides = {"anthropic:claude-sonnet-4-5": ModelOverrides(extra_body={"thinking": {"type": "enabled"}})}
    with pytest.raises(ConfigInvalid, match="Set `effort`"):
        known_providers({}, overrides)
