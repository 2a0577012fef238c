"""What a pydantic-ai document says, in order, before it is mended: every kind of message and part, old and new.

Two rules. Nothing is lost in silence: what is left out or changed is told to `Changes` with the message it was in, and
the text of what cannot be understood is quoted. Nothing here knows which calls and results belong together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.calls import Outcome
from holdfast.history.formats.pydantic_ai_parts import SYNTHETIC, UNSAID, call_part
from holdfast.session.content import bracketed, mapping, quoted, raw_arguments, text_of
from holdfast.session.entries import CallPart, Part, TextPart, ThinkingPart, Usage
from holdfast.session.items import Answered, Changes, Instructed, Item, Noted, Said, Wrote

OUTCOME = "holdfast_outcome"
"""The key in a result's metadata that holds our outcome: pydantic-ai has no `not_started`."""

WIRE_IDS = "holdfast_wire_ids"
"""The key in a response's metadata that holds the ids its provider gave to its calls, by ours."""

_OUTCOMES: dict[str, Outcome] = {
    "ok": "ok",
    "success": "ok",
    "failed": "failed",
    "retried": "failed",
    "denied": "denied",
    "not_started": "not_started",
    "interrupted": "interrupted",
}


class _Request(msgspec.Struct, tag="request", tag_field="kind"):
    parts: list[object]
    instructions: object = None


class _Response(msgspec.Struct, tag="response", tag_field="kind"):
    parts: list[object]
    tool_calls: list[object] | None = None
    model_id: str | None = None
    model_name: str | None = None
    provider_name: str | None = None
    usage: object = None
    finish_reason: str | None = None
    state: str = "complete"
    metadata: object = None


_Message = _Request | _Response


class _SystemPrompt(msgspec.Struct, tag="system-prompt", tag_field="part_kind"):
    content: object = None


class _UserPrompt(msgspec.Struct, tag="user-prompt", tag_field="part_kind"):
    content: object


class _ToolReturn(msgspec.Struct, tag="tool-return", tag_field="part_kind"):
    tool_name: str
    content: object = None
    tool_call_id: str | int | None = None
    outcome: str = "success"
    metadata: object = None


class _RetryPrompt(msgspec.Struct, tag="retry-prompt", tag_field="part_kind"):
    content: object
    tool_name: str | None = None
    tool_call_id: str | int | None = None


class _RetryFeedback(msgspec.Struct, tag="retry-feedback", tag_field="part_kind"):
    content: object


class _Compaction(msgspec.Struct, tag="compaction", tag_field="part_kind"):
    content: str | None = None


class _Speech(msgspec.Struct, tag="speech", tag_field="part_kind"):
    transcript: str | None = None


class _Text(msgspec.Struct, tag="text", tag_field="part_kind"):
    content: str


class _Thinking(msgspec.Struct, tag="thinking", tag_field="part_kind"):
    content: str
    id: str | None = None
    signature: str | None = None
    provider_name: str | None = None
    provider_details: dict[str, object] | None = None


class _ToolCall(msgspec.Struct, tag="tool-call", tag_field="part_kind"):
    tool_name: str
    args: object = None
    tool_call_id: str | int | None = None
    id: str | None = None
    provider_name: str | None = None
    provider_details: dict[str, object] | None = None


class _NativeCall(msgspec.Struct, tag="builtin-tool-call", tag_field="part_kind"):
    tool_name: str
    args: object = None


class _NativeReturn(msgspec.Struct, tag="builtin-tool-return", tag_field="part_kind"):
    tool_name: str
    content: object = None


class _File(msgspec.Struct, tag="file", tag_field="part_kind"):
    content: object = None


