"""Reads a response of Chat Completions, from whichever server.

How it works. Every chunk may add to thinking, to text and to calls; a part ends when one of another kind begins. The
chunk with the finish reason is the end: what follows it is usage. Servers leave out almost everything else, so that
nothing but the finish reason is required, and a call is found by its index, its ID or its place, whichever there is.

Why values are checked one by one and not decoded into types: one odd field of a server would lose a whole response.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from holdfast.history.formats.format import Json, is_array, is_object
from holdfast.providers.error_mapping import stream_failure
from holdfast.providers.model import StreamFinished
from holdfast.providers.model_table import cost_of
from holdfast.providers.protocols.chat_content import ObjectScan, ThinkTags
from holdfast.providers.protocols.finish_reasons import CLOSED, finish_for
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.protocols.response_parts import (
    MOST_TOKENS,
    CallDraft,
    PartDraft,
    ResponseJson,
    ResponseParts,
    TextDraft,
    ThinkingDraft,
    token_count,
)
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.journal.parts import AnswerRefusal, Usage

if TYPE_CHECKING:
    from holdfast.providers.protocols.chat_content import ReasoningDetails

REASONING_FIELDS = ("reasoning", "reasoning_content", "reasoning_text")
"""Fields in which servers send thinking; a server that fills several sends the same text in each."""

TAGS = "content"
"""The ID of thinking that came between tags."""

THINKING_PARTS = "thinking"
"""The ID of thinking that came as a part of the content."""

DETAILS = "reasoning_details"

_MOST_FILTERED = 16
"""Results of a filter to keep: each chunk may have one."""


class ChatReader:
    """Reads one response."""

    def __init__(self, target: ModelEndpoint) -> None:
        """Create it for a response of the target's model."""
        self._name = target.name
        self._provider = target.provider.name
        self._target = target
        self._compat = target.provider.compat
        self._json = ResponseJson(target.name)
        self._parts = ResponseParts(self._provider)
        self._calls = _Calls(self._json)
        self._tags = ThinkTags() if self._compat.think_tags else None
        self._runs = {"text": 0, "thinking": 0}
        self._details: ReasoningDetails | None = None
        self._reason: str | None = None
        self._refusal: list[str] | None = None  # the text of a refusal
        self._filtered: list[object] = []  # what a filter of Azure's found
        self._usage: Json = {}
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def complete(self) -> bool:
        return self._reason is not None or (self._closed and bool(self._parts.drafts()))

    def event(self, name: str, data: bytes) -> Iterable[Delta]:  # noqa: ARG002 - events of this protocol have no name
        """Read one chunk."""
        if data.startswith(b"[DONE]"):
            self._closed = True
            return []
        return list(self._chunk(self._json.decode_object(data), "delta")) if data.strip() else []

    def document(self, body: bytes) -> Iterable[Delta]:
        """Read the body of a response that was not streamed."""
        return list(self._chunk(self._json.decode_object(body), "message"))

    def finished(self) -> StreamFinished:
        """Return the response. Raise `ProviderFailed` if its finish reason is an error or unknown."""
        thinking = next((each for each in self._parts.drafts() if isinstance(each, ThinkingDraft)), None)
        if thinking is not None and self._details is not None and (details := self._details.all()):
            thinking.details = {DETAILS: details}  # of the whole message: it goes back in one piece
        parts = self._parts.parts()
        refused = self._refusal is not None
        finish = "refusal" if refused else finish_for(self._name, self._reason or CLOSED, parts)
        return StreamFinished(parts, finish, self._final_usage(), self._why() if finish == "refusal" else None)

    def _why(self) -> AnswerRefusal | None:
        from holdfast.providers.protocols.finish_reasons import filter_refusal

        return filter_refusal("".join(self._refusal or ()), *self._filtered)

    # --- chunks ------------------------------------------------------------------------------------------------------

    def _chunk(self, chunk: Json, holder: str) -> Iterator[Delta]:
        if error := _reported_error(chunk):
            raise stream_failure(self._name, error)
        if is_object(usage := chunk.get("usage")):  # totals so far: the last one counts
            self._usage = usage
        choices = self._json.objects_in(chunk, "choices")
        for choice in choices[:1]:
            if is_object(error := choice.get("error")) and error:  # OpenRouter's, beside the reason "error"
                raise stream_failure(self._name, error)
            if (delta := self._json.object_in(choice, holder)) is not None:
                yield from self._read_delta(delta, complete=holder == "message")
            elif (other := self._elsewhere(choice)) is not None:
                yield from self._read_delta(other, complete=True)
            if (found := choice.get("content_filter_results")) and len(self._filtered) < _MOST_FILTERED:
                self._filtered.append(found)
            if reason := self._json.text_in(choice, "finish_reason"):
                self._reason = reason
                yield from self._flush_tags()
        for choice in choices[1:]:  # one answer was asked for: a gateway put the calls beside the text
            further = self._json.object_in(choice, holder) or {}
            if self._json.objects_in(further, "tool_calls") and not self._has(CallDraft):
                yield from self._read_delta({"tool_calls": further["tool_calls"]}, complete=holder == "message")

    def _elsewhere(self, choice: Json) -> Json | None:
        """Return what a choice says in another field than it should, without what was read already."""
        if (message := self._json.object_in(choice, "message")) is None:
            message = {"content": choice.get("text")}
        left_out = {
            *(("content", "refusal") if self._has(TextDraft) else ()),
            *(("tool_calls", "function_call") if self._has(CallDraft) else ()),
            *((*REASONING_FIELDS, DETAILS) if self._has(ThinkingDraft) else ()),
        }
        return {key: value for key, value in message.items() if key not in left_out}

    def _has(self, kind: type[PartDraft]) -> bool:
        return any(isinstance(draft, kind) for draft in self._parts.drafts())

    def _flush_tags(self) -> Iterator[Delta]:
        if self._tags is not None:
            for thinking, text in self._tags.flush():
                yield from self._add_text(text, thinking=thinking)

    def _read_delta(self, delta: Json, *, complete: bool) -> Iterator[Delta]:
        yield from self._reasoning(delta)
        yield from self._content(delta)
        if refusal := self._json.text_in(delta, "refusal"):
            self._refusal = [] if self._refusal is None else self._refusal
            self._refusal.append(refusal)
            yield from self._add_text(refusal, thinking=False)
        calls = self._json.objects_in(delta, "tool_calls", alone=True)
        function = self._json.object_in(delta, "function_call")  # from before an answer could have several
        alone: list[Json] = [{"index": 0, "function": function}] if function and not calls else []
        for number, call in enumerate(calls or alone):
            yield from self._call(call, number if complete else None)

    def _reasoning(self, delta: Json) -> Iterable[Delta]:
        field, text = "", ""
        for each in REASONING_FIELDS:  # runs for every token
            if not text and isinstance(value := delta.get(each), str) and value:
                field, text = each, value
        if self._compat.reasoning_details and (details := self._json.objects_in(delta, DETAILS)):
            readable = self._read_details(details)
            field, text = field or "reasoning", text or readable
        return self._add_thinking(field, text) if field else ()

    def _read_details(self, details: list[Json]) -> str:
        """Keep the details, and return their readable text."""
        from holdfast.providers.protocols.chat_content import ReasoningDetails, text_field

        texts = [self._json.text_in(each, field) or "" for each in details if (field := text_field(each))]
        self._details = self._details or ReasoningDetails()
        for each in details:
            self._details.add(each)
        return "".join(texts)

    def _content(self, delta: Json) -> Iterable[Delta]:
        content = delta.get("content")
        if is_array(content):
            return self._content_parts(content)
        return self._split(self._json.text_in(delta, "content") or "")

    def _content_parts(self, content: list[object]) -> Iterator[Delta]:
        for each in content:
            part = each if is_object(each) else {"type": "text", "text": each}
            match part.get("type"):
                case "text":
                    yield from self._split(self._json.text_in(part, "text") or "")
                case "thinking":
                    yield from self._thinking_part(part)
                case _:
                    pass  # references, and kinds that are not known yet

    def _thinking_part(self, part: Json) -> Iterator[Delta]:
        if is_array(part.get("thinking")):
            texts = (self._json.text_in(each, "text") for each in self._json.objects_in(part, "thinking"))
            text = "".join(each or "" for each in texts)
        else:
            text = self._json.text_in(part, "thinking") or ""
        if text:
            yield from self._add_thinking(THINKING_PARTS, text)

    def _split(self, text: str) -> Iterable[Delta]:
        if self._tags is None:
            return self._add_text(text, thinking=False)
        return [each for thinking, piece in self._tags.split(text) for each in self._add_text(piece, thinking=thinking)]

    def _add_text(self, text: str, *, thinking: bool) -> Iterable[Delta]:
        if thinking:
            return self._add_thinking(TAGS, text)
        return self._parts.add_text(self._key("text"), text) if text else ()

    def _add_thinking(self, field: str, text: str) -> Iterable[Delta]:
        key = self._key("thinking", field)
        self._parts.thinking(key).id = field
        return self._parts.add_thinking(key, text)

    def _call(self, call: Json, number: int | None) -> Iterator[Delta]:
        function = self._json.object_in(call, "function") or {}
        if not function and "name" in call:  # a gateway that leaves the object around both out
            function = call
        written = self._json.arguments_in(function, "arguments")
        index, wire_id = call.get("index", number), self._json.text_in(call, "id") or ""
        place = index if isinstance(index, int) and not isinstance(index, bool) else None
        name = self._json.text_in(function, "name") or ""
        if number is None:
            key, name = self._calls.find(place, wire_id, name, arguments=written)
        else:
            key = self._calls.new_key()
        if key not in self._parts:
            self._end_other_parts("call")
        draft = self._parts.call(key)
        self._calls.register(key, draft, place if name or wire_id else None, wire_id)
        if call.get("extra_content"):
            draft.details, draft.provider = {"extra_content": call["extra_content"]}, self._provider
        self._calls.write(key, written)
        yield from self._parts.add_call(key, name, written)

    def _key(self, kind: str, field: str = "") -> Hashable:
        """Return the key of the open part of this kind, or of a new one."""
        key = (kind, field, self._runs[kind])
        if key not in self._parts:
            self._end_other_parts(kind)
        return key

    def _end_other_parts(self, begun: str) -> None:
        """End the parts of the other kinds, because a part of this kind begins."""
        for kind in self._runs:
            self._runs[kind] += kind != begun

    # --- the end -----------------------------------------------------------------------------------------------------

    def _final_usage(self) -> Usage:
        usage, details = self._usage, self._usage.get("prompt_tokens_details")
        cached = details if is_object(details) else {}
        counted = Usage(
            input_tokens=token_count(usage.get("prompt_tokens")),
            output_tokens=token_count(usage.get("completion_tokens")),
            cache_read_tokens=token_count(cached.get("cached_tokens"))
            or token_count(usage.get("prompt_cache_hit_tokens")),
            cache_write_tokens=token_count(cached.get("cache_write_tokens")),
        )
        if self._compat.reports_cost and (reported := _dollars(usage.get("cost"))) is not None:
            return msgspec.structs.replace(counted, cost=reported)
        # What was not counted has no price.
        return msgspec.structs.replace(counted, cost=cost_of(self._target.facts, counted)) if usage else counted


