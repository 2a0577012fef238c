"""Markdown as lines: what it looks like, and that it does not matter how it came."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from holdfast.ui.tui.render.lines import DrawnLine, Fragment, clean, fold_runs
from holdfast.ui.tui.render.markdown import Markdown
from transcript_scenes import ANSWER, plain

STYLES = plain().styles


def drawn(text: str, width: int = 60) -> list[str]:
    return [one.strip.text.rstrip() for piece in Markdown().fragments(text) for one in piece.draw(STYLES, width)]


def styled(text: str) -> list[tuple[str, str]]:
    """Return the texts that have a style."""
    [piece] = Markdown().fragments(text)
    found: list[tuple[str, str]] = []
    for one in piece.draw(STYLES, 80):
        for text_of, style, _ in one.strip:
            names = [name for name in ("bold", "italic", "strike") if style is not None and str(style).find(name) >= 0]
            if names:
                found.append((text_of, " ".join(names)))
    return found


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("one\ntwo", ["one", "two"]),
        ("one\n\n\n\ntwo", ["one", "", "two"]),
        ("# One\ntwo\n## Three", ["One", "two", "", "Three"]),
        ("text\n---", ["text", "", "─" * 40]),
        ("- a\n- b\n  - c\n\n- d", ["• a", "• b", "  • c", "", "• d"]),
        ("3. a\n4. b", ["3. a", "4. b"]),
        ("1. a\n\n   more of a\n2. b", ["1. a", "", "   more of a", "2. b"]),
        ("> a\n> b\n\nc", ["▎ a", "▎ b", "", "c"]),
        ("```\na\n\n  b\n```\nc", [" a", "", "   b", "", "c"]),
        ("~~~sh\na\n```\n~~~", [" a", " ```"]),
        ("1. a\n   ```\n   b\n   ```\n2. c", ["1. a", "", "    b", "2. c"]),
        ("a `b*c*` [d](https://e.f) <https://g.h>", ["a b*c* d (https://e.f) https://g.h"]),
        ("![pic](x.png)", ["pic (x.png)"]),
        ("[a](javascript:alert(1))", ["[a](javascript:alert(1))"]),
        ("<b>not</b> markup & so [@click=app.quit]on[/]", ["<b>not</b> markup & so [@click=app.quit]on[/]"]),
        ("<div>\nblock\n</div>", ["<div>", "block", "</div>"]),
        ("a  \nb\\\nc", ["a", "b", "c"]),
        ("*open **and `open", ["*open **and `open"]),
        ("|a|b|\n|-|-:|\n|1|2|\n|33|4|", ["a    b", "─" * 6, "1    2", "33   4"]),
        ("[a]: https://b.c\n\n[a]", ["[a]: https://b.c", "", "[a]"]),
    ],
)
def test_looks(source: str, lines: list[str]) -> None:
    assert drawn(source) == lines


def test_emphasis() -> None:
    assert styled("a **b** *c* ~~d~~ ***e***") == [
        ("b", "bold"),
        ("c", "italic"),
        ("d", "strike"),
        ("e", "bold italic"),
    ]


@pytest.mark.parametrize("mark", ["  ", "> "])
@pytest.mark.parametrize("depth", [12, 18, 30, 300])
def test_no_word_is_too_deep_to_be_drawn(mark: str, depth: int) -> None:
    last = "- " if mark == "  " else "> "
    source = "\n".join(f"{mark * level}{last}{chr(0x4E00 + level)}" for level in range(depth))
    shown = "".join(drawn(source, 300))
    assert [level for level in range(depth) if chr(0x4E00 + level) not in shown] == []


def test_a_table_too_wide_is_folded_in_its_widest_columns() -> None:
    rows = drawn("| name | what it is for |\n|---|---|\n| x | " + "word " * 20 + "|", width=30)
    assert rows[0] == "name   what it is for"
    assert all(len(row) <= 30 for row in rows)
    assert "".join(rows).count("word") == 20


def test_a_table_of_more_columns_than_fit_loses_no_text() -> None:
    rows = drawn("|" + "ab|" * 30 + "\n|" + "-|" * 30 + "\n|" + "cd|" * 30, width=200)
    assert "".join(rows).count("cd") == 30


def test_a_long_table_goes_on_under_its_head() -> None:
    rows = drawn("| n | m |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(200)))
    assert rows[0].split() == ["n", "m"]
    assert [row.split()[0] for row in rows[2:]] == [str(n) for n in range(200)]


def test_code_without_an_end_is_pieces_of_few_lines() -> None:
    pieces = Markdown().fragments("```python\n" + "x = 1\n" * 1000)
    assert len(pieces) >= 25
    assert sum(len(piece.draw(STYLES, 80)) for piece in pieces) == 1000


def test_a_line_without_an_end_is_pieces_too() -> None:
    pieces = Markdown().fragments("word " * 200_000)
    assert len(pieces) > 300
    assert "".join(one.strip.text for one in pieces[7].draw(STYLES, 100)).count("word") > 500


lines_of_markdown = st.sampled_from([
    "", "", "text", "more *text* here", "# head", "- item", "  - nested", "1. one", "   under it", "> quote",
    "```", "```python", "def f(x):", "    return x", "~~~", "| a | b |", "| - | - |", "| c | d |", "---", "***",
    "    indented", "\ttab", "a\rb", "\x1b]52;c;x\x07", "日本語テキスト", "👩‍👩‍👧", "word " * 30, "x" * 300,
    "[a](b)", "`", "<i>",
])  # fmt: skip
texts = st.lists(lines_of_markdown, max_size=30).map("\n".join)


@given(texts, st.lists(st.integers(0, 2000), max_size=8))
def test_the_pieces_of_a_text_do_not_depend_on_how_it_came(text: str, cuts: list[int]) -> None:
    grown = Markdown()
    for cut in sorted(cuts):
        grown.fragments(text[:cut])
    assert grown.fragments(text) == Markdown().fragments(text)


@given(texts, texts)
def test_a_piece_that_has_ended_stays(text: str, more: str) -> None:
    begun = Markdown().fragments(text + "\n")
    complete = Markdown().fragments(text + "\n" + more)
    assert complete[: max(0, len(begun) - 1)] == begun[:-1]


@given(texts, st.integers(20, 120))
def test_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    for piece in Markdown().fragments(text):
        assert piece.guess(width) >= 0
        assert all(one.strip.cell_length <= width for one in piece.draw(STYLES, width))


sentences = st.lists(st.sampled_from(["alpha", "beta", "γάμμα", "日本", "x" * 90]), min_size=1, max_size=9).map(
    " ".join
)
shapes = st.sampled_from(
    ["{}", "# {}", "- {}", "  - {}", "1. {}", "> {}", "    {}", "```\n{}\n```", "*{}*", "**{}", "| {} |"]
)


@given(st.lists(st.tuples(shapes, sentences), max_size=12), st.integers(24, 120))
def test_every_word_is_drawn_in_its_order(parts: list[tuple[str, str]], width: int) -> None:
    text = "\n".join(shape.format(words) for shape, words in parts)
    seen = "".join(
        one.strip.text[one.margin :] for piece in Markdown().fragments(text) for one in piece.draw(STYLES, width)
    )
    assert _letters(seen) == _letters(" ".join(words for _, words in parts))


def _letters(text: str) -> str:
    return "".join(re.findall(r"[^\W\d_]", text))


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200).map(clean),
    width=st.integers(2, 40),
    words=st.booleans(),
)
def test_a_fold_loses_nothing_but_white_space_and_fits(*, text: str, width: int, words: bool) -> None:
    for plain_line in text.split("\n"):
        runs = [(plain_line[:7], STYLES.text), (plain_line[7:], STYLES.dim)]
        folded = list(fold_runs(runs, width, words=words))
        assert _bare(folded) == "".join(plain_line.split())
        assert all(one.strip.cell_length <= width for one in folded)
        assert all(one.strip.cell_length == cell_len(one.strip.text) for one in folded)


def _bare(folded: Sequence[DrawnLine]) -> str:
    return "".join("".join(one.strip.text.split()) for one in folded)


def test_the_cost_of_a_growing_text_is_that_of_its_last_piece() -> None:
    grown = Markdown()
    drawn_at_all = 0
    before: list[Fragment] = []
    text = ANSWER * 40
    for end in range(0, len(text), 500):
        pieces = grown.fragments(text[:end])
        drawn_at_all += sum(piece not in before for piece in pieces[-6:])
        assert pieces[: max(0, len(before) - 2)] == before[:-2]
        before = pieces
    assert drawn_at_all < len(text) // 500 * 7
