"""Rules on calls and results: one result per call, one call per result, in the right place, with a usable id."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.history.pairing import CallStep, PairedCall, Pairing, Verdict
from holdfast.history.rules.divided_responses import joined_responses
from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding, item_finding, item_title, message_finding
from holdfast.history.shape import Grammar, Item, Shape

_MUST_FOLLOW = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " The following tool_call_ids did not have response messages: {id}"
)
_INSUFFICIENT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    " (insufficient tool messages following tool_calls message)"
)
_WITHOUT_RESULT = (
    "`tool_use` ids were found without `tool_result` blocks immediately after: {id}."
    " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
_NO_RESULT_BLOCK = f"messages.{{message}}: {_WITHOUT_RESULT}"
_SINGLE_RESULT = (
    "messages.{message}.content.{part}: each tool_use must have a single result. Found multiple `tool_result` blocks"
    " with id: {id}"
)
_NO_USE_BLOCK = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
_SAME_NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
_AFTER_CALL = "Please ensure that function response turn comes immediately after a function call turn."
_EXPECTED = "Expected toolResult blocks at messages.{message}.content for the following Ids: {id}"
_EXCEEDS = (
    "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse blocks of previous"
    " turn."
)
_NO_OUTPUT = "No tool output found for tool call {id}."
_TOOL_ROLE = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
_DUPLICATE_VALUE = "Duplicate value for 'tool_call_id' of {id} in message[{message}]"
_UNIQUE = "messages.{message}.content.{part}: `tool_use` ids must be unique"
_DUPLICATE_COHERE = "Render error: Template validation error: message[{message}] has duplicate tool call id: {id}"
_NINE = "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
_TEMPLATE_NINE = "Tool call IDs should be alphanumeric strings with length 9!"
_RESULT_IN_USER = "messages.{message}: `tool_result` blocks can only be in `user` messages"
_USE_IN_ASSISTANT = "messages.{message}: `tool_use` blocks can only be in `assistant` messages"
_NOT_FOUND = "Invalid request: tool_call_id  is not found"

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
            "bedrock": "Expected toolResult blocks at messages.{next}.content for the following Ids: {id}",
            "deepseek": _INSUFFICIENT,
            "deepseek/anthropic": f"messages.{{next}}: {_WITHOUT_RESULT}",
            "deepseek/openai-responses": _NO_OUTPUT,
            "openai-compatible/Moonshot": "Invalid request: an assistant message with 'tool_calls' must be followed by"
            " tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response"
            " messages: {id}",
            "openai-compatible/MiniMax": "invalid params, tool call result does not follow tool call (2013)",
            "openai-compatible/llama.cpp": "Cannot continue an assistant message that contains tool calls.",
        },
    ),
    Rule(
        "result-without-call",
        "Every result answers a call before it.",
        {
            "openai-chat": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"
            " with 'tool_calls'.",
            "openai-chat/another id": "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of"
            " previous message.",
            "openai-responses": "No tool call found for function call output with call_id {id}.",
            "anthropic": "messages.{message}.content.{part}: unexpected `tool_use_id` found in `tool_result` blocks:"
            f" {{id}}. {_NO_USE_BLOCK}",
            "gemini": _AFTER_CALL,
            "mistral": "Unexpected role 'tool' after role 'user'",
            "mistral/another id": "Unexpected tool call id {id} in tool results",
            "bedrock": _EXCEEDS,
            "deepseek": _TOOL_ROLE,
            "deepseek/another id": "An assistant message with 'tool_calls' must be followed by tool messages"
            " responding to each 'tool_call_id', The following tool_call_ids did not have response messages: {id}",
            "deepseek/anthropic": "unexpected `messages.{message}.content.{part}: tool_use_id` found in `tool_result`"
            f" blocks: {{id}}. {_NO_USE_BLOCK}",
            "deepseek/openai-responses": "No tool call found for tool output with call_id {id}.",
            "openai-compatible/Moonshot": _NOT_FOUND,
            "openai-compatible/MiniMax": "invalid params, tool result's tool id({id}) not found (2013)",
            "openai-compatible/Qwen": '<400> InternalError.Algo.InvalidParameter: messages with role "tool" must be a'
            ' response to a preceeding message with "tool_calls".',
            "openai-compatible/gpt-oss": "Message has tool role, but there was no previous assistant message with a"
            " tool call!",
        },
    ),
    Rule(
        "duplicate-result",
        "A call has one result only.",
        {
            "openai-chat": _DUPLICATE_VALUE,
            "anthropic": _SINGLE_RESULT,
            "gemini": _SAME_NUMBER,
            "mistral": "Duplicate tool call id {id} in tool results",
            "mistral/before version 11": "Not the same number of function calls and responses",
            "bedrock": _EXCEEDS,
            "deepseek": _TOOL_ROLE,
            "deepseek/anthropic": _SINGLE_RESULT,
            "deepseek/openai-responses": "Duplicate tool output for call_id: {id}.",
        },
    ),
    Rule(
        "result-not-adjacent",
        "Results follow their calls directly, with nothing in between.",
        {
            "openai-chat": _MUST_FOLLOW,
            "anthropic": _NO_RESULT_BLOCK,
            "gemini": _AFTER_CALL,
            "mistral": "Unexpected role 'tool' after role 'user'",
            "bedrock": _EXPECTED,
            "deepseek": _INSUFFICIENT,
            "deepseek/anthropic": _NO_RESULT_BLOCK,
            "deepseek/openai-responses": _NO_OUTPUT,
            "openai-compatible/MiniMax": "invalid params, tool call result does not follow tool call (2013)",
        },
    ),
    Rule(
        "result-not-first",
        "In a message, results come before all other content.",
        {"anthropic": _NO_RESULT_BLOCK, "deepseek/anthropic": _NO_RESULT_BLOCK},
    ),
    Rule(
        "result-not-alone",
        "A message with results of parallel calls contains nothing else.",
        {},
    ),
    Rule(
        "results-split",
        "The results of one response are all in one message.",
        {
            "anthropic": _NO_RESULT_BLOCK,
            "bedrock": _EXPECTED,
            "gemini": _SAME_NUMBER,
            "deepseek/anthropic": _NO_RESULT_BLOCK,
        },
    ),
    Rule(
        "call-not-last",
        "In a response, only thinking and other calls may follow a call.",
        {
            "deepseek/anthropic": f"messages.{{message}}.{{part}}: {_WITHOUT_RESULT}",
            "deepseek/openai-responses": _NO_OUTPUT,
        },
    ),
    Rule(
        "duplicate-call-id",
        "The calls of one response have different ids.",
        {
            "openai-chat": _DUPLICATE_VALUE,
            "anthropic": _UNIQUE,
            "mistral": "Duplicate tool call id {id} in assistant message",
            "bedrock": "The toolUse blocks at messages.{message}.content contain duplicate Ids: {id}",
            "deepseek": _DUPLICATE_VALUE,
            "deepseek/anthropic": _UNIQUE,
            "deepseek/openai-responses": "Duplicate 'call_id': {id}.",
            "cohere": _DUPLICATE_COHERE,
        },
    ),
    Rule(
        "reused-call-id",
        "No call has the id of an earlier call of the conversation.",
        {
            "anthropic": "messages: `tool_use` ids must be unique",
            "cohere": _DUPLICATE_COHERE,
            "deepseek/openai-responses": "Duplicate 'call_id': {id}.",
        },
    ),
    Rule(
        "call-id-missing",
        "Every call has an id that is not empty.",
        {
            "anthropic": "messages.{message}.content.{part}.tool_use.id: String should match pattern"
            " '^[a-zA-Z0-9_-]+$'",
            "mistral": "Tool call id must be a non-empty string other than 'null' for tokenizer version 13 or newer.",
            "mistral/before version 11": "Tool call id has to be defined in serving mode.",
            "cohere": "Render error: Template validation error: message[{message}] has tool call with empty id",
            "deepseek": "invalid request body: missing field `id`",
            "deepseek/openai-responses": "Invalid 'input[{message}].call_id': empty string. Expected a string with"
            " minimum length 1, but got an empty string instead.",
            "openai-compatible/Moonshot": _NOT_FOUND,
        },
    ),
    Rule(
        "result-id-missing",
        "Every result has the id of its call.",
        {
            "openai-chat": "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
            "mistral": "Tool call id has to be defined.",
            "cohere": "Render error: Template validation error: tool message[{message}] missing tool_call_id",
            "deepseek": "invalid request body: missing field `tool_call_id`",
            "deepseek/anthropic": "invalid request body: missing field `tool_use_id`",
            "deepseek/openai-responses": "invalid request body: missing field `call_id`",
            "openai-compatible/Moonshot": _NOT_FOUND,
        },
    ),
    Rule(
        "result-name-missing",
        "Every result has the name of its call.",
        {
            "openai-chat": "Missing parameter 'name': messages with role 'function' must have a 'name'.",
            "gemini": "* GenerateContentRequest.contents[{message}].parts[{part}].function_response.name: Name cannot"
            " be empty.",
            "mistral": "Function name was  but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum"
            " length of 64.",
        },
    ),
    Rule(
        "result-name-wrong",
        "If a result has a name, it is the name of its call, or one that the provider accepts.",
        {
            "mistral": "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a"
            " maximum length of 64.",
        },
    ),
    Rule(
        "call-id-length",
        "Call ids have a length that the provider accepts.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls[{part}].id': string too long. Expected a string"
            " with maximum length 40, but got a string with length {length} instead.",
            "openai-responses": "Invalid 'input[{message}].call_id': string too long. Expected a string with maximum"
            " length 64, but got a string with length {length} instead.",
            "mistral": _NINE,
            "mistral-templates": _TEMPLATE_NINE,
        },
    ),
    Rule(
        "call-id-charset",
        "Call ids contain only characters that the provider accepts.",
        {
            "anthropic": "messages.{message}.content.{part}.tool_use.id: String should match pattern"
            " '^[a-zA-Z0-9_-]+$'",
            "mistral": _NINE,
        },
    ),
    Rule(
        "block-misplaced",
        "Calls are in assistant messages, results are not.",
        {
            "anthropic": _RESULT_IN_USER,
            "anthropic/a call": _USE_IN_ASSISTANT,
            "deepseek/anthropic": _RESULT_IN_USER,
        },
    ),
)

_VERDICTS: dict[Verdict, tuple[str, str]] = {
    "first": ("result-not-first", "comes after other content"),
    "split": ("results-split", "is in a different message than the results before it"),
    "displaced": ("result-not-adjacent", "does not follow its call directly"),
    "late": ("result-not-adjacent", "comes after the conversation continued without it"),
    "duplicate": ("duplicate-result", "is not the first result of its call"),
    "made-up": ("duplicate-result", "was made up, and there is a real result"),
    "orphan": ("result-without-call", "has no call before it"),
}


def rule_of(verdict: Verdict) -> str:
    """Return the rule that a result with this verdict breaks, "" if none."""
    return _VERDICTS[verdict][0] if verdict != "ok" else ""


def find(shape: Shape, pairing: Pairing, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every place where calls and results break a rule."""
    seen: set[str] = set()
    for step in pairing.steps:
        here: set[str] = set()
        for call in step.calls:
            item = call.item
            yield from _answered(call, step, shape, profile)
            if item.id is not None:
                if item.id in here:
                    yield item_finding("duplicate-call-id", item, "has the id of another call of the same response")
                elif item.id in seen:
                    yield item_finding("reused-call-id", item, "has the id of an earlier call")
                here.add(item.id)
                if broken := profile.broken_id_rules(item.id):
                    what = f"has an id that is not accepted, of {len(item.id)} characters"
                    for rule in broken:
                        yield item_finding(rule, item, what)
            elif "id-missing" in item.flags:
                yield item_finding("call-id-missing", item, "has no id")
        seen |= here
    for answer, call in pairing.answers:
        if answer.verdict != "ok":
            rule, what = _VERDICTS[answer.verdict]
            yield item_finding(rule, answer.item, what)
        if answer.item.role != shape.grammar.side:
            yield item_finding("block-misplaced", answer.item, f"is in a message with the role {answer.item.role}")
        named = call is not None and (call.item.id is not None or "id-missing" in call.item.flags)  # or will be
        if "old-kind" in answer.item.flags and named:
            found = item_finding("result-id-missing", answer.item, "is of a kind without an id, but its call has one")
            yield msgspec.structs.replace(found, rewritable=True)
        if "id-missing" in answer.item.flags:
            yield item_finding("result-id-missing", answer.item, "does not say which call it answers")
        if "name-missing" in answer.item.flags:
            yield item_finding("result-name-missing", answer.item, "has no name")
    if "call-not-last" in (profile.rules.keys() | profile.in_items if shape.grammar.atomic else profile.rules):
        yield from _before_content(shape)


