"""Reads a list with one question, which some models were trained to write, as that question."""

from __future__ import annotations

from typing import cast

from holdfast.errors import ToolFailed


def without_list(value: dict[str, object]) -> dict[str, object]:
    """Return the arguments of `ask_user` with the only question of its `questions` in place of that list.

    Raises `ToolFailed` if there are several: a call asks one question.
    """
    listed = value.get("questions")
    if "question" in value or not isinstance(listed, list):
        return value
    questions = [cast("dict[str, object]", each) for each in cast("list[object]", listed) if isinstance(each, dict)]
    if len(questions) > 1:
        raise ToolFailed(
            f"The call has {len(questions)} questions (expected one). Nothing was asked. Ask the most important one "
            "first; its answer may decide the others."
        )
    rest = {name: each for name, each in value.items() if name != "questions"}
    return {**rest, **questions[0]} if questions else value
