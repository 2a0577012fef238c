"""Where a conversation is cut for a summary, and which results are left out.

New outputs stay: the newest up to a number of tokens, and all of the newest turns. Small savings are not worth it,
because the provider's cache must read everything after the first change again.

Where to cut a conversation that is compacted: never between a call and its results. Pure.

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


# --- prune choice ---

SHORT = 200
"""Tokens that leaving out an output must save; a shorter output says more than the notice that would replace it."""


class ResultSize(msgspec.Struct, frozen=True):
    """One call's output: its size in tokens, the size of its notice, and whether it may be left out."""

    call: str
    tokens: int
    instead: int
    may_go: bool

    @property
    def saves(self) -> int:
        return self.tokens - self.instead


def prune(outputs: Sequence[ResultSize], *, protect: int, least: int) -> tuple[ResultSize, ...]:
    """Return the outputs to leave out, oldest first; none if that saves less than `least` tokens.

    The newest outputs stay, `protect` tokens in total.

    Laws (`tests/history/test_prune_choice_laws.py`): protected outputs and those that may not go stay; a second call
    on the rest returns nothing.
    """
    newer = 0
    left_out: list[ResultSize] = []
    for output in reversed(outputs):
        newer += output.tokens
        if newer > protect and output.may_go and output.saves >= SHORT:
            left_out.append(output)
    if not left_out or sum(output.saves for output in left_out) < least:
        return ()
    return tuple(reversed(left_out))
