"""Edits for content that is valid elsewhere: it moves to a message of the user, and nothing of it is lost.

The images of a result go behind the results of its response, where every provider that sees images accepts them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from holdfast.history.edit_places import EditPlace
from holdfast.history.edits import Drop, Edit, LeaveOut, MoveResult, Quote
from holdfast.history.pairing import Pairing
from holdfast.history.repairs.block_edits import MoveContent
from holdfast.history.repairs.pairing import place_of_results
from holdfast.history.rules import RuleFinding
from holdfast.history.shape import NO_FILES, NO_RESPONSE, PICTURES_IN_RESULTS, Item, Path, Shape

_IN_ERROR = "a result that reports an error holds only texts"
_IN_RESULT = "the provider accepts no images in a result"
_FILE_IN_RESULT = "the provider accepts no files in a result"
_NOT_THE_USERS = "only the user's messages may hold it"
_PROGRAM = "beside the results of a program there may be nothing else until it ends"


def move_edits(
    shape: Shape,
    found: Sequence[RuleFinding],
    pairing: Pairing,
    edits: Sequence[Edit],
    *,
    enforced: Container[str],
    frozen: int,
) -> Iterator[MoveContent]:
    """Yield the edits that move content, unless one of the `edits` removes or quotes it."""
    moving = [each for each in found if _moves(each) and each.item is not None and each.item.message >= frozen]
    if not moving:
        return
    removed = {edit.path for edit in edits if isinstance(edit, Drop | Quote)}
    left_out = {(edit.path, edit.which) for edit in edits if isinstance(edit, LeaveOut)}
    places = _Places(shape, pairing, edits, frozen)
    done: set[Path] = set()
    reply = NO_RESPONSE if shape.grammar.results == "own" and "user-after-result" in enforced else ""
    for each in moving:
        item = each.item
        assert item is not None
        if item.path in removed or item.path in done:
            continue
        done.add(item.path)
        if each.rule == "text-beside-program":
            yield MoveContent(item.path, places.place_after(each.after), _PROGRAM)
        elif item.kind == "media":
            if (item.path, 0) not in left_out and not shape.text_only:
                place = places.place_after(item.message)
                follows = shape.messages[place.message].role == "tool"
                yield MoveContent(item.path, place, _NOT_THE_USERS, reply=reply if follows else "")
        elif not shape.text_only and (parts := _parts(item, left_out)):
            why = _FILE_IN_RESULT if "tool/file" in each.unknown else _IN_RESULT
            why = _IN_ERROR if each.rule == "error-result-not-text" else why
            lead = f"[From the result of {places.name(item)}:]"
            yield MoveContent(item.path, places.of_result(item), why, parts, lead, reply)


def _moves(found: RuleFinding) -> bool:
    match found.rule:
        case "text-beside-program" | "error-result-not-text":
            return True
        case "foreign-content":
            return bool(found.unknown & PICTURES_IN_RESULTS) and NO_FILES not in found.unknown
        case "block-misplaced":
            return found.item is not None and found.item.kind == "media"
        case _:
            return False


def _parts(item: Item, left_out: set[tuple[Path, int]]) -> tuple[Path, ...]:
    """Return the parts of a result that move: all but those that are left out."""
    out = {at for which, at in enumerate(item.media_at) if (item.path, which) in left_out}
    return tuple(path for path in item.files if path not in out)


class _Places:
    """Where moved content may stand."""

    def __init__(self, shape: Shape, pairing: Pairing, edits: Sequence[Edit], frozen: int) -> None:
        self._shape = shape
        self._frozen = frozen
        self._moved = {edit.result: edit.place for edit in edits if isinstance(edit, MoveResult)}
        self._steps = {
            call.answer.item.path: (call, step)
            for step in pairing.steps
            for call in step.calls
            if call.answer is not None
        }

    def name(self, result: Item) -> str:
        """Return the name of the tool whose result it is."""
        known = self._steps.get(result.path)
        return (known[0].item.name if known else result.name) or "a tool"

    def of_result(self, result: Item) -> EditPlace:
        """Return the place behind the results among which this one is, or will be."""
        if (moved := self._moved.get(result.path)) is not None:
            return moved
        known = self._steps.get(result.path)
        place = place_of_results(known[1], self._shape, self._frozen) if known else None
        if place is not None and (place.into or place.message >= result.message):
            return place
        return EditPlace(result.message, into=self._shape.grammar.results == "user")

    def place_after(self, message: int) -> EditPlace:
        """Return the place behind a message, and behind the results that follow it."""
        messages, last = self._shape.messages, message
        if self._shape.grammar.results == "user":
            while last + 1 < len(messages) and messages[last + 1].role == messages[message].role != "user":
                last += 1
            into = last + 1 < len(messages) and messages[last + 1].role == "user"
            return EditPlace(last + 1 if into else last, into=into)
        for role in (messages[message].role, "tool"):
            while last + 1 < len(messages) and messages[last + 1].role == role:
                last += 1
        return EditPlace(last)
