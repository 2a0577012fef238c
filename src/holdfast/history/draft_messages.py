"""A message being rewritten: a row of parts, from which a format writes a message.

A row that no edit touched is written as the original object. A part says what to write, not how.
"""

from __future__ import annotations

import msgspec

from holdfast.history.shape import NO_RESPONSE, Item, Kind, Path, Role


class DraftPart(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A part of a row: an item as it was, a changed one, or a new one.

    `item` is None for a new part, whose text is `text`. `label` names an item that becomes quoted text. `call` is the
    call that a new result answers. `left_out` gives the reasons why images cannot be sent, by number; `moved` are the
    parts of a result that move elsewhere. `added` and `dropped` name fields, as the edits do. `quoted_fields` are
    quoted after everything else, by the path of their object; `quotation` is that text.
    """

    kind: Kind
    item: Item | None = None
    id: str | None = None
    name: str | None = None
    text: str | None = None
    label: str | None = None
    call: DraftPart | None = None
    quote_arguments: bool = False
    as_text: bool = False
    only_texts: bool = False
    left_out: tuple[tuple[int, str], ...] = ()
    moved: tuple[Path, ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    quoted_fields: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    quotation: str = ""
    touched: bool = False


class DraftMessage(msgspec.Struct, eq=False, gc=False):
    """A message being rewritten. `sources` are the messages it comes from, none if it is new."""

    role: Role
    pieces: list[DraftPart]
    sources: list[int]
    touched: bool = False
    fill: str | None = None
    added: tuple[str, ...] = ()


def new_row_rank(row: DraftMessage) -> int:
    """Return the order of new rows: of the response, results, a reply that makes room, the user's."""
    if row.role == "assistant":
        return 2 if is_reply(row) else 0
    return 1 if any(piece.kind == "result" for piece in row.pieces) else 3


def is_reply(row: DraftMessage) -> bool:
    """Return whether it is a new message of the assistant that only makes room for one of the user."""
    return row.role == "assistant" and not row.sources and [piece.text for piece in row.pieces] == [NO_RESPONSE]


def media_part(path: Path) -> DraftPart:
    """Return a part of the user's with the image or file at the path."""
    return DraftPart(kind="media", item=Item("media", "user", path), touched=True)
