"""Edits for calls and results: each call gets one result, in its place, with an id and a name the provider accepts.

Edits for content that is valid elsewhere: it moves to a message of the user, and nothing of it is lost.

The images of a result go behind the results of its response, where every provider that sees images accepts them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from collections.abc import Set as AbstractSet

from holdfast.history.edit_places import EditPlace
from holdfast.history.edits import AddResult, Complete, Drop, Edit, LeaveOut, MoveResult, Quote, Rename, SetId
from holdfast.history.pairing import CallStep, PairedCall, PairedResult, Pairing
from holdfast.history.provider_ids import hashed_id, legal_name
from holdfast.history.repairs.block_edits import MoveContent
from holdfast.history.rules import RuleFinding
from holdfast.history.rules.pairs import is_misnamed, rule_of
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import NO_FILES, NO_RESPONSE, NO_RESULT, PICTURES_IN_RESULTS, Item, Path, Shape
from holdfast.text import valid_unicode

_ORPHAN = "A result whose call is not part of this conversation"
_EARLY = "A result that no call before it asked for"
_LATE = "A result that came late"
_FURTHER = "A further result of a call that has one"


def result_edits(shape: Shape, pairing: Pairing, enforced: frozenset[str], frozen: int) -> Iterator[Edit]:
    """Yield the edits after which every call has one result in its place, and every result has a call."""
    placed: set[Path] = set()
    for step in pairing.steps:
        misplaced = [call for call in step.calls if not _is_answered(call, shape, enforced, frozen)]
        if not misplaced or (place := place_of_results(step, shape, frozen)) is None:
            continue
        moving = False
        for call in step.calls:
            answer = call.answer
            moving = moving or call is misplaced[0]
            if answer is None:
                yield AddResult(call.item.path, place, NO_RESULT)
                continue
            # Paired by position: results that belong after a new result, or come after its place, move there too.
            follows = not shape.grammar.by_id and (moving or answer.verdict != "ok")
            if answer.item.message >= frozen and (follows or not _is_answered(call, shape, enforced, frozen)):
                yield MoveResult(answer.item.path, call.item.path, place)
                placed.add(answer.item.path)
    side = shape.grammar.side
    strays = [
        (answer, call)
        for answer, call in pairing.answers
        if (answer.verdict != "ok" or answer.item.role != side) and answer.item.message >= frozen
    ]
    if not strays:
        return
    called = {call.item.id for step in pairing.steps for call in step.calls if call.item.id is not None}
    for answer, call in strays:
        item = answer.item
        if item.path in placed:
            continue
        if answer.verdict == "orphan":
            yield _quote(answer, _EARLY if item.id in called else _ORPHAN, shape)
        else:
            yield from _stray(answer, call, shape, enforced=enforced, frozen=frozen)


def _is_on_result_side(item: Item, shape: Shape) -> bool:
    """Return whether the result is in a message of a role that may hold results."""
    return item.role == shape.grammar.side


def _is_answered(call: PairedCall, shape: Shape, enforced: frozenset[str], frozen: int) -> bool:
    """Return whether the call has a result where the provider expects it, or a sent one that cannot be removed."""
    answer = call.answer
    if answer is None:
        return False
    in_place = answer.item.role == shape.grammar.side
    if in_place and answer.verdict == "ok":
        return True
    return _is_second(call, frozen) or (in_place and rule_of(answer.verdict) not in enforced)


def _is_second(call: PairedCall | None, frozen: int) -> bool:
    """Return whether the call's result came after an invented one was sent, which stays."""
    return call is not None and call.replaced is not None and call.replaced.item.message < frozen


def place_of_results(step: CallStep, shape: Shape, frozen: int) -> EditPlace | None:
    """Return the place for results of the step, None if it was already sent."""
    if shape.grammar.results == "user":
        following = step.last + 1
        if following < len(shape.messages) and shape.messages[following].role == "user":
            return EditPlace(following, into=True) if following >= frozen else None
    return EditPlace(step.tail) if step.tail >= frozen - 1 else None


def _stray(
    answer: PairedResult, call: PairedCall | None, shape: Shape, *, enforced: frozenset[str], frozen: int
) -> Iterator[Edit]:
    """Yield the edits for a result that is not in the place of a call and was not moved there."""
    item = answer.item
    match answer.verdict:
        case "duplicate":
            first = call.answer if call else None
            if "synthetic" in item.flags:
                yield Drop(item.path, "it was made up, and its call has a real result")
            elif first is not None and first.item.digest == item.digest:
                yield Drop(item.path, "its call already has the same result")
            else:
                yield _quote(answer, _FURTHER, shape)
        case "made-up":
            yield Drop(item.path, "it was made up, and there is a real result now")
        case verdict if rule_of(verdict) in enforced or not _is_on_result_side(item, shape) or _is_second(call, frozen):
            yield _quote(answer, _LATE, shape)
        case _:
            pass


