"""What Google's Gemini refuses about a conversation, in its words: roles, calls and results, signatures.

The newer generation follows its documentation: in the open turn, the first call of each content has a signature.
Signatures are checked harder than the service does, against the signed content, so that a moved one is found.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter

from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.gemini_schema import Content, GeminiBody, GeminiPart, parse_gemini_body
from holdfast.testing.protocols.protocol import Refusal

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
