"""Rules on facts of the request: known fields, what the model accepts, what is stored and signed."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.rules.rule import Rule, RuleFinding, item_finding
from holdfast.history.shape import Item, Message, Shape

RULES = (
    Rule(
        "unknown-field",
        "Messages and their parts have only fields that the provider knows.",
        {
            "anthropic": "messages.{message}.{name}: Extra inputs are not permitted",
            "anthropic/of a block": "messages.{message}.content.{part}.tool_use.{name}: Extra inputs are not permitted",
            "openai-chat": "Unknown parameter: 'messages[{message}].content[{part}].{name}'.",
            "openai-chat/of a call": "Unknown parameter: 'messages[{message}].tool_calls[{part}].{name}'.",
            "openai-responses": "Unknown parameter: 'input[{message}].{name}'.",
            "gemini": "Invalid JSON payload received. Unknown name \"{name}\" at 'contents[{message}].parts[{part}]':"
            " Cannot find field.",
            "mistral": '"loc":["body","messages",{message},"user","{name}"],"msg":"Extra inputs are not permitted"',
            "openai-compatible/Groq": "'messages.{message}' : for 'role:assistant' the following must be"
            " satisfied[('messages.{message}' : property '{name}' is unsupported)]",
        },
    ),
    Rule(
        "second-kind",
        "A part contains one thing: a text, a call, a result or a file.",
        {
            "gemini": "Invalid value at 'contents[{message}].parts[{part}]' (oneof), oneof field 'data' is already set."
            " Cannot set 'text'"
        },
    ),
    Rule(
        "speaker-name-illegal",
        "The name of a message's author has 1 to 64 characters, and no white space, <, |, \\, / or >.",
        {
            "openai-chat": "Invalid 'messages[{message}].name': string does not match pattern. Expected a string that"
            " matches the pattern '^[^\\s<|\\\\/>]+$'.",
            "openai-chat/before": "Invalid 'messages[{message}].name': string does not match pattern. Expected a string"
            " that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        },
    ),
    Rule(
        "media-unseen",
        "A request to a text-only model contains no images and no files.",
        {
            "openai-chat": "Invalid content type. image_url is only supported by certain models.",
            "deepseek": "Failed to deserialize the JSON body into the target type: messages[{message}]: unknown variant"
            " `image_url`, expected `text`",
            "bedrock": "This model doesn't support the video content block that you provided. Update the content block"
            " and try again.",
            "openai-compatible/Ollama": "this model does not support image input",
            "openai-compatible/LM Studio": "Model does not support images. Please use a model that does.",
        },
    ),
    Rule(
        "item-not-stored",
        "If the provider stores nothing, no item refers to a stored item.",
        {
            "openai-responses": "Item with id '{id}' not found. Items are not persisted when `store` is set to false."
            " Try again with `store` set to true, or remove this item from your input."
        },
    ),
)


def find(shape: Shape) -> Iterator[RuleFinding]:
    """Yield what the provider refuses."""
    for message in shape.messages:
        for bad in message.unknown_fields:
            names = (*bad.names, *bad.with_text)
            what = f"{_holder(message, bad.path)} has fields that the provider does not know: {', '.join(names)}"
            yield RuleFinding("unknown-field", bad.path, what, names=names, with_text=bad.with_text)
        for bad in message.mistyped_fields:
            names = (*bad.names, *bad.with_text)
            what = f"{_holder(message, bad.path)} has fields of the wrong type: {', '.join(names)}"
            yield RuleFinding("field-mistyped", bad.path, what, names=names, with_text=bad.with_text)
        for item in message.items:
            if shape.text_only and (item.kind == "media" or item.media) and "readable" not in item.flags:
                yield from _unseen(item)
            if "not-stored" in item.flags:
                yield item_finding("item-not-stored", item, "refers to something that the provider did not store")


def _holder(message: Message, path: tuple[str | int, ...]) -> str:
    return f"The {message.role} message" if len(path) == 1 else "Something in the message"


def _unseen(item: Item) -> Iterator[RuleFinding]:
    for which in range(len(item.media) or 1):
        what = "An image or file is not accepted by this text-only model"
        yield RuleFinding("media-unseen", item.path, what, item, which)
