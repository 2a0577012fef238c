"""Decides for each key at an approval prompt whether it answers or is a word that the user types. Pure.

A user who types a sentence when the question appears must not answer it with a letter of the sentence. So a key that
answers waits for `HOLD` seconds. If another key follows within that time, it was the beginning of a sentence, and both
go to the composer. A key within `HOLD` of the last one typed in the composer is typed there too.

Why not ignore all keys in the first second? A user who knows the answer would press a key in vain, and one who types
on would lose letters. Here every key either answers or is typed.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

HOLD = 0.2
"""Seconds within which two keys belong together."""

PAUSE = 1.0
"""Seconds after an Enter that answered in which another Enter does nothing: the key is held down."""

_TWICE = 2  # a key pressed twice by mistake is one answer; more often, it is held down


class AnswerKey(msgspec.Struct, frozen=True):
    """The key `key` of a choice answers."""

    key: str


class PendingKey(msgspec.Struct, frozen=True):
    """The key answers after `HOLD` seconds, unless another one follows: then call `release`."""


class TypedText(msgspec.Struct, frozen=True):
    """These characters go to the composer, and so do the keys that follow."""

    text: str


class IgnoredKey(msgspec.Struct, frozen=True):
    """The key does nothing: it is held down, or was pressed twice."""


class UnhandledKey(msgspec.Struct, frozen=True):
    """The key is not a character: the widget with the focus handles it."""


KeyOutcome = AnswerKey | PendingKey | TypedText | IgnoredKey | UnhandledKey


class QuestionKeys:
    """The keys pressed lately. Times are in seconds of any one clock.

    Laws (`tests/ui/tui/test_question_keys_laws.py`): of two different characters less than `HOLD` apart none answers,
    and every typed character is written, in order; a choice pressed alone answers.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._times = 0
        self._at = float("-inf")  # the time of the last key that waits or was ignored
        self._ignored = ""
        self._typed_at = float("-inf")

    def note_typed(self, at: float) -> None:
        """Note a character that went to the composer."""
        self._typed_at = at

    def note_sent(self) -> None:
        """Note that the composer's text was sent: the next key does not belong to it."""
        self._typed_at = float("-inf")

    def press(self, character: str, choices: Collection[str], *, at: float, enter: bool = False) -> KeyOutcome:
        """Return what a key at the question does; `character` is what it types, "" if nothing, `choices` answer."""
        if enter:
            return self._confirm(at)
        if not character:
            return UnhandledKey()
        if character == self._ignored and at - self._at < HOLD:
            self._at = at
            return IgnoredKey()
        self._ignored = ""
        if self._pending:
            return self._second(character, at)
        if character not in choices or at - self._typed_at < HOLD:
            self._typed_at = at
            return TypedText(character)
        self._pending, self._times, self._at = character, 1, at
        return PendingKey()

    def _confirm(self, at: float) -> KeyOutcome:
        """Return what Enter does: it confirms a waiting key; held down, it does nothing."""
        if self._pending:
            answered, self._pending, self._ignored, self._at = self._pending, "", "\r", at
            return AnswerKey(answered)
        if self._ignored == "\r" and at - self._at < PAUSE:
            self._at = at
            return IgnoredKey()
        return UnhandledKey()

    def note_confirmed(self, at: float) -> None:
        """Note that Enter answered: held down, it does not answer the next question."""
        self._ignored, self._at = "\r", at

    def _second(self, character: str, at: float) -> KeyOutcome:
        first, self._pending = self._pending, ""
        if character != first:
            self._typed_at = at
            return TypedText(first + character)
        self._times += 1
        self._at = at
        if self._times > _TWICE:
            self._ignored = first
        else:
            self._pending = first
        return IgnoredKey()

    def release(self) -> str:
        """Return the key that waited alone and answers now, "" if there is none."""
        key, self._pending = self._pending, ""
        if key:
            self._ignored = key
        return key

    def drop(self) -> None:
        """Forget a waiting key: its question is closed."""
        self._pending = ""
