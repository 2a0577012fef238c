"""Applies edits to a conversation.

A message that no edit touched stays the original object. Nothing is decided here: the edits say what to do, the format
how a message looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.history.edits import CleanText, Declare, DropFields, Edit, QuoteFields, SetId
from holdfast.history.field_types import all_known
from holdfast.history.fields import Kinds, known_only
from holdfast.history.formats.anthropic.block_settings import with_citations
from holdfast.history.formats.content import quote_fields
from holdfast.history.formats.format import Format, IdRewriter, cleaned
from holdfast.history.formats.shape_marks import without_fields
from holdfast.history.media.media_forms import changed_at, convert_media, declare_media
from holdfast.history.repairs.block_edits import ConvertMedia, SetCitations
from holdfast.history.repairs.draft import rows_after
from holdfast.history.repairs.new_ids import NO_NEW_IDS, NewIds, find_new_ids, with_new_ids
from holdfast.history.shape import Message, Path, Shape


class EditedMessages(NamedTuple):
    """Messages with edits applied.

    `sources` has for each message its index before the edits if it is unchanged or has only `new_ids`, else None. It is
    None if these indexes are unknown.
    """

    messages: list[object]
    sources: Sequence[int | None] | None
    new_ids: NewIds = NO_NEW_IDS

    def known_projections(self, shape: Shape) -> list[Message | None]:
        """Return for each message its projection if it is known from `shape`, that before the edits, else None."""
        sources = self.sources if self.sources is not None else [None] * len(self.messages)
        known: list[Message | None] = []
        for source in sources:
            message = None if source is None else shape.messages[source]
            if message is not None and source in self.new_ids.messages:
                message = with_new_ids(message, self.new_ids.ids)
            known.append(message)
        return known


def apply(
    form: Format, messages: Sequence[object], shape: Shape, edits: Sequence[Edit], *, known: Kinds | None = None
) -> EditedMessages:
    """Return the messages with the edits applied. Untouched messages are the same objects.

    Rewritten messages have only the `known` fields, if given.
    """
    addressed = form if isinstance(form, IdRewriter) else None
    new_ids = find_new_ids(shape.messages, edits) if addressed else NO_NEW_IDS
    if simple := new_ids.messages:  # these need no further pass over their edits
        edits = [each for each in edits if not (isinstance(each, SetId) and all(at[0] in simple for at in each.paths))]
    sources = list(messages)
    for edit in edits:
        if isinstance(edit, CleanText) and edit.message is not None:
            sources[edit.message] = cleaned(sources[edit.message])
    originals = list(sources)
    mistyped: dict[int, list[tuple[Path, Sequence[str]]]] = {}
    for edit in edits:
        if isinstance(edit, DropFields | QuoteFields) and edit.mistyped and isinstance(index := edit.path[0], int):
            mistyped.setdefault(index, []).append((edit.path[1:], edit.names))
    for index, fields in mistyped.items():
        sources[index] = without_fields(sources[index], fields)
    for edit in edits:  # after removing mistyped fields: an image's type may be one
        if isinstance(edit, Declare | ConvertMedia | SetCitations) and isinstance(index := edit.path[0], int):
            sources[index] = _changed(sources[index], edit, form.name)
    trimmed = {edit.path[0] for edit in edits if isinstance(edit, DropFields)}
    result: list[object] = []
    origins: list[int | None] = []
    for row in rows_after(shape, edits, skip=simple):
        if isinstance(row, int):
            source, raw, touched = row, sources[row], row in trimmed
            if addressed and row in simple:
                raw = addressed.with_ids(raw, shape.messages[row].items, new_ids.ids)  # which has no unknown fields
        else:
            for piece in row.pieces:
                if piece.quoted_fields:
                    piece.quotation = quote_fields(piece.quoted_fields, originals)
                    piece.text = piece.quotation if piece.item is None else piece.text
            source = None if row.touched else row.sources[0]
            raw = form.build(row, sources) if source is None else sources[source]
            touched = row.touched or not trimmed.isdisjoint(row.sources)
        edited = raw if known is None or not touched or all_known(raw, known) else known_only(raw, known)
        result.append(edited)
        origins.append(source if source is None or row in simple or edited is messages[source] else None)
    return EditedMessages(result, origins, new_ids)


def _changed(raw: object, edit: Declare | ConvertMedia | SetCitations, form: str) -> object:
    """Return the message with the one setting or form of a block that the edit changes."""
    path = edit.path[1:]
    match edit:
        case Declare():
            return declare_media(raw, path)
        case ConvertMedia():
            return convert_media(raw, path, form)
        case SetCitations(kind=kind, enabled=enabled):
            return changed_at(raw, path, lambda block: with_citations(block, kind, enabled=enabled))
