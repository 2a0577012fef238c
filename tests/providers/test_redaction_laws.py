"""Whatever secrets have in common, no character of one is shown: same beginnings, overlaps, any order."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.providers.credentials.redaction import HIDDEN, redact, secrets_of, spellings
from laws import law

LETTERS = st.text("ABC", min_size=8, max_size=14)
"""Secrets of few letters, so that one often begins, contains or overlaps another."""


def hidden_by_hand(text: str, secrets: tuple[str, ...]) -> str:
    """Return the text with every character hidden that belongs to a secret, each run of them as one."""
    covered = [False] * len(text)
    for secret in secrets:
        for at in range(len(text) - len(secret) + 1):
            if text[at : at + len(secret)] == secret:
                covered[at : at + len(secret)] = [True] * len(secret)
    shown: list[str] = []
    for letter, is_hidden in zip(text, covered, strict=True):
        if not is_hidden:
            shown.append(letter)
        elif shown[-1:] != ["\0"]:
            shown.append("\0")
    return "".join(shown).replace("\0", HIDDEN)


@law()
@given(st.lists(st.tuples(LETTERS, st.sampled_from(["-", "x ", "A", "B"])), min_size=1, max_size=6), st.randoms())
@example([("AAAAAAAA", "-"), ("AAAAAAAAB", "-")], Random(1))
def test_no_character_of_a_secret_is_shown(pairs: list[tuple[str, str]], order: Random) -> None:
    secrets = [secret for secret, _ in pairs]
    order.shuffle(secrets)
    text = "".join(secret + between for secret, between in [*pairs, *reversed(pairs)])
    assert redact(text, tuple(secrets)) == hidden_by_hand(text, tuple(secrets))


BEGINNINGS = ("company-key-1", "company-key-1-of-the-team", "company-key-1-of-the-team-in-Berlin")


@pytest.mark.parametrize("secrets", list(permutations(BEGINNINGS)))
def test_a_key_that_begins_like_another_is_hidden_whole_in_any_order(secrets: tuple[str, ...]) -> None:
    text = "; ".join(f"key {secret}!" for secret in BEGINNINGS)
    assert redact(text, secrets) == "; ".join([f"key {HIDDEN}!"] * 3)
    assert redact("in JSON: company-key-1-of-the-team", spellings(secrets)) == f"in JSON: {HIDDEN}"


def test_keys_of_the_environment_and_those_that_a_caller_adds_are_hidden_together() -> None:
    environ = {"OPENAI_API_KEY": BEGINNINGS[0], "TEAM_TOKEN": BEGINNINGS[2]}
    for secrets in ((*secrets_of(environ), BEGINNINGS[1]), (BEGINNINGS[1], *secrets_of(environ))):
        for key in BEGINNINGS:
            assert redact(f"it was {key}.", secrets) == f"it was {HIDDEN}."


def test_secrets_that_overlap_are_hidden_as_one() -> None:
    assert redact("x ABCDEFGHIJKLMNOP x", ("ABCDEFGHIJ", "IJKLMNOP")) == f"x {HIDDEN} x"
    assert redact("x AAAAAAAAAA x", ("AAAAAAAA",)) == f"x {HIDDEN} x"
    assert redact("x ABCDEFGHIJKLMN x", ("CDEFGHIJ", "ABCDEFGHIJKLMN")) == f"x {HIDDEN} x"
    assert redact("ABCDEFGHABCDEFGH", ("ABCDEFGH",)) == HIDDEN
