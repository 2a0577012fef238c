"""OpenAI's Responses: authorization, streaming of a reply, errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.openai import responses_rules
from holdfast.testing.protocols.openai.errors import OpenAI
from holdfast.testing.protocols.protocol import StreamWriter, WireReply, document, scripted_arguments, text_chunks
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.script import Call, FinishReason, ReceivedRequest, ResponseAction, Say, Think, Wait, WireName

_INCOMPLETE: dict[FinishReason, str] = {"length": "max_output_tokens", "refusal": "content_filter"}
_CREATED = 1_767_225_600  # a fixed time, so that the same script gives the same bytes


class Responses(OpenAI):
    """The Responses protocol; a `Think` is one reasoning item with one summary, encrypted if the client asks for it."""

    name: WireName = "openai-responses"
    path = "/v1/responses"

    def read(self, body: object) -> ReceivedRequest:
        """Parse the body. Raise `Refusal` in OpenAI's words."""
        return _request(responses_rules.check(body))

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        return _Events(answer)

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the response as one JSON document."""
        items = _Items(answer)
        for action in _merge_texts(answer.reply):
            items.add(action)
        return document(_response(answer, items.output, answer.finish))


class _Items:
    """The output items of a response, in order."""

    def __init__(self, answer: WireReply) -> None:
        self._answer = answer
        include = answer.request.body.get("include")
        self._sealed = is_json_array(include) and "reasoning.encrypted_content" in include
        self.output: list[dict[str, object]] = []

    def id_of(self, action: Say | Think | Call) -> str:
        """Return the ID of the next item; it encodes whether reasoning came before it."""
        kind = "msg" if isinstance(action, Say) else "rs" if isinstance(action, Think) else "fc"
        item_id = f"{kind}_{self._answer.number}_{len(self.output)}"
        thought = bool(self.output) and self.output[-1]["type"] == "reasoning"
        return f"{item_id}_rs{len(self.output) - 1}" if thought and kind != "rs" else item_id

    def empty_item(self, action: Say | Think | Call) -> dict[str, object]:
        """Return the item as it is before its content."""
        item_id = self.id_of(action)
        match action:
            case Say():
                return {"id": item_id, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
            case Think():
                return {"id": item_id, "type": "reasoning", "summary": []}
            case Call():
                call = f"call_{self._answer.number}_{len(self.output)}" if action.id is None else action.id
                fields = {"call_id": call, "name": action.name, "arguments": ""}
                return {"id": item_id, "type": "function_call", "status": "in_progress", **fields}

    def add(self, action: Say | Think | Call) -> dict[str, object]:
        """Return the complete item, and add it."""
        item = self.empty_item(action)
        match action:
            case Say(text):
                item |= {"status": "completed", "content": [_text(text)]}
            case Think(text):
                place = sum(each["type"] == "reasoning" for each in self.output)
                seal = signatures.sign(text, place=place) if action.signature is None else action.signature
                item |= {"summary": [_summary(text)], "encrypted_content": seal if self._sealed else None}
            case Call():
                item |= {"status": "completed", "arguments": scripted_arguments(action)}
        self.output.append(item)
        return item


class _Events:
    """The events of one streamed response; an item stays open until the next one starts or the response ends."""

    def __init__(self, answer: WireReply) -> None:
        self._answer = answer
        self._items = _Items(answer)
        self._sent = 0
        self._open_action: Say | Think | Call | None = None
        self._reason: FinishReason | None = None

    def write(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        yield from self._begin()
        before = self._open_action.text if isinstance(action, Say) and isinstance(self._open_action, Say) else None
        if before is None:
            yield from self._close()
            yield self._sse("response.output_item.added", item=self._items.empty_item(action), output_index=self._place)
            yield from self._part(action, "added", "")
        delta = self._name(action) + ".delta"
        item_id = self._items.id_of(action)
        for piece in text_chunks(action):
            yield piece if isinstance(piece, Wait) else self._sse(delta, **self._where(action, item_id), delta=piece)
        self._open_action = Say(f"{before}{action.text}") if before is not None and isinstance(action, Say) else action

    def ping(self) -> Iterator[bytes]:
        yield b": keep-alive\n\n"

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        yield from self._begin()
        yield from self._close()
        self._reason = reason

    def end(self) -> bytes:
        event = "response.incomplete" if self._reason in _INCOMPLETE else "response.completed"
        return self._sse(event, response=_response(self._answer, self._items.output, self._reason))

    @property
    def _place(self) -> int:
        return len(self._items.output)

    def _begin(self) -> Iterator[bytes]:
        if not self._sent:
            for event in ("response.created", "response.in_progress"):
                yield self._sse(event, response=_response(self._answer, [], None))

    def _close(self) -> Iterator[bytes]:
        """Yield the end of the open item, if there is one."""
        action, self._open_action = self._open_action, None
        if action is None:
            return
        item_id, place = self._items.id_of(action), self._place
        fields = {"arguments": scripted_arguments(action)} if isinstance(action, Call) else {"text": action.text}
        yield self._sse(self._name(action) + ".done", **self._where(action, item_id), **fields)
        yield from self._part(action, "done", "" if isinstance(action, Call) else action.text)
        yield self._sse("response.output_item.done", item=self._items.add(action), output_index=place)

    def _part(self, action: Say | Think | Call, what: str, text: str) -> Iterator[bytes]:
        where = self._where(action, self._items.id_of(action))
        if isinstance(action, Say):
            yield self._sse(f"response.content_part.{what}", **where, part=_text(text))
        elif isinstance(action, Think):
            yield self._sse(f"response.reasoning_summary_part.{what}", **where, part=_summary(text))

    def _where(self, action: Say | Think | Call, item_id: str) -> dict[str, object]:
        where: dict[str, object] = {"item_id": item_id, "output_index": self._place}
        match action:
            case Say():
                return where | {"content_index": 0}
            case Think():
                return where | {"summary_index": 0}
            case Call():
                return where

    def _name(self, action: Say | Think | Call) -> str:
        match action:
            case Say():
                return "response.output_text"
            case Think():
                return "response.reasoning_summary_text"
            case Call():
                return "response.function_call_arguments"

    def _sse(self, kind: str, **fields: object) -> bytes:
        event = {"type": kind, "sequence_number": self._sent, **fields}
        self._sent += 1
        return b"event: " + kind.encode() + b"\ndata: " + document(event) + b"\n\n"


def _merge_texts(reply: Iterable[ResponseAction]) -> list[Say | Think | Call]:
    """Return the content with consecutive texts merged."""
    merged: list[Say | Think | Call] = []
    for action in reply:
        last = merged[-1] if merged else None
        match action:
            case Say(text) if isinstance(last, Say):
                merged[-1] = Say(f"{last.text}{text}")
            case Say() | Think() | Call():
                merged.append(action)
            case _:
                pass
    return merged


def _text(text: str) -> dict[str, object]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _summary(text: str) -> dict[str, object]:
    return {"type": "summary_text", "text": text}


def _request(body: dict[str, object]) -> ReceivedRequest:
    items = body["input"] if is_json_array(body["input"]) else [{"role": "user", "content": body["input"]}]
    messages = tuple(item for item in items if is_json_object(item))
    systems = [_plain(item.get("content")) for item in messages if item.get("role") in {"system", "developer"}]
    instructions = body.get("instructions")
    tools = body.get("tools")
    return ReceivedRequest(
        wire="openai-responses",
        model=str(body["model"]),
        system=(*([instructions] if isinstance(instructions, str) else []), *systems),
        messages=messages,
        tools=tuple(str(tool.get("name")) for tool in tools if is_json_object(tool)) if is_json_array(tools) else (),
        stream=body.get("stream") is True,
        body=body,
    )


def _plain(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if is_json_array(content) else []
    return "".join(str(part.get("text", "")) for part in parts if is_json_object(part))


def _response(answer: WireReply, output: list[dict[str, object]], finish: FinishReason | None) -> dict[str, object]:
    body = answer.request.body
    why = _INCOMPLETE.get(finish) if finish else None
    status = "in_progress" if finish is None else "incomplete" if why else "completed"
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": answer.request.model,
        "output": list(output),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None if finish is None else _usage(answer),
        "user": None,
        "metadata": {},
    }


def _usage(answer: WireReply) -> dict[str, object]:
    thought = sum(len(action.text) for action in answer.reply if isinstance(action, Think)) // 4
    return {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
