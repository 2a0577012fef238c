"""A question that the model asks the user: a text, and the answers it proposes. The user may always answer otherwise."""

from __future__ import annotations

import msgspec


class QuestionOption(msgspec.Struct, frozen=True):
    """An answer that the model proposes: `label` is one line, `description` says what follows from it, "" if nothing."""

    label: str
    description: str = ""


class UserQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its options, of which the user takes one, or with `several` any number."""

    text: str
    options: tuple[QuestionOption, ...]
    several: bool = False
