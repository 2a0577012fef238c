"""OpenAI's Responses: authorization, streaming of a reply, errors.

What OpenAI's Responses refuses about a body, in its words if known.

An item with an ID is one that was streamed: `rs_1_0` is the first item of response 1, and `msg_1_1_rs0` the one after
that reasoning. The service stores nothing, so an ID alone refers to nothing. OpenAI's words for a call that is
answered twice or repeated are unknown; those of DeepSeek, which speaks this protocol, are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.openai.errors import OpenAI
from holdfast.testing.protocols.openai.fields import (
    an_object,
    array,
    check_declared,
    check_length,
    check_responses_settings,
    function_name,
    missing,
    not_one_of,
    text,
)
from holdfast.testing.protocols.protocol import (
    Refusal,
    StreamWriter,
    WireReply,
    document,
    scripted_arguments,
    text_chunks,
)
from holdfast.testing.protocols.strict_json import is_json_array, is_json_object
from holdfast.testing.protocols.vendor_schema import VendorSchema
from holdfast.testing.script import Call, FinishReason, ReceivedRequest, ResponseAction, Say, Think, Wait, WireName

_SCHEMA = VendorSchema("openai-responses", nulls=True)
_ROLES = ("assistant", "system", "developer", "user")
_TYPES = ("message", "function_call", "function_call_output", "reasoning", "item_reference")
_PREFIX = {"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}
_PARTS = ("input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text")
_CONTENT_TYPES = {  # content types allowed in a message of a role, or in a result
    "assistant": frozenset({"output_text", "refusal"}),
    **dict.fromkeys(("user", "system", "developer", ""), frozenset({"input_text", "input_image", "input_file"})),
}
_NEVER_REASON = ("gpt-3.5", "gpt-4", "chatgpt-4o")
_ITEM_ID = re.compile(r"[a-z]+_(?P<response>\d+)_\d+(?:_rs(?P<reasoning>\d+))?\Z")
_MOST_ID = 64


def check(body: object) -> dict[str, object]:
    """Return the body. Raise `Refusal` for the first broken rule."""
    if not is_json_object(body) or body.get("model") in {None, ""}:
        raise missing("model")
    check_declared(_SCHEMA, body, "Body")
    if body.get("reasoning") is not None:
        check_declared(_SCHEMA, body["reasoning"], "Reasoning", "reasoning")
    check_responses_settings(body)
    if body.get("input") is None:
        raise Refusal("One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.")
    if body.get("previous_response_id") is not None:
        what = f"Previous response with id '{body['previous_response_id']}' not found."
        raise Refusal(what, param="previous_response_id", code="previous_response_not_found")
    _check_include(body, str(body["model"]))
    _tools(body)
    if not isinstance(body["input"], str):
        items = [_item(item, f"input[{i}]") for i, item in enumerate(array(body["input"], "input", least=1))]
        _unique_ids(items)
        _pairs(items)
        _reasoning(items)
    return body


def _check_include(body: dict[str, object], model: str) -> None:
    if body.get("include") is None:
        return
    check_declared(_SCHEMA, body["include"], "Include", "include")
    if (
        model.startswith(_NEVER_REASON)
        and is_json_array(body["include"])
        and "reasoning.encrypted_content" in body["include"]
    ):
        raise Refusal("Encrypted content is not supported with this model.", param="include")


def _tools(body: dict[str, object]) -> None:
    if body.get("tools") is None:
        return
    for i, item in enumerate(array(body["tools"], "tools")):
        tool = an_object(item, f"tools[{i}]")
        if "type" not in tool:
            raise missing(f"tools[{i}].type")
        if tool["type"] == "function":
            function_name(tool, f"tools[{i}]")
            check_declared(_SCHEMA, tool, "Tool", f"tools[{i}]")


# --- one item --------------------------------------------------------------------------------------------------------


def _item(raw: object, at: str) -> dict[str, object]:
    """Return the item with its type, which a message may omit."""
    item = an_object(raw, at)
    kind = item.get("type", "message")
    if kind not in _TYPES:
        raise not_one_of(at, kind, _TYPES)
    if kind == "item_reference":
        raise _item_not_found(item.get("id"))
    if item.get("id") is not None:
        item_id = check_length(text(item["id"], f"{at}.id"), f"{at}.id", most=_MOST_ID)
        if not item_id.startswith(_PREFIX[kind]):
            what = f"Invalid '{at}.id': '{item_id}'. Expected an ID that begins with '{_PREFIX[kind]}'."
            raise Refusal(what, param=f"{at}.id", code="invalid_value")
    match kind:
        case "message":
            _message(item, at)
        case "function_call":
            _call_id(item, at)
            function_name(item, at)
        case "function_call_output":
            _call_id(item, at)
            _content(item, "output", at, role="")
        case _:
            _array(item, "summary", at)
    check_declared(_SCHEMA, item, "Item", at)
    if kind == "reasoning":
        _reasoning_item(item, at)
    return {**item, "type": kind}


def _message(item: dict[str, object], at: str) -> None:
    if "role" not in item:
        raise missing(f"{at}.role")
    role = item["role"]
    if role not in _ROLES:
        raise not_one_of(f"{at}.role" if "type" in item else at, role, _ROLES)
    _content(item, "content", at, role=role)


def _content(item: dict[str, object], key: str, at: str, *, role: str) -> None:
    if isinstance(item.get(key), str):
        return
    for i, raw in enumerate(_array(item, key, at)):
        place = f"{at}.{key}[{i}]"
        part = an_object(raw, place)
        kind = part.get("type")
        if kind is None:
            raise missing(f"{place}.type")
        if kind not in _CONTENT_TYPES[role]:
            raise not_one_of(place, kind, tuple(each for each in _PARTS if each in _CONTENT_TYPES[role]))


def _array(item: dict[str, object], key: str, at: str) -> list[object]:
    if item.get(key) is None:
        raise missing(f"{at}.{key}")
    return array(item[key], f"{at}.{key}")


def _call_id(item: dict[str, object], at: str) -> None:
    if "call_id" not in item:
        raise missing(f"{at}.call_id")
    check_length(text(item["call_id"], f"{at}.call_id"), f"{at}.call_id", most=_MOST_ID)


def _reasoning_item(item: dict[str, object], at: str) -> None:
    summary = _array(item, "summary", at)
    texts = [
        text(an_object(part, f"{at}.summary[{i}]").get("text"), f"{at}.summary[{i}].text")
        for i, part in enumerate(summary)
    ]
    sealed = item.get("encrypted_content")
    if sealed is None:
        raise _item_not_found(item.get("id"))
    signature = signatures.read_signature(text(sealed, f"{at}.encrypted_content"))
    if signature is None or not signature.fits("".join(texts)):
        what = (
            f"The encrypted content for item {item.get('id')} could not be verified. Reason: Encrypted content could"
            " not be decrypted or parsed."
        )
        raise Refusal(what, code="invalid_encrypted_content")


# --- across items ----------------------------------------------------------------------------------------------------


def _unique_ids(items: list[dict[str, object]]) -> None:
    seen: set[object] = set()
    for item in items:
        item_id = item.get("id")
        if item_id is not None and item_id in seen:
            what = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            raise Refusal(what, param="input")
        seen.add(item_id)


def _pairs(items: list[dict[str, object]]) -> None:
    waiting: dict[object, None] = {}
    called: set[object] = set()
    for item in items:
        call = item.get("call_id")
        if item["type"] == "function_call":
            if call in called:
                raise Refusal(f"Duplicate 'call_id': {call}.", param="input")
            called.add(call)
            waiting[call] = None
        elif item["type"] == "function_call_output":
            if call not in called:
                raise Refusal(f"No tool call found for function call output with call_id {call}.", param="input")
            if call not in waiting:
                raise Refusal(f"Duplicate tool output for call_id: {call}.", param="input")
            del waiting[call]
    for call in waiting:
        raise Refusal(f"No tool output found for function call {call}.", param="input")


def _reasoning(items: list[dict[str, object]]) -> None:
    """Refuse reasoning without the item after it, and that item without its reasoning."""
    for place, item in enumerate(items):
        before = items[place - 1] if place else None
        after = items[place + 1] if place + 1 < len(items) else None
        item_id = _ITEM_ID.match(str(item.get("id")))
        if item["type"] == "reasoning":
            follows = after is not None and (
                after["type"] in {"reasoning", "function_call"} or after.get("role") == "assistant"
            )
            if follows and item_id and after is not None:  # an item with an ID is followed by one with an ID
                next_id = _ITEM_ID.match(str(after.get("id")))
                follows = next_id is not None and next_id["response"] == item_id["response"]
            if not follows:
                what = f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item."
                raise Refusal(what, param="input")
        elif item_id and item_id["reasoning"] is not None:
            expected = f"rs_{item_id['response']}_{item_id['reasoning']}"
            if before is None or before.get("id") != expected:
                what = (
                    f"Item '{item['id']}' of type '{item['type']}' was provided without its required 'reasoning' item:"
                    f" '{expected}'."
                )
                raise Refusal(what, param="input")


def _item_not_found(item_id: object) -> Refusal:
    what = (
        f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to false. Try again with"
        " `store` set to true, or remove this item from your input."
    )
    return Refusal(what, status=404, param="input")


# --- responses ---

_INCOMPLETE: dict[FinishReason, str] = {"length": "max_output_tokens", "refusal": "content_filter"}
_CREATED = 1_767_225_600  # a fixed time, so that the same script gives the same bytes


class Responses(OpenAI):
    """The Responses protocol; a `Think` is one reasoning item with one summary, encrypted if the client asks for it."""

    name: WireName = "openai-responses"
    path = "/v1/responses"

    def read(self, body: object) -> ReceivedRequest:
        """Parse the body. Raise `Refusal` in OpenAI's words."""
        return _request(check(body))

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
