"""A conversation while edits are carried out on it: rows of pieces, which a format then writes as messages.

Two rules. A row that no edit touched is written as the very object it was. Nothing here decides anything: what to do is
in the edits, how a message looks is the format's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.history.beside import is_beside
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
    Place,
    Quote,
    QuoteArguments,
    Rename,
    SetId,
    Split,
    TurnOffThinking,
)
from holdfast.history.fields import Kinds, known_only
from holdfast.history.formats.format import Format, cleaned, declared
from holdfast.history.rows import Piece, Row
from holdfast.history.shape import Item, Path, Role, Shape
from holdfast.history.splits import split_rows


def arrange(shape: Shape, edits: Iterable[Edit]) -> Iterator[Row]:
    """Yield the rows that the edits make of the conversation, in order."""
    for row in _arranged(shape, edits):
        yield row if isinstance(row, Row) else _row(shape, row)


def apply(
    form: Format, messages: Sequence[object], shape: Shape, edits: Sequence[Edit], *, known: Kinds | None = None
) -> list[object]:
    """Return the messages with the edits carried out; those that no edit touches are the same objects.

    What is written anew has none but the `known` fields, if those are given.
    """
    sources = list(messages)
    for edit in edits:
        if isinstance(edit, CleanText) and edit.message is not None:
            sources[edit.message] = cleaned(sources[edit.message])
    for edit in edits:
        if isinstance(edit, Declare) and isinstance(index := edit.path[0], int):
            sources[index] = declared(sources[index], edit.path[1:])
    odd = {edit.path[0] for edit in edits if isinstance(edit, DropFields)}
    written: list[object] = []
    for row in _arranged(shape, edits):
        if isinstance(row, int):
            raw, touched = sources[row], row in odd
        else:
            raw = form.build(row, sources) if row.touched else sources[row.sources[0]]
            touched = row.touched or not odd.isdisjoint(row.sources)
        written.append(known_only(raw, known) if known is not None and touched else raw)
    return written


def _arranged(shape: Shape, edits: Iterable[Edit]) -> Iterator[Row | int]:
    """Yield the rows; of a message that no edit looked at the index, for most are and a row of each costs too much."""
    draft = _Draft(shape)
    for edit in edits:
        if not is_beside(edit):
            draft.do(edit)
    if not draft.splits:
        return draft.rows()
    rows = [each if isinstance(each, Row) else _row(shape, each) for each in draft.rows()]
    return iter(split_rows(rows, draft.splits, shape.grammar))


class _Draft:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._rows: dict[int, Row] = {}  # of the messages that an edit looked at
        self._pieces: dict[int, dict[Path, Piece]] = {}  # of the messages that an edit looked into
        self._new: list[Piece] = []  # results that were made up
        self._gone: set[int] = set()  # pieces that left their row, by identity
        self._moved: set[int] = set()  # messages that went elsewhere as a whole
        self._last: set[int] = set()  # calls that go behind the rest of their row, by identity
        self._behind: dict[int, list[Row]] = {}
        self._into: dict[int, list[Piece]] = {}
        self._before: dict[int | None, list[Row]] = {}
        self._dropped: set[int] = set()
        self._merged: set[int] = set()
        self.splits: list[Split] = []

    def do(self, edit: Edit) -> None:
        """Carry out one edit."""
        match edit:
            case AddResult():
                piece = Piece(kind="result", text=edit.text, call=self._piece(edit.call), touched=True)
                self._new.append(piece)
                self._put(piece, edit.place, role="tool")
            case MoveResult():
                self._move(edit)
            case MoveCall():
                self._move_call(edit)
            case Quote():
                self._quote(edit)
            case Drop():
                row = self._touch(edit.path)
                if piece := self._pieces_of(edit.path).get(edit.path):
                    self._take(row, piece)
            case SetId():
                for path in edit.paths:
                    self._touched_piece(path).id = edit.new
            case Rename():
                for path in edit.paths:
                    self._touched_piece(path).name = edit.new
            case Declare() | DropFields() | DeclareTools() | TurnOffThinking():
                self._do_elsewhere(edit)
            case Complete(what="thinking"):
                self._do_to_row(edit)
            case Fill() | Complete() | DropField() if edit.path not in self._pieces_of(edit.path):
                self._do_to_row(edit)
            case QuoteArguments() | AsText() | LeaveOut() | DropField() | Fill() | Complete():
                self._do_to_piece(edit)
            case CleanText() | DropMessage() | Merge() | Insert() | Split():
                self._do_to_message(edit)

    def _do_elsewhere(self, edit: Declare | DropFields | DeclareTools | TurnOffThinking) -> None:
        """Carry out nothing here: what is declared, or goes, is read from the edits when the message is written."""
        if isinstance(edit, Declare):
            self._row(edit.path).touched = True

    def _do_to_row(self, edit: Fill | Complete | DropField) -> None:
        if self._shape.grammar.atomic and isinstance(edit, Complete) and edit.what == "thinking":
            message = self._row(edit.path).sources[0]
            new = Row("assistant", [Piece(kind="thinking", touched=True)], [], touched=True)
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
                row = Row(edit.role, [Piece(kind="text", text=edit.text, touched=True)], [], touched=True)
                self._before.setdefault(edit.message, []).append(row)

    def rows(self) -> Iterator[Row | int]:
        """Yield the rows as all edits together leave them; of a message that none of them looked at the index."""
        for piece in self._new:
            if piece.call is not None:  # whose id and name may have changed since
                piece.id, piece.name = piece.call.id, piece.call.name
        last: Row | int | None = None
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

    def _joined(self, last: Row | int, row: Row | int) -> Row:
        """Return the row with the next one at its end."""
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

    def _in_order(self) -> Iterator[Row | int]:
        for index in range(len(self._shape.messages)):
            row = self._rows.get(index)
            if row is None and index not in self._behind:
                yield index  # nothing goes into it either, which would have touched it
                continue
            row = self._row((index,))
            if index not in self._moved:
                if self._gone and row.touched:
                    row.pieces = [piece for piece in row.pieces if id(piece) not in self._gone]
                if self._last and row.touched:
                    row.pieces = self._calls_last(row.pieces)
                if added := self._into.get(index):
                    place = next((at for at, piece in enumerate(row.pieces) if piece.kind != "result"), len(row.pieces))
                    added.sort(key=lambda piece: piece.kind != "result")  # what is quoted stands behind results
                    row.pieces[place:place] = added
                yield row
            behind = self._behind.get(index, [])
            for new in behind:
                new.pieces.sort(key=lambda piece: piece.kind != "result")
            behind.sort(key=lambda row: (row.role != "assistant", all(piece.kind != "result" for piece in row.pieces)))
            yield from behind

    def _touch(self, path: Path) -> Row:
        row = self._row(path)
        row.touched = True
        return row

    def _touched_piece(self, path: Path) -> Piece:
        self._touch(path)
        piece = self._piece(path)
        piece.touched = True
        return piece

    def _piece(self, path: Path) -> Piece:
        return self._pieces_of(path)[path]

    def _pieces_of(self, path: Path) -> dict[Path, Piece]:
        row = self._row(path)
        message = row.sources[0]
        if message not in self._pieces:
            self._pieces[message] = {piece.item.path: piece for piece in row.pieces if piece.item}
        return self._pieces[message]

    def _row(self, path: Path) -> Row:
        index = path[0]
        assert isinstance(index, int)
        if index not in self._rows:
            self._rows[index] = _row(self._shape, index)
        return self._rows[index]

    def _move(self, edit: MoveResult) -> None:
        piece, row = self._piece(edit.result), self._row(edit.result)
        if row.role == "tool" and len(row.pieces) == 1:
            self._moved.add(row.sources[0])  # the message itself goes, and stays the object it is
            self._behind.setdefault(edit.place.message, []).append(row)
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
            self._behind.setdefault(edit.message, []).append(row)

    def _calls_last(self, pieces: list[Piece]) -> list[Piece]:
        moving = [piece for piece in pieces if id(piece) in self._last]
        staying = [piece for piece in pieces if id(piece) not in self._last]
        content = [at for at, piece in enumerate(staying) if piece.kind not in ("thinking", "call")]
        place = content[-1] + 1 if content else 0
        return [*staying[:place], *moving, *staying[place:]]

    def _quote(self, edit: Quote) -> None:
        row, piece = self._touch(edit.path), self._touched_piece(edit.path)
        piece.kind, piece.what = "text", edit.what
        if edit.place is None:
            row.role = edit.role
            return
        self._take(row, piece)
        self._put(piece, edit.place, role="user")

    def _take(self, row: Row, piece: Piece) -> None:
        self._gone.add(id(piece))
        row.touched = True

    def _put(self, piece: Piece, place: Place, *, role: Role) -> None:
        if place.into:
            self._touch((place.message,))
            self._into.setdefault(place.message, []).append(piece)
            return
        rows = self._behind.setdefault(place.message, [])
        if self._shape.grammar.results == "user":
            if rows:
                rows[-1].pieces.append(piece)
                return
            role = "user"
        rows.append(Row(role, [piece], [], touched=True))


def _row(shape: Shape, index: int) -> Row:
    message = shape.messages[index]
    return Row(message.role, [_piece(item) for item in message.items], [index])


def _piece(item: Item) -> Piece:
    return Piece(kind=item.kind, item=item, id=item.id, name=item.name)
