"""The messages of a conversation while edits are applied to them: rows of parts, from which a format writes messages.

Nothing is decided here: the edits say what to do.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from holdfast.history.draft_messages import DraftMessage, DraftPart, is_reply, media_part, new_row_rank
from holdfast.history.edit_places import EditPlace
from holdfast.history.edits import (
    AddResult,
    AsText,
    CleanText,
    Complete,
    Declare,
    DeclareTools,
    Drop,
    DropField,
    DropFields,
    DropMessage,
    Edit,
    Fill,
    Insert,
    LeaveOut,
    Merge,
    MoveCall,
    MoveResult,
    Quote,
    QuoteArguments,
    QuoteFields,
    Rename,
    SetId,
    Shorten,
    Split,
    TurnOffThinking,
)
from holdfast.history.formats.content import MOVED
from holdfast.history.repairs.block_edits import ConvertMedia, MoveContent, SetCitations
from holdfast.history.repairs.limits import split_rows
from holdfast.history.repairs.request import is_request_edit
from holdfast.history.shape import Item, Path, Role, Shape
from holdfast.text import valid_unicode


def arrange(shape: Shape, edits: Iterable[Edit]) -> Iterator[DraftMessage]:
    """Yield the rows that result from the edits, in order."""
    for row in rows_after(shape, edits):
        yield row if isinstance(row, DraftMessage) else _row(shape, row)


def rows_after(shape: Shape, edits: Iterable[Edit], *, skip: Container[int | str] = ()) -> Iterator[DraftMessage | int]:
    """Yield the rows, or the index of a message that is untouched or in `skip`, because building a row is slow."""
    draft = _Draft(shape, skip)
    for edit in edits:
        if not is_request_edit(edit):
            draft.do(edit)
    if not draft.splits:
        return draft.rows()
    rows = [each if isinstance(each, DraftMessage) else _row(shape, each) for each in draft.rows()]
    return iter(split_rows(rows, draft.splits, shape.grammar))


class _Draft:
    def __init__(self, shape: Shape, skip: Container[int | str]) -> None:
        self._shape = shape
        self._skip = skip
        self._rows: dict[int, DraftMessage] = {}  # the messages that an edit names
        self._pieces: dict[int, dict[Path, DraftPart]] = {}  # their parts, if an edit names one
        self._new: list[DraftPart] = []  # invented results
        self._removed: set[int] = set()  # pieces removed from their row, by identity
        self._moved: set[int] = set()  # messages moved as a whole
        self._last: set[int] = set()  # calls that move to the end of their row, by identity
        self._after: dict[int, list[DraftMessage]] = {}
        self._into: dict[int, list[DraftPart]] = {}
        self._before: dict[int | None, list[DraftMessage]] = {}
        self._dropped: set[int] = set()
        self._merged: set[int] = set()
        self.splits: list[Split] = []

    def do(self, edit: Edit) -> None:
        """Apply one edit."""
        match edit:
            case AddResult():
                piece = DraftPart(kind="result", text=edit.text, call=self._piece(edit.call), touched=True)
                self._new.append(piece)
                self._put(piece, edit.place, role="tool")
            case MoveResult():
                self._move(edit)
            case MoveCall() | MoveContent():
                self._move_other(edit)
            case Quote() | QuoteFields():
                self._quote_edit(edit)
            case Drop():
                self._drop(edit)
            case SetId():
                for path in edit.paths:
                    if path[0] not in self._skip:
                        self._touched_piece(path).id = edit.new
            case Rename():
                for path in edit.paths:
                    self._touched_piece(path).name = edit.new
            case (
                Declare()
                | ConvertMedia()
                | SetCitations()
                | DropFields()
                | DeclareTools()
                | TurnOffThinking()
                | Shorten()
            ):
                self._do_elsewhere(edit)
            case Complete(what="thinking"):
                self._do_to_row(edit)
            case Fill() | Complete() | DropField() if edit.path not in self._pieces_of(edit.path):
                self._do_to_row(edit)
            case QuoteArguments() | AsText() | LeaveOut() | DropField() | Fill() | Complete():
                self._do_to_piece(edit)
            case CleanText() | DropMessage() | Merge() | Insert() | Split():
                self._do_to_message(edit)

    def _do_elsewhere(
        self, edit: Declare | ConvertMedia | SetCitations | DropFields | DeclareTools | TurnOffThinking | Shorten
    ) -> None:
        """Do nothing: the writer of the message reads these edits itself."""
        if isinstance(edit, Declare | ConvertMedia | SetCitations) or (isinstance(edit, DropFields) and edit.mistyped):
            self._row(edit.path).touched = True

    def _do_to_row(self, edit: Fill | Complete | DropField) -> None:
        if self._shape.grammar.atomic and isinstance(edit, Complete) and edit.what == "thinking":
            message = self._row(edit.path).sources[0]
            new = DraftMessage("assistant", [DraftPart(kind="thinking", touched=True)], [], touched=True)
            self._before.setdefault(message, []).append(new)
            return
        row = self._touch(edit.path)
        if isinstance(edit, Fill):
            row.fill = edit.text
        elif isinstance(edit, Complete):
            row.added += (edit.what,)

    def _do_to_piece(self, edit: QuoteArguments | AsText | LeaveOut | DropField | Fill | Complete) -> None:
        piece = self._touched_piece(edit.path)
        match edit:
            case QuoteArguments():
                piece.quote_arguments = True
            case AsText():
                piece.as_text = True
                piece.only_texts |= edit.only_texts
            case LeaveOut():
                piece.left_out += ((edit.which, edit.why),)
            case DropField():
                piece.dropped += (edit.field,)
            case Fill():
                piece.text = edit.text
            case Complete():
                piece.added += (edit.what,)

    def _do_to_message(self, edit: CleanText | DropMessage | Merge | Insert | Split) -> None:
        match edit:
            case CleanText():
                if edit.message is not None:
                    self._touch((edit.message,))
            case DropMessage():
                self._dropped.add(edit.message)
            case Merge():
                self._merged.add(edit.message)
            case Split():
                self.splits.append(edit)
            case Insert():
                before = self._before.setdefault(edit.message, [])  # the assistant's text follows the user's
                row = DraftMessage(edit.role, [DraftPart(kind="text", text=edit.text, touched=True)], [], touched=True)
                before.insert(0 if edit.role == "user" else len(before), row)

    def rows(self) -> Iterator[DraftMessage | int]:
        """Yield the rows after all edits; the index of an untouched message."""
        for piece in self._new:
            if (call := piece.call) is not None:  # its id and name may have changed since
                piece.id, piece.name = call.id, None if call.name is None else valid_unicode(call.name)
        if not (self._before or self._dropped or self._merged):
            yield from self._in_order()
            return
        last: DraftMessage | int | None = None
        for row in self._in_order():
            message = row if isinstance(row, int) else row.sources[0] if row.sources else None
            if message is not None:
                for new in self._before.get(message, ()):
                    if last is not None:
                        yield last
                    last = new
                if message in self._dropped:
                    continue
                if message in self._merged and last is not None:
                    last = self._joined(last, row)
                    continue
            if last is not None:
                yield last
            last = row
        if last is not None:
            yield last
        yield from self._before.get(None, ())

    def _joined(self, last: DraftMessage | int, row: DraftMessage | int) -> DraftMessage:
        """Return the row with the next one appended."""
        first = _row(self._shape, last) if isinstance(last, int) else last
        second = _row(self._shape, row) if isinstance(row, int) else row
        first.pieces.extend(second.pieces)
        if self._last:
            first.pieces = self._calls_last(first.pieces)
        first.sources.extend(second.sources)
        first.added += second.added
        first.fill = second.fill if first.fill is None else first.fill
        first.touched = True
        return first

    def _in_order(self) -> Iterator[DraftMessage | int]:
        for index in range(len(self._shape.messages)):
            row = self._rows.get(index)
            if row is None and index not in self._after:
                yield index  # nothing is inserted into it either; that would have touched it
                continue
            row = self._row((index,))
            if index not in self._moved:
                if self._removed and row.touched:
                    row.pieces = [piece for piece in row.pieces if id(piece) not in self._removed]
                if self._last and row.touched:
                    row.pieces = self._calls_last(row.pieces)
                if added := self._into.get(index):
                    place = next((at for at, piece in enumerate(row.pieces) if piece.kind != "result"), len(row.pieces))
                    added.sort(key=lambda piece: piece.kind != "result")  # quoted text comes after results
                    row.pieces[place:place] = added
                yield row
            after = self._after.get(index, [])
            for new in after:
                new.pieces.sort(key=lambda piece: piece.kind != "result")
            after.sort(key=new_row_rank)
            yield from after

    def _touch(self, path: Path) -> DraftMessage:
        row = self._row(path)
        row.touched = True
        return row

    def _touched_piece(self, path: Path) -> DraftPart:
        self._touch(path)
        piece = self._piece(path)
        piece.touched = True
        return piece

    def _piece(self, path: Path) -> DraftPart:
        return self._pieces_of(path)[path]

    def _pieces_of(self, path: Path) -> dict[Path, DraftPart]:
        row = self._row(path)
        message = row.sources[0]
        if message not in self._pieces:
            self._pieces[message] = {piece.item.path: piece for piece in row.pieces if piece.item}
        return self._pieces[message]

    def _row(self, path: Path) -> DraftMessage:
        index = path[0]
        assert isinstance(index, int)
        if index not in self._rows:
            self._rows[index] = _row(self._shape, index)
        return self._rows[index]

    def _move(self, edit: MoveResult) -> None:
        piece, row = self._piece(edit.result), self._row(edit.result)
        if row.role == "tool" and len(row.pieces) == 1:
            self._moved.add(row.sources[0])  # the message moves and stays the same object
            self._after.setdefault(edit.place.message, []).append(row)
            return
        self._take(row, piece)
        self._put(piece, edit.place, role="tool")

    def _move_call(self, edit: MoveCall) -> None:
        row = self._row(edit.call)
        if edit.message == row.sources[0]:
            self._touch(edit.call)
            self._last.add(id(self._piece(edit.call)))
        else:
            self._moved.add(row.sources[0])
            self._after.setdefault(edit.message, []).append(row)

    def _move_other(self, edit: MoveCall | MoveContent) -> None:
        if isinstance(edit, MoveCall):
            self._move_call(edit)
        else:
            self._move_content(edit)

    def _move_content(self, edit: MoveContent) -> None:
        row, piece = self._touch(edit.path), self._touched_piece(edit.path)
        assert piece.item is not None
        moving = [DraftPart(kind="text", text=edit.lead, touched=True)] if edit.lead else []
        if edit.parts:
            piece.moved += edit.parts
            moving += [media_part(path) for path in edit.parts]
        elif piece.kind == "media":
            row.pieces[row.pieces.index(piece)] = DraftPart(kind="text", text=MOVED, touched=True)
            moving.append(media_part(edit.path))
        else:
            self._take(row, piece)
            moving.append(piece)
        rows = self._after.setdefault(edit.place.message, []) if edit.reply else []
        if edit.reply and not any(is_reply(row) for row in rows):
            rows.append(DraftMessage("assistant", [DraftPart(kind="text", text=edit.reply)], [], touched=True))
        for each in moving:
            self._put(each, edit.place, role="user")

    def _calls_last(self, pieces: list[DraftPart]) -> list[DraftPart]:
        moving = [piece for piece in pieces if id(piece) in self._last]
        staying = [piece for piece in pieces if id(piece) not in self._last]
        content = [at for at, piece in enumerate(staying) if piece.kind not in ("thinking", "call")]
        place = content[-1] + 1 if content else 0
        return [*staying[:place], *moving, *staying[place:]]

    def _drop(self, edit: Drop) -> None:
        row = self._touch(edit.path)
        if piece := self._pieces_of(edit.path).get(edit.path):
            self._take(row, piece)
            if piece.quoted_fields:
                row.role = "user"
                row.pieces.append(_field_quotation(piece))

    def _quote_edit(self, edit: Quote | QuoteFields) -> None:
        if isinstance(edit, Quote):
            self._quote(edit)
        else:
            self._quote_fields(edit)

    def _quote(self, edit: Quote) -> None:
        row, piece = self._touch(edit.path), self._touched_piece(edit.path)
        piece.kind, piece.label = "text", edit.what
        quotations = [_field_quotation(piece)] if piece.quoted_fields else []
        if edit.place is None:
            row.role = edit.role
            row.pieces += quotations
            return
        self._take(row, piece)
        for each in (piece, *quotations):
            self._put(each, edit.place, role="user")

    def _quote_fields(self, edit: QuoteFields) -> None:
        row = self._touch(edit.path)
        row.role = edit.role or row.role
        quotation = DraftPart(kind="text", quoted_fields=((edit.path, edit.names),), touched=True)
        if edit.before is not None:
            new = DraftMessage("assistant", [], [], touched=True)
            self._before.setdefault(edit.before, [new])[0].pieces.append(quotation)
        elif row.role == "tool" and row.pieces:
            row.pieces[0].quoted_fields += quotation.quoted_fields
            row.pieces[0].touched = True
        else:
            calls = (at for at, piece in enumerate(row.pieces) if piece.kind == "call")
            row.pieces.insert(next(calls, len(row.pieces)), quotation)

    def _take(self, row: DraftMessage, piece: DraftPart) -> None:
        self._removed.add(id(piece))
        row.touched = True

    def _put(self, piece: DraftPart, place: EditPlace, *, role: Role) -> None:
        if place.into:
            self._touch((place.message,))
            self._into.setdefault(place.message, []).append(piece)
            return
        rows = self._after.setdefault(place.message, [])
        if self._shape.grammar.results == "user":
            if rows:
                rows[-1].pieces.append(piece)
                return
            role = "user"
        if role == "user" and rows and rows[-1].role == "user" and piece.label is None:
            rows[-1].pieces.append(piece)  # what moved together stays together
            return
        rows.append(DraftMessage(role, [piece], [], touched=True))


def _field_quotation(piece: DraftPart) -> DraftPart:
    """Move the fields that the piece should quote to a new part; return that part."""
    piece.dropped += tuple(name for _, names in piece.quoted_fields for name in names)
    quotation, piece.quoted_fields = DraftPart(kind="text", quoted_fields=piece.quoted_fields, touched=True), ()
    return quotation


def _row(shape: Shape, index: int) -> DraftMessage:
    message = shape.messages[index]
    return DraftMessage(message.role, [_piece(item) for item in message.items], [index])


def _piece(item: Item) -> DraftPart:
    return DraftPart(kind=item.kind, item=item, id=item.id, name=item.name)
