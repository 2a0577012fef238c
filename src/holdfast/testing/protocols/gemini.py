"""Google's Gemini: authorization, streaming of a reply, errors.

What Google's Gemini refuses about a conversation, in its words: roles, calls and results, signatures.

The newer generation follows its documentation: in the open turn, the first call of each content has a signature.
Signatures are checked harder than the service does, against the signed content, so that a moved one is found.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.gemini_schema import Content, GeminiBody, GeminiPart, parse_gemini_body
from holdfast.testing.protocols.protocol import (
    Incoming,
    Refusal,
    ResponseHead,
    StreamWriter,
    WireReply,
    document,
    scripted_arguments,
    text_chunks,
)
from holdfast.testing.protocols.strict_json import NotJson, is_json_array, is_json_object, parse_strict_json
from holdfast.testing.script import Call, Fail, FinishReason, ReceivedRequest, Say, Think, Wait, WireName

SIGNING = 3
"""The generation from which calls are signed and have IDs."""

_NO_SIGNATURE = b"skip_thought_signature_validator"
_STAND_INS = (_NO_SIGNATURE, base64.urlsafe_b64decode(_NO_SIGNATURE))  # as bytes, and as base64 text
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}\Z")
_BAD_NAME = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores"
    " (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
)
_UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly,"
    " and missing thought_signature may lead to degraded model performance. Additional data, function call"
    " `default_api:{}` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more"
    " details."
)
_GENERATION = re.compile(r"gemini-(\d+)")


def generation(model: str) -> int:
    """Return the generation in the model's name, 0 if there is none."""
    found = _GENERATION.search(model)
    return int(found[1]) if found else 0


def signed_content(part: str, args: object = None) -> str:
    """Return the content that a signature covers: a text, or a call's name and arguments."""
    return part if args is None else f"{part} {json.dumps(args, sort_keys=True)}"


def check(body: object, *, model: str) -> GeminiBody:
    """Return the conversation. Raise `Refusal` for the first broken rule."""
    conversation = parse_gemini_body(body)
    contents = conversation.contents
    if not contents:
        raise Refusal("* GenerateContentRequest.contents: contents is not specified")
    for content in contents:
        if content.role not in {"user", "model"}:
            raise Refusal("Please use a valid role: user, model.")
        _content(content)
    _tools(conversation)
    _order(contents)
    _signatures(contents, required=generation(model) >= SIGNING)
    return conversation


def _content(content: Content) -> None:
    if not content.parts:
        raise Refusal(f"* GenerateContentRequest.{content.at}.parts: contents.parts must not be empty.")
    for part in content.parts:
        at = f"* GenerateContentRequest.{part.at}"
        if not part.kind:
            raise Refusal(f"{at}.data: required oneof field 'data' must have one initialized field")
        if part.kind in {"function_call", "function_response"} and not part.name:
            raise Refusal(f"{at}.{part.kind}.name: Name cannot be empty.")


def _tools(conversation: GeminiBody) -> None:
    for i, names in enumerate(conversation.tools):
        for k, name in enumerate(names):
            if not _NAME.match(name):
                raise Refusal(f"* GenerateContentRequest.tools[{i}].function_declarations[{k}].name: {_BAD_NAME}")
    every = Counter(name for names in conversation.tools for name in names)
    if twice := next((name for name, times in every.items() if times > 1), None):
        raise Refusal(f"Duplicate function declaration found: {twice}")
    if conversation.calling and not every:
        raise Refusal("Function calling config is set without function_declarations.")


def _order(contents: tuple[Content, ...]) -> None:
    """Refuse misplaced calls, results without calls, and a wrong number of results."""
    for i, content in enumerate(contents):
        calls, before = _count(content, "function_call"), contents[i - 1] if i else None
        if calls and (content.role != "model" or before is None or before.role != "user"):
            what = "function call turn comes immediately after a user turn or after a function response turn"
            raise Refusal(f"Please ensure that {what}.")
        called = _count(before, "function_call") if before else 0
        responses = _count(content, "function_response")
        if responses and not called:
            what = "function response turn comes immediately after a function call turn"
            raise Refusal(f"Please ensure that {what}.")
        if responses != called:
            raise _unequal()
    if _count(contents[-1], "function_call"):
        raise _unequal()


def _unequal() -> Refusal:
    return Refusal(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the"
        " function call turn."
    )


def _signatures(contents: tuple[Content, ...], *, required: bool) -> None:
    prompts = [i for i, content in enumerate(contents) if content.role == "user" and _count(content, "text")]
    turn_start = prompts[-1] if prompts else 0
    for i, content in enumerate(contents):
        calls = [part for part in content.parts if part.kind == "function_call"]
        if required and i > turn_start and calls and calls[0].signature is None:
            raise Refusal(_UNSIGNED.format(calls[0].name, i + 1))
        for part in content.parts:
            if part.signature is not None and part.signature not in _STAND_INS and not _fits(part):
                raise Refusal("Corrupted thought signature.")