class _Calls:
    """Finds the call that a piece continues: that of its index, else that of its ID, else the last one."""

    def __init__(self, response: ResponseJson) -> None:
        """Create it for one response."""
        self._json = response
        self._drafts: dict[Hashable, CallDraft] = {}
        self._by_index: dict[int, Hashable] = {}
        self._by_id: dict[str, Hashable] = {}
        self._scans: dict[Hashable, ObjectScan] = {}

    def write(self, key: Hashable, arguments: str) -> None:
        """Read a piece of a call's arguments."""
        self._scans[key].add(arguments)

    def find(self, index: int | None, wire_id: str, name: str, *, arguments: str) -> tuple[Hashable, str]:
        """Return the key of the call that a piece with this name and these arguments continues or begins.

        The second value is the text that the piece adds to the name.
        """
        key = None if index is None else self._by_index.get(index)
        if key is None and wire_id and (index is None or not name):
            key = self._by_id.get(wire_id)
        elif key is None and not name:
            key = self._open_call(is_sure=index is None)
        draft = None if key is None else self._drafts[key]
        if key is None or draft is None:
            return self.new_key(), name
        if name:
            same = bool(wire_id) and draft.wire_id in (None, wire_id)
            repeated = name == "".join(draft.name)
            another = self._scans[key].complete and (bool(arguments) or not repeated)
            if not same and (another or (wire_id and draft.wire_id)):
                return self.new_key(), name  # a server that gives each call the same index
            if draft.size and repeated:
                return key, ""  # a server that repeats the name in each piece
        return key, name

    def new_key(self) -> Hashable:
        """Return the key of a call that begins."""
        return len(self._drafts)

    def _open_call(self, *, is_sure: bool) -> Hashable | None:
        """Return the call that was begun last, for a piece that names none; refuse it if it may be another's.

        `is_sure` unless the piece has an index that no call began with: some servers count pieces, not calls.
        """
        *earlier, last = self._drafts or (None,)
        if not is_sure and any(not self._drafts[key].size for key in earlier):
            raise self._json.invalid_response("a piece of a call's arguments has the index of no call")
        return last

    def register(self, key: Hashable, draft: CallDraft, index: int | None, wire_id: str) -> None:
        """Record the index and the ID of a call, to find it again."""
        draft.wire_id = draft.wire_id or wire_id or None
        self._drafts[key] = draft
        self._scans.setdefault(key, ObjectScan())
        if index is not None:
            self._by_index[index] = key
        if wire_id:
            self._by_id.setdefault(wire_id, key)


def _dollars(cost: object) -> str | None:
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < MOST_TOKENS:
        return None
    return f"{cost:.12f}".rstrip("0").rstrip(".")


def _reported_error(chunk: Json) -> object:
    """Return the error that a chunk reports, None if none: in `error`, or as vLLM and FastAPI do, by itself."""
    if "choices" in chunk or chunk.get("error"):
        return chunk.get("error")
    is_error = chunk.get("object") == "error" or any(isinstance(chunk.get(key), str) for key in ("message", "detail"))
    return chunk if is_error else None
