"""The catalogue of skills: sorted, within its bound, the longest descriptions cut first."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.skills.catalogue import LONGEST_CATALOGUE, catalogue
from holdfast.skills.skill_files import SkillFile
from laws import law


def skill(name: str, description: str) -> SkillFile:
    return SkillFile(kind="skill", name=name, path=Path(f"/s/{name}/SKILL.md"), within=None, description=description)


SKILLS = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9-]{0,63}", fullmatch=True),
    st.integers(1, 1536).map(lambda length: "word " * (length // 5) + "x"),
    min_size=1,
    max_size=300,
)


@law(60)
@given(skills=SKILLS)
def test_it_fits_and_names_all_that_have_room(skills: dict[str, str]) -> None:
    text = catalogue([skill(name, description) for name, description in skills.items()])
    lines = text.splitlines()[1:]
    named = [line[2:].partition(":")[0] for line in lines]
    assert len(text) <= LONGEST_CATALOGUE
    left_out = 0
    if lines[-1].endswith("the user can name them."):
        left_out = int(lines[-1].split()[1])
        named.pop()
    assert len(named) + left_out == len(skills)
    assert named == sorted(skills)[: len(named)]
    cut = [line for line in lines if line.endswith("…")]  # may be empty: a few skills are whole
    assert bool(cut) == ("are cut" in text.splitlines()[0])
    lengths = {len(line.partition(": ")[2]) for line in cut}
    assert len(lengths) <= 1
    whole = [len(line.partition(": ")[2]) for line in lines if not line.endswith("…")][: len(named)]
    assert not (cut and whole) or max(whole) <= max(lengths) or "room" in lines[-1]


def test_few_are_whole_and_on_one_line_each() -> None:
    text = catalogue([skill("b", "Second\nline"), skill("a", "First")])
    assert text.splitlines()[1:] == ["- a: First", "- b: Second line"]
    assert catalogue([]) == ""


def test_the_bound_is_8000_characters() -> None:
    text = catalogue([skill(f"s{number}", "word " * 100) for number in range(60)])
    assert len(text) <= 8_000
