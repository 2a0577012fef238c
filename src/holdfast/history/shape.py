"""What rules look at: positions in a conversation and facts about them, but never the content.

Two rules. A shape cannot be sent: a format projects a document to it and applies edits to the document, never to a
shape. Whatever a shape does not say (an absent id, an unknown maker) is None, never a guess.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Path = tuple[str | int, ...]
"""Where in the list of messages: (4, "tool_calls", 0). The first is the index of the message."""

Role = Literal["system", "user", "assistant", "tool"]
"""Who speaks. `tool` is the side of results where they are messages of their own."""

Kind = Literal["text", "thinking", "call", "result", "server-call", "server-result", "media", "other"]
"""`server-*` are calls that the provider runs itself; `other` is content this format does not know."""

Flag = Literal[
    "blank",  # text of nothing but white space; of a result: its text
    "blank-block",  # a result that holds a blank block, or an empty list of blocks
    "null",  # a result whose content is null or missing; a part that holds nothing
    "arguments",  # a call whose arguments are not (the text of) a JSON object
    "arguments-type",  # arguments in a JSON type that this format does not have for them
    "synthetic",  # a result that a repair made up
    "id-missing",  # no id where this format pairs by id
    "name-missing",  # a result without the name that this format wants
    "misplaced",  # a block in a message of a role that cannot hold it
    "foreign",  # a kind of content that the format's own provider does not know, or that is malformed
    "unsigned",  # thinking without the signature it needs to be sent again
    "beside",  # thinking in a field beside the content, not in it
    "untold",  # thinking that does not say what was thought
    "unbound",  # thinking that is not followed by what it produced
    "signed",  # it carries what only its maker can read or check: a signature, or something encrypted
    "unkept",  # it stands for something that the provider did not keep
    "readable",  # a file whose content stands there as text
    "altered",  # signed thinking that is known to differ from what was signed
    "incomplete",  # a field that the provider requires is missing, and can be given a value that says nothing
    "duplicate",  # the same item, by an id that is not a call's, stands earlier
    "item-id",  # an id of the item itself (not the call's) that the provider would refuse
    "own-id",  # the same, that it would accept
    "reference",  # it stands for something that the provider keeps
    "call-unsigned",  # a call without the signature that Gemini put on it
    "spelling",  # written in a way that not every provider knows, though there is one that all know
    "other-wire",  # a result as another format writes it
    "mistyped",  # with a field that says nothing, of a JSON type that the format does not have for it
    "odd-value",  # with a field that has to be there, of none of the values that it may have
    "thoughts",  # thinking that tells its thoughts in its content
    "holds-calls",  # a result beside which calls stand
    "second",  # it stands in a part that holds something else
    "old-kind",  # a result of the kind that has no id
]

MessageFlag = Literal[
    "empty",  # no content at all: null, missing, an empty list
    "blank-answer",  # of the assistant, with neither calls nor a text that is not blank
    "null-content",  # calls beside a content that is null or missing
    "no-calls",  # an empty list of calls
    "unknown-role",  # a role that the format does not have
    "role-misnamed",  # the same, or none at all, though it is plain who speaks
    "developer",  # of the system, which is called developer
    "name-illegal",  # the name of who speaks is a text that OpenAI would refuse
    "malformed",  # not a message at all
    "mistyped",  # with a field that says nothing, of a JSON type that the format does not have for it
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

    `id` pairs a call with its result, None if there is none: then pairing is by name and position. `maker` is the
    provider that signed thinking, None if unknown. `digest` tells equal contents, of results and of thinking that has
    a signature; `seal` tells equal signatures. `references` are the tools that a result refers to, `marks` counts cache
    markers. `written` is what it and what it holds is called, by whom, where not every provider knows it: `user/file`.
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
    written: tuple[str, ...] = ()

    @property
    def message(self) -> int:
        """Return the index of its message."""
        index = self.path[0]
        assert isinstance(index, int)
        return index


class Odd(msgspec.Struct, frozen=True, gc=False):
    """An object with fields to remove, unknown or of a wrong type: their `names`, and `said`, those with content."""

    path: Path
    names: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


class Unclean(msgspec.Struct, frozen=True, gc=False):
    """A string that JSON parsers or stores refuse, with its position."""

    path: Path
    what: Literal["lone-surrogate", "nul"]


class Long(msgspec.Struct, frozen=True, gc=False):
    """A text, or the arguments of a call, with more characters than the provider accepts, or nested deeper."""

    path: Path
    what: Literal["text", "arguments", "depth"]
    size: int


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message: its role, its items in order, and its faults as a whole."""

    index: int
    role: Role
    items: tuple[Item, ...] = ()
    flags: frozenset[MessageFlag] = frozenset()
    unclean: tuple[Unclean, ...] = ()
    odd: tuple[Odd, ...] = ()
    long: tuple[Long, ...] = ()
    mistyped: tuple[Odd, ...] = ()


class Grammar(msgspec.Struct, frozen=True):
    """How a format arranges a conversation.

    `results`: "own" if a result is a message, "user" if results stand at the head of a user message. `atomic`: a
    message is one item, so that one response of the model is several. `by_id`: calls and results are paired by id.
    `ids`: calls and results have ids, at every provider.
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

    `continued` tells that the provider keeps what came before: there may be calls that do not stand here. `beside` are
    the strings of the request beside its messages (its system prompt, say) that are not clean, `marks` counts the cache
    markers there, `blocks` are the parts of it that rules look at. `text_only` tells that the model takes no images and
    no files. `joined` are the messages that continue the response of the one before them, `leading` those of nothing
    but thinking that something said continues (`holdfast.history.rules.divided_responses`).
    """

    format: str
    grammar: Grammar
    messages: tuple[Message, ...]
    tools: frozenset[str] | None = None
    thinking: bool | None = None
    continued: bool = False
    beside: tuple[Unclean, ...] = ()
    marks: int = 0
    joined: frozenset[int] = frozenset()
    leading: frozenset[int] = frozenset()
    blocks: tuple[Item, ...] = ()
    text_only: bool = False


NO_FLAGS: frozenset[Flag] = frozenset()

SERVED: frozenset[Kind] = frozenset({"server-call", "server-result"})
"""The calls that the provider runs itself, and their results. A message that ends in one is a pause of the provider's,
which goes on when it gets the message back."""

IMAGES_ONLY = frozenset({"computer"})
"""The tools whose result is an image, and can hold no text."""

NO_RESULT = "No result was recorded for this call; it may or may not have run."
"""The result that is made up for a call without one: it claims nothing that is not known."""

NO_USER = "(No message of the user is recorded here.)"
NO_RESPONSE = "(No response is recorded here.)"
"""What stands in the place of a message where a provider wants one."""

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
    """Return the path as people write it: `messages[4].tool_calls[0]`; beside the messages: `system[0].text`."""
    written = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return written.removeprefix(".") if path and isinstance(path[0], str) else f"messages{written}"
