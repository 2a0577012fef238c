"""Decides for each key at an approval prompt whether it answers or is a word that the user types. Pure.

A user who types a sentence when the question appears must not answer it with a letter of the sentence. So a key that
answers is held for `HOLD` seconds. If another key follows within that time, it was the beginning of a sentence, and
both go to the composer. A key behind words in the composer, within `HOLD`, is typed behind them.

Why not ignore all keys in the first second? A user who knows the answer would press a key in vain, and one who types
on would lose letters. Here every key either answers or is written.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

HOLD = 0.2
"""Seconds within which two keys belong together."""

PAUSE = 1.0
"""Seconds after an Enter that answered during which another Enter answers nothing: it is held down."""

_TWICE = 2  # a key pressed twice by mistake is one answer; more often, it is held down


class Answers(msgspec.Struct, frozen=True):
    """The key answers: it stands for this choice."""

    key: str


class Held(msgspec.Struct, frozen=True):
    """The key answers after `HOLD` seconds, unless another one follows: then call `released`."""


class Typed(msgspec.Struct, frozen=True):
    """These characters belong into the composer, and so do the keys that follow."""

    text: str


class Swallowed(msgspec.Struct, frozen=True):
    """The key does nothing: it is held down, or was pressed twice."""


class NotOurs(msgspec.Struct, frozen=True):
    """The key is no character: whatever has the focus takes it."""


Taken = Answers | Held | Typed | Swallowed | NotOurs


class QuestionKeys:
    """The keys pressed lately. Times are in seconds of any one clock.

    Laws (`tests/ui/tui/test_question_keys_laws.py`): of two different characters less than `HOLD` apart none answers,
    and all that is typed is written, in order; a choice pressed alone answers.
    """

    def __init__(self) -> None:
        self._held = ""
        self._times = 0
        self._at = float("-inf")  # of the last key that was held or swallowed
        self._swallows = ""
        self._typed_at = float("-inf")

    def typed(self, at: float) -> None:
        """Note a character that went to the composer."""
        self._typed_at = at

    def sent(self) -> None:
        """Note that the composer's text was sent: what follows is no part of it."""
        self._typed_at = float("-inf")

    def press(self, character: str, choices: Collection[str], *, at: float, enter: bool = False) -> Taken:
        """Return what a key at the question does; `character` is what it types, "" if nothing, `choices` answer."""
        if enter:
            return self._confirm(at)
        if not character:
            return NotOurs()
        if character == self._swallows and at - self._at < HOLD:
            self._at = at
            return Swallowed()
        self._swallows = ""
        if self._held:
            return self._second(character, at)
        if character not in choices or at - self._typed_at < HOLD:
            self._typed_at = at
            return Typed(character)
        self._held, self._times, self._at = character, 1, at
        return Held()

    def _confirm(self, at: float) -> Taken:
        """Return what Enter does: it confirms a held key, and a held-down Enter does nothing."""
        if self._held:
            answered, self._held, self._swallows, self._at = self._held, "", "\r", at
            return Answers(answered)
        if self._swallows == "\r" and at - self._at < PAUSE:
            self._at = at
            return Swallowed()
        return NotOurs()

    def confirmed(self, at: float) -> None:
        """Note that Enter answered: held down, it does not answer the next question."""
        self._swallows, self._at = "\r", at

    def _second(self, character: str, at: float) -> Taken:
        held, self._held = self._held, ""
        if character != held:
            self._typed_at = at
            return Typed(held + character)
        self._times += 1
        self._at = at
        if self._times > _TWICE:
            self._swallows = held
        else:
            self._held = held
        return Swallowed()

    def released(self) -> str:
        """Return the key that was held alone, which answers now; "" if there is none."""
        held, self._held = self._held, ""
        if held:
            self._swallows = held
        return held

    def drop(self) -> None:
        """Forget a held key: its question is closed."""
        self._held = ""