def _answered(call: PairedCall, step: CallStep, shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield the faults of a call's result."""
    answer = call.answer
    if answer is None:
        yield item_finding("call-without-result", call.item, "has no result")
        return
    if call.at < step.last and not (profile.joins or shape.grammar.atomic):
        yield item_finding("result-not-adjacent", answer.item, "is separated from its call by another message")
    if is_misnamed(call, profile, shape.grammar):
        yield item_finding("result-name-wrong", answer.item, "has a different name than its call")
    if call is step.calls[-1] and len(step.calls) > 1 and shape.grammar.results == "user":
        message = shape.messages[answer.at]
        if {"result"} < {item.kind for item in message.items}:
            what = "contains results of parallel calls and other content"
            yield message_finding("result-not-alone", message, what)


def _before_content(shape: Shape) -> list[RuleFinding]:
    """Return every call that is followed by content in its response, with the position of that content."""
    found: list[RuleFinding] = []
    content: Item | None = None
    atomic = shape.grammar.atomic
    for message in reversed(joined_responses(shape)):
        if not atomic and len(message.items) == 1:  # nothing can follow it in its message
            continue
        if message.role != "assistant" or not atomic:
            content = None
        for item in reversed(message.items) if message.role == "assistant" else ():
            if is_content(item, shape.grammar):
                content = item
            elif item.kind == "call" and content is not None:
                what = f"{item_title(item)} comes before other content of its response"
                found.append(RuleFinding("call-not-last", content.path, what, item))
    return found[::-1]


def is_content(item: Item, grammar: Grammar) -> bool:
    """Return whether the item must come before the calls of its response: all items but calls and results must.

    Thinking counts only where it is a separate item.
    """
    is_chat_calls = item.kind == "other" and item.path[1:] in (("tool_calls",), ("function_call",))  # in another format
    return item.kind not in ("call", "result") and not is_chat_calls and (item.kind != "thinking" or grammar.atomic)


def is_misnamed(call: PairedCall, profile: Profile, grammar: Grammar) -> bool:
    """Return whether the call's result has another name, where names count or the provider does not accept it."""
    name = call.answer.item.name if call.answer is not None else None
    if name is None or name == call.item.name:
        return False
    return not grammar.by_id or profile.name_pattern.fullmatch(name) is None
