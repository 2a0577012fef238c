"""Reads a response of Anthropic Messages, streamed or not.

Blocks arrive one after the other: one begins, grows in pieces and stops, and is found by its index. An index that is
started again is another block, because some gateways number them all 0. A kind of block that holdfast did not request
(a tool that the provider runs itself) is ignored, with its deltas.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import Json, is_object
from holdfast.providers.error_mapping import stream_failure
from holdfast.providers.model import StreamFinished
from holdfast.providers.model_table import cost_of
from holdfast.providers.protocols.finish_reasons import CLOSED, finish_for
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.protocols.response_parts import ResponseJson, ResponseParts, token_count
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.journal.parts import AnswerRefusal, Usage

_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


class AnthropicMessagesReader:
    """Reads one response."""

    def __init__(self, target: ModelEndpoint) -> None:
        self._model = target.name
        self._facts = target.facts
        self._json = ResponseJson(target.name)
        self._parts = ResponseParts(target.provider.name)
        self._blocks: dict[int, int | None] = {}  # the part of each index, None for a kind that is ignored
        self._block_count = 0
        self._calls: set[int] = set()
        self._stopped: set[int | None] = set()
        self._begun: int | None = None  # the last block that began
        self._counts: dict[str, int] = {}
        self._reason = ""
        self._refusal: AnswerRefusal | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def complete(self) -> bool:
        return bool(self._reason) or (self._closed and bool(self._parts.drafts()))

    def event(self, name: str, data: bytes) -> Iterable[Delta]:
        """Read one event. Raise `ProviderFailed`."""
        if name == "error":
            raise stream_failure(self._model, self._error_payload(data))
        if name == "ping" or data == b"[DONE]":  # which some gateways send, though the protocol has none
            return ()
        event = self._json.decode_object(data)
        return tuple(self._read(self._json.text_in(event, "type") or name, event))

    def document(self, body: bytes) -> Iterable[Delta]:
        """Read the body of a response that was not streamed. Raise `ProviderFailed`."""
        message = self._json.decode_object(body)
        if message.get("type") == "error":
            raise stream_failure(self._model, message)
        if "content" not in message:
            raise self._json.invalid_response("it has no content")
        blocks = self._contents(message)
        deltas = [delta for block in blocks for delta in self._block(self._next(), block, complete=True)]
        self._count(message)
        self._reason = self._json.text_in(message, "stop_reason") or ""
        self._read_refusal(message)
        return deltas

    def finished(self) -> StreamFinished:
        """Return the response. Raise `ProviderFailed` if its reason is an error or unknown."""
        parts = self._parts.parts()
        fresh, arguments, read = (
            self._counts.get(key, 0)
            for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        usage = Usage(
            input_tokens=fresh + arguments + read,
            output_tokens=self._counts.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=arguments,
        )
        if self._counts:  # what was not counted has no price
            usage = msgspec.structs.replace(usage, cost=cost_of(self._facts, usage))
        return StreamFinished(parts, finish_for(self._model, self._reason or CLOSED, parts), usage, self._refusal)

    def _read(self, kind: str, event: Json) -> Iterator[Delta]:
        match kind:
            case "message_start":
                message = self._json.object_in(event, "message") or {}
                self._count(message)
                for block in self._contents(message):  # empty, but for a gateway that streams whole answers
                    yield from self._block(self._next(), block, complete=True)
                self._reason = self._json.text_in(message, "stop_reason") or ""
            case "content_block_start":
                yield from self._block_start(event)
            case "content_block_delta":
                yield from self._block_delta(event)
            case "content_block_stop":
                self._stopped.add(self._blocks.get(self._json.number_in(event, "index") or 0))
            case "message_delta":
                self._count(event)
                delta = self._json.object_in(event, "delta") or {}
                self._reason = self._json.text_in(delta, "stop_reason") or self._reason
                self._read_refusal(delta, event)
            case "message_stop":
                self._closed = True
            case "error":
                raise stream_failure(self._model, event)
            case _:
                pass  # events that are newer than this

    def _read_refusal(self, *holders: Json) -> None:
        if self._reason == "refusal":
            from holdfast.providers.protocols.finish_reasons import stop_details

            self._refusal = stop_details(*(each.get("stop_details") for each in holders)) or self._refusal

    def _block_start(self, event: Json) -> Iterator[Delta]:
        block = self._json.object_in(event, "content_block") or {}
        known = self._json.text_in(block, "type") in _BLOCKS
        key = self._blocks[self._json.number_in(event, "index") or 0] = self._next() if known else None
        self._begun = key
        if key is not None:
            yield from self._block(key, block, complete=False)

    def _block(self, key: int, block: Json, *, complete: bool) -> Iterator[Delta]:
        """Read a block, or only its beginning unless it is `complete`."""
        match self._json.text_in(block, "type"):
            case "text":
                yield from self._text(key, block)
            case "thinking":
                yield from self._parts.add_thinking(key, self._json.text_in(block, "thinking") or "")
                self._sign(key, self._json.text_in(block, "signature"))
            case "redacted_thinking":
                self._parts.thinking(key).id = "redacted_thinking"
                self._sign(key, self._json.text_in(block, "data"))
            case "tool_use":
                self._calls.add(key)
                arguments = _arguments_text(block.get("input"), complete=complete)
                yield from self._parts.add_call(key, self._json.text_in(block, "name") or "", arguments)
                self._parts.call(key).wire_id = self._json.text_in(block, "id") or None
            case _:
                pass

    def _block_delta(self, event: Json) -> Iterator[Delta]:
        index, delta = self._json.number_in(event, "index") or 0, self._json.object_in(event, "delta") or {}
        kind = self._json.text_in(delta, "type")
        if kind == "input_json_delta" and (open_call := self._open_call(index)) is not None:
            yield from self._parts.add_call(open_call, "", self._json.text_in(delta, "partial_json") or "")
            return
        if index not in self._blocks:
            self._blocks[index] = self._next()
        key = self._blocks[index]
        if key is None:
            return
        match kind:
            case "text_delta":
                yield from self._text(key, delta)
            case "thinking_delta":
                yield from self._parts.add_thinking(key, self._json.text_in(delta, "thinking") or "")
            case "signature_delta":
                self._sign(key, self._json.text_in(delta, "signature"))
            case "input_json_delta":  # without its name and id a call cannot be run, and must not be left out
                raise self._json.invalid_response(f"arguments arrived for block {index}, which is not a call")
            case _:
                pass

    def _open_call(self, index: int) -> int | None:
        """Return the call that a piece of arguments belongs to, None if there is none.

        Blocks come one after the other, so a piece with an index of no open call belongs to the call that began last.
        """
        named = self._blocks.get(index)
        calls = [key for key in (named, self._begun) if key in self._calls]
        return next((key for key in calls if key not in self._stopped), named if named in self._calls else None)

    def _text(self, key: int, holder: Json) -> Iterator[Delta]:
        if text := self._json.text_in(holder, "text"):
            yield from self._parts.add_text(key, text)

    def _sign(self, key: int, signature: str | None) -> None:
        if signature:
            self._parts.thinking(key).signature = signature

    def _contents(self, message: Json) -> list[Json]:
        """Return the blocks of a message; a text in their place is one of them."""
        content = message.get("content")
        return (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else self._json.objects_in(message, "content")
        )

    def _next(self) -> int:
        self._block_count += 1
        return self._block_count

    def _count(self, holder: Json) -> None:
        """Record the token counts: each event has the totals so far, and may omit some."""
        usage = holder.get("usage")
        if is_object(usage):
            self._counts.update({key: token_count(usage[key]) for key in _COUNTS if usage.get(key) is not None})

    def _error_payload(self, data: bytes) -> object:
        try:
            return self._json.value(data)
        except ProviderFailed:
            return data.decode("utf-8", "replace")


def _arguments_text(arguments: object, *, complete: bool) -> str:
    """Return the arguments as text. An empty object at the beginning of a streamed call says nothing yet."""
    if arguments is None or (arguments == {} and not complete):
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
