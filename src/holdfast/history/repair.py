"""Plans the edits that make a conversation acceptable to a provider: few, small, and without losing text.

Nothing is edited unless a rule of the profile is broken, and nothing before `frozen`, which was sent already. The same
shape always gives the same edits.

Laws (`tests/history/test_repair_laws.py`): a repaired conversation is valid; a second repair is empty; a valid one gets
no edits; texts and finished results survive; the same input gives the same edits; what is frozen is never edited.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # this module is imported with `holdfast.history`, which small programs start with
    from holdfast.history.edits import Edit
    from holdfast.history.rules import Inspection, RuleFinding
    from holdfast.history.rules.profile import Profile
    from holdfast.history.shape import Shape

NOT_REPAIRABLE: Mapping[str, str] = MappingProxyType(
    {
        "no-messages": "an empty conversation has nothing to send",
        "tools-not-declared": "a list of messages declares no tools; pass the whole request, or declare some",
        "thinking-not-first": "thinking cannot be made up; pass the whole request, or turn thinking off for this one",
    }
)
"""The rules that no edit of messages can restore, each with the reason."""


_IN_PLACE = frozenset(
    {
        "call-without-result",
        "call-id-length",
        "call-id-charset",
        "duplicate-call-id",
        "reused-call-id",
        "arguments-not-object",
        "arguments-type",
        "tool-name-illegal",
    }
)
"""The rules restored without changing roles, unless the user may not speak after a result."""


def repair_shape(shape: Shape, profile: Profile, *, frozen: int = 0) -> tuple[Edit, ...]:
    """Return the edits after which the profile accepts the conversation; none if it does already.

    The first `frozen` messages are never edited, and nothing is inserted between them.
    """
    from holdfast.history.rules import inspect

    return edits_for(inspect(shape, profile, frozen=frozen), frozen=frozen)


def edits_for(inspection: Inspection, *, frozen: int) -> tuple[Edit, ...]:
    """Return the edits for these findings."""
    shape, profile, pairing = inspection.shape, inspection.profile, inspection.pairing
    enforced = profile.enforced(shape.grammar)
    found = [each for each in inspection.findings if each.rule in enforced]
    if not found:
        return ()
    # These imports take 20 ms, which a check or a valid conversation never needs.
    from holdfast.history.edits import AddResult, Merge, QuoteArguments, Rename, SetId
    from holdfast.history.repairs.content import content_edits
    from holdfast.history.repairs.draft import arrange
    from holdfast.history.repairs.limits import split_edits
    from holdfast.history.repairs.order import Turns, ending_edits
    from holdfast.history.repairs.pairing import id_edits, move_edits, result_edits

    edits: list[Edit] = [
        *content_edits(shape, found, frozen),
        *result_edits(shape, pairing, enforced, frozen),
        *id_edits(shape, pairing, profile, frozen, found),
    ]
    edits += move_edits(shape, found, pairing, edits, enforced=enforced, frozen=frozen)
    staying = (AddResult, QuoteArguments, Rename, SetId)
    in_place = not shape.joined and all(each.rule in _IN_PLACE or each.rule == "last-not-user" for each in found)
    if in_place and all(isinstance(edit, staying) for edit in edits):
        places = [edit.place.message for edit in edits if isinstance(edit, AddResult)]
        if _stay_in_turn(places, shape, found, enforced):
            return tuple(edits)  # roles are unchanged: saves a third of the time for a long conversation
    edits += Turns(shape, enforced, frozen, joins=profile.joins).edits(arrange(shape, edits))
    joined = any(isinstance(edit, Merge) and edit.role == "assistant" for edit in edits)
    if profile.calls is not None and (joined or any(each.rule == "too-many-calls" for each in found)):
        edits += split_edits(arrange(shape, edits), pairing, profile.calls, frozen)
    if "thinking-last" in enforced and _thinks(shape):
        edits += ending_edits(arrange(shape, edits), frozen=frozen, joins=profile.joins)
    return tuple(edits)


def _thinks(shape: Shape) -> bool:
    return any(item.kind == "thinking" for message in shape.messages for item in message.items)


def _stay_in_turn(places: list[int], shape: Shape, found: list[RuleFinding], enforced: frozenset[str]) -> bool:
    """Return whether the order of roles stays valid with new results after these messages and all else in place."""
    last = len(shape.messages) - 1
    if any(each.rule == "last-not-user" for each in found) and last not in places:
        return False
    roles = (shape.messages[each + 1].role for each in places if each < last)
    return "user-after-result" not in enforced or "user" not in roles
