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


def cut(exchanges: Sequence[Round], *, keep: int, most: int) -> int:
    """Return how many exchanges go, 0 if none. The results of the next one go too.

    What stays is the longest end of at most `keep` tokens, or one that begins with a turn if that is at least half as
    long. The newest answered exchange stays even if it is longer, up to `most`. An unanswered exchange does not count:
    its texts always stay, and its results stay with their call.

    Laws (`tests/history/test_cut_point_laws.py`): an exchange without an answer never goes, nothing goes if everything
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
