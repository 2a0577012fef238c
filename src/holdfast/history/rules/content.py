"""Rules on what a message holds: nothing empty, nothing unreadable, names and arguments and media as they must be."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.history.profiles import Profile
from holdfast.history.rules.rule import Found, Rule, about, within
from holdfast.history.shape import Flag, Item, Media, Message, MessageFlag, Shape, Unclean

RULES = (
    Rule(
        "empty-content",
        "Every message has content.",
        {
            "openai-chat": "Invalid value for 'content': expected a string, got null.",
            "openai-responses": "missing input.content (MissingParameter)",
            "anthropic": "messages.{message}: all messages must have non-empty content except for the optional final"
            " assistant message",
            "gemini": "Unable to submit request because it must include at least one parts field, which describes the"
            " prompt input.",
            "mistral": "Assistant message must have either content or tool_calls, but not none.",
            "deepseek": "Invalid assistant message: content or tool_calls must be set",
            "openai-compatible": "Invalid request: the message at position {message} with role 'assistant' must not be"
            " empty",
        },
    ),
    Rule(
        "blank-answer",
        "A message of the assistant has calls, or a text that is not blank.",
        {
            "mistral": "Assistant message must have either content or tool_calls, but not none.",
            "openai-compatible": "Invalid request: the message at position {message} with role 'assistant' must not be"
            " empty",
        },
    ),
    Rule(
        "blank-text",
        "No text is empty or only white space.",
        {
            "anthropic": "messages: text content blocks must be non-empty",
            "bedrock": "The text field in the ContentBlock object at messages.{message}.content.0 is blank. Add text"
            " to the text field, and try again.",
            "openai-compatible": "text content is empty",
        },
    ),
    Rule(
        "blank-block",
        "No result holds an empty block of text, or an empty list of blocks.",
        {"anthropic": "messages: text content blocks must be non-empty"},
    ),
    Rule(
        "blank-result",
        "No result is empty.",
        {"openai-compatible": "Each message must have at least one content element"},
    ),
    Rule(
        "null-content",
        "Content is a text, if an empty one, also beside calls.",
        {"openai-compatible": "Value is not a string: null"},
    ),
    Rule(
        "empty-calls",
        "A list of calls is not empty.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls': empty array. Expected an array with minimum"
            " length 1, but got an empty array instead."
        },
    ),
    Rule(
        "too-many-calls",
        "One response has no more calls than the provider accepts.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls': array too long. Expected an array with maximum"
            " length 128"
        },
    ),
    Rule(
        "arguments-not-object",
        "Arguments are a JSON object.",
        {
            "anthropic": "messages.{message}.content.0.tool_use.input: Input should be a valid dictionary",
            "cohere": "Render error: JSON serialization error: EOF while parsing a string at line 1 column 13",
            "openai-compatible": 'The "function.arguments" parameter of the code model must be in JSON format.',
        },
    ),
    Rule(
        "arguments-type",
        "Arguments have the JSON type that the format has for them.",
        {
            "openai-chat": "Invalid type for 'messages[{message}].tool_calls[0].function.arguments': expected a"
            " string.",
        },
    ),
    Rule(
        "tool-name-illegal",
        "Tool names are made of letters, digits, underscores and dashes, and not too long, in the history too.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls[0].function.name': string does not match pattern."
            " Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            "mistral": "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a"
            " maximum length of 64.",
            "bedrock": "Value at 'messages.{message}.member.content.1.member.toolUse.name' failed to satisfy"
            " constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        },
    ),
    Rule(
        "tool-not-declared",
        "Calls in the history are of tools that the request declares.",
        {"openai-chat": ""},
    ),
    Rule(
        "tools-not-declared",
        "A request whose history holds calls declares tools.",
        {"bedrock": "The toolConfig field must be defined when using toolUse and toolResult content blocks."},
    ),
    Rule(
        "foreign-content",
        "Content is of a kind that the provider knows, where it may stand.",
        {
            "openai-chat": "Invalid 'messages[{message}]'. Content blocks are expected to be either text or image_url"
            " type.",
            "anthropic": "HTTP 400 invalid_request_error: Invalid request Error",
        },
    ),
    Rule(
        "media-invalid",
        "Images are of an accepted type, and what they are declared to be.",
        {
            "anthropic": "messages.{message}.content.0.image.source.base64.media_type: Input should be 'image/jpeg',"
            " 'image/png', 'image/gif' or 'image/webp'",
            "openai-chat": "The file type you uploaded is not supported.",
            "gemini": "Unsupported MIME type",
        },
    ),
    Rule(
        "media-too-large",
        "Images are not larger than the provider accepts, in bytes and in pixels.",
        {
            "anthropic": "messages.{message}.content.0.image.source.base64.data: At least one of the image dimensions"
            " exceed max allowed size for many-image requests: 2000 pixels"
        },
    ),
    Rule(
        "lone-surrogate",
        "Text is valid Unicode.",
        {
            "openai-chat": "We could not parse the JSON body of your request.",
            "anthropic": "The request body is not valid JSON: no low surrogate in string",
        },
    ),
    Rule(
        "nul",
        "Text has no NUL characters.",
        {"anthropic": "The request body is not valid JSON: unexpected end of data"},
    ),
)

_ITEM_FLAGS: dict[Flag, tuple[str, str]] = {
    "blank-block": ("blank-block", "holds an empty block"),
    "arguments": ("arguments-not-object", "has arguments that are not a JSON object"),
    "arguments-type": ("arguments-type", "has arguments of the wrong JSON type"),
    "foreign": ("foreign-content", "is of a kind that the provider does not know here"),
    "misplaced": ("block-misplaced", "stands in a message that cannot hold it"),
    "null": ("empty-content", "has no content"),
}
_MESSAGE_FLAGS: dict[MessageFlag, tuple[str, str]] = {
    "empty": ("empty-content", "has no content"),
    "blank-answer": ("blank-answer", "has neither calls nor a text"),
    "null-content": ("null-content", "has no text beside its calls, not even an empty one"),
    "no-calls": ("empty-calls", "has an empty list of calls"),
}


def find(shape: Shape, profile: Profile) -> Iterator[Found]:
    """Yield everything a message holds that it may not."""
    images = sum(len(item.media) for message in shape.messages for item in message.items if item.media)
    called = False
    yield from _unclean(shape.beside)
    for message in shape.messages:
        yield from _of_message(message, profile)
        for item in message.items:
            if item.flags:
                yield from _flagged(item)
            if item.kind == "call":
                called = True
                yield from _name(item, shape, profile)
            for which in range(len(item.media)):
                yield from _media(item, which, profile, images)
    if called and shape.tools is not None and not shape.tools:
        yield Found("tools-not-declared", (), "The request declares no tools, and its history holds calls")


def _of_message(message: Message, profile: Profile) -> Iterator[Found]:
    for flag in message.flags:
        if flag in _MESSAGE_FLAGS:
            rule, what = _MESSAGE_FLAGS[flag]
            yield within(rule, message, what)
    yield from _unclean(message.unclean)
    limit = profile.calls
    if limit is not None and len(message.items) > limit:
        calls = sum(item.kind == "call" for item in message.items)
        if calls > limit:
            yield within("too-many-calls", message, f"holds {calls} calls")


def _unclean(bad: tuple[Unclean, ...]) -> Iterator[Found]:
    for each in bad:
        what = "a lone half of a surrogate pair" if each.what == "lone-surrogate" else "a NUL character"
        yield Found(each.what, each.path, f"The text holds {what}")


def _flagged(item: Item) -> Iterator[Found]:
    for flag in item.flags:
        if flag in _ITEM_FLAGS:
            rule, what = _ITEM_FLAGS[flag]
            yield about(rule, item, what)
    if "blank" in item.flags:
        yield about("blank-result" if item.kind == "result" else "blank-text", item, "is blank")


def _name(item: Item, shape: Shape, profile: Profile) -> Iterator[Found]:
    name = item.name or ""
    if profile.name_pattern.fullmatch(name) is None:
        yield about("tool-name-illegal", item, "has a name that is not accepted")
    if shape.tools and name not in shape.tools:
        yield about("tool-not-declared", item, "is of a tool that the request does not declare")


def _media(item: Item, which: int, profile: Profile, images: int) -> Iterator[Found]:
    media = item.media[which]
    if reason := _fault(media, profile):
        yield Found("media-invalid", item.path, f"An image or file {reason}", item, which)
    elif reason := _excess(media, profile, images):
        yield Found("media-too-large", item.path, f"An image {reason}", item, which)


def _fault(media: Media, profile: Profile) -> str:
    if media.declared and media.declared not in profile.media.types:
        return f"is declared as {media.declared}"
    if media.declared and media.found and media.declared != media.found:
        return f"is declared as {media.declared} and is {media.found}"
    return ""


def _excess(media: Media, profile: Profile, images: int) -> str:
    limits = profile.media
    side = limits.crowded_side if images > limits.crowded else limits.side
    if media.size > limits.size:
        return f"has {media.size} bytes, at most {limits.size} are accepted"
    if max(media.width, media.height) > side:
        return f"is {media.width} x {media.height} pixels, at most {side} a side are accepted among {images}"
    return ""
