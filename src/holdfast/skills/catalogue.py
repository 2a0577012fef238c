"""The catalogue of skills that a model reads when a session opens: names and descriptions, within a bound. Pure.

Sorted, so that the same skills give the same bytes. If it grows too long, the longest descriptions are cut first, all
to the same length, and the catalogue says that they are cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.skills.skill_files import SkillFile

LONGEST_CATALOGUE = 8_000
"""Characters of all of it."""

_HEADING = (
    "Skills: instructions for certain tasks, each with what it is for. When a task fits one, call the tool `skill` "
    "with its name before you begin, and follow what it says."
)
_CUT = " Descriptions that end in … are cut."


def catalogue(skills: Sequence[SkillFile]) -> str:
    """Return the catalogue of these skills, "" if there are none."""
    if not skills:
        return ""
    texts = {each.name: " ".join(each.description.split()) for each in skills}
    text = _written(texts, max(map(len, texts.values())))
    if len(text) <= LONGEST_CATALOGUE:
        return text
    low, high = 1, max(map(len, texts.values()))
    while low < high:  # the largest length at which all fit
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(_written(texts, middle)) <= LONGEST_CATALOGUE else (low, middle - 1)
    names = sorted(texts)
    while len(text := _written({name: texts[name] for name in names}, low, left_out=len(texts) - len(names))) > (
        LONGEST_CATALOGUE
    ):
        names.pop()
    return text


def _written(texts: dict[str, str], length: int, *, left_out: int = 0) -> str:
    lines = [f"- {name}: {_shortened(texts[name], length)}" for name in sorted(texts)]
    cut = _CUT if any(len(text) > length for text in texts.values()) else ""
    if left_out:
        lines.append(f"- {left_out} more, for which there is no room here: the user can name them.")
    return "\n".join((f"{_HEADING}{cut}", *lines))


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
