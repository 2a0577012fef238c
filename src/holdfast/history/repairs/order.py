"""Edits for the order of roles, planned after calls and contents are repaired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby, pairwise, takewhile, zip_longest

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.edits import Drop, DropMessage, Edit, Insert, Merge, Quote
from holdfast.history.repairs.content import SYSTEM_LABEL
from holdfast.history.shape import NO_RESPONSE, NO_USER, SERVED, Shape


class Turns:
    """The remaining edits: for empty messages, and for the order of roles."""

    def __init__(self, shape: Shape, enforced: frozenset[str], frozen: int, *, joins: bool = False) -> None:
        self._shape = shape
        self._enforced = enforced
        self._frozen = frozen
        self._previous: DraftMessage | None = None
        self._replies = False  # the row before follows one of another role
        self._begun = False  # a role other than the system has spoken
        self._answered = False  # and the user has not spoken since
        self._joins = joins  # whether the provider joins messages of one role by itself
        self._opening: set[int] = set()  # messages of thinking alone that a call continues
        self._calling = False  # the assistant's last message has a call
        self._thinking = False  # or only thinking

    def edits(self, rows: Iterable[DraftMessage]) -> Iterator[Edit]:
        """Yield the edits, row by row."""
        leading: set[int] = set()
        if self._shape.joined:
            rows = list(rows)
            leading = self._leading(rows)
        for row, following in pairwise(chain[DraftMessage | None](rows, (None,))):
            assert row is not None
            edit: Edit | None = None
            if row.sources and row.sources[0] >= self._frozen:
                if self._is_empty(row) and row.sources[0] not in leading:
                    if self._parts(row, following):
                        yield Insert(row.sources[0], "assistant", NO_RESPONSE)
                    edit = DropMessage(row.sources[0])
                else:
                    yield from self._system_quotes(row)
                    edit = self._turn(row, row.sources[0])
            elif not row.sources and row.role == "assistant" and following is not None and following.sources:
                edit = self._turn(row, following.sources[0])
            if edit is not None:
                yield edit
            if not isinstance(edit, DropMessage):
                goes_on = isinstance(edit, Merge)
                self._calling = _holds_call(row) or (goes_on and self._calling)
                self._thinking = self._thinking and not _has_content(row) if goes_on else _only_thinks(row)
            if not isinstance(edit, DropMessage | Merge):  # else `_previous` stays
                self._replies = self._previous is not None and self._previous.role != row.role
                self._previous = row
                self._begun = self._begun or row.role != "system"
                self._answered = row.role in ("assistant", "tool") or (self._answered and row.role == "system")
        if self._shape.messages and self._needs_an_end():
            yield Insert(None, "user", NO_USER)

    def _leading(self, rows: list[DraftMessage]) -> set[int]:
        """Return the messages that have only thinking left, which the next message continues."""
        leading: set[int] = set()
        has_content = calls = False
        for row, following in zip_longest(rows[::-1], rows[::-1][1:]):
            source = row.sources[0] if row.sources else None
            thinks = _only_thinks(row)
            if thinks and has_content and source is not None:
                leading.add(source)
                if calls:
                    self._opening.add(source)
            before = following.sources[0] if following is not None and following.sources else None
            goes_on = (
                source in self._shape.joined and before is not None and source is not None and before + 1 == source
            )
            calls = goes_on and (_holds_call(row) or (calls and not _has_content(row)))
            has_content = goes_on and (has_content or _has_content(row))
        return leading

    def _parts(self, row: DraftMessage, following: DraftMessage | None) -> bool:
        """Return whether the removed row is between the user and text moved from it to the user."""
        if self._previous is None or following is None or "consecutive-roles" not in self._enforced:
            return False
        moved_text = following.role == "user" and not following.sources
        return self._previous.role == "user" and row.role == "assistant" and moved_text

    def _system_quotes(self, row: DraftMessage) -> Iterator[Edit]:
        """Yield the edits that turn a misplaced system message into a user message."""
        previous = self._previous
        follows_system = previous is not None and previous.role == "system" and self._was_sent(previous)
        late = self._answered and "system-after-answer" in self._enforced
        if row.role == "system" and (late or (follows_system and "several-systems" in self._enforced)):
            for piece in row.pieces:
                if piece.item is not None:
                    yield Quote(piece.item.path, SYSTEM_LABEL)
            row.role = "user"

    def _turn(self, row: DraftMessage, message: int) -> Edit | None:
        """Return the edits that allow the row to follow the previous one."""
        previous = self._previous
        calls = ("call-not-after-user" in self._enforced or (previous is None and "call-first" in self._enforced)) and (
            _holds_call(row) or message in self._opening
        )
        edit: Edit | None = None
        if row.role == "system":
            if "several-systems" in self._enforced and previous is not None and previous.role == "system":
                edit = Merge(message, "system")
        elif not self._begun:
            if row.role != "user" and (calls or "first-not-user" in self._enforced):
                edit = Insert(message, "user", NO_USER)
        elif previous is None or row.role == "tool":
            pass
        elif previous.role == row.role and ("consecutive-roles" in self._enforced or self._goes_on(message)):
            edit = self._second(previous, row, message)
        elif previous.role == row.role == "assistant" and calls and not self._shape.grammar.atomic:
            edit = self._second(previous, row, message) if self._replies else Insert(message, "user", NO_USER)
        elif previous.role == "tool" and row.role == "user" and "user-after-result" in self._enforced:
            edit = Insert(message, "assistant", NO_RESPONSE)
        return edit

    def _goes_on(self, message: int) -> bool:
        """Return whether the message must join the previous one: for its calls, or for thinking that led to it."""
        if self._joins or message not in self._shape.joined:
            return False
        return self._thinking or (self._calling and "result-not-adjacent" in self._enforced)

    def _second(self, previous: DraftMessage, row: DraftMessage, message: int) -> Edit | None:
        """Return the edits for a message that follows another of the same role."""
        if row.role == "assistant" and self._shape.grammar.atomic:
            return None  # items of one response
        if not self._was_sent(previous):
            return Merge(message, row.role)
        return (
            Insert(message, "user", NO_USER) if row.role == "assistant" else Insert(message, "assistant", NO_RESPONSE)
        )

    def _was_sent(self, row: DraftMessage) -> bool:
        return bool(row.sources) and row.sources[0] < self._frozen

    def _needs_an_end(self) -> bool:
        if self._previous is None:
            return True
        pieces = self._previous.pieces
        if pieces and pieces[-1].kind in SERVED and "server-call-without-result" in self._enforced:
            return False
        if any("prefix" in self._shape.messages[each].flags for each in self._previous.sources):
            return False
        return "last-not-user" in self._enforced and (self._previous.role == "assistant" or not self._begun)

    def _is_empty(self, row: DraftMessage) -> bool:
        """Return whether the row has nothing left that a provider would accept as a message."""
        if row.fill or (row.pieces and row.pieces[0].kind != "thinking"):  # almost always
            return False
        if any(piece.kind != "thinking" for piece in row.pieces):
            return False
        message = self._shape.messages[row.sources[0]]
        if "empty" in message.flags:
            return row.touched or "empty-content" in self._enforced
        return not row.pieces or any(item.kind != "thinking" for item in message.items)


def _holds_call(row: DraftMessage) -> bool:
    return any(piece.kind == "call" for piece in row.pieces)


def _has_content(row: DraftMessage) -> bool:
    """Return whether the row has content that is neither thinking nor blank."""
    return any(
        piece.kind != "thinking" and (piece.item is None or not piece.item.flags & {"blank", "null"})
        for piece in row.pieces
    )


def _only_thinks(row: DraftMessage) -> bool:
    return bool(row.pieces) and row.role == "assistant" and all(piece.kind == "thinking" for piece in row.pieces)


# --- Edits for the end of responses, planned after everything else has its place: no response ends in thinking ---

_CUT = "thinking at the end of an answer is refused, and what it led to is missing"


def ending_edits(rows: Iterable[DraftMessage], *, frozen: int, joins: bool) -> Iterator[Drop]:
    """Yield the edits that remove thinking at the end of responses; a response of thinking alone is not their subject.

    `joins` tells whether the provider joins messages of one role by itself.
    """
    for role, group in groupby(rows, key=lambda row: row.role):
        if role != "assistant":
            continue
        each = list(group)
        for response in [each] if joins else [[row] for row in each]:
            yield from _of_response([piece for row in response for piece in row.pieces], frozen)


def _of_response(pieces: list[DraftPart], frozen: int) -> Iterator[Drop]:
    trailing = list(takewhile(lambda piece: piece.kind == "thinking", reversed(pieces)))
    if len(trailing) == len(pieces):
        return
    for piece in reversed(trailing):
        if piece.item is not None and piece.item.message >= frozen:
            yield Drop(piece.item.path, _CUT)
