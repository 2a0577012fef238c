"""Rules on the order of roles: first, last, consecutive, and places of system messages."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding, message_finding, quoted_name
from holdfast.history.shape import SERVED, Message, Shape

_ALTERNATE = 'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
_ALTERNATE_TEMPLATE = (
    "After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."
)

RULES = (
    Rule(
        "no-messages",
        "A conversation has at least one message.",
        {
            "openai-chat": "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty"
            " array instead.",
            "anthropic": "messages: at least one message is required",
            "mistral": "Conversation must have at least one message",
            "deepseek": "Empty input messages",
            "deepseek/anthropic": "messages: at least one message is required",
            "deepseek/openai-responses": "Input items array must not be empty",
        },
    ),
    Rule(
        "malformed-message",
        "Every message is an object with a role.",
        {
            "mistral": "Input should be a valid dictionary or object to extract fields from",
            "deepseek": "invalid request body: invalid type: string, expected internally tagged enum"
            " ChatCompletionRequestMessage",
            "deepseek/anthropic": "invalid request body: invalid type: string, expected adjacently tagged enum"
            " MessagesMessage",
            "deepseek/openai-responses": "invalid request body: invalid input item",
        },
    ),
    Rule(
        "unknown-role",
        "Every message has a role that the provider knows.",
        {
            "openai-chat": "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function',"
            " 'tool', and 'developer'.",
            "anthropic": "role 'system' is not supported on this model",
            "anthropic/the first message": "messages.0: use the top-level 'system' parameter for the initial system"
            " prompt",
            "gemini": "Please use a valid role: user, model.",
            "mistral": "Input tag '{role}' found using 'role' does not match any of the expected tags:",
            "deepseek": "invalid request body: unknown variant `{role}`, expected one of `system`, `user`,"
            " `assistant`, `tool`, `latest_reminder`",
            "deepseek/anthropic": "invalid request body: unknown variant `{role}`, expected one of `user`,"
            " `assistant`, `system`",
            "deepseek/openai-responses": "invalid request body: unknown variant `{role}`, expected one of `user`,"
            " `assistant`, `system`, `developer`",
            "cohere": "Invalid config: messages[{message}].role: invalid Role '{role}', expected one of: unknown,"
            " system, user, chatbot, tool",
        },
    ),
    Rule(
        "developer-role",
        "System messages have the role `system`, not `developer`.",
        {
            "deepseek": "Failed to deserialize the JSON body into the target type: messages[{message}].role: unknown"
            " variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"
        },
    ),
    Rule(
        "consecutive-roles",
        "The user and the assistant take turns.",
        {
            "bedrock": _ALTERNATE,
            "deepseek": "deepseek-reasoner does not support successive user or assistant messages",
            "openai-compatible/chat templates": "Conversation roles must alternate user/assistant/user/assistant/...",
            "mistral-templates": _ALTERNATE_TEMPLATE,
            "openai-compatible/Zhipu": "messages 参数非法。请检查文档。",
            "anthropic": _ALTERNATE,
        },
    ),
    Rule(
        "first-not-user",
        "The first message after the system messages is a user message.",
        {
            "anthropic": 'messages: first message must use the "user" role',
            "bedrock": "A conversation must start with a user message. Try again with a conversation that starts with"
            " a user message.",
            "openai-compatible/chat templates": _ALTERNATE_TEMPLATE,
            "mistral-templates/generated": "Conversation must start with a user message, got {role}.",
        },
    ),
    Rule(
        "call-first",
        "A conversation does not begin with a message that has calls.",
        {"mistral": "Not the same number of function calls and responses"},
    ),
    Rule(
        "last-not-user",
        "The last message is a user message or a result.",
        {
            "anthropic": "This model does not support assistant message prefill. The conversation must end with a user"
            " message.",
            "anthropic/its text ends in white space": "final assistant content cannot end with trailing whitespace",
            "bedrock": "This model does not support assistant message prefill. The conversation must end with a user"
            " message.",
            "mistral": "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
            "mistral/mistral-common": "Expected last role User or Tool (or Assistant with prefix) for serving but got"
            " assistant",
            "openai-compatible/llama.cpp": "Cannot have 2 or more assistant messages at the end of the list.",
        },
    ),
    Rule(
        "late-system",
        "System messages are only at the beginning.",
        {
            "openai-compatible/chat templates": "System message must be at the beginning.",
            "anthropic": "role 'system' is not supported on this model",
        },
    ),
    Rule(
        "system-after-answer",
        "There is no system message between an answer and the next user message.",
        {
            "mistral": "Unexpected role 'system' after role 'assistant'",
            "mistral/after a result": "Unexpected role 'system' after role 'tool'",
        },
    ),
    Rule(
        "several-systems",
        "There is at most one system message.",
        {"openai-compatible/chat templates": "System message must be at the beginning."},
    ),
    Rule(
        "user-after-result",
        "No user message directly follows a result.",
        {
            "openai-compatible/vLLM, Venice": "Unexpected role 'user' after role 'tool'",
            "mistral": "Unexpected role 'user' after role 'tool'",
            "mistral-templates": _ALTERNATE_TEMPLATE,
        },
    ),
    Rule(
        "call-not-after-user",
        "A message with calls follows a user message or results.",
        {
            "gemini": "Please ensure that function call turn comes immediately after a user turn or after a function"
            " response turn."
        },
    ),
)


def find(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every message whose role is not allowed in its place."""
    if not shape.messages:
        yield RuleFinding("no-messages", (), "The conversation has no messages")
        return
    previous: Message | None = None
    begun = answered = False
    for message in shape.messages:
        if message.flags:
            if "malformed" in message.flags:
                yield RuleFinding("malformed-message", (message.index,), "This is not a message of this format")
            if "unknown-role" in message.flags or "role-misnamed" in message.flags:
                yield _unknown(message)
        if message.role == "system":
            if "developer" in message.flags:
                yield message_finding("developer-role", message, "has the role `developer`")
            if begun:
                yield message_finding("late-system", message, "is in the middle of the conversation")
            elif previous is not None:
                yield message_finding("several-systems", message, "is not the first one")
            if answered:
                yield message_finding("system-after-answer", message, "follows the assistant or a result")
        else:
            if message.items:
                answered = message.role != "user"
            if not begun and message.role != "user":
                yield message_finding("first-not-user", message, "comes first")
            if previous is not None:
                yield from _after(previous, message, shape)
            elif holds_call(message):
                yield message_finding("call-not-after-user", message, "begins the conversation with a call")
                yield message_finding("call-first", message, "has calls and no message before it")
            begun = True
        previous = message
    if previous is not None and (previous.role == "assistant" or not begun) and not _goes_on(previous, profile):
        yield message_finding("last-not-user", previous, "comes last")


