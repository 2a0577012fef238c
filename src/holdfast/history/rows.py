"""A message in the making: a row of pieces, which a format writes as a message.

Two rules. A row that no edit touched is written as the very object it was. A piece says what is to be written, not how.
"""

from __future__ import annotations

import msgspec

from holdfast.history.shape import Item, Kind, Role


class Piece(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """One thing in a row: an item as it was or changed, or something new.

    `item` is None if it is new. `text` is what it says if that is new; `what`, if set, is what the item was that is now
    quoted as text; `call` is what a new result answers. `left_out` says of images, by number, why they cannot be sent;
    `added` and `dropped` name fields, as the edits do.
    """

    kind: Kind
    item: Item | None = None
    id: str | None = None
    name: str | None = None
    text: str | None = None
    what: str | None = None
    call: Piece | None = None
    quote_arguments: bool = False
    as_text: bool = False
    left_out: tuple[tuple[int, str], ...] = ()
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    touched: bool = False


class Row(msgspec.Struct, eq=False, gc=False):
    """A message in the making. `sources` are the messages it comes from, none if it is new."""

    role: Role
    pieces: list[Piece]
    sources: list[int]
    touched: bool = False
    fill: str | None = None
    added: tuple[str, ...] = ()
