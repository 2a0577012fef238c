"""The changes that a repair makes: each as small as possible, each explained in one sentence.

An edit names places of the document before any edit. `holdfast.history.repairs.draft.arrange` applies edits in their
order; nothing else gives them a meaning.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.history.edit_places import EditPlace, EditRecord, all_of, short, spot
from holdfast.history.repairs.block_edits import ConvertMedia, MoveContent, SetCitations
from holdfast.history.shape import Path, Role, position
from holdfast.text import valid_unicode


class AddResult(EditRecord, frozen=True, gc=False, tag="add-result"):
    """Adds an invented result to a call that has none."""

    call: Path
    place: EditPlace
    text: str

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The call at {position(self.call)} has no result; it gets one that says so: {self.text}"


class MoveResult(EditRecord, frozen=True, gc=False, tag="move-result"):
    """Moves a result to the place that its call requires."""

    result: Path
    call: Path
    place: EditPlace

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The result at {position(self.result)} moves to its call at {position(self.call)}."


class MoveCall(EditRecord, frozen=True, gc=False, tag="move-call"):
    """Moves a call to the end of its response, which ends in message `message`."""

    call: Path
    message: int

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The call at {position(self.call)} moves to the end of its response."


class Split(EditRecord, frozen=True, gc=False, tag="split"):
    """Moves `calls` to a separate response, after the results of the calls before them."""

    calls: tuple[Path, ...]
    results: tuple[Path, ...]

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        first = self.calls[0]
        return (
            f"The response at {position(first[:1])} has more calls than the provider accepts: those from"
            f" {position(first)} on ({len(self.calls)}) move to a separate response, after the results of the others."
        )


class Quote(EditRecord, frozen=True, gc=False, tag="quote"):
    """Turns an item that cannot be sent into text, word for word, under a line that names it.

    The text stays in place with the role `role`, or moves to `place` as the user's.
    """

    path: Path
    what: str
    role: Role = "user"
    place: EditPlace | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "what", valid_unicode(self.what))  # it may contain names from the document

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{position(self.path)} is quoted word for word as {self.role} text: {self.what}."


class Drop(EditRecord, frozen=True, gc=False, tag="drop"):
    """Removes an item without content; `why` is the reason that nothing is lost."""

    path: Path
    why: str

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{position(self.path)} is removed: {self.why}."


class SetId(EditRecord, frozen=True, gc=False, tag="set-id"):
    """Gives a call and its results another id."""

    paths: tuple[Path, ...]
    old: str | None
    new: str

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        if self.old is None:
            return f"{all_of(self.paths)} has no id; it gets {self.new!r}."
        return f"The id {short(self.old)} at {all_of(self.paths)} becomes {self.new!r}."


class Rename(EditRecord, frozen=True, gc=False, tag="rename"):
    """Gives a call and its results a tool name that the provider accepts."""

    paths: tuple[Path, ...]
    old: str
    new: str

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The tool name {short(self.old)} at {all_of(self.paths)} becomes {self.new!r}."


class QuoteArguments(EditRecord, frozen=True, gc=False, tag="quote-arguments"):
    """Turns arguments into a JSON object, which quotes whatever cannot be read."""

    path: Path

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The arguments at {position(self.path)} are not a JSON object in the required form; they are converted."


class CleanText(EditRecord, frozen=True, gc=False, tag="clean-text"):
    """Replaces characters that JSON parsers refuse by U+FFFD, in a message; None: outside the messages."""

    message: int | None

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        where = "everything outside the messages" if self.message is None else f"messages[{self.message}]"
        return f"Characters that JSON parsers refuse become U+FFFD in {where}."


class Fill(EditRecord, frozen=True, gc=False, tag="fill"):
    """Replaces missing or blank content by a text that claims nothing."""

    path: Path
    text: str

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{position(self.path)} has no content; it becomes {self.text!r}."


class Complete(EditRecord, frozen=True, gc=False, tag="complete"):
    """Adds a required field with an empty value, or corrects the spelling of one."""

    path: Path
    what: Literal["thinking", "signature", "field", "role", "kind", "part", "name"]

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        if self.what == "role":
            return f"{position(self.path)} gets the role name that the provider knows."
        if self.what == "name":
            return f"The name of {position(self.path)} is changed to one that the provider accepts."
        if self.what == "part":
            return f"{position(self.path)} is in a part that contains something else; it gets its own part."
        if self.what == "kind":
            return f"{position(self.path)} is rewritten as a kind that the provider knows."
        if self.what == "signature":
            return f"{position(self.path)} lacks a required signature; it gets a placeholder that the provider accepts."
        return f"{position(self.path)} lacks the required {self.what}; it is added empty."


class AsText(EditRecord, frozen=True, gc=False, tag="as-text"):
    """Turns the content of a result into text, because it has blocks that cannot be sent; `only_texts`: all of it."""

    path: Path
    only_texts: bool = False

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        why = (
            "reports an error, and not only in words"
            if self.only_texts
            else "has content of a kind that cannot be sent"
        )
        return f"{position(self.path)} {why}; it is converted to text."


class LeaveOut(EditRecord, frozen=True, gc=False, tag="leave-out"):
    """Replaces an image or a file that cannot be sent by a note; `which` is its index in the item."""

    path: Path
    which: int
    why: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "why", valid_unicode(self.why))

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{self.why} ({position(self.path)}); a note replaces it."


class Shorten(EditRecord, frozen=True, gc=False, tag="shorten"):
    """Keeps the beginning and the end of a text or of arguments, with a note of how much is left out.

    It names a place of the document after all other edits, because they change the length of a text.
    """

    path: Path
    most: int
    what: Literal["text", "arguments"]

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return (
            f"The {self.what} at {position(self.path)} has more than {self.most} characters; its beginning and its end"
            " are kept, and a note says how much was left out."
        )


class Declare(EditRecord, frozen=True, gc=False, tag="declare"):
    """Declares images and files as the type of their bytes."""

    path: Path

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The media type of {position(self.path)} is corrected to match its bytes."


class DropField(EditRecord, frozen=True, gc=False, tag="drop-field"):
    """Removes a field without text: an item's own id, a cache marker, a signature."""

    path: Path
    field: Literal["item-id", "cache-mark", "cache-ttl", "signature", "mistyped", "calls", "thoughts", "caller"]

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        if self.field == "mistyped":
            return f"Fields of {position(self.path)} have the wrong type; they are removed, or quoted as text."
        if self.field == "thoughts":
            return f"The `content` of {position(self.path)} is removed; its reasoning is in `summary`, or encrypted."
        if self.field == "cache-ttl":
            return f"The cache marker at {position(self.path)} holds for five minutes, as one before it does."
        if self.field == "caller":
            return f"The `caller` at {position(self.path)} is removed: its call is not here as a call."
        if self.field == "calls":
            return f"The calls in the result at {position(self.path)} are not the assistant's; they are quoted as text."
        return f"The {self.field.replace('-', ' ')} at {position(self.path)} is removed."


