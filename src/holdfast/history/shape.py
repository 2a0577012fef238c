"""What rules look at: positions in a conversation and facts about the items there, but never the content.

A shape cannot be sent: a format projects a document to it and applies edits to the document, never to a shape. Unknown
facts (an absent id, an unknown maker) are None, never a guess.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Path = tuple[str | int, ...]
"""A position in the list of messages: (4, "tool_calls", 0). The first key is the index of the message."""

Role = Literal["system", "user", "assistant", "tool"]
"""The role of a message. `tool` messages hold results, in formats where a result is a message."""

Kind = Literal["text", "thinking", "call", "result", "server-call", "server-result", "media", "other"]
"""`server-*` are calls that the provider runs itself; `other` is content this format does not know."""

Flag = Literal[
    "blank",  # the text, or a result's text, is only white space
    "blank-block",  # a result that holds a blank block, or an empty list of blocks
    "null",  # a result whose content is null or missing, or an empty part
    "arguments",  # a call whose arguments are not a JSON object, or its text
    "arguments-type",  # arguments of a JSON type that the format does not allow
    "synthetic",  # a result that a repair invented
    "id-missing",  # no id where this format pairs by id
    "name-missing",  # a result without the name that this format wants
    "misplaced",  # a block in a message of a role that cannot hold it
    "foreign",  # a kind of content that the format's own provider does not know, or that is malformed
    "unsigned",  # thinking without the signature it needs to be sent again
    "separate-field",  # thinking in a separate field, not in the content
    "no-text",  # thinking without readable text
    "unbound",  # thinking that is not followed by what it produced
    "signed",  # it has a signature or encrypted content, which only its maker can check or read
    "not-stored",  # it refers to an item that the provider did not store
    "readable",  # a file whose content is given as text
    "altered",  # signed thinking that is known to differ from what was signed
    "incomplete",  # a required field is missing, and an empty value can be added
    "duplicate",  # an earlier item has the same item id
    "item-id",  # an id of the item itself (not the call's) that the provider would refuse
    "own-id",  # an item id that the provider would accept
    "reference",  # it refers to an item that the provider stores
    "call-unsigned",  # a call without the signature that Gemini put on it
    "spelling",  # in a form that some providers do not know, though a common form exists
    "other-wire",  # a result as another format writes it
    "mistyped",  # it has a field without content, of a JSON type that the format does not allow
    "illegal-value",  # a required field has a value that is not allowed
    "thoughts",  # thinking with text in its content, not in its summary
    "holds-calls",  # a result in a message that also has calls
    "second",  # it is in a part that holds another kind too
    "old-kind",  # a result of the legacy kind without an id
    "failed-empty",  # a result that reports an error, without a text
    "failed-blocks",  # a result that reports an error, with blocks that are no texts
    "other-picture",  # an image in the form of another provider or program, or a result with one
    "server-id",  # the id of a provider-run call, or of its result, that the provider would not give
    "server-name",  # a provider-run call of a tool that the provider does not have
]

MessageFlag = Literal[
    "empty",  # no content at all: null, missing, an empty list
    "blank-answer",  # an assistant message with neither calls nor a text that is not blank
    "null-content",  # calls, and a content that is null or missing
    "no-calls",  # an empty list of calls
    "unknown-role",  # a role that the format does not have
    "role-misnamed",  # an unknown or missing role, though the speaker is clear
    "developer",  # a system message with the role `developer`
    "name-illegal",  # the speaker's name is a string that OpenAI would refuse
    "malformed",  # not a message
    "prefix",  # an answer that the provider is asked to continue
    "mistyped",  # it has a field without content, of a JSON type that the format does not allow
]


class Media(msgspec.Struct, frozen=True, gc=False):
    """An image or a file: its declared type, the type its bytes have, its size, name, pages; 0 and "" are unknown."""

    declared: str = ""
    found: str = ""
    size: int = 0
    width: int = 0
    height: int = 0
    name: str = ""
    pages: int = 0


class Item(msgspec.Struct, frozen=True, gc=False):
    """One thing in a conversation: a text, some thinking, a call, a result, an image.

    `id` pairs a call with its result; without one, pairing is by name and position. `maker` is the provider that
    signed thinking, if known. `digest` is equal for equal contents of results and of signed thinking, `seal` for equal
    signatures. `references` are the tools that a result refers to, `marks` counts cache
    markers, and `lifetimes` says how long each of them holds, in order. `citing` tells of its documents, in order, of
    which kind each is and whether it is cited. `caller` is the provider-run call that made a call. `kind_names` name it
    and its parts where not every provider knows their kind: `user/file`. In a result, `media_at` are the places of its
    `media`, and `files` those of all parts that a user's message may hold too, but for texts.
    """

    kind: Kind
    role: Role
    path: Path
    id: str | None = None
    name: str | None = None
    flags: frozenset[Flag] = frozenset()
    maker: str | None = None
    digest: int = 0
    media: tuple[Media, ...] = ()
    references: tuple[str, ...] = ()
    seal: int = 0
    marks: int = 0
    kind_names: tuple[str, ...] = ()
    lifetimes: tuple[str, ...] = ()
    citing: tuple[tuple[str, bool], ...] = ()
    caller: str | None = None
    media_at: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def message(self) -> int:
        """Return the index of its message."""
        index = self.path[0]
        assert isinstance(index, int)
        return index


class BadFields(msgspec.Struct, frozen=True, gc=False):
    """An object with fields to remove, unknown or mistyped: `names` without content, and `with_text`."""

    path: Path
    names: tuple[str, ...] = ()
    with_text: tuple[str, ...] = ()


class InvalidString(msgspec.Struct, frozen=True, gc=False):
    """A string that JSON parsers or stores refuse, with its position."""

    path: Path
    rule: Literal["lone-surrogate", "nul"]


class LongText(msgspec.Struct, frozen=True, gc=False):
    """A text, or the arguments of a call, with more characters than the provider accepts, or nested deeper."""

    path: Path
    limit: Literal["text", "arguments", "depth"]
    size: int


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message: its role, its items in order, and the faults of the whole message."""

    index: int
    role: Role
    items: tuple[Item, ...] = ()
    flags: frozenset[MessageFlag] = frozenset()
    invalid_strings: tuple[InvalidString, ...] = ()
    unknown_fields: tuple[BadFields, ...] = ()
    long_texts: tuple[LongText, ...] = ()
    mistyped_fields: tuple[BadFields, ...] = ()


