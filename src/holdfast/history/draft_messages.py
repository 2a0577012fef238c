"""A message being rewritten: a row of parts, from which a format writes a message.

A row that no edit touched is written as the original object. A part says what to write, not how.
"""

from __future__ import annotations

import msgspec

from holdfast.history.shape import Item, Kind, Path, Role


class DraftPart(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A part of a row: an item as it was, a changed one, or a new one.

    `item` is None for a new part, whose text is `text`. `label` names an item that becomes quoted text. `call` is the
    call that a new result answers. `left_out` gives the reasons why images cannot be sent, by number. `added` and
    `dropped` name fields, as the edits do. `quoted_fields` are quoted after everything else, by the path of their
    object; `quotation` is that text.
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
    left_out: tuple[tuple[int, str], ...] = ()
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
