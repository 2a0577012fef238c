"""Rules on the content of messages: nothing empty or unreadable; valid names, arguments and media."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.history.media.images import AUDIO, DATA_URL, NO_ADDRESS, NO_TYPE
from holdfast.history.media.pdf import ENCRYPTED, NO_PDF, PAPER
from holdfast.history.media.pdf import TYPE as PDF
from holdfast.history.rules.profile import MediaLimits, Profile
from holdfast.history.rules.rule import Rule, RuleFinding, item_finding, message_finding
from holdfast.history.shape import Flag, InvalidString, Item, Media, Message, MessageFlag, Shape

_NOT_READ = {NO_PDF: "has bytes that are not a PDF", "empty": "is empty", "broken": "is not valid base64"}


class MediaCounter:
    """The images and files of a conversation; if too many, or too many for large ones, the first are reported."""

    def __init__(self, shape: Shape, profile: Profile) -> None:
        self._profile = profile
        media = [each for message in shape.messages for item in message.items for each in item.media]
        self._many = sum(each.declared != PAPER for each in media)
        self._spare = self._many - profile.media.crowded
        self._all = sum(_weight(each) for each in media if not _alone(each, profile.media))
        self._surplus = 0 if profile.media.count is None else self._all - profile.media.count

    def of(self, item: Item) -> Iterator[RuleFinding]:
        """Yield the faults of the images and files of one item."""
        for which in range(len(item.media)):
            media = item.media[which]
            is_pdf = media.declared == PAPER
            if is_pdf:
                found = _pdf(item, which, self._profile.media)
            else:
                found = _media(item, which, self._profile, crowd=self._many if self._spare > 0 else 0)
            if self._surplus > 0 and (found is None or found.rewritable):
                what = f"An image or file is one of {self._all}, at most {self._profile.media.count} are accepted"
                what = f"{what}, counting each page of a PDF" if is_pdf else what
                found = RuleFinding("too-much-media", item.path, what, item, which)
            if found is not None:
                self._spare -= not found.rewritable and not is_pdf
                self._surplus -= 0 if found.rewritable or _alone(media, self._profile.media) else _weight(media)
                yield found


def _weight(media: Media) -> int:
    """Return how many images it counts as; a PDF counts as its pages."""
    return max(media.pages, 1)


def _alone(media: Media, limits: MediaLimits) -> bool:
    """Return whether its own number of pages is too large."""
    return limits.pages is not None and media.pages > limits.pages


def _pdf(item: Item, which: int, limits: MediaLimits) -> RuleFinding | None:
    """Return the faults of a PDF."""
    media = item.media[which]
    called = f"A PDF {media.name!r}" if media.name else "A PDF"
    if limits.pdf is None:
        return None
    if media.found in _NOT_READ or (media.found == ENCRYPTED and not limits.encrypted):
        return RuleFinding(
            "pdf-unreadable", item.path, f"{called} {_NOT_READ.get(media.found, 'is encrypted')}", item, which
        )
    if media.size > limits.pdf:
        what = f"{called} has {media.size} bytes, at most {limits.pdf} are accepted"
        return RuleFinding("pdf-too-large", item.path, what, item, which)
    if _alone(media, limits):
        what = f"{called} has {media.pages} pages, at most {limits.pages} are accepted"
        return RuleFinding("pdf-too-large", item.path, what, item, which)
    return None


def _media(item: Item, which: int, profile: Profile, *, crowd: int) -> RuleFinding | None:
    """Return the faults of an image; `crowd` is the number of images, if too many for large ones."""
    media = item.media[which]
    excess = _excess(media, profile, crowd)
    if reason := _fault(media, profile):
        named = f" {media.name!r}" if media.name else ""
        is_bare = media.declared in (NO_TYPE, DATA_URL) and media.found in (PDF, AUDIO)
        fit = media.found in profile.media.types or is_bare
        return RuleFinding(
            "media-invalid", item.path, f"An image or file{named} {reason}", item, which, fit and not excess
        )
    return RuleFinding("media-too-large", item.path, f"An image {excess}", item, which) if excess else None


def _fault(media: Media, profile: Profile) -> str:
    if media.declared == NO_ADDRESS:
        return "has no address that a provider can read (https:// or data:)"
    if media.declared and media.declared not in profile.media.types:
        return f"is declared as {media.declared}"
    if media.declared and media.found and media.declared != media.found:
        return f"is declared as {media.declared}, but its bytes are {media.found}"
    return ""


def _excess(media: Media, profile: Profile, crowd: int) -> str:
    limits = profile.media
    side, among = (limits.crowded_side, f" among {crowd}") if crowd else (limits.side, "")
    if media.size > limits.size:
        return f"has {media.size} bytes, at most {limits.size} are accepted"
    if max(media.width, media.height) > side:
        return f"is {media.width} x {media.height} pixels, at most {side} a side are accepted{among}"
    return ""


# --- content ---

_BLANK_FIELD = (
    "The text field in the ContentBlock object at messages.{message}.content.{part} is blank. Add text to the text"
    " field, and try again."
)
_EMPTY_ARRAY = (
    "Invalid 'messages[{message}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty"
    " array instead."
)

RULES = (
    Rule(
        "empty-content",
        "Every message has content.",
        {
            "openai-chat": "Invalid value for 'content': expected a string, got null.",
            "openai-chat/left out": "Missing required parameter: 'messages[{message}].content'.",
            "openai-responses/a compatible service": "missing input.content (MissingParameter)",
            "anthropic": "messages.{message}: all messages must have non-empty content except for the optional final"
            " assistant message",
            "gemini": "Unable to submit request because it must include at least one parts field, which describes the"
            " prompt input.",
            "gemini/no parts": "GenerateContentRequest.contents[{message}].parts: contents.parts must not be empty.",
            "gemini/an empty part": "* GenerateContentRequest.contents[{message}].parts[{part}].data: required oneof"
            " field 'data' must have one initialized field",
            "mistral": "Assistant message must have either content or tool_calls, but not none.",
            "bedrock": "ContentBlock object at messages.{message}.content.{part} must set one of the following keys:"
            " text, image, toolUse, toolResult",
            "deepseek": "Invalid assistant message: content or tool_calls must be set",
            "deepseek/of the user or a result": "invalid request body: content should be a string or a list",
            "deepseek/anthropic": "messages.{message}: all messages must have non-empty content",
            "deepseek/openai-responses": "invalid request body: output should be a string or a list of output content"
            " parts",
            "cohere": "Render error: Template parsing error: liquid: Unknown index",
            "openai-compatible/Moonshot": "Invalid request: the message at position {message} with role 'assistant'"
            " must not be empty",
            "openai-compatible/llama.cpp": "Assistant message must contain either 'content' or 'tool_calls'!",
            "openai-compatible/llama.cpp, of others": "All non-assistant messages must contain 'content'",
        },
    ),
    Rule(
        "blank-answer",
        "An assistant message has calls, or text that is not blank.",
        {
            "mistral": "Assistant message must have either content or tool_calls, but not none.",
            "openai-compatible/Moonshot": "Invalid request: the message at position {message} with role 'assistant'"
            " must not be empty",
        },
    ),
    Rule(
        "blank-text",
        "No text is empty or only white space.",
        {
            "anthropic": "messages: text content blocks must be non-empty",
            "anthropic/white space": "messages: text content blocks must contain non-whitespace text",
            "anthropic/with a cache marker": "messages.{message}.content.{part}.text: cache_control cannot be set for"
            " empty text blocks",
            "bedrock": _BLANK_FIELD,
            "openai-compatible/Moonshot": "text content is empty",
            "openai-compatible/xAI": "Each message must have at least one content element",
        },
    ),
    Rule(
        "blank-block",
        "No result contains an empty text block or an empty list of blocks.",
        {"anthropic": "messages: text content blocks must be non-empty", "bedrock": _BLANK_FIELD},
    ),
    Rule(
        "blank-result",
        "No result is empty.",
        {"openai-compatible/xAI": "Each message must have at least one content element"},
    ),
    Rule(
        "null-content",
        "Content is text, which may be empty, also in messages with calls.",
        {"openai-compatible/Gemini's endpoint": "Value is not a string: null"},
    ),
    Rule(
        "empty-calls",
        "A list of calls is not empty.",
        {
            "openai-chat": _EMPTY_ARRAY,
            "deepseek": _EMPTY_ARRAY,
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
            "anthropic": "messages.{message}.content.{part}.tool_use.input: Input should be a valid dictionary",
            "anthropic/also": "messages.{message}.content.{part}.tool_use.input: Input should be an object",
            "anthropic/its own tool": "messages.{message}.content.{part}.server_tool_use.input: Input should be a valid"
            " dictionary",
            "cohere": "Render error: JSON serialization error: EOF while parsing a string",
            "openai-compatible/Qwen": '<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of'
            " the code model must be in JSON format.",
            "openai-compatible/llama.cpp": "Failed to parse tool call arguments as JSON:"
            " [json.exception.parse_error.101] parse error",
        },
    ),
    Rule(
        "arguments-type",
        "Arguments have the JSON type that the format defines.",
        {
            "openai-chat": "Invalid type for 'messages[{message}].tool_calls[{part}].function.arguments': expected a"
            " string, but got an object instead.",
            "deepseek": "invalid request body: invalid type: map, expected a string",
            "deepseek/anthropic": "invalid request body: missing field `input`",
            "cohere": "Invalid config: messages[{message}].tool_calls[{part}].parameters: invalid type: map, expected a"
            " string",
            "openai-compatible/Ollama": "json: cannot unmarshal object into Go struct field"
            " .messages.tool_calls.function.arguments of type string",
        },
    ),
    Rule(
        "tool-name-illegal",
        "A call has a tool name of accepted length, usually of letters, digits, underscores and dashes.",
        {
            "openai-chat": "Invalid 'messages[{message}].tool_calls[{part}].function.name': string does not match"
            " pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            "openai-chat/of a declared tool": "Invalid 'tools[{part}].function.name': string too long. Expected a"
            " string with maximum length 64, but got a string with length",
            "anthropic": "messages.{message}.content.{part}.tool_use.name: String should match pattern"
            " '^[a-zA-Z0-9_-]{{1,64}}$'",
            "anthropic/too long": "messages.{message}.content.{part}.tool_use.name: String should have at most 64"
            " characters",
            "gemini/of a declared tool": "Invalid function name. Must start with a letter or an underscore. Must be"
            " a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of"
            " 64.",
            "mistral": "Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a"
            " maximum length of 64.",
            "deepseek/no name": "invalid request body: missing field `name`",
            "cohere/no name": "Invalid config: messages[{message}].tool_calls[{part}].name: invalid type: null,"
            " expected a string",
            "bedrock": "Value at 'messages.{message}.member.content.{part}.member.toolUse.name' failed to satisfy"
            " constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        },
    ),
    Rule(
        "tool-not-declared",
        "The request declares the tools of all calls in the history.",
        {},
    ),
    Rule(
        "tools-not-declared",
        "A request declares tools if its history contains calls.",
        {
            "anthropic": "Requests which include `tool_use` or `tool_result` blocks must define tools.",
            "bedrock": "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        },
    ),
    Rule(
        "foreign-content",
        "Content is of a kind that the provider accepts in its place.",
        {
            "openai-chat": "Invalid 'messages[{message}]'. Content blocks are expected to be either text or image_url"
            " type.",
            "openai-chat/a call without its type": "Missing required parameter: 'messages[{message}].tool_calls[{part}]"
            ".type'.",
            "openai-chat/an image that is a string": "Invalid type for 'messages[{message}].content[{part}].image_url':"
            " expected an object, but got a string instead.",
            "deepseek": "invalid request body: unknown variant",
            "mistral": "is not a valid ChunkTypes",
            "mistral/an image in a result": "Unexpected content chunk types in tool message: ['ImageURLChunk']",
            "mistral/a call of another type": "Input should be 'function'",
            "mistral/a result of the role `function`": "Unknown message role: function",
            "cohere": "Invalid config: messages[{message}].content[{part}].type: invalid ContentType",
        },
    ),
    Rule(
        "reference-not-declared",
        "The request declares every tool that a result refers to.",
        {
            "anthropic": "Tool reference '{name}' has no corresponding tool definition",
            "deepseek/anthropic": "messages.{message}.content.{part}: tool reference '{name}' not found in available"
            " tools",
        },
    ),
    Rule(
        "media-invalid",
        "Images have an accepted type, and the declared type matches their bytes.",
        {
            "anthropic": "messages.{message}.content.{part}.image.source.base64.media_type: Input should be"
            " 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
            "openai-chat": "You uploaded an unsupported image. Please make sure your image has of one the following"
            " formats: ['png', 'jpeg', 'gif', 'webp'].",
            "openai-responses": "The file type you uploaded is not supported. Please try again with a pdf",
            "openai-responses/its bytes": "Invalid file data: 'input[{message}].output[{part}].file_data'. Expected a"
            " base64-encoded data URL with a valid file MIME type",
            "deepseek/anthropic": "invalid request body: unknown variant `{media}`, expected one of `image/jpeg`,"
            " `image/jpg`, `image/png`, `image/gif`, `image/webp`",
            "gemini": "Unsupported MIME type",
        },
    ),
    Rule(
        "media-too-large",
        "Images are not larger than the provider accepts, in bytes and in pixels.",
        {
            "anthropic": "messages.{message}.content.{part}.image.source.base64.data: At least one of the image"
            " dimensions exceed max allowed size for many-image requests: 2000 pixels",
            "anthropic/bytes": "image exceeds 5 MB maximum",
        },
    ),
    Rule(
        "pdf-unreadable",
        "PDFs are valid and not password-protected.",
        {
            "anthropic": "messages.{message}.content.{part}.pdf.source.base64.data: The PDF specified was not valid.",
            "anthropic/with a password": "messages.{message}.content.{part}.pdf.source.base64.data: The PDF specified"
            " is password protected.",
            "anthropic/of no bytes": "PDF cannot be empty",
            "anthropic/also": "Could not process PDF",
            "gemini": "The document has no pages.",
        },
    ),
    Rule(
        "pdf-too-large",
        "A PDF has no more pages and bytes than the provider accepts.",
        {
            "anthropic": "messages.{message}.content.{part}.pdf.source.base64.data: A maximum of 100 PDF pages may be"
            " provided.",
            "anthropic/elsewhere": "A maximum of 100 PDF pages may be provided.",
            "anthropic/bytes": "Request exceeds the maximum allowed number of bytes.",
        },
    ),
    Rule(
        "field-mistyped",
        "Fields other than content have the type and the values that the format defines.",
        {},
    ),
    Rule(
        "too-much-media",
        "A request contains no more images and documents than the provider accepts.",
        {
            "anthropic": "Too much media: 0 document pages +",
            "anthropic/also": "too many images and documents:",
        },
    ),
    Rule(
        "lone-surrogate",
        "Text is valid Unicode.",
        {
            "openai-chat": "We could not parse the JSON body of your request. (HINT: This likely means you aren't using"
            " your HTTP library correctly.",
            "openai-responses": "We could not parse the JSON body of your request. (HINT: This likely means you aren't"
            " using your HTTP library correctly.",
            "anthropic": "The request body is not valid JSON: no low surrogate in string",
            "deepseek": "Failed to parse the request body as JSON: messages[{message}].content: invalid unicode code"
            " point",
            "deepseek/its validator": "invalid JSON request: unexpected end of hex escape",
            "openai-compatible/llama.cpp": "invalid string: surrogate U+D800..U+DBFF must be followed by"
            " U+DC00..U+DFFF",
        },
    ),
    Rule(
        "nul",
        "Text has no NUL characters.",
        {"anthropic": "The request body is not valid JSON: unexpected end of data"},
    ),
)

_ITEM_FLAGS: dict[Flag, tuple[str, str]] = {
    "blank-block": ("blank-block", "contains an empty block"),
    "arguments": ("arguments-not-object", "has arguments that are not a JSON object"),
    "arguments-type": ("arguments-type", "has arguments of the wrong JSON type"),
    "foreign": ("foreign-content", "is of a kind that the provider does not know here"),
    "other-wire": ("foreign-content", "is in the form of another provider"),
    "other-picture": ("foreign-content", "has an image in the form of another provider"),
    "misplaced": ("block-misplaced", "is in a message that cannot contain it"),
    "null": ("empty-content", "has no content"),
    "mistyped": ("field-mistyped", "has a field of the wrong type"),
    "illegal-value": ("field-mistyped", "has a field with a value that is not allowed"),
    "holds-calls": ("block-misplaced", "contains calls"),
    "second": ("second-kind", "is in a part that contains something else"),
}
_MESSAGE_FLAGS: dict[MessageFlag, tuple[str, str]] = {
    "empty": ("empty-content", "has no content"),
    "blank-answer": ("blank-answer", "has neither calls nor text"),
    "null-content": ("null-content", "has no text next to its calls, not even an empty one"),
    "no-calls": ("empty-calls", "has an empty list of calls"),
    "mistyped": ("field-mistyped", "has a field of the wrong type"),
    "name-illegal": ("speaker-name-illegal", "has a name that the provider refuses"),
}


def find(shape: Shape, profile: Profile) -> Iterator[RuleFinding]:
    """Yield every content that a message may not have."""
    media_counter = MediaCounter(shape, profile)
    called = False
    yield from _unclean(shape.invalid_strings)
    yield from (found for block in shape.blocks for found in _flagged(block))
    declared = shape.tools or frozenset()
    legal: dict[str, bool] = {}  # most calls are of a few tools
    for at, message in enumerate(shape.messages):
        if message.flags or message.invalid_strings:
            yield from _of_message(message, thinks=profile.joins and at in shape.leading)
        if profile.calls is not None and len(message.items) > profile.calls:
            yield from _crowd(message, profile.calls)
        for item in message.items:
            if item.flags:
                yield from _flagged(item)
            if item.kind_names and "separate-field" not in item.flags and not profile.knows(item, shape.format):
                found = item_finding("foreign-content", item, "is of a kind that the provider does not know")
                unknown = profile.unknown_kinds(item, shape.format)
                yield msgspec.structs.replace(found, rewritable="spelling" in item.flags, unknown=unknown)
            if item.kind == "call":
                called = True
                name = item.name or ""
                if name not in legal:
                    legal[name] = profile.name_pattern.fullmatch(name) is not None
                if not legal[name]:
                    yield item_finding("tool-name-illegal", item, "has a name that is not accepted")
                if shape.tools and name not in shape.tools:
                    yield item_finding("tool-not-declared", item, "uses a tool that the request does not declare")
            if item.media and not shape.text_only:
                yield from media_counter.of(item)
            if item.references:
                yield from _references(item, declared)
    if called and shape.tools is not None and not shape.tools:
        yield RuleFinding("tools-not-declared", (), "The request declares no tools, but its history contains calls")


def _of_message(message: Message, *, thinks: bool) -> Iterator[RuleFinding]:
    for flag, (rule, what) in _MESSAGE_FLAGS.items():  # in a fixed order: that of a set differs between processes
        if flag in message.flags and not thinks:
            yield message_finding(rule, message, what)
    yield from _unclean(message.invalid_strings)


def _crowd(message: Message, limit: int) -> Iterator[RuleFinding]:
    calls = sum(item.kind == "call" for item in message.items)
    if calls > limit:
        yield message_finding("too-many-calls", message, f"contains {calls} calls")


def _references(item: Item, declared: frozenset[str]) -> Iterator[RuleFinding]:
    for which, name in enumerate(item.references):
        if name not in declared:
            what = "A result refers to a tool that the request does not declare"
            yield RuleFinding("reference-not-declared", item.path, what, item, which)


def _unclean(bad: tuple[InvalidString, ...]) -> Iterator[RuleFinding]:
    for each in bad:
        what = "a lone half of a surrogate pair" if each.rule == "lone-surrogate" else "a NUL character"
        yield RuleFinding(each.rule, each.path, f"The text contains {what}")


def _flagged(item: Item) -> Iterator[RuleFinding]:
    for flag, (rule, what) in _ITEM_FLAGS.items():
        if flag in item.flags:
            yield msgspec.structs.replace(item_finding(rule, item, what), rewritable=flag == "other-wire")
    if "blank" in item.flags:
        yield item_finding("blank-result" if item.kind == "result" else "blank-text", item, "is blank")
