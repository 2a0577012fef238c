"""The branches of a session: the turns that each rewind removed, and where to continue from them. Pure.

A rewind moves a pointer and deletes nothing. So a branch is the journal up to the rewind that left it. To continue
it, copy these entries to a new session (`holdfast.session.copies`): the session itself does not change.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import TextPart
from holdfast.session.journal.store import StoredEntry


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch of the conversation. `until` is the position of its last entry in the journal.

    The rewind removed `turns` turns, of which the first is number `turn` with `prompt`; `answer` is their last answer.
    `left` is the time of the rewind, None for the present branch, which has the turns since the last rewind.
    """

    until: int
    turn: int
    prompt: str
    turns: int
    answer: str
    left: float | None


def branches(records: Sequence[StoredEntry]) -> tuple[Branch, ...]:
    """Return the branches in the order in which they were left, the present one last; none without a rewind."""
    prompts: dict[int, str] = {}  # of the present branch, by turn
    answers: dict[int, str] = {}
    turn, latest, found = 0, 0, list[Branch]()
    for record in records:
        match record.entry:
            case e.PromptAccepted(turn=turn, text=text):
                prompts[turn], answers[turn] = text, ""
            case e.ResponseEnded(parts=parts) if turn in prompts:
                answers[turn] = "".join(part.text for part in parts if isinstance(part, TextPart)) or answers[turn]
            case e.Rewound(turn=back) if back in prompts:
                left = sorted(each for each in prompts if each >= back)
                found.append(_branch(record.seq - 1, left, prompts, answers, record.at))
                latest = max(latest, *left)
                for each in left:
                    del prompts[each], answers[each]
            case _:
                pass
    if not found:
        return ()
    present = sorted(each for each in prompts if each > latest)  # since the last rewind
    return (*found, _branch(records[-1].seq, present, prompts, answers, None))


def _branch(
    until: int, turns: Sequence[int], prompts: dict[int, str], answers: dict[int, str], left: float | None
) -> Branch:
    written = [answers[turn] for turn in turns if answers[turn].strip()]
    first = turns[0] if turns else 0
    return Branch(
        until=until,
        turn=first,
        prompt=prompts.get(first, ""),
        turns=len(turns),
        answer=written[-1] if written else "",
        left=left,
    )
