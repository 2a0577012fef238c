"""A diff in the colours of its language: which colours stand on which background, and where they end."""

from __future__ import annotations

import msgspec
import pytest
from rich.style import Style

from holdfast.ui.tui.render.diff import (
    Change,
    changes,
    draw_changes,
    fold_unchanged,
    folded_lines,
    language_of,
    with_hidden,
)
from holdfast.ui.tui.render.lexers import Lexers
from holdfast.ui.tui.render.lines import clean
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.tui.widgets.plan_detail import changes_of
from holdfast.ui.view.edit_changes import EditChange
from transcript_scenes import plain


def styles() -> Styles:
    """Return styles that differ from each other, with the lexer of Python."""
    lexers = Lexers()
    lexers.load("python")
    return msgspec.structs.replace(
        plain().styles,
        lexers=lexers,
        text=Style(color="white"),
        dim=Style(color="grey50"),
        block=Style(color="white", bgcolor="black"),
        keyword=Style(color="blue", bgcolor="black"),
        string=Style(color="green", bgcolor="black"),
        added=Style(color="white", bgcolor="dark_green"),
        added_word=Style(color="white", bgcolor="green3"),
        removed=Style(color="white", bgcolor="dark_red"),
        removed_word=Style(color="white", bgcolor="red3"),
    )


def runs(*shown: Change, language: str = "py", width: int = 60) -> list[list[tuple[str, str, str]]]:
    """Return text, colour and background of each run of each drawn line, without empty ones."""
    drawn = draw_changes(shown, styles(), width, digits=0, wrap=True, language=language)
    return [
        [
            (
                each.text,
                each.style.color.name if each.style.color else "",
                each.style.bgcolor.name if each.style.bgcolor else "",
            )
            for each in line.strip
            if each.style and each.text.strip()
        ]
        for line in drawn
    ]


def test_words_of_the_language_have_its_colours_on_the_background_of_the_change() -> None:
    added, removed = runs(Change("+", "return 'x'"), Change("-", "return 1"))
    assert ("return", "blue", "dark_green") in added
    assert ("x", "green", "dark_green") in added
    assert ("return", "blue", "dark_red") in removed


def test_changed_words_keep_their_colour_and_are_marked() -> None:
    edit = EditChange(path="a.py", old="return 'abc', one, two\n", new="return 'abd', one, two\n")
    removed, added = runs(*changes(edit))
    assert any(text in "'abc'" and colour == "green" and back == "red3" for text, colour, back in removed)
    assert any(text in "'abd'" and colour == "green" and back == "green3" for text, colour, back in added)
    assert ("return", "blue", "dark_green") in added


def test_an_unchanged_line_has_no_background() -> None:
    ((sign, *rest),) = runs(Change(" ", "return x"))
    assert ("return", "blue", "") in (sign, *rest)


@pytest.mark.parametrize("language", ["", "unheard-of"])
def test_an_unknown_language_has_one_colour(language: str) -> None:
    assert runs(Change("+", "return 'x'"), language=language) == [
        [("+ ", "white", "dark_green"), ("return 'x'", "white", "dark_green")]
    ]


def test_a_string_of_old_lines_does_not_colour_new_ones() -> None:
    lines = [Change("-", 'x = """open'), Change("+", "return 1")]
    assert ("return", "blue", "dark_green") in runs(*lines)[1]


@pytest.mark.parametrize("text", ["x" * 5_000, "'👩‍👩‍👧‍👦' 🇩🇪❤️", "a\tb", ""])
def test_whatever_the_text_is_all_of_it_is_drawn_and_fits(text: str) -> None:
    drawn = list(draw_changes([Change("+", clean(text))], styles(), 40, digits=3, wrap=True, language="py"))
    assert all(line.strip.cell_length <= 40 for line in drawn)
    drawn_text = "".join(line.strip.text[line.margin :].rstrip() for line in drawn)
    assert drawn_text.replace(" ", "") == clean(text).replace(" ", "")


def test_what_is_folded_says_how_much() -> None:
    assert folded_lines(1).text == "1 unchanged line"
    assert folded_lines(0).text == ""
    diff = ("@@ -1,2 +1,2 @@", "-a", "+b", " c", "@@ -1203,1 +1203,1 @@", "-x", "+y")
    assert [each.text for each in changes_of(diff) if each.sign == "…"] == ["1,200 unchanged lines"]
    old = "".join(f"{number}\n" for number in range(40))
    edit = EditChange(path="a", old=old, new=old.replace("3\n", "three\n", 1).replace("30\n", "thirty\n", 1))
    assert [each.text for each in changes(edit) if each.sign == "…"] == [
        "22 unchanged lines",
        "7 unchanged lines",
    ]


def test_what_is_folded_is_not_lost() -> None:
    numbers = [f"{number}" for number in range(40)]
    old = "\n".join(numbers)
    edit = EditChange(path="a", old=old, new=old.replace("20", "twenty"), line=101)
    shown = changes(edit)
    assert [each.text for each in shown if each.sign == "…"] == ["18 unchanged lines", "17 unchanged lines"]
    complete = with_hidden(shown)
    assert [each.text for each in complete if each.sign != "+"] == numbers
    assert [each.number for each in complete if each.sign != "-"] == list(range(101, 141))
    (line,) = draw_changes(shown[:1], styles(), 60, digits=3, wrap=False)
    assert line.strip.text == "⋮ 18 unchanged lines · ctrl+o"
    (line,) = draw_changes(shown[:1], styles(), 12, digits=3, wrap=True)
    assert line.strip.cell_length <= 12


def test_one_line_is_not_folded() -> None:
    lines = [Change(" ", "a"), Change("-", "b"), Change(" ", "c"), Change(" ", "d"), Change(" ", "e")]
    assert fold_unchanged(lines, 1)[:3] == tuple(lines[:3])
    assert fold_unchanged(lines, 1)[3:] == (folded_lines(2, tuple(lines[3:])),)
    assert fold_unchanged(lines, 2) == tuple(lines)
    assert with_hidden(fold_unchanged(lines, 0)) == tuple(lines)


def test_a_diff_with_its_file_has_all_lines_of_it() -> None:
    original = [f"line {number}" for number in range(1, 31)]
    diff = ("@@ -9,3 +9,2 @@", " line 9", "-line 10", " line 11", "@@ -20,2 +19,3 @@", " line 20", "+more", " line 21")
    complete = list(changes_of(diff, original))
    assert [each.text for each in complete if each.sign != "+"] == original
    assert [each.number for each in complete if each.sign != "-"] == list(range(1, 31))


@pytest.mark.parametrize(
    ("path", "language"), [("a/b.PY", "py"), ("Makefile", "makefile"), ("x.tar.gz", "gz"), ("", ""), ("a.b/c", "c")]
)
def test_the_language_is_the_ending(path: str, language: str) -> None:
    assert language_of(path) == language
