"""Settings may change at any boundary: strict servers accept each request, and one without settings is as before."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.registry import profile_of, resolve_endpoint
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Compacted,
    Entry,
    ModelChanged,
    ModelSettingsChanged,
    Part,
    PromptAccepted,
    Pruned,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
    Steered,
    TurnEnded,
)
from holdfast.session.journal.model_settings import NO_SETTINGS, ModelSettings
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.validate import validate_request
from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.anthropic.messages import Messages
from holdfast.testing.protocols.gemini import GeminiWire
from holdfast.testing.protocols.mistral import Mistral
from holdfast.testing.protocols.openai.chat import Chat
from holdfast.testing.protocols.openai.responses import Responses
from holdfast.testing.protocols.protocol import Incoming, Refusal, WireProtocol
from journals import settings
from laws import law
from sendable_conversations import TOOLS

ENVIRON = {
    f"{name}_API_KEY": "k" for name in ("ANTHROPIC", "OPENAI", "GEMINI", "MISTRAL", "OPENROUTER", "DEEPSEEK", "GROQ")
}
SERVERS: Mapping[str, WireProtocol] = {
    "anthropic": Messages(),
    "openai": Responses(),
    "openai-chat": Chat(),
    "google": GeminiWire(),
    "mistral": Mistral(),
}
MODELS = {
    "anthropic": (
        "sonnet-4-5",
        "opus-4-5",
        "opus-4-0",
        "sonnet-4-6",
        "opus-4-8",
        "sonnet-5-5",
        "opus-5-5",
        "haiku-5-5",
    ),
    "openai": ("gpt-5.5", "gpt-5.1", "gpt-5", "gpt-5-codex", "gpt-5.2-pro", "o3", "gpt-4.1", "gpt-6-sol"),
    "openai-chat": ("gpt-5.5", "gpt-5.4", "gpt-5.1", "gpt-5", "o3", "gpt-4.1", "m"),
    "google": ("gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.8-flash", "gemini-2.0-flash"),
    "mistral": ("mistral-medium-latest", "magistral-medium-2509", "codestral-latest"),
}


def named(provider: str, model: str) -> str:
    return f"anthropic:claude-{model}" if provider == "anthropic" else f"{provider}:{model}"


def sent(fold: Fold) -> dict[str, Any]:
    """Return the body of the request that would be sent now. Fail if the server of its model refuses it."""
    conversation = fold.conversation()
    profile = profile_of(conversation.model)
    conversation = validate_request(conversation, profile).conversation
    target = resolve_endpoint(conversation.model, ENVIRON)
    protocol = protocol_of(target.provider.kind)
    raw = BodyWriter(target, protocol).body(conversation, non_streaming=False)
    path = protocol.url(target, non_streaming=False).partition("//")[2].partition("/")[2]
    headers = {"authorization": "Bearer k", **protocol.headers(target, conversation)}
    incoming = Incoming(method="POST", path=f"/{path.partition('?')[0]}", headers=headers, body=raw)
    try:
        SERVERS[target.provider.name].admit(incoming, key="k")
    except Refusal as refusal:
        pytest.fail(f"{conversation.model} with {conversation.settings} refuses: {refusal.message}")
    return json.loads(raw)


def answer(step: int, model: str, body: dict[str, Any], *, thinks: bool, calls: bool) -> ResponseEnded:
    """Return a response to the body; Anthropic's thinks only if that is on, and then its calls are signed."""
    parts: list[Part] = []
    thinking = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if model.startswith("anthropic:") and thinking and (thinks or body["thinking"]["type"] == "enabled"):
        text = f"thought {step}"
        parts.append(ThinkingPart(text, signature=signatures.sign(text, place=0), provider="anthropic"))
    parts.append(CallPart(f"call{step:05}", "read", '{"path":"a"}') if calls else TextPart("Done."))
    return ResponseEnded(step=step, model=model, parts=tuple(parts), usage=Usage(input_tokens=9))


