"""Conversations as a protocol's writer gets them: valid, normalized for the model, of every kind of part."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.providers.registry import PROVIDERS, Providers, profile_of
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserContent,
    UserMessage,
)
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Part, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.session.request.normalize import normalize
from holdfast.tool_calls import Outcome, ToolSchema
from shown_images import picture

PARAMETERS: dict[str, object] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = tuple(ToolSchema(name=name, description=f"{name}.", parameters=PARAMETERS) for name in ("read", "list"))

_words = st.sampled_from(["go", "Grüße \u2028 <ok>", "a\nb", "😀", '"quoted" \\ /'])
_contents: st.SearchStrategy[UserContent] = st.one_of(_words, st.just(picture("a.png")))
_outcomes: st.SearchStrategy[Outcome] = st.sampled_from(["ok", "failed", "denied", "not_started", "interrupted"])
_arguments = st.sampled_from(
    [
        '{"path": "a.txt", "n": 1.0}',
        "{}",
        "",
        '{"a": 1, "a": 2}',
        '{"n": 12345678901234567890}',
        "[1]",
        '{"x": NaN}',
        "{",
    ]
)


def opened(model: str, *, system: str = "SYSTEM", tools: tuple[ToolSchema, ...] = TOOLS) -> Conversation:
    """Return a conversation without messages."""
    start = SessionOpened(session="s", cwd="/", model=model, system=system, tools=tools, version="0")
    return replace(fold([start]), model=model)


def conversation(model: str, *messages: ConversationMessage, system: str = "SYSTEM") -> Conversation:
    """Return a conversation with these messages, as they are."""
    return replace(opened(model, system=system), messages=messages)


@st.composite
def _thinking(draw: st.DrawFn, number: int, provider: str) -> list[Part]:
    """Return one thing thought: unsigned, signed, redacted, or an item with several summaries."""
    item_id = f"rs_{number}"
    match draw(st.sampled_from(["none", "unsigned", "signed", "redacted", "item", "open"])):
        case "none":
            return []
        case "unsigned":
            return [ThinkingPart("hm", provider=provider)]
        case "signed":
            return [ThinkingPart(draw(st.sampled_from(["hm", ""])), signature=f"s{number}", provider=provider)]
        case "redacted":
            return [ThinkingPart("", signature=f"r{number}", id="redacted_thinking", provider=provider)]
        case "item":
            first = ThinkingPart("one", signature=f"s{number}", id=item_id, provider=provider)
            return [first, ThinkingPart("two", id=item_id, provider=provider)]
        case _:
            return [ThinkingPart("", id=item_id, provider=provider, details={"raw_content": ["hm", "so"]})]


def sendable(model: str, providers: Providers = PROVIDERS) -> st.SearchStrategy[Conversation]:
    """Return a conversation for the model, as it is sent."""
    return spoken_conversation(model).map(lambda each: normalize(each, profile_of(model, providers)))


@st.composite
def spoken_conversation(draw: st.DrawFn, model: str) -> Conversation:
    """Return a conversation with the model and others, as the fold has it."""
    provider = model.partition(":")[0]
    messages: list[ConversationMessage] = []
    results: tuple[Result, ...] = ()
    for number in range(draw(st.integers(0, 4))):
        contents = draw(st.lists(_contents, min_size=0 if results else 1, max_size=3))
        messages.append(UserMessage(results, tuple(contents)))
        parts = draw(_thinking(number, provider))
        calls = [
            CallPart(f"c{number}_{each}", "read", draw(_arguments), item_id=f"fc_{number}_{each}", provider=provider)
            for each in range(draw(st.integers(0, 2)))
        ]
        if not calls or draw(st.booleans()):
            parts.append(TextPart(draw(_words)))
        messages.append(AssistantMessage(draw(st.sampled_from([model, model, "other:m"])), (*parts, *calls)))
        results = tuple(Result(call.id, call.name, draw(_outcomes), draw(_words)) for call in calls)
    messages.append(UserMessage(results, tuple(draw(st.lists(_contents, min_size=0 if results else 1, max_size=2)))))
    system = draw(st.sampled_from(["SYSTEM", ""]))
    return conversation(model, *messages, system=system)