class Grammar(msgspec.Struct, frozen=True):
    """How a format arranges a conversation.

    `results`: "own" if each result is a message, "user" if results begin a user message. `atomic`: each message is one
    item, so a response of the model is several messages. `by_id`: calls and results are paired by id. `ids`: calls and
    results must have ids for every provider.
    """

    results: Literal["own", "user"]
    atomic: bool = False
    by_id: bool = True
    ids: bool = False

    @property
    def side(self) -> Role:
        """Return the role of the messages that hold the results."""
        return "tool" if self.results == "own" else "user"


class Shape(msgspec.Struct, frozen=True):
    """A conversation as rules see it. `tools` are the names declared, None if not known; the same for `thinking`.

    `continued`: the provider stores earlier messages, so calls may be missing here. `invalid_strings`, `marks` (cache
    markers) and `blocks` (parts that rules check) are of the request outside its messages, such as its system prompt.
    `text_only`: the model takes no images and no files. `joined` are the messages that continue the response of the
    message before them, `leading` those of thinking alone that content continues
    (`holdfast.history.rules.divided_responses`).
    """

    format: str
    grammar: Grammar
    messages: tuple[Message, ...]
    tools: frozenset[str] | None = None
    thinking: bool | None = None
    continued: bool = False
    invalid_strings: tuple[InvalidString, ...] = ()
    marks: int = 0
    joined: frozenset[int] = frozenset()
    leading: frozenset[int] = frozenset()
    blocks: tuple[Item, ...] = ()
    text_only: bool = False


NO_FLAGS: frozenset[Flag] = frozenset()

LONG_LIVED, SHORT_LIVED = "1h", "5m"
"""How long a cache marker holds."""

SERVED: frozenset[Kind] = frozenset({"server-call", "server-result"})
"""The calls that the provider runs itself, and their results. After a message that ends in one, the provider paused; it
continues when it gets the message back."""

IMAGES_ONLY = frozenset({"computer"})
"""The tools whose result is an image and cannot hold text."""

NO_RESULT = "No result was recorded for this call; it may or may not have run."
"""The result invented for a call without one. It claims nothing that is not known."""

NO_USER = "(No message of the user is recorded here.)"
NO_RESPONSE = "(No response is recorded here.)"
"""Placeholders for messages that a provider requires."""

GEMINI_FILE = "tool/functionResponse.parts"
"""The name of the images and files in a result of Gemini's, which its models take since Gemini 3."""

PICTURES_IN_RESULTS = frozenset({"tool/image_url", "tool/bare-image", "tool/file", GEMINI_FILE})
"""The names of images and files in results, which may go to a user's message."""

GENERATED = "An image that a provider's own tool made"
"""The label of such an image, where it goes to a message of the user."""

NO_FILES = "user/file"
"""A file in a result has this name too: for a provider that does not know it, it cannot move."""

_MADE_UP = frozenset(
    {
        NO_RESULT,
        "[Tool execution was interrupted]",
        "Tool execution was interrupted.",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "Tool call interrupted by user.",
        "The tool call was interrupted before a result was produced.",
        "aborted",
    }
)


def is_synthetic(text: str) -> bool:
    """Return whether `text` is a result that a program invents when none was recorded."""
    return text in _MADE_UP


def position(path: Path) -> str:
    """Return the path in readable form: `messages[4].tool_calls[0]`, or outside the messages `system[0].text`."""
    written = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return written.removeprefix(".") if path and isinstance(path[0], str) else f"messages{written}"
