"""The edits that make a conversation acceptable to a provider: the fewest and smallest, and never at a loss of words.

Two rules. Nothing is edited unless a rule of the profile is broken, and nothing before `frozen`, which was sent. The
same shape always gives the same edits.

Laws (`tests/history/test_repair_laws.py`): a repaired conversation is valid; a second repair is empty; a valid one gets
no edits; texts and finished results survive; the same input gives the same edits; what is frozen is never edited.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from holdfast.history.profile import Profile
from holdfast.history.rules import Looked, look
from holdfast.history.shape import Shape

if TYPE_CHECKING:
    from holdfast.history.edits import Edit

CANNOT_BE_MENDED: Mapping[str, str] = MappingProxyType(
    {
        "no-messages": "an empty conversation has nothing to say",
        "tools-not-declared": "a list of messages declares no tools; hand over the whole request, or declare some",
        "thinking-not-first": "thinking cannot be made up; hand over the whole request, or turn it off for this one",
    }
)
"""The rules that no edit of messages mends, each with the reason."""


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
"""The rules that are mended without a change of who speaks, unless the user may not speak behind a result."""


def repair(shape: Shape, profile: Profile, *, frozen: int = 0) -> tuple[Edit, ...]:
    """Return the edits after which the profile accepts the conversation; none if it does already.

    The first `frozen` messages are never edited, and nothing is put between them.
    """
    return edits_for(look(shape, profile, frozen=frozen), frozen=frozen)


def edits_for(looked: Looked, *, frozen: int) -> tuple[Edit, ...]:
    """Return the edits for what was found."""
    shape, profile, pairing = looked.shape, looked.profile, looked.pairing
    enforced = profile.enforced(shape.grammar)
    found = [each for each in looked.found if each.rule in enforced]
    if not found:
        return ()
    # Twenty milliseconds of imports that a check, and what is valid, never need.
    from holdfast.history.draft import arrange  # noqa: PLC0415 - see above
    from holdfast.history.edits import AddResult, Merge, QuoteArguments, Rename, SetId  # noqa: PLC0415 - see above
    from holdfast.history.mending import content_edits  # noqa: PLC0415 - see above
    from holdfast.history.placing import id_edits, result_edits  # noqa: PLC0415 - see above
    from holdfast.history.splits import split_edits  # noqa: PLC0415 - see above
    from holdfast.history.turns import Turns  # noqa: PLC0415 - see above

    edits: list[Edit] = [
        *content_edits(shape, found, frozen),
        *result_edits(shape, pairing, enforced, frozen),
        *id_edits(shape, pairing, profile, frozen, found),
    ]
    in_place = (
        not shape.joined and "user-after-result" not in enforced and all(each.rule in _IN_PLACE for each in found)
    )
    if in_place and all(isinstance(edit, AddResult | QuoteArguments | Rename | SetId) for edit in edits):
        return tuple(edits)  # everybody speaks where he did: a third of the cost of a long conversation
    edits += Turns(shape, enforced, frozen, joins=profile.joins).edits(arrange(shape, edits))
    joined = any(isinstance(edit, Merge) and edit.role == "assistant" for edit in edits)
    if profile.calls is not None and (joined or any(each.rule == "too-many-calls" for each in found)):
        edits += split_edits(arrange(shape, edits), pairing, profile.calls, frozen)
    return tuple(edits)
