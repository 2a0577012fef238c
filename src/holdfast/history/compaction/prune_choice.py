"""Chooses which old outputs to leave out of a request, by their sizes alone. No model is involved. Pure.

New outputs stay: the newest up to a number of tokens, and all of the newest turns. Small savings are not worth it,
because the provider's cache must read everything after the first change again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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