class _Tokens(msgspec.Struct):
    """Also the names of older versions."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    request_tokens: int | None = None
    response_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


_RequestPart = _SystemPrompt | _UserPrompt | _ToolReturn | _RetryPrompt | _RetryFeedback | _Compaction | _Speech
_Spoken = _Text | _NativeCall | _NativeReturn | _Compaction | _Speech | _File
_ResponsePart = _Thinking | _ToolCall | _Spoken


def read_messages(messages: Sequence[object], changes: Changes) -> tuple[Item, ...]:
    """Return what `messages` say, in their order."""
    return tuple(item for at, message in enumerate(messages) for item in _message(at, message, changes))


def _message(at: int, raw: object, changes: Changes) -> Iterator[Item]:
    match _converted(at, raw, changes):
        case None:
            yield from quoted(at, raw)
        case _Request() as message:
            if message.instructions:
                yield Instructed(at, text_of(at, message.instructions, changes))
            for part in message.parts:
                yield from _request_part(at, part, changes)
        case _Response() as message:
            yield from _response(at, message, changes)


def _converted(at: int, raw: object, changes: Changes) -> _Message | None:
    """Return the message, with only its kind and parts if another field is damaged, None if one of those is."""
    try:
        return msgspec.convert(raw, _Message)
    except msgspec.ValidationError as error:
        try:
            message: _Message = msgspec.convert({key: mapping(raw).get(key) for key in ("kind", "parts")}, _Message)
        except msgspec.ValidationError:
            changes.add(at, f"the message could not be read ({error}); its text is quoted in a note.")
            return None
        changes.add(at, f"what the message holds beside its parts could not be read ({error}) and was left out.")
        return message


def _request_part(at: int, raw: object, changes: Changes) -> Iterator[Item]:
    if _unsaid(at, raw, changes):
        return
    try:
        part: _RequestPart = msgspec.convert(raw, _RequestPart)
    except msgspec.ValidationError as error:
        changes.add(at, f"a part could not be read ({error}); its text is quoted in a note.")
        yield from quoted(at, raw)
        return
    match part:
        case _SystemPrompt():
            yield Instructed(at, text_of(at, part.content, changes))
        case _UserPrompt():
            text = text_of(at, part.content, changes)
            if text.strip():
                yield Said(at, text)
            else:
                changes.add(at, "an empty prompt was left out.")
        case _ToolReturn():
            outcome, synthetic = _outcome(at, part, changes)
            text = text_of(at, part.content, changes)
            yield Answered(at, _id(part.tool_call_id), part.tool_name, outcome, text, synthetic)
        case _RetryPrompt() if part.tool_name is not None:
            name = part.tool_name
            yield Answered(at, _id(part.tool_call_id), name, "failed", text_of(at, part.content, changes))
        case _RetryPrompt() | _RetryFeedback():
            yield Said(at, f"Validation feedback:\n{text_of(at, part.content, changes)}")
        case _Compaction():
            yield Said(at, _summary(part))
        case _Speech():
            yield Said(at, _transcript(part))


def _response(at: int, message: _Response, changes: Changes) -> Iterator[Item]:
    parts: list[Part] = []
    damaged: list[Noted] = []
    wire_ids = mapping(message.metadata).get(WIRE_IDS)
    cut = message.state in ("interrupted", "incomplete")
    for raw in (*message.parts, *_listed_calls(at, message, changes)):
        if _unsaid(at, raw, changes):
            continue
        try:
            part: _ResponsePart = msgspec.convert(raw, _ResponsePart)
        except msgspec.ValidationError as error:
            changes.add(at, f"a part could not be read ({error}); its text is quoted in a note.")
            damaged.extend(quoted(at, raw))
            continue
        if isinstance(part, _Thinking) and cut:
            changes.add(at, "thinking of a response that was cut off was left out: it is not complete.")
        elif isinstance(part, _ToolCall) and not part.tool_name.strip():
            changes.add(at, "a call without a tool name was left out; its text is quoted in a note.")
            damaged.extend(quoted(at, raw))
        else:
            parts.append(_response_part(at, part, wire_ids, changes))
    yield Wrote(
        at, _model(message), tuple(parts), _usage(at, message.usage, changes), message.finish_reason, was_cut=cut
    )
    yield from damaged


def _response_part(at: int, part: _ResponsePart, wire_ids: object, changes: Changes) -> Part:
    match part:
        case _Thinking():  # signed: byte for byte or not at all
            return ThinkingPart(
                part.content,
                signature=part.signature,
                id=part.id,
                provider=part.provider_name,
                details=part.provider_details,
            )
        case _ToolCall():
            own = _id(part.tool_call_id)
            wire_id = own or None if wire_ids is None else mapping(wire_ids).get(own)
            return CallPart(
                id=own,
                name=part.tool_name,
                arguments=raw_arguments(part.args),
                wire_id=wire_id if isinstance(wire_id, str) else None,
                item_id=part.id,
                provider=part.provider_name,
                details=part.provider_details,
            )
        case _:
            return TextPart(_written(at, part, changes))


def _written(at: int, part: _Spoken, changes: Changes) -> str:
    """Return the text of a part that has no other use for us."""
    match part:
        case _Text():
            return part.content
        case _NativeCall():
            changes.add(at, "a call of a tool that the provider runs itself became text.")
            return bracketed(f"The provider's own tool {part.tool_name} was called", raw_arguments(part.args))
        case _NativeReturn():
            changes.add(at, "a result of a tool that the provider runs itself became text.")
            return bracketed(f"The provider's own tool {part.tool_name} gave", text_of(at, part.content, changes))
        case _Compaction():
            return _summary(part)
        case _Speech():
            return _transcript(part)
        case _File():
            return text_of(at, part.content, changes)


def _summary(part: _Compaction) -> str:
    return bracketed("Summary of an earlier part of this conversation", part.content or "it cannot be read here")


def _transcript(part: _Speech) -> str:
    return part.transcript or "[speech without a transcript]"


def _unsaid(at: int, raw: object, changes: Changes) -> bool:
    """Return whether the part only records settings: nothing that anybody said."""
    kind = mapping(raw).get("part_kind")
    if kind in UNSAID:
        changes.add(at, f"a part that only records settings ({kind}) was left out.")
    return kind in UNSAID


def _listed_calls(at: int, message: _Response, changes: Changes) -> Iterator[dict[str, object]]:
    """Yield the calls that are in `tool_calls` but not in `parts`: some programs write each call to both."""
    there: Counter[str] = Counter()
    for raw in message.parts:
        part = mapping(raw)
        if part.get("part_kind") == "tool-call":
            there[_identity(part)] += 1
    for raw in message.tool_calls or ():
        call = call_part(mapping(raw))
        if there[_identity(call)] > 0:
            there[_identity(call)] -= 1
            changes.add(at, "calls that were listed twice, in parts and in tool_calls, count once.")
        else:
            changes.add(at, "a call that was only in tool_calls was taken from there.")
            yield call


def _identity(call: Mapping[str, object]) -> str:
    return _id(call.get("tool_call_id")) or json.dumps([call.get("tool_name"), call.get("args")], sort_keys=True)


def _outcome(at: int, part: _ToolReturn, changes: Changes) -> tuple[Outcome, bool]:
    metadata = mapping(part.metadata)
    ours = metadata.get(OUTCOME)
    outcome = _OUTCOMES.get(ours if isinstance(ours, str) else part.outcome)
    if outcome is None:
        changes.add(at, f"a result with the unknown outcome {part.outcome!r} was taken as it is, as an ordinary one.")
    return outcome or "ok", metadata.get(SYNTHETIC) is True


def _model(message: _Response) -> str:
    """Return PROVIDER:MODEL as far as the response says it, "" if it does not."""
    if message.model_id is not None:
        return message.model_id
    return ":".join(name for name in (message.provider_name, message.model_name) if name)


def _usage(at: int, raw: object, changes: Changes) -> Usage:
    if raw is None:
        return Usage()
    try:
        tokens = msgspec.convert(raw, _Tokens)
    except msgspec.ValidationError as error:
        changes.add(at, f"the token counts could not be read ({error}) and are not counted.")
        return Usage()
    return Usage(
        input_tokens=tokens.input_tokens or tokens.request_tokens or 0,
        output_tokens=tokens.output_tokens or tokens.response_tokens or 0,
        cache_read_tokens=tokens.cache_read_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
    )


def _id(raw: object) -> str:
    return "" if raw is None else str(raw)
