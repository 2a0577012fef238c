"""Converts the lines of a JSON-RPC connection to values, and back. Pure.

A line that is not a message becomes a `RpcFault`, which is answered if possible. It never ends a connection.
"""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from holdfast.text import valid_unicode
from holdfast.tools.message_frame import MOST_VALUES, is_too_complex, message_frame
from holdfast.typed_data import convert_value, decode_fault

RequestId = str | int | None
"""The id of a request. The protocol allows null."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
NOT_FOUND = -32002
REQUEST_CANCELLED = -32800


class RpcError(Exception):
    """A request is answered with this error; `data` is for programs."""

    def __init__(self, code: int, message: str, *, data: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class RpcRequest(msgspec.Struct, frozen=True):
    """A request: it gets exactly one answer, with its `id`."""

    id: RequestId
    method: str
    params: object


class RpcNotification(msgspec.Struct, frozen=True):
    """A message that gets no answer."""

    method: str
    params: object


class RpcAnswer(msgspec.Struct, frozen=True):
    """The client's answer to a request. `failed` is the reason if there is no `result`, else ""."""

    id: RequestId
    result: object = None
    failed: str = ""


class RpcFault(msgspec.Struct, frozen=True):
    """A line that is not a valid message. `id` is the request's id, if it can be read."""

    code: int
    why: str
    id: RequestId = None


RpcMessage = RpcRequest | RpcNotification | RpcAnswer | RpcFault


class _Error(msgspec.Struct, frozen=True):
    message: str = ""


class _Message(msgspec.Struct, frozen=True):
    """Any message, before its kind is known."""

    jsonrpc: Literal["2.0"]
    id: str | int | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: object = None
    result: object = msgspec.UNSET
    error: _Error | msgspec.UnsetType | None = msgspec.UNSET


def message_of(line: bytes) -> RpcMessage | None:
    """Return the message in a line, None if the line is blank. Never raises."""
    if not line.strip():
        return None
    if is_too_complex(line):
        return _fault(PARSE_ERROR, f"The line has more than {MOST_VALUES} values. Send less.", line)
    try:
        message = convert_value(_decoded(line), _Message)
    except msgspec.ValidationError as error:
        return _fault(INVALID_REQUEST, f"The line is no JSON-RPC 2.0 message: {error}.", line)
    except (ValueError, RecursionError) as error:
        return _fault(PARSE_ERROR, f"The line is not JSON: {decode_fault(error)}.", line)
    return _kind(message)


def _fault(code: int, why: str, line: bytes) -> RpcFault | RpcAnswer:
    """Return the fault of a line. A broken answer is still one: the question that waits for it ends with the reason."""
    found = message_frame(line)
    if found is not None and found.id is not None and not found.has_method:
        return RpcAnswer(found.id, failed=f"the answer cannot be read: {why}")
    return RpcFault(code, why, None if found is None else found.id)


def request_line(request_id: int, method: str, params: object) -> bytes:
    """Return the line of a request to the client."""
    return _line({"id": request_id, "method": method, "params": params})


def notification_line(method: str, params: object) -> bytes:
    """Return the line of a notification to the client."""
    return _line({"method": method, "params": params})


def result_line(request: RequestId, result: object) -> bytes:
    """Return the line that answers a request."""
    return _line({"id": request, "result": result})


def error_line(request: RequestId, error: RpcError) -> bytes:
    """Return the line that answers a request with an error."""
    fields: dict[str, object] = {"code": error.code, "message": valid_unicode(str(error))}
    return _line({"id": request, "error": fields if error.data is None else {**fields, "data": error.data}})


def _line(fields: dict[str, object]) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"


def _decoded(line: bytes) -> object:
    """Return the decoded line. Raise `ValueError` if it is not JSON."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        # Half of a surrogate pair, which JavaScript writes and msgspec refuses: the prompt must not be lost for it.
        return json.loads(valid_unicode(json.dumps(json.loads(line), ensure_ascii=False)))


def _kind(message: _Message) -> RpcMessage:
    match message:
        case _Message(method=str() as method, id=msgspec.UNSET):
            return RpcNotification(method, message.params)
        case _Message(method=str() as method, id=str() | int() | None as request_id):
            return RpcRequest(request_id, method, message.params)
        case _Message(error=_Error(message=why), id=str() | int() | None as request_id):
            return RpcAnswer(request_id, failed=why or "no reason was given")
        case _Message(id=str() | int() | None as request_id) if message.result is not msgspec.UNSET:
            return RpcAnswer(request_id, message.result)
        case _:
            request_id = None if message.id is msgspec.UNSET else message.id
            return RpcFault(INVALID_REQUEST, "The line is no request, no notification and no answer.", request_id)