def _unknown(message: Message) -> RuleFinding:
    """Return the finding about an unknown role, which quotes the role if the speaker is unclear."""
    found = message_finding("unknown-role", message, "has a role that the provider does not know")
    if "unknown-role" not in message.flags or message.role == "system":
        return found
    written = next((item.name for item in message.items), None)
    what = (
        f"the role {quoted_name(written)}, which the provider does not know"
        if written
        else "no role that the provider knows"
    )
    return msgspec.structs.replace(found, description=f"The message has {what}")


def _after(previous: Message, message: Message, shape: Shape) -> Iterator[RuleFinding]:
    if message.role == "assistant":
        if previous.role == "assistant" and not shape.grammar.atomic:
            yield message_finding("consecutive-roles", message, "follows another assistant message")
            if holds_call(message):
                yield message_finding("call-not-after-user", message, "has calls and follows another assistant message")
    elif message.role == "user":
        if previous.role == "user":
            yield message_finding("consecutive-roles", message, "follows another user message")
        elif previous.role == "tool":
            yield message_finding("user-after-result", message, "directly follows a result")


def _goes_on(message: Message, profile: Profile) -> bool:
    """Return whether the provider continues this answer: it paused while running its own tools, or is asked to."""
    ends = message.items[-1].kind if message.items else "text"
    return "prefix" in message.flags or (ends in SERVED and "server-call-without-result" in profile.rules)


def holds_call(message: Message) -> bool:
    """Return whether the message contains a call."""
    return any(item.kind == "call" for item in message.items)
