"""Converts the parts of a valid pydantic-ai document to those of a journal: parts of a response, prompts, results.

A part that a journal cannot hold becomes text in brackets; `record` gets a sentence where that changes something.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec

from holdfast.history.formats.format import Json, as_object, as_text, is_object
from holdfast.history.formats.pydantic_ai.parts import SYNTHETIC, kind_of
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.transfer.foreign_content import bracketed, content_text, raw_arguments
from holdfast.tool_calls import Outcome
from holdfast.typed_data import convert_value

OUTCOME = "holdfast_outcome"
"""The metadata key of a result for holdfast's outcome: pydantic-ai has no `not_started`."""

WIRE_IDS = "holdfast_wire_ids"
"""The metadata key of a response for the ids its provider gave to its calls, by holdfast's ids."""

_OUTCOMES: Mapping[str, Outcome] = MappingProxyType(
    {
        "ok": "ok",
        "success": "ok",
        "failed": "failed",
        "retried": "failed",
        "denied": "denied",
        "not_started": "not_started",
        "interrupted": "interrupted",
    }
)
_Record = Callable[[str], None]


class _Tokens(msgspec.Struct):
    """Includes the field names of older versions."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    request_tokens: int | None = None
    response_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


def response_part(part: Json, response: Json, record: _Record) -> Part:
    """Return a part of a response. The id of a call is the document's."""
    match kind_of(part):
        case "thinking":  # signed: byte for byte or not at all
            return ThinkingPart(
                str(part.get("content")),
                signature=_text(part.get("signature")),
                id=_text(part.get("id")),
                provider=_text(part.get("provider_name")),
                details=_object(part.get("provider_details")),
            )
        case "tool-call":
            call = as_text(part.get("tool_call_id")) or ""
            wire_ids = as_object(response.get("metadata")).get(WIRE_IDS)
            return CallPart(
                id=call,
                name=as_text(part.get("tool_name")) or "",
                arguments=raw_arguments(part.get("args")),
                wire_id=call if wire_ids is None else _text(as_object(wire_ids).get(call)),
                item_id=_text(part.get("id")),
                provider=_text(part.get("provider_name")),
                details=_object(part.get("provider_details")),
            )
        case _:
            return TextPart(_written(part, record))


def _written(part: Json, record: _Record) -> str:
    """Return the text of a part that has no other representation here."""
    match kind_of(part):
        case "builtin-tool-call":
            record("a call of a tool that the provider runs itself became text.")
            return bracketed(f"The provider's own tool {_name(part)} was called", raw_arguments(part.get("args")))
        case "builtin-tool-return":
            record("a result of a tool that the provider runs itself became text.")
            return bracketed(f"The provider's own tool {_name(part)} gave", _content(part, record))
        case _:
            return part_text(part, record)


def part_text(part: Json, record: _Record) -> str:
    """Return the text of a part, by the user or of an answer."""
    match kind_of(part):
        case "retry-prompt" | "retry-feedback":
            return f"Validation feedback:\n{_content(part, record)}"
        case "compaction":
            summary = as_text(part.get("content")) or "it cannot be read here"
            return bracketed("Summary of an earlier part of this conversation", summary)
        case "speech":
            return as_text(part.get("transcript")) or "[speech without a transcript]"
        case _:
            return _content(part, record)


def result_of(part: Json, record: _Record) -> tuple[Outcome, str]:
    """Return the outcome and the text of a result."""
    text = _content(part, record)
    if kind_of(part) == "retry-prompt":
        return "failed", text
    metadata = as_object(part.get("metadata"))
    is_synthetic = metadata.get(SYNTHETIC) is True
    named = (
        as_text(metadata.get(OUTCOME)) or as_text(part.get("outcome")) or ("interrupted" if is_synthetic else "success")
    )
    if named not in _OUTCOMES:
        record(f"a result with the unknown outcome {named!r} was taken as it is, as an ordinary one.")
    return _OUTCOMES.get(named, "ok"), text


def model_of(response: Json) -> str:
    """Return PROVIDER:MODEL if the response names it, else ""."""
    names = (as_text(response.get(key)) for key in ("provider_name", "model_name"))
    return as_text(response.get("model_id")) or ":".join(name for name in names if name)


def usage_of(response: Json, record: _Record) -> Usage:
    """Return the token counts, zeros where there are none."""
    try:
        tokens = convert_value(response.get("usage") or {}, _Tokens)
    except msgspec.ValidationError as error:
        record(f"the token counts could not be read ({error}) and are not counted.")
        return Usage()
    return Usage(
        input_tokens=tokens.input_tokens or tokens.request_tokens or 0,
        output_tokens=tokens.output_tokens or tokens.response_tokens or 0,
        cache_read_tokens=tokens.cache_read_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
    )


def _content(part: Json, record: _Record) -> str:
    return content_text(part.get("content"), record)


def _name(part: Json) -> str:
    return as_text(part.get("tool_name")) or ""


def _text(raw: object) -> str | None:
    return raw if isinstance(raw, str) else None


def _object(raw: object) -> Json | None:
    return raw if is_object(raw) else None