class DropFields(EditRecord, frozen=True, gc=False, tag="drop-fields"):
    """Removes unknown or `mistyped` fields that hold metadata, not text of the conversation."""

    path: Path
    names: tuple[str, ...]
    mistyped: bool = False

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{_fields_of(self.path, mistyped=self.mistyped)}; they are removed: {', '.join(self.names)}."


class QuoteFields(EditRecord, frozen=True, gc=False, tag="quote-fields"):
    """Turns unknown or `mistyped` fields with content into text, in place or in a message `before` one.

    The message gets the role `role`; None: it keeps its role.
    """

    path: Path
    names: tuple[str, ...]
    before: int | None = None
    mistyped: bool = False
    role: Role | None = None

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{_fields_of(self.path, mistyped=self.mistyped)}; they are quoted as text: {', '.join(self.names)}."


def _fields_of(path: Path, *, mistyped: bool) -> str:
    fields = f"fields of {position(path)}"
    return f"These {fields} have the wrong type" if mistyped else f"The provider does not know these {fields}"


class DropMessage(EditRecord, frozen=True, gc=False, tag="drop-message"):
    """Removes an empty message, or the `part` of it that is sent as a message."""

    message: int
    part: int | None = None

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{spot(self.message, self.part)} is empty and is removed."


class DeclareTools(EditRecord, frozen=True, gc=False, tag="declare-tools"):
    """Declares the tools that the history calls, with any arguments, in the request."""

    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"The request declares no tools; those that were called are added: {', '.join(self.names)}."


class TurnOffThinking(EditRecord, frozen=True, gc=False, tag="turn-off-thinking"):
    """Turns thinking off for this request, because the calls that it answers were made without it."""

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return "Thinking is off for this request: the calls that it answers were made without thinking."


class Merge(EditRecord, frozen=True, gc=False, tag="merge"):
    """Joins a message, or the `part` of it that is sent as a message, to the one before it."""

    message: int
    role: Role
    part: int | None = None

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        return f"{spot(self.message, self.part)} is merged into the {self.role} message before it."


class Insert(EditRecord, frozen=True, gc=False, tag="insert"):
    """Inserts a placeholder before `message`, or before the `part` of it that is sent as a message, or at the end."""

    message: int | None
    role: Literal["user", "assistant"]
    text: str
    part: int | None = None

    @property
    def sentence(self) -> str:
        """Return what the edit does, in one sentence."""
        where = "at the end" if self.message is None else f"before {spot(self.message, self.part)}"
        return f"A placeholder for the {self.role} is inserted {where}: {self.text}"


Edit = (
    AddResult
    | MoveResult
    | MoveCall
    | Split
    | Quote
    | Drop
    | SetId
    | Rename
    | QuoteArguments
    | CleanText
    | Fill
    | Complete
    | AsText
    | LeaveOut
    | Shorten
    | Declare
    | ConvertMedia
    | MoveContent
    | SetCitations
    | DropField
    | DropFields
    | QuoteFields
    | DeclareTools
    | TurnOffThinking
    | DropMessage
    | Merge
    | Insert
)
