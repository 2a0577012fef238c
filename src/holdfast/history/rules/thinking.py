"""Rules on thinking: who made it, whether it is complete, and when a provider requires it back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from holdfast.history.rules.divided_responses import joined_responses
from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding, item_finding, message_finding
from holdfast.history.shape import Flag, Item, Message, Shape

RULES = (
    Rule(
        "thinking-foreign",
        "Thinking is sent only to the provider that made it.",
        {
            "anthropic": "messages.{message}.content.{part}: Invalid `signature` in `thinking` block",
            "openai-responses": "The encrypted content for item {id} could not be verified. Reason: Encrypted content"
            " could not be decrypted or parsed.",
            "gemini": "Corrupted thought signature.",
            "gemini/also": "Invalid thought signature",
            "deepseek/anthropic": "invalid request body: unknown variant `redacted_thinking`, expected one of `text`,"
            " `image`, `document`, `thinking`, `server_tool_use`, `tool_use`, `tool_result`,"
            " `web_search_tool_result`, `tool_addition`",
            "openai-compatible/xAI": "Could not decrypt the provided encrypted_content.",
        },
    ),
    Rule(
        "thinking-unsigned",
        "Thinking is sent only with its signature.",
        {"anthropic": "messages.{message}.content.{part}.thinking.signature: Field required"},
    ),
    Rule(
        "thinking-altered",
        "Signed thinking is sent unchanged.",
        {
            "anthropic": "messages.{message}.content.{part}: `thinking` or `redacted_thinking` blocks in the latest"
            " assistant message cannot be modified. These blocks must remain as they were in the original response.",
            "gemini": "Invalid value at 'contents[{message}].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding"
            " failed",
        },
    ),
    Rule(
        "thinking-beside",
        "Thinking is not in a field outside the content.",
        {
            "mistral": '"loc": ["body", "messages", {message}, "assistant", "reasoning_content"],'
            ' "msg": "Extra inputs are not permitted"'
        },
    ),
    Rule(
        "thinking-in-content",
        "The text of reasoning is in `summary`, and `content` is empty.",
        {
            "openai-responses": "Invalid 'input[{message}].content': array too long. Expected an array with maximum"
            " length 0, but got an array with length 1 instead."
        },
    ),
    Rule(
        "thinking-unbound",
        "Thinking is followed by what it produced.",
        {"openai-responses": "Item '{id}' of type 'reasoning' was provided without its required following item."},
    ),
    Rule(
        "item-without-thinking",
        "An item that thinking produced is sent with that thinking, or without its own id.",
        {"openai-responses": "Item '{id}' of type 'function_call' was provided without its required 'reasoning' item"},
    ),
    Rule(
        "thinking-required",
        "With thinking on, a message with calls contains the thinking that led to them.",
        {
            "deepseek": "The `reasoning_content` in the thinking mode must be passed back to the API.",
            "deepseek/anthropic": "The `content[].thinking` in the thinking mode must be passed back to the API.",
            "deepseek/openai-responses": "The `reasoning_text` in the thinking mode must be passed back to the API.",
            "openai-compatible/Moonshot": "thinking is enabled but reasoning_content is missing in assistant tool call"
            " message at index {message}",
        },
    ),
    Rule(
        "thinking-not-first",
        "With thinking on, the message whose calls are being answered begins with thinking.",
        {
            "anthropic": "messages.{message}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
            " `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"
            " (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking"
            " blocks from previous turns. To avoid this requirement, disable `thinking`."
        },
    ),
    Rule(
        "thinking-forbidden",
        "With thinking off, an assistant message at the end contains no thinking.",
        {
            "anthropic": "messages.{message}.content.{part}: When thinking is disabled, an `assistant` message in the"
            " final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request."
        },
    ),
    Rule(
        "thinking-last",
        "An assistant message does not end in thinking.",
        {"anthropic": "messages.{message}: The final block in an assistant message cannot be `thinking`."},
    ),
    Rule(
        "thinking-off",
        "A conversation for all providers contains no thinking.",
        {"openai-compatible/Groq": "property 'reasoning_content' is unsupported"},
    ),
    Rule(
        "signature-required",
        "The first call of each step of the current turn has its signature.",
        {
            "gemini": "Function call is missing a thought_signature in functionCall parts. This is required for tools"
            " to work correctly, and missing thought_signature may lead to degraded model performance."
        },
    ),
    Rule(
        "duplicate-item",
        "No item occurs twice.",
        {
            "openai-responses": "Duplicate item found with id {id}. Remove duplicate items from your input and try"
            " again."
        },
    ),
    Rule(
        "item-id-illegal",
        "An item's own id has the prefix of its kind and an accepted length.",
        {
            "openai-responses": "Invalid 'input[{message}].id': '{id}'. Expected an ID that begins with 'fc'.",
            "openai-responses/an empty one": "Invalid 'input[{message}].id': ''. Expected an ID that contains letters,"
            " numbers, underscores, or dashes, but this value contained additional characters.",
        },
    ),
    Rule(
        "field-missing",
        "Every item has the fields that the provider requires.",
        {"openai-responses/a compatible service": "Input[{message}] missing required field `summary`"},
    ),
)

_FLAGS: dict[Flag, tuple[str, str]] = {
    "unsigned": ("thinking-unsigned", "has no signature"),
    "altered": ("thinking-altered", "was changed after it was signed"),
    "separate-field": ("thinking-beside", "is in a field outside the content"),
    "thoughts": ("thinking-in-content", "has reasoning text in `content`"),
    "unbound": ("thinking-unbound", "is not followed by what it produced"),
    "duplicate": ("duplicate-item", "occurs a second time"),
    "item-id": ("item-id-illegal", "has an item id that is not accepted"),
    "incomplete": ("field-missing", "lacks a required field"),
}


def find(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every place where thinking breaks a rule."""
    for message in shape.messages:
        for item in message.items:
            if item.flags or item.kind == "thinking":
                yield from _of_item(item, profile)
    if shape.grammar.atomic:
        yield from _parted(shape, profile)
    else:
        yield from _trailing(shape)
    yield from _unsigned_calls(shape, profile)
    if shape.thinking is True:
        yield from _lacking(shape, profile)
        yield from _opening(shape)
    elif shape.thinking is False and shape.messages:
        yield from _closing(joined_responses(shape)[-1])