@st.composite
def switches(draw: st.DrawFn, providers: tuple[str, ...]) -> list[Entry | tuple[bool, bool]]:
    """Return what happens: entries, and responses as whether they think and whether they call."""
    models = [named(provider, model) for provider in providers for model in MODELS[provider]]
    change = st.one_of(
        st.builds(ModelSettingsChanged, settings=settings),
        st.builds(ModelSettingsChanged, settings=settings),
        st.builds(ModelChanged, st.sampled_from(models)),
        st.just(Steered(queued="q", text="and that")),
        st.just(Pruned(outputs={"call00001": "[left out]"})),
        st.just(Compacted(step=1, note="Earlier: much.", why="auto")),
    )
    happened: list[Entry | tuple[bool, bool]] = [ModelChanged(draw(st.sampled_from(models)))]
    for turn in range(1, draw(st.integers(1, 3)) + 1):
        happened += draw(st.lists(change, max_size=2))
        happened.append(PromptAccepted(turn=turn, text="go"))
        for _ in range(draw(st.integers(0, 3))):
            happened += draw(st.lists(change, max_size=1))
            happened.append((draw(st.booleans()), True))
        happened += draw(st.lists(change, max_size=1))
        happened.append((draw(st.booleans()), False))
        happened.append(TurnEnded(turn=turn, reason="end_turn", cause="finished"))
    return happened


def play(happened: Sequence[Entry | tuple[bool, bool]]) -> list[dict[str, Any]]:
    """Return the bodies of all requests; one is made at every boundary that has something to send."""
    opened = SessionOpened(session="s", cwd="/", model="openai-chat:m", system="SYSTEM", tools=TOOLS, version="0")
    fold, bodies, step = Fold([opened]), list[dict[str, Any]](), 0
    for each in happened:
        if not isinstance(each, tuple):
            fold.add(each)
            now = fold.conversation()
            if now.open_turn is not None and not now.open_calls and now.messages:
                bodies.append(sent(fold))
            continue
        step += 1
        body = sent(fold)
        bodies.append(body)
        model = fold.conversation().model
        fold.add(RequestStarted(step=step, attempt=1, model=model))
        ended = answer(step, model, body, thinks=each[0], calls=each[1])
        fold.add(ended)
        for part in ended.parts:
            if isinstance(part, CallPart):
                fold.add(CallStarted(call=part.id, effect="read"))
                fold.add(CallEnded(call=part.id, outcome="ok", text="content"))
    return bodies


ON, OFF = (ModelSettingsChanged(settings=ModelSettings(effort=each)) for each in ("high", "off"))
BUDGET = ModelChanged("anthropic:claude-sonnet-4-5")
GO = PromptAccepted(turn=1, text="go")


@pytest.mark.parametrize("provider", SERVERS)
@law(shared_by=len(SERVERS))
@given(data=st.data())
def test_a_server_accepts_every_setting_at_every_boundary(provider: str, data: st.DataObject) -> None:
    play(data.draw(switches((provider,))))


@law(60)
@given(switches(tuple(SERVERS)))
@example([BUDGET, GO, (True, True), ON, (True, True), OFF, (True, True), ON, (True, False)])
def test_every_server_accepts_every_setting_after_any_other_model(happened: list[Entry | tuple[bool, bool]]) -> None:
    play(happened)


def test_thinking_that_is_set_between_calls_begins_with_the_next_prompt() -> None:
    again = PromptAccepted(turn=2, text="go")
    bodies = play([BUDGET, GO, (True, True), ON, (True, True), (True, False), again, (True, True), OFF, (True, False)])
    kinds = [body.get("thinking", {}).get("type") for body in bodies]
    assert kinds == [None, None, None, None, None, "enabled", "enabled", None, None]


@law(40)
@given(provider=st.sampled_from(sorted(SERVERS)), data=st.data())
def test_a_session_whose_settings_are_reset_sends_the_bytes_of_one_without(provider: str, data: st.DataObject) -> None:
    plain = [
        each
        for each in data.draw(switches((provider,)))
        if not isinstance(each, ModelSettingsChanged | Compacted | Pruned)
    ]
    place = data.draw(st.integers(0, len(plain)))
    back = [ModelSettingsChanged(settings=data.draw(settings)), ModelSettingsChanged(settings=NO_SETTINGS)]
    with_settings = play([*plain[:place], *back, *plain[place:]])
    without = play(plain)
    assert [body for body in without if body not in with_settings] == []
