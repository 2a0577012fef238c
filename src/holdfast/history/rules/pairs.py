"""Rules on calls and results: every call one result, every result one call, in the right place, under a usable id."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.pairing import Pairing, Verdict
from holdfast.history.profiles import Profile
from holdfast.history.rules.rule import Found, Rule, about
from holdfast.history.shape import Item, Shape

_MUST_FOLLOW = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " The following tool_call_ids did not have response messages: {id}"
)
_NO_RESULT_BLOCK = (
    "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}."
    " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_NO_USE_BLOCK = (
    "messages.{message}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id}."
    " Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
_SAME_NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
_EXPECTED = "Expected toolResult blocks at messages.{message}.content for the following Ids: {id}"

RULES = (
    Rule(
        "call-without-result",
        "Every call has a result.",
        {
            "openai-chat": _MUST_FOLLOW,
            "openai-responses": "No tool output found for function call {id}.",
            "anthropic": _NO_RESULT_BLOCK,
            "gemini": _SAME_NUMBER,
            "mistral": "Not the same number of function calls and responses",
            "bedrock": _EXPECTED,
            "deepseek": "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            " 'tool_call_id'. (insufficient tool messages following tool_calls message)",
        },
    ),
    Rule(
        "result-without-call",
        "Every result answers a call before it.",
        {
            "openai-chat": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"
            " with 'tool_calls'.",
            "openai-responses": "No tool call found for function call output with call_id {id}.",
            "anthropic": _NO_USE_BLOCK,
            "gemini": "Please ensure that function response turn comes immediately after a function call turn.",
            "mistral": "Unexpected role 'tool' after role 'user'",
            "bedrock": "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse"
            " blocks of previous turn.",
            "deepseek": "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
        },
    ),
    Rule(
        "duplicate-result",
        "A call has one result only.",
        {
            "openai-chat": "Duplicate value for 'tool_call_id' of {id} in message[{message}]",
            "anthropic": "messages.{message}.content.0: each tool_use must have a single result. Found multiple"
            " `tool_result` blocks with id: {id}",
            "gemini": _SAME_NUMBER,
            "mistral": "Duplicate tool call id {id} in tool results",
            "bedrock": "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse"
            " blocks of previous turn.",
            "openai-responses": "Duplicate tool output for call_id: {id}.",
        },
    ),
    Rule(
        "result-not-adjacent",
        "Results follow their calls directly, with nothing in between.",
        {
            "openai-chat": _MUST_FOLLOW,
            "anthropic": _NO_RESULT_BLOCK,
            "gemini": "Please ensure that function response turn comes immediately after a function call turn.",
            "mistral": "Unexpected role 'tool' after role 'user'",
            "bedrock": _EXPECTED,
            "openai-responses": "No tool output found for tool call {id}.",
        },
    ),
    Rule(
        "result-not-first",
        "In a message, results stand before everything else.",
        {"anthropic": _NO_RESULT_BLOCK, "bedrock": _EXPECTED, "gemini": _SAME_NUMBER},
    ),
    Rule(
        "results-split",
        "The results of one response stand in one message.",
        {"anthropic": _NO_RESULT_BLOCK, "bedrock": _EXPECTED, "gemini": _SAME_NUMBER},
    ),
    Rule(
        "duplicate-call-id",
        "The calls of one response have different ids.",
        {
            "openai-chat": "Duplicate value for 'tool_call_id' of {id} in message[{message}]",
            "anthropic": "messages.{message}.content.1: `tool_use` ids must be unique",
            "mistral": "Duplicate tool call id {id} in assistant message",
            "bedrock": "The toolUse blocks at messages.{message}.content contain duplicate Ids: {id}",
            "openai-responses": "Duplicate 'call_id': {id}.",
        },
    ),
    Rule(
        "reused-call-id",
        "No call has the id of an earlier call of the conversation.",
        {
            "anthropic": "messages: `tool_use` ids must be unique",
            "cohere": "Template validation error: message[{message}] has duplicate tool call id: {id}",
            "deepseek": "Duplicate 'call_id': {id}.",
        },
    ),
    Rule(
        "call-id-missing",
        "Every call has an id that is not empty.",
        {
            "openai-chat": "Missing required parameter: 'messages[{message}].tool_calls[0].id'.",
            "cohere": "message[{message}] has tool call with empty id",
            "mistral": "Tool call id must be a non-empty string other than 'null'",
            "openai-compatible": "Invalid request: tool_call_id  is not found",
        },
    ),
    Rule(
        "result-id-missing",
        "Every result names the id of its call.",
        {
            "openai-chat": "Missing required parameter: 'messages[{message}].tool_call_id'.",
            "openai-responses": "invalid_responses_request",
            "openai-compatible": "Invalid request: tool_call_id  is not found",
        },
    ),
    Rule(
        "result-name-missing",
        "Every result has the name of its call.",
        {
            "gemini": "* GenerateContentRequest.contents[{message}].parts[0].function_response.name: Name cannot be"
            " empty."
        },
    ),
    Rule(
        "call-id-length",
        "Call ids have a length that the provider accepts.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls[0].id': string too long. Expected a string with"
            " maximum length 40",
            "openai-responses": "Invalid 'input[{message}].call_id': string too long. Expected a string with maximum"
            " length 64",
            "mistral": "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        },
    ),
    Rule(
        "call-id-charset",
        "Call ids are made of characters that the provider accepts.",
        {
            "anthropic": "messages.{message}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            "mistral": "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        },
    ),
    Rule(
        "block-misplaced",
        "Calls are the assistant's, results are not.",
        {
            "anthropic": "messages.{message}: `tool_result` blocks can only be in `user` messages",
            "openai-chat": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"
            " with 'tool_calls'.",
        },
    ),
    Rule(
        "server-call-without-result",
        "A call that the provider runs itself has its result in the same message.",
        {
            "anthropic": "messages.{message}: `{name}` tool use with id `{id}` was found without a corresponding"
            " `{name}_tool_result` block",
        },
    ),
    Rule(
        "server-result-without-call",
        "A result of a tool that the provider runs itself stands behind its call.",
        {
            "anthropic": "messages.{message}.content.0: unexpected `tool_use_id` found in `{name}` blocks: {id}."
            " Each `{name}` block must have a corresponding `server_tool_use` block before it.",
        },
    ),
    Rule(
        "server-call-foreign",
        "Calls that a provider ran itself go back only where such calls are known.",
        {"deepseek": "Unsupported content block: server tools are not supported"},
    ),
)

_VERDICTS: dict[Verdict, tuple[str, str]] = {
    "first": ("result-not-first", "stands behind other content"),
    "split": ("results-split", "stands in another message than the results before it"),
    "displaced": ("result-not-adjacent", "does not follow its call directly"),
    "late": ("result-not-adjacent", "comes after the conversation went on without it"),
    "duplicate": ("duplicate-result", "is not the first of its call"),
    "made-up": ("duplicate-result", "was made up, and there is a real one"),
    "orphan": ("result-without-call", "has no call before it"),
}


def rule_of(verdict: Verdict) -> str:
    """Return the rule that a result with this verdict breaks, "" if none."""
    return _VERDICTS[verdict][0] if verdict != "ok" else ""


def find(shape: Shape, pairing: Pairing, profile: Profile) -> Iterator[Found]:
    """Yield every place where calls and results are not as they must be."""
    seen: set[str] = set()
    for step in pairing.steps:
        here: set[str] = set()
        for call in step.calls:
            item = call.item
            if call.answer is None:
                yield about("call-without-result", item, "has no result")
            if item.id is not None:
                if item.id in here:
                    yield about("duplicate-call-id", item, "has the id of another call of the same response")
                elif item.id in seen:
                    yield about("reused-call-id", item, "has the id of an earlier call")
                here.add(item.id)
                yield from _limits(item, profile)
            elif "id-missing" in item.flags:
                yield about("call-id-missing", item, "has no id")
        seen |= here
    for answer in pairing.answers:
        if answer.verdict != "ok":
            rule, what = _VERDICTS[answer.verdict]
            yield about(rule, answer.item, what)
        if answer.item.role == "assistant":
            yield about("block-misplaced", answer.item, "stands in a message of the assistant")
        if "id-missing" in answer.item.flags:
            yield about("result-id-missing", answer.item, "does not say which call it answers")
        if "name-missing" in answer.item.flags:
            yield about("result-name-missing", answer.item, "has no name")
    yield from server_pairs(shape)


def _limits(item: Item, profile: Profile) -> Iterator[Found]:
    for rule in broken_limits(item.id or "", profile):
        yield about(rule, item, f"has an id that is not accepted, of {len(item.id or '')} characters")


def broken_limits(call: str, profile: Profile) -> Iterator[str]:
    """Yield the rules that the id itself breaks."""
    if not profile.id_fits(call):
        yield "call-id-length"
    if profile.id_pattern is not None and profile.id_pattern.fullmatch(call) is None:
        yield "call-id-charset"


def server_pairs(shape: Shape) -> Iterator[Found]:
    """Yield every call that the provider runs itself without its result in the same message, and the reverse."""
    for message in shape.messages:
        calls: dict[str | None, Item] = {}
        for item in message.items:
            if item.kind == "server-call":
                if (earlier := calls.get(item.id)) is not None:
                    yield about("server-call-without-result", earlier, "has no result before its id comes again")
                calls[item.id] = item
            elif item.kind == "server-result" and calls.pop(item.id, None) is None:
                yield about("server-result-without-call", item, "has no call before it in its message")
        for item in calls.values():
            yield about("server-call-without-result", item, "has no result in its message")
        for item in message.items:
            if item.kind in ("server-call", "server-result"):
                yield about("server-call-foreign", item, "is of a tool that a provider ran itself")
