"""Reads a response of OpenAI Responses, streamed or not.

A response is a list of items: reasoning with its summaries, messages with their texts, calls. Events name their item by
ID and by index; a gateway may change the ID, or always send 0 as the index, so an item is found by either. The last
events of an item have all of it: content that no delta brought is added then.

Which items of the last event of a Responses stream earlier events have brought, if their IDs do not say.

Gateways send some items only in the last event, and others again under another ID. What was brought is found by what it
says: a call by its provider's ID, or its name and arguments; a message by its text; reasoning by its order. Each item
that was brought is the same as one item of the last event, so two equal calls stay two.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import Json, is_object
from holdfast.providers.error_mapping import stream_failure
from holdfast.providers.model import StreamFinished, ThinkingDelta
from holdfast.providers.model_table import cost_of
from holdfast.providers.protocols.call_arguments import whole_arguments
from holdfast.providers.protocols.finish_reasons import finish_for
from holdfast.providers.protocols.protocol import Delta
from holdfast.providers.protocols.response_parts import (
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

_MOST_PREFIXES = 16
"""Texts that are compared by their beginnings; more are compared as a whole."""


class BroughtItems:
    """The items that the parts so far belong to, by number."""

    def __init__(self, parts: Iterable[tuple[Hashable, PartDraft]], known: Iterable[int | None]) -> None:
        """Create it without the items whose numbers are `known`."""
        left_out = {number for number in known if number is not None}
        self._texts: dict[int, str] = {}
        self._reasoning: dict[int, None] = {}
        self._by_call_id: dict[str, int] = {}
        self._by_call: dict[tuple[str, str], list[int]] = {}
        for key, draft in parts:
            match key, draft:
                case ("text", int(number), int()), TextDraft() if number not in left_out:
                    self._texts[number] = self._texts.get(number, "") + "".join(draft.text)
                case ("thinking", int(number), int()), ThinkingDraft() if number not in left_out:
                    self._reasoning[number] = None
                case ("call", int(number)), CallDraft() if number not in left_out:
                    if draft.wire_id:
                        self._by_call_id[draft.wire_id] = number
                    written = "".join(draft.name), whole_arguments(draft.arguments, draft.statements)
                    self._by_call.setdefault(written, []).append(number)
                case _:
                    pass
        self._matched: set[int] = set()

    def take_call(self, call_id: str, name: str, arguments: str) -> int | None:
        """Return the number of the item that is this call, None if there is none."""
        number = self._by_call_id.get(call_id)
        if number is None or number in self._matched:
            alike = self._by_call.get((name, whole_arguments((arguments,))), [])
            while alike and alike[0] in self._matched:
                alike.pop(0)
            number = alike.pop(0) if alike else None
        return self._take(number)

    def take_message(self, text: str) -> int | None:
        """Return the number of the item that is the message with this text, or its beginning, None if there is none."""
        texts = self._texts.items() if len(self._texts) <= _MOST_PREFIXES else ()
        number = next((number for number, found in texts if text.startswith(found) or found.startswith(text)), None)
        if number is not None:
            del self._texts[number]
        return number

    def take_reasoning(self) -> int | None:
        """Return the number of the next item of reasoning, None if there is none."""
        number = next(iter(self._reasoning), None)
        if number is not None:
            del self._reasoning[number]
        return number

    def _take(self, number: int | None) -> int | None:
        if number is not None:
            self._matched.add(number)
        return number


# --- openai responses reader ---

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
_NOT_YET = frozenset({"in_progress", "queued"})


class OpenAIResponsesReader:
    """Reads one response."""

    def __init__(self, target: ModelEndpoint) -> None:
        self._model = target.name
        self._facts = target.facts
        self._provider = target.provider.name
        self._json = ResponseJson(target.name)
        self._parts = ResponseParts(target.provider.name)
        self._by_id: dict[str, int] = {}
        self._by_index: dict[int, int] = {}
        self._items = 0
        self._raw_texts: dict[int, dict[int, list[str]]] = {}  # the raw reasoning of an open model, by item and number
        self._usage = Usage()
        self._reason = ""
        self._refused = False
        self._refusal: list[str] = []  # its text
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def complete(self) -> bool:
        return bool(self._reason)

    def event(self, name: str, data: bytes) -> Iterable[Delta]:
        """Read one event. Raise `ProviderFailed`."""
        if name == "error":
            raise stream_failure(self._model, self._error_payload(data))
        if data == b"[DONE]":  # which some gateways send, though the protocol has none
            return ()
        event = self._json.decode_object(data)
        return tuple(self._read(self._json.text_in(event, "type") or name, event))

    def document(self, body: bytes) -> Iterable[Delta]:
        """Read the body of a response that was not streamed. Raise `ProviderFailed`."""
        response = self._json.decode_object(body)
        if "output" not in response and not response.get("error"):
            raise self._json.invalid_response("it has no output")
        return tuple(self._end(response, ""))

    def finished(self) -> StreamFinished:
        """Return the response. Raise `ProviderFailed` if its reason is an error or unknown."""
        for key, texts in self._raw_texts.items():
            draft = self._parts.thinking(("thinking", key, 0))
            draft.details = {"raw_content": ["".join(texts[index]) for index in sorted(texts)]}
        parts = self._parts.parts()
        finish = finish_for(self._model, self._reason, parts)
        why = AnswerRefusal(explanation="".join(self._refusal)) if finish == "refusal" else None
        return StreamFinished(parts, finish, self._usage, why)

    def _read(self, kind: str, event: Json) -> Iterator[Delta]:
        match kind:
            case "response.output_item.added":
                item = self._json.object_in(event, "item") or {}
                key = self._begin(item, self._json.number_in(event, "output_index") or 0)
                if item.get("type") == "function_call":
                    yield from self._call(key, item)
            case "response.output_item.done":
                item = self._json.object_in(event, "item") or {}
                yield from self._item(self._key(event, item), item)
            case "response.output_text.delta":
                yield from self._text(self._place(event, "content_index"), self._json.text_in(event, "delta") or "")
            case "response.output_text.done":
                place = self._place(event, "content_index")
                yield from self._rest_of_text(place, self._json.text_in(event, "text") or "")
            case "response.reasoning_summary_text.delta":
                place = self._place(event, "summary_index")
                item_id, text = self._json.text_in(event, "item_id") or "", self._json.text_in(event, "delta") or ""
                yield from self._summary(place, item_id, text)
            case "response.reasoning_text.delta":
                place = self._place(event, "content_index")
                item_id, text = self._json.text_in(event, "item_id") or "", self._json.text_in(event, "delta") or ""
                yield from self._raw_text(place, item_id, text)
            case "response.function_call_arguments.delta":
                yield from self._arguments(self._key(event), self._json.text_in(event, "delta") or "")
            case "response.function_call_arguments.done":
                yield from self._rest_of_call(self._key(event), self._json.arguments_in(event, "arguments"))
            case "response.refusal.delta" | "response.refusal.done":
                self._refuse(self._json.text_in(event, "delta") or "", self._json.text_in(event, "refusal") or "")
            case "error":
                raise stream_failure(self._model, event)
            case _ if kind in _LAST:
                self._closed = True
                yield from self._end(self._json.object_in(event, "response") or {}, kind.removeprefix("response."))
            case _:
                pass  # begins and ends of parts, and events that are newer than this

    def _end(self, response: Json, status_of_event: str) -> Iterator[Delta]:
        """Read the response that ends a stream, or that was not streamed."""
        if error := response.get("error"):
            raise stream_failure(self._model, error)
        yield from self._last_items(self._json.objects_in(response, "output"))
        if not self._parts.drafts() and isinstance(text := response.get("output_text"), str):  # of some gateways
            yield from self._text((self._begin({}, 0), 0), text)
        usage = response.get("usage")
        if is_object(usage):
            counted = _usage(usage, self._json.object_in(usage, "input_tokens_details") or {})
            tier = self._json.text_in(response, "service_tier") or ""
            self._usage = msgspec.structs.replace(counted, cost=cost_of(self._facts, counted, service_tier=tier))
        status = self._json.text_in(response, "status") or status_of_event
        details = self._json.object_in(response, "incomplete_details") or {}
        why = self._json.text_in(details, "reason") or ("" if status == "incomplete" else status)
        if why in _NOT_YET and status_of_event == "completed":  # a gateway that repeats an earlier snapshot
            why = "completed"
        self._reason = "refusal" if self._refused else why

    def _last_items(self, items: list[Json]) -> Iterator[Delta]:
        """Read the items of the last event: some gateways send items, or the rest of one, only there."""
        known = [self._by_id.get(self._json.text_in(item, "id") or "") for item in items]
        brought = BroughtItems(self._parts.items(), known)
        for index, (item, same) in enumerate(zip(items, known, strict=True)):
            number = self._number_like(item, brought) if same is None else same
            yield from self._item(self._begin(item, index) if number is None else number, item)

    def _number_like(self, item: Json, brought: BroughtItems) -> int | None:
        """Return the number of the item that was brought under another ID, None if there is none."""
        match item.get("type"):
            case "function_call":
                call_id, name = self._json.text_in(item, "call_id") or "", self._json.text_in(item, "name") or ""
                return brought.take_call(call_id, name, self._json.arguments_in(item, "arguments"))
            case "message":
                return brought.take_message(
                    "".join(self._json.text_in(part, "text") or "" for part in self._contents(item))
                )
            case "reasoning":
                return brought.take_reasoning()
            case _:
                return None

    def _contents(self, item: Json) -> list[Json]:
        """Return the contents of a message; a text in their place is one of them."""
        content = item.get("content")
        return [{"text": content}] if isinstance(content, str) else self._json.objects_in(item, "content")

    # --- items --------------------------------------------------------------------------------------------------------

    def _begin(self, item: Json, index: int) -> int:
        """Return the number of an item that begins, or that has begun under this ID."""
        item_id = self._json.text_in(item, "id") or ""
        if item_id not in self._by_id:
            self._items += 1
            key = self._by_index[index] = self._items
            if item_id:
                self._by_id[item_id] = key
            return key
        return self._by_id[item_id]

    def _key(self, event: Json, item: Json | None = None) -> int:
        """Return the number of the event's item."""
        item_id = (
            (self._json.text_in(event, "item_id") or "") if item is None else (self._json.text_in(item, "id") or "")
        )
        index = self._json.number_in(event, "output_index") or 0
        if item_id in self._by_id:
            return self._by_id[item_id]
        if index in self._by_index:
            return self._by_index[index]
        return self._begin({"id": item_id}, index)

    def _place(self, event: Json, index: str) -> tuple[int, int]:
        return self._key(event), self._json.number_in(event, index) or 0

    def _item(self, key: int, item: Json) -> Iterator[Delta]:
        """Read a complete item, and yield the content that no delta brought."""
        match item.get("type"):
            case "message":
                for index, part in enumerate(self._contents(item)):
                    if part.get("type") == "refusal":
                        self._refuse("", self._json.text_in(part, "refusal") or "")
                    yield from self._rest_of_text((key, index), self._json.text_in(part, "text") or "")
            case "reasoning":
                yield from self._reasoning(key, item)
            case "function_call":
                yield from self._call(key, item)
            case _:
                pass  # of tools that the provider runs itself

    def _refuse(self, delta: str, text: str) -> None:
        self._refused = True
        if delta:
            self._refusal.append(delta)
        elif text and not self._refusal:
            self._refusal.append(text)

    # --- text ---------------------------------------------------------------------------------------------------------

    def _text(self, place: tuple[int, int], text: str) -> Iterator[Delta]:
        if text:
            yield from self._parts.add_text(("text", *place), text)

    def _rest_of_text(self, place: tuple[int, int], text: str) -> Iterator[Delta]:
        yield from self._parts.state_text(("text", *place), text)

    # --- reasoning ----------------------------------------------------------------------------------------------------

    def _thinking(self, place: tuple[int, int], item_id: str) -> ThinkingDraft:
        draft = self._parts.thinking(("thinking", *place))
        draft.id = draft.id or item_id or None
        return draft

    def _summary(self, place: tuple[int, int], item_id: str, text: str) -> Iterator[Delta]:
        self._thinking(place, item_id)
        yield from self._parts.add_thinking(("thinking", *place), text)

    def _raw_text(self, place: tuple[int, int], item_id: str, text: str) -> Iterator[Delta]:
        """Read raw reasoning of an open model: shown, and kept in the details of the item's first part."""
        key, index = place
        self._thinking((key, 0), item_id)
        self._raw_texts.setdefault(key, {}).setdefault(index, []).append(text)
        if text:
            yield ThinkingDelta(text)

    def _reasoning(self, key: int, item: Json) -> Iterator[Delta]:
        item_id = self._json.text_in(item, "id") or ""
        for index, summary in enumerate(self._json.objects_in(item, "summary")):
            if ("thinking", key, index) not in self._parts:
                yield from self._summary((key, index), item_id, self._json.text_in(summary, "text") or "")
        if key not in self._raw_texts:
            for index, content in enumerate(self._json.objects_in(item, "content")):
                yield from self._raw_text((key, index), item_id, self._json.text_in(content, "text") or "")
        if sealed := self._json.text_in(item, "encrypted_content"):
            self._thinking((key, 0), item_id).signature = sealed

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, key: int, item: Json) -> Iterator[Delta]:
        arguments = self._json.arguments_in(item, "arguments")
        if ("call", key) in self._parts:
            yield from self._rest_of_call(key, arguments)
            return
        yield from self._parts.add_call(("call", key), self._json.text_in(item, "name") or "", arguments)
        draft = self._parts.call(("call", key))
        draft.wire_id = self._json.text_in(item, "call_id") or None
        draft.item_id = self._json.text_in(item, "id") or None
        draft.provider = self._provider

    def _arguments(self, key: int, arguments: str) -> Iterator[Delta]:
        """Read more of a call's arguments; those of an unknown call come again in the event with the whole call."""
        if ("call", key) in self._parts:
            yield from self._parts.add_call(("call", key), "", arguments)

    def _rest_of_call(self, key: int, arguments: str) -> Iterator[Delta]:
        if ("call", key) in self._parts:
            yield from self._parts.state_arguments(("call", key), arguments)

    def _error_payload(self, data: bytes) -> object:
        try:
            return self._json.value(data)
        except ProviderFailed:
            return data.decode("utf-8", "replace")


def _usage(counted: Json, details: Json) -> Usage:
    return Usage(
        input_tokens=token_count(counted.get("input_tokens")),
        output_tokens=token_count(counted.get("output_tokens")),
        cache_read_tokens=token_count(details.get("cached_tokens")),
        cache_write_tokens=token_count(details.get("cache_write_tokens")),
    )
