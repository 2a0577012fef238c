"""Where a conversation is cut when its older part is summed up: never between a call and its results. Pure.

One rule: a cut is before an answer. The results above it belong to what goes; the words beside them stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What a message of the user's side and the answer to it weigh, in tokens; `opens` if a turn begins in it.

    Only the last may be without an `answer`.
    """

    results: int
    texts: int
    answer: int | None
    opens: bool


def cut(exchanges: Sequence[Exchange], *, keep: int, most: int) -> int:
    """Return how many exchanges go, 0 if none; of the one after them the results go too.

    What stays is the longest end of at most `keep` tokens, or one that begins with a turn, if that is not less than
    half of it. The newest answered exchange stays though it is longer, up to `most`; what one without an answer has
    does not count then: its words stay whatever they weigh, and its results as long as the call they belong to does.

    Laws (`tests/history/test_compact_laws.py`): an exchange without an answer never goes, nothing goes if everything
    fits, and what stays is more than `keep` only if one exchange alone is.
    """
    if not exchanges:
        return 0
    last = len(exchanges) - (exchanges[-1].answer is None)
    stays = [0] * (last + 1)  # by how many go
    behind = 0
    for place in range(len(exchanges) - 1, -1, -1):
        words = exchanges[place].texts + (exchanges[place].answer or 0)
        if place <= last:
            stays[place] = behind + words
        behind += words + exchanges[place].results
    longest = next((gone for gone in range(last) if stays[gone] <= keep), last)
    if longest == last:
        unseen = exchanges[-1].results if exchanges[-1].answer is None else 0
        return last - 1 if last and stays[last - 1] - unseen <= most else last
    turns = (gone for gone in range(longest, last) if exchanges[gone].opens and 2 * stays[gone] >= stays[longest])
    return next(turns, longest)