def _fits(part: GeminiPart) -> bool:
    signature = signatures.read_signature(base64.b64encode(part.signature or b"").decode())
    return signature is not None and signature.fits(signed_content(part.name or part.text, part.args))


def _count(content: Content, kind: str) -> int:
    return sum(part.kind == kind for part in content.parts)


# --- gemini ---

_PATH = re.compile(r"/(v\d\w*)/models/([^/:]+):(generateContent|streamGenerateContent)\Z")
_NO_KEY = (
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form"
    " of API consumer identity to call this API."
)
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error,"
    " head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
_INTERNAL = (
    "An internal error has occurred. Please retry or report in"
    " https://developers.generativeai.google/guide/troubleshooting"
)
_FAILURES = {
    400: "Request contains an invalid argument.",
    401: "Request had invalid authentication credentials.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    429: _QUOTA,
    500: _INTERNAL,
    503: "The model is overloaded. Please try again later.",
    504: "The request timed out. Please try again.",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_FINISH: dict[FinishReason, str] = {
    "stop": "STOP",
    "tool_calls": "STOP",  # Gemini has no separate reason for it
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
}
_SERVERS = 500  # from this status on, the server is at fault
_TYPES = "type.googleapis.com/google.rpc"

_Json = dict[str, object]


class GeminiWire:
    """The Gemini protocol; the first content after a `Think` carries its signature, as on the real service.

    From the third generation on, calls have IDs, and the first call of a response is signed. Arguments that are not a
    JSON object cannot be sent: the response ends there, as if the service itself could not parse the call.
    """

    name: WireName = "gemini"
    requires_key = True

    def serves(self, path: str) -> bool:
        """Return whether it answers a POST on the path."""
        return _PATH.match(path) is not None

    def not_found(self, incoming: Incoming) -> Refusal:
        """Return Google's error for an unknown path or method."""
        del incoming
        return Refusal(_FAILURES[404], status=404)

    def admit(self, incoming: Incoming, *, key: str | None) -> ReceivedRequest:
        """Return the request. Raise `Refusal` in Google's words."""
        if key is not None:
            _refuse_other_keys(incoming, key)
        _, model, method = _place(incoming.path)
        try:
            conversation = check(parse_strict_json(incoming.body), model=model)
        except NotJson as error:
            raise Refusal(f"Invalid JSON payload received. {error}") from error
        return _request(conversation, model, stream=method == "streamGenerateContent")

    def failure(self, fail: Fail) -> Refusal:
        """Return Google's own error for that status."""
        message = _FAILURES.get(fail.status) or _FAILURES[400 if fail.status < _SERVERS else 500]
        return Refusal(fail.message or message, status=fail.status, retry_after=fail.retry_after)

    def error_response(self, refusal: Refusal, *, number: int) -> tuple[ResponseHead, bytes]:
        """Return the error response; the retry delay is in its details, not in a header."""
        del number  # Gemini has no request IDs
        error: _Json = {"code": refusal.status, "message": refusal.message}
        error["status"] = _STATUS.get(refusal.status) or _STATUS[400 if refusal.status < _SERVERS else 500]
        if details := list(_details(refusal)):
            error["details"] = details
        return ResponseHead(refusal.status, (("content-type", "application/json; charset=UTF-8"),)), document(
            {"error": error}
        )

    def stream_writer(self, answer: WireReply) -> StreamWriter:
        """Return a writer for the streamed answer."""
        return _Chunks(answer)

    def non_streaming_body(self, answer: WireReply) -> bytes:
        """Return the answer as one JSON document."""
        writer = _PartWriter(answer)
        parts: list[_Json] = []
        for action in answer.reply:
            if isinstance(action, Say | Think | Call):
                parts += writer.parts(action)
        final_parts, finish_fields = writer.final_parts(answer.finish) if answer.finish else ([], None)
        return document(_frame(answer, _merge_texts([*parts, *final_parts]), finish_fields))


class _PartWriter:
    """Writes the parts of a response with their signatures."""

    def __init__(self, answer: WireReply) -> None:
        self._answer = answer
        self._signs_calls = generation(answer.request.model) >= SIGNING
        self._thought: Think | None = None  # the thinking before the next content
        self._calls = 0
        self._text = ""  # the text since then
        self.unreadable = ""  # the call that could not be sent, which ends the response

    def begin(self, action: Say | Think | Call) -> None:
        """Note which action starts now."""
        match action:
            case Think():
                self._thought, self._text = action, ""
            case Say(text):
                self._text += text
            case Call():
                self._text = ""

    def call(self, call: Call) -> list[_Json]:
        """Return the call as a part; none if its arguments cannot be sent."""
        try:
            args: object = json.loads(scripted_arguments(call))
        except ValueError:
            args = None
        if not is_json_object(args):
            self.unreadable = f"{call.name}({scripted_arguments(call)})"
            return []
        function: _Json = {"name": call.name, "args": args}
        if call.id or self._signs_calls:
            function["id"] = call.id or f"fc_{self._answer.number}_{self._calls}"
        part: _Json = {"functionCall": function}
        if not self._calls and (self._signs_calls or self._thought):
            part["thoughtSignature"] = self._signature(signed_content(call.name, args))
        self._calls += 1
        return [part]

    def parts(self, action: Say | Think | Call) -> list[_Json]:
        """Return the action as parts."""
        if self.unreadable:
            return []
        self.begin(action)
        match action:
            case Call():
                return self.call(action)
            case Say(text):
                return [{"text": text}]
            case Think(text):
                return [{"text": text, "thought": True}]

    def final_parts(self, reason: FinishReason) -> tuple[list[_Json], _Json]:
        """Return the parts that come with the end, and the finish reason."""
        if self.unreadable and reason != "length":
            finish_fields = f"Malformed function call: {self.unreadable}"
            return [], {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": finish_fields}
        parts: list[_Json] = []
        if self._thought and self._text and not self._calls:
            parts.append({"text": "", "thoughtSignature": self._signature(signed_content(self._text))})
        return parts, {"finishReason": _FINISH[reason]}

    def _signature(self, signed_content: str) -> str:
        foreign = self._thought.signature if self._thought else None
        return signatures.sign(signed_content, place=0) if foreign is None else foreign


class _Chunks:
    """The chunks of one streamed response, each a whole response object; the last has the finish reason."""

    def __init__(self, answer: WireReply) -> None:
        self._answer = answer
        self._part_writer = _PartWriter(answer)

    def write(self, action: Say | Think | Call) -> Iterator[bytes | Wait]:
        if self._part_writer.unreadable:
            return
        self._part_writer.begin(action)
        for piece in text_chunks(action):
            match action:
                case _ if isinstance(piece, Wait):
                    yield piece
                case Say():
                    yield self._chunk([{"text": piece}])
                case Think():
                    yield self._chunk([{"text": piece, "thought": True}])
                case Call():
                    pass  # a call is sent whole, after its pauses
        if isinstance(action, Call) and (parts := self._part_writer.call(action)):
            yield self._chunk(parts)

    def ping(self) -> Iterator[bytes]:
        yield b"\r\n"  # the service sends none; its own SDK ignores an empty line

    def finish(self, reason: FinishReason) -> Iterator[bytes]:
        parts, finish_fields = self._part_writer.final_parts(reason)
        yield self._chunk(parts or [{"text": ""}], finish_fields)

    def end(self) -> bytes:
        return b""  # after the finish reason, the body ends

    def _chunk(self, parts: list[_Json], finish_fields: _Json | None = None) -> bytes:
        return b"data: " + document(_frame(self._answer, parts, finish_fields)) + b"\r\n\r\n"


def _place(path: str) -> tuple[str, str, str]:
    found = _PATH.match(path)
    assert found is not None  # an admitted request has a known path
    return found[1], found[2], found[3]


def _refuse_other_keys(incoming: Incoming, key: str) -> None:
    api_key = incoming.headers.get("x-goog-api-key")
    if api_key is None:
        raise Refusal(_NO_KEY, status=403)
    if api_key != key:
        raise Refusal("API key not valid. Please pass a valid API key.", code="API_KEY_INVALID")


def _details(refusal: Refusal) -> Iterator[_Json]:
    if refusal.code is not None:
        yield {"@type": f"{_TYPES}.ErrorInfo", "reason": refusal.code, "domain": "googleapis.com"}
    if refusal.param is not None:
        violation = {"field": refusal.param, "description": refusal.message}
        yield {"@type": f"{_TYPES}.BadRequest", "fieldViolations": [violation]}
    if refusal.retry_after is not None:
        yield {"@type": f"{_TYPES}.RetryInfo", "retryDelay": f"{refusal.retry_after:g}s"}


def _request(conversation: GeminiBody, model: str, *, stream: bool) -> ReceivedRequest:
    body, system = conversation.body, conversation.system
    contents = body["contents"]
    return ReceivedRequest(
        wire="gemini",
        model=model,
        system=() if system is None else ("".join(part.text for part in system.parts),),
        messages=tuple(item for item in contents if is_json_object(item)) if is_json_array(contents) else (),
        tools=tuple(name for names in conversation.tools for name in names),
        stream=stream,
        body=body,
    )


def _merge_texts(parts: list[_Json]) -> list[_Json]:
    """Return the parts with consecutive texts merged; a signed part stays separate."""
    merged: list[_Json] = []
    for part in parts:
        if merged and "text" in part and merged[-1].keys() == part.keys() - {"thoughtSignature"}:
            merged[-1] = part | {"text": f"{merged[-1]['text']}{part['text']}"}
        else:
            merged.append(part)
    return merged


def _frame(answer: WireReply, parts: list[_Json], finish_fields: _Json | None) -> _Json:
    candidate: _Json = {"content": {"parts": parts, "role": "model"}, **(finish_fields or {}), "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": answer.input_tokens}],
        },
        "modelVersion": answer.request.model,
        "responseId": f"resp_{answer.number}",
    }