def _of_item(item: Item, profile: Profile) -> Iterator[RuleFinding]:
    for flag, (rule, what) in _FLAGS.items():
        if flag in item.flags:
            yield item_finding(rule, item, what)
    if item.kind == "thinking":
        yield item_finding("thinking-off", item, "is in the conversation")
    if _is_foreign(item, profile):
        yield item_finding("thinking-foreign", item, f"was made by {item.maker}")


def _is_foreign(item: Item, profile: Profile) -> bool:
    return item.maker is not None and item.maker not in profile.makers


def _parted(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every item whose own id refers to thinking that is not sent with it.

    Calls with item ids in a conversation without thinking come from a model whose thinking was removed, unless thinking
    is known to be off or the provider stores the rest.
    """
    items = [item for message in shape.messages for item in message.items]
    stripped = shape.thinking is not False and not shape.continued
    refers = (item for item in items if "reference" in item.flags and profile.knows(item, shape.format))
    if any(refers) or any(item.kind == "thinking" and _goes(item, profile) for item in items):
        stripped = False
    lost = False
    for item in items:
        if item.role != "assistant":
            lost = False
        elif item.kind == "thinking":
            lost = not _goes(item, profile)
        elif "own-id" in item.flags and (lost or (stripped and item.kind == "call")):
            yield item_finding("item-without-thinking", item, "has an item id, but its thinking is missing")


def _goes(item: Item, profile: Profile) -> bool:
    """Return whether the thinking can go back to the provider."""
    if "thinking-off" in profile.rules or item.flags & {"unbound", "duplicate"}:
        return False
    unkept = "not-stored" in item.flags and "item-not-stored" in profile.rules
    return not unkept and not _is_foreign(item, profile)


def _lacking(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    if shape.grammar.atomic:
        yield from _lacking_before(shape, profile)
        return
    for message in joined_responses(shape):
        calls = [item for item in message.items if item.kind == "call"] if message.role == "assistant" else []
        if calls and not any(_counts(item, shape, profile) for item in message.items):
            sentence = "The assistant message has calls, but no thinking that can be sent back"
            yield RuleFinding("thinking-required", (calls[0].message,), sentence)


def _counts(item: Item, shape: Shape, profile: Profile) -> bool:
    """Return whether the provider counts the item as thinking."""
    return item.kind == "thinking" and _goes(item, profile) and profile.knows(item, shape.format)


def _lacking_before(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield the first call of each response without readable thinking before it."""
    thought = False
    for message in shape.messages:
        if message.role != "assistant":
            thought = False
        for item in message.items:
            if item.kind == "call" and not thought:
                yield message_finding("thinking-required", message, "has calls, but no thinking before them")
            thought = thought or item.kind == "call" or ("no-text" not in item.flags and _counts(item, shape, profile))


def _unsigned_calls(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield the first call of each step of the current turn that has no signature, the last step first.

    An answer ends the turn, and the user's next message begins another. A response of too many calls becomes several
    steps.
    """
    answered: bool | None = None  # whether the model's last message is an answer without calls
    for message in reversed(joined_responses(shape)):
        has_content = any(
            item.kind not in ("thinking", "call", "result") and not item.flags & {"blank", "null"}
            for item in message.items
        )
        if message.role == "user" and has_content:
            return
        if message.role == "assistant":
            calls = [item for item in message.items if item.kind == "call"]
            answered = has_content and not calls if answered is None and (has_content or calls) else answered
            if answered:
                return
            for call in calls[:: profile.calls or len(calls)] if calls else ():
                if "call-unsigned" in call.flags or _is_foreign(call, profile):
                    yield item_finding("signature-required", call, "has no signature, but is in the current turn")


def _closing(message: Message) -> Iterator[RuleFinding]:
    if message.role == "assistant":
        for item in message.items:
            if item.kind == "thinking":
                yield item_finding("thinking-forbidden", item, "is in the last message, but thinking is off")


def _trailing(shape: Shape) -> Iterator[RuleFinding]:
    """Yield the thinking at the end of each response that has other content, which a cut answer leaves."""
    for message in joined_responses(shape):
        if message.role != "assistant" or not any(item.kind == "thinking" for item in message.items):
            continue
        spoken = [item for item in message.items if not item.flags & {"blank", "null"}]
        thoughts = list(takewhile(lambda item: item.kind == "thinking", reversed(spoken)))
        if len(thoughts) < len(spoken):
            for item in reversed(thoughts):
                yield item_finding("thinking-last", item, "is at the end of an assistant message")


def _opening(shape: Shape) -> Iterator[RuleFinding]:
    for message in reversed(joined_responses(shape)):
        if message.role == "assistant":
            if any(item.kind == "call" for item in message.items) and message.items[0].kind != "thinking":
                yield message_finding("thinking-not-first", message, "does not begin with thinking")
            return
        if any(item.kind != "result" for item in message.items):
            return
