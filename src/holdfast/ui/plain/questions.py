"""The question about a call as lines of text, and the answer in a typed line. Pure.

A number or a word is an answer. Any other line is refused with a hint: no answer is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.questions import AnswerChoice, ChoiceName, Question
from holdfast.text import literal, printable
from holdfast.tools.tool import Plan


class TypedAnswer(msgspec.Struct, frozen=True):
    """The answer in a line: the name of a choice, the user's own words, and the names of the options they marked."""

    choice: ChoiceName
    words: str = ""
    marked: tuple[ChoiceName, ...] = ()


ANSWER_WORDS = {"y": "once", "yes": "once", "n": "no", "no": "no"}
"""Words that are answers too, besides the numbers and the names of the choices."""


class NeedsWords(msgspec.Struct, frozen=True):
    """The user's choice needs a text for the model: the next line is that text."""

    choice: AnswerChoice


class NotUnderstood(msgspec.Struct, frozen=True):
    """The line is not an answer, with the reason."""

    why: str


class TypedQuestion:
    """A question that waits for a line."""

    def __init__(self, question: Question, plan: Plan) -> None:
        """Create it; `plan` has all of what the question is about."""
        self._question = question
        self._detail = plan.detail
        self._pending_choice: AnswerChoice | None = None  # waits for its text

    def lines(self) -> Iterator[str]:
        """Yield the question, the details of what would be allowed, and the choices."""
        yield f"Question: {literal(self._question.text)}"
        if self._question.why:
            yield literal(self._question.why)
        for warning in self._question.warnings:
            yield f"Warning: {literal(warning)}"
        for line in printable(self._detail).strip("\n").splitlines():
            yield f"  {literal(line)}"
        for number, choice in enumerate(self._question.choices, 1):
            note = f" ({literal(choice.note)})" if choice.note else ""
            yield f"{number}. {literal(choice.text.replace('`', '') if choice.option else choice.text)}{note}"
        yield self._hint()

    def take(self, line: str) -> TypedAnswer | NeedsWords | NotUnderstood:
        """Return the answer in a line."""
        line = line.strip()
        chosen, self._pending_choice = self._pending_choice, None
        if chosen is not None:
            return TypedAnswer(chosen.name, line) if line or chosen.name != "own" else NotUnderstood(self._hint())
        if self._question.several and (marked := self._marked(line)):
            return TypedAnswer("marked", marked=marked)
        choice = self._choice(line)
        free_text = self._question.choice("own")
        if choice is None and free_text is not None and line and not _is_number(line):
            return TypedAnswer(free_text.name, line)
        if choice is not None and choice.words:
            self._pending_choice = choice
            return NeedsWords(choice)
        return NotUnderstood(self._hint()) if choice is None else TypedAnswer(choice.name)

    def _choice(self, line: str) -> AnswerChoice | None:
        choices = self._question.choices
        if _is_number(line):
            return choices[int(line) - 1] if 1 <= int(line) <= len(choices) else None
        name = ANSWER_WORDS.get(line.lower(), line.lower())
        by_label = (each for each in choices if each.option and each.option.lower() == line.lower())
        return self._question.choice(name) or next(by_label, None)

    def _marked(self, line: str) -> tuple[ChoiceName, ...]:
        """Return the names of options by their numbers in the line, () if the line has anything else."""
        words, choices = line.replace(",", " ").split(), self._question.choices
        if not words or not all(_is_number(word) and 1 <= int(word) <= len(choices) for word in words):
            return ()
        marked = dict.fromkeys(choices[int(word) - 1] for word in words)
        return tuple(each.name for each in marked) if all(each.option for each in marked) else ()

    def _hint(self) -> str:
        most = len(self._question.choices)
        if self._question.several:
            return f"Type the numbers that apply, such as 1 2, or your own words (1 to {most}):"
        if any(each.option for each in self._question.choices):
            return f"Type a number from 1 to {most}, or your own words:"
        allowed = ", or yes or no" if self._question.choice("once") is not None else ""
        return f"Type a number from 1 to {most}{allowed}:"


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal()
