"""Prune: which old outputs are left out of what is sent. A decision over sizes alone; no model is asked.

Two rules. What is new stays: the newest outputs up to a number of tokens, and every output of the newest turns. Nothing
is changed for a little: what was sent before has to be read anew from there on, by every request's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHORT = 200
"""Tokens that leaving an output out has to save: a shorter one says more than the words in its place would."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one call gave: its size in tokens, that of the words in its place, and whether it may be left out at all."""

    call: str
    tokens: int
    instead: int
    may_go: bool

    @property
    def saves(self) -> int:
        """Return how many tokens are saved without it."""
        return self.tokens - self.instead


def prune(outputs: Sequence[Output], *, protect: int, least: int) -> tuple[Output, ...]:
    """Return those of the outputs, oldest first, that are left out from here on: none if that saves less than `least`.

    The newest outputs stay that are `protect` tokens together.

    Laws (`tests/history/test_prune_laws.py`): what may not go stays, and so does what is protected; without those left
    out there is nothing more to leave out.
    """
    newer = 0
    left_out: list[Output] = []
    for output in reversed(outputs):
        newer += output.tokens
        if newer > protect and output.may_go and output.saves >= SHORT:
            left_out.append(output)
    if not left_out or sum(output.saves for output in left_out) < least:
        return ()
    return tuple(reversed(left_out))
