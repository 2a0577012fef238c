"""A stream of Chat Completions is read as OpenAI's own SDK reads it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from holdfast.history.formats.format import is_arguments
from holdfast.providers.protocols.openai_chat import WIRE
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.journal.parts import CallPart, TextPart
from laws import law

Json = dict[str, Any]
TARGET = resolve_endpoint("openai-chat:m", {"OPENAI_API_KEY": "k"})
texts = st.text(max_size=6)


def _cut(text: str, places: list[int]) -> list[str]:
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


@st.composite
def streams(draw: st.DrawFn) -> list[Json]:
    """Return the deltas of a response: text, and calls whose arguments come in pieces, side by side."""
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    begun, rest = 0, list[list[str]]()
    for _ in range(draw(st.integers(0, 12))):
        match draw(st.sampled_from(["text", "call", "piece"])):
            case "text":
                deltas.append({"content": draw(texts)})
            case "call":
                arguments = json.dumps(draw(st.dictionaries(texts, texts, max_size=2)))
                rest.append(_cut(arguments, draw(st.lists(st.integers(0, 30), max_size=3))))
                function = {"name": draw(st.sampled_from(["read", "list"])), "arguments": ""}
                deltas.append(
                    {"tool_calls": [{"index": begun, "id": f"call_{begun}", "type": "function", "function": function}]}
                )
                begun += 1
            case _ if begun:
                index = draw(st.integers(0, begun - 1))
                piece = rest[index].pop(0) if rest[index] else ""
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            case _:
                pass
    return deltas


@law()
@given(deltas=streams(), reason=st.sampled_from(["stop", "tool_calls", "content_filter"]), counts=st.integers(0, 10**6))
def test_it_is_read_as_openais_sdk_reads_it(deltas: list[Json], reason: str, counts: int) -> None:
    frame = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks: list[Json] = [
        frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append(frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    usage = {"prompt_tokens": counts, "completion_tokens": 2, "total_tokens": counts + 2}
    chunks.append(frame | {"choices": [], "usage": usage})

    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    reader = WIRE.reader(TARGET)
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
        list(reader.event("", json.dumps(chunk).encode()))
    theirs = state.current_completion_snapshot
    ours = reader.finished()

    message = theirs.choices[0].message
    assert "".join(part.text for part in ours.parts if isinstance(part, TextPart)) == (message.content or "")
    written = [call.function.arguments for call in message.tool_calls or ()]
    unfit = next((each for each in written if each and not is_arguments(each)), "")
    assert [(part.wire_id, part.name, part.arguments) for part in ours.parts if isinstance(part, CallPart)] == [
        # a call without arguments is not run beside one whose arguments are no object: they may be its own
        (call.id, call.function.name, call.function.arguments or unfit)
        for call in message.tool_calls or ()
    ]
    assert theirs.usage is not None
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
        theirs.usage.prompt_tokens,
        theirs.usage.completion_tokens,
    )
