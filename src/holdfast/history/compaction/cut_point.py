"""Where to cut a conversation that is compacted: never between a call and its results. Pure.

A cut is before a response. The results in the user message before it go; the texts in that message stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """The weight, in tokens, of a user message and the response to it; `opens` if a turn begins in it.

    Only the last one may have no `answer`.
    """

    results: int
    texts: int
    answer: int | None
    opens: bool


def cut(rounds: Sequence[Round], *, keep: int, most: int) -> int:
    """Return how many rounds to remove. The results of the next round are removed too.

    The rest is the longest end of at most `keep` tokens, or one that begins with a turn if that is at least half as
    long. The newest answered round stays even if it is longer, up to `most`. An unanswered round does not count:
    its texts always stay, and its results stay with their call.

    Laws (`tests/history/test_cut_point_laws.py`): a round without an answer is never removed, nothing is removed if
    everything fits, and the rest is more than `keep` only if one round alone is.
    """
    if not rounds:
        return 0
    last = len(rounds) - (rounds[-1].answer is None)
    stays = [0] * (last + 1)  # tokens that stay, by the number of removed rounds
    newer = 0
    for place in range(len(rounds) - 1, -1, -1):
        words = rounds[place].texts + (rounds[place].answer or 0)
        if place <= last:
            stays[place] = newer + words
        newer += words + rounds[place].results
    longest = next((removed for removed in range(last) if stays[removed] <= keep), last)
    if longest == last:
        unseen = rounds[-1].results if rounds[-1].answer is None else 0
        return last - 1 if last and stays[last - 1] - unseen <= most else last
    turns = (
        removed for removed in range(longest, last) if rounds[removed].opens and 2 * stays[removed] >= stays[longest]
    )
    return next(turns, longest)