def _quote(answer: PairedResult, what: str, shape: Shape) -> Quote:
    item = answer.item
    named = f" ({item.name})" if item.name else ""
    if item.role != "assistant":
        return Quote(item.path, what + named)
    following = item.message + 1
    while following in shape.joined:  # nothing may separate the messages of one response
        following += 1
    into = following < len(shape.messages) and shape.messages[following].role == "user"
    return Quote(item.path, what + named, place=EditPlace(following if into else following - 1, into=into))


# --- ids and names ---------------------------------------------------------------------------------------------------


def id_edits(
    shape: Shape, pairing: Pairing, profile: Profile, frozen: int, broken: Sequence[RuleFinding]
) -> Iterator[Edit]:
    """Yield the edits after which ids and names are accepted, and every result has the id of its call."""
    enforced = profile.enforced(shape.grammar)
    refused: set[Path] = set()  # calls whose id is refused
    faulty: set[Path] = set()  # what has other findings
    for each in broken:
        if each.rule in _REFUSED_IDS:
            refused.add(each.path)
        elif each.rule != "call-without-result":  # which concerns no id or name
            faulty.add(each.path)
    if not refused and all(_is_sound(call, faulty, shape) for step in pairing.steps for call in step.calls):
        return  # almost always: the rest costs as much as a check of all calls
    used_ids = {call.item.id for step in pairing.steps for call in step.calls if call.item.id is not None}
    times: dict[str, int] = {}
    seen: set[str] = set()
    for step in pairing.steps:
        here: set[str] = set()
        for call in step.calls:
            item, answer = call.item, call.answer
            final, is_sound = item.id, _is_sound(call, faulty, shape)
            if final is not None:
                times[final] = times.get(final, 0) + 1
                if is_sound and item.path not in refused:
                    here.add(final)
                    continue
            mine = (item.path,) if call.at >= frozen else ()
            its = (answer.item.path,) if answer is not None and answer.at >= frozen else ()
            unnamed = False
            if final is None:
                unnamed = "foreign-content" in enforced and not profile.knows(item, shape.format)
                if mine and its and "result-id-missing" in enforced and _answered_namelessly(call):
                    yield Complete(item.path, "kind")  # a kind of call that has an id
                    unnamed = True
            if mine and (unnamed or _needs_id(item, refused, enforced, here=here, seen=seen)):
                seed = f"{times[final]}\0{final}" if final is not None else f"at {item.message} {len(here)}"
                final = hashed_id(seed, is_used=used_ids.__contains__)
                used_ids.add(final)
                yield SetId(mine + its, item.id, final)
            elif its and shape.grammar.by_id and final is not None and answer and answer.item.id != final:
                yield SetId(its, answer.item.id, final)
            if final is not None:
                here.add(final)
            if not is_sound:
                yield from _name_edits(call, mine, its, shape, profile, enforced)
        seen |= here


def _name_edits(
    call: PairedCall,
    mine: tuple[Path, ...],
    its: tuple[Path, ...],
    shape: Shape,
    profile: Profile,
    enforced: frozenset[str],
) -> Iterator[Edit]:
    """Yield the edit after which the names of the call and its result are accepted; `mine` and `its` may be edited."""
    name, answer = call.item.name or "", call.answer
    if mine and "tool-name-illegal" in enforced and profile.name_pattern.fullmatch(name) is None:
        yield Rename(mine + its, name, legal_name(name))
    elif its and answer and _is_nameless(answer.item, enforced):
        yield Rename(its, "", valid_unicode(name))
    elif its and answer and "result-name-wrong" in enforced and is_misnamed(call, profile, shape.grammar):
        yield Rename(its, answer.item.name or "", valid_unicode(name))


def _is_sound(call: PairedCall, faulty: AbstractSet[Path], shape: Shape) -> bool:
    """Return whether call and result are not `faulty` and have the same id, accepted or not; usually true."""
    item, answer = call.item, call.answer
    if item.path in faulty or shape.messages[call.at].invalid_strings:
        return False
    return answer is None or (answer.item.id == item.id and answer.item.path not in faulty)


def _answered_namelessly(call: PairedCall) -> bool:
    """Return whether the call's kind has no id, but its result's kind requires one."""
    item, answer = call.item, call.answer
    return (
        item.id is None and "id-missing" not in item.flags and answer is not None and "id-missing" in answer.item.flags
    )


def _is_nameless(result: Item, enforced: frozenset[str]) -> bool:
    """Return whether the result lacks its required name."""
    return "name-missing" in result.flags and ("result-name-missing" in enforced or "mistyped" in result.flags)


_REFUSED_IDS = frozenset({"call-id-length", "call-id-charset"})


def _needs_id(
    call: Item, refused: AbstractSet[Path], enforced: frozenset[str], *, here: set[str], seen: set[str]
) -> bool:
    if call.id is None:
        return "id-missing" in call.flags and "call-id-missing" in enforced
    return (
        call.path in refused
        or valid_unicode(call.id) != call.id
        or (call.id in here and "duplicate-call-id" in enforced)
        or (call.id in seen and "reused-call-id" in enforced)
    )


# --- moves ---

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
