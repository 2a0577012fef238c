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

from holdfast.history.profiles import Profile
from holdfast.history.rules import Looked, look
from holdfast.history.shape import Shape

if TYPE_CHECKING:
    from holdfast.history.edits import Edit

CANNOT_BE_MENDED: Mapping[str, str] = MappingProxyType(
    {
        "no-messages": "an empty conversation has nothing to say",
        "too-many-calls": "a response cannot be split without changing what the model did",
        "tools-not-declared": "a list of messages declares no tools; hand over the whole request, or declare some",
        "thinking-not-first": "thinking cannot be made up; hand over the whole request, or turn it off for this one",
    }
)
"""The rules that no edit of messages mends, each with the reason."""


def repair(shape: Shape, profile: Profile, *, frozen: int = 0) -> tuple[Edit, ...]:
    """Return the edits after which the profile accepts the conversation; none if it does already.

    The first `frozen` messages are never edited, and nothing is put between them.
    """
    return edits_for(look(shape, profile), frozen=frozen)


def edits_for(looked: Looked, *, frozen: int) -> tuple[Edit, ...]:
    """Return the edits for what was found."""
    shape, profile, pairing = looked.shape, looked.profile, looked.pairing
    enforced = profile.enforced(shape.grammar)
    found = [each for each in looked.found if each.rule in enforced]
    if not found:
        return ()
    # Twenty milliseconds of imports that a check, and what is valid, never need.
    from holdfast.history.draft import arrange  # noqa: PLC0415 - see above
    from holdfast.history.mending import content_edits  # noqa: PLC0415 - see above
    from holdfast.history.placing import id_edits, result_edits  # noqa: PLC0415 - see above
    from holdfast.history.turns import Turns  # noqa: PLC0415 - see above

    edits: list[Edit] = [
        *content_edits(shape, found, frozen),
        *result_edits(shape, pairing, enforced, frozen),
        *id_edits(shape, pairing, profile, frozen),
    ]
    return (*edits, *Turns(shape, enforced, frozen).edits(arrange(shape, edits)))
