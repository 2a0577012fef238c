"""Laws of long pastes: whatever is shown of a prompt, all of it is sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ui.tui.prompt.pastes import FOLD_CHARACTERS, FOLD_LINES, Pastes
from laws import law

PASTED = st.one_of(
    st.text(max_size=20),
    st.lists(st.text("ab[# ", max_size=4), min_size=FOLD_LINES, max_size=30).map("\n".join),
    st.text("x[", min_size=1, max_size=3).map(lambda text: text * FOLD_CHARACTERS),
)
TYPED = st.text("ab[]#+1 \n", max_size=12)


@law()
@given(st.lists(st.tuples(TYPED, PASTED), max_size=5), TYPED)
def test_what_is_shown_stands_for_the_whole(parts: list[tuple[str, str]], end: str) -> None:
    pastes = Pastes()
    shown = "".join(typed + pastes.mark(pasted) for typed, pasted in parts) + end
    text = "".join(typed + pasted for typed, pasted in parts) + end
    assert pastes.expand(shown) == text
    assert pastes.expand(pastes.collapse(text)) == text


def test_a_mark_of_another_run_and_one_inside_a_paste_are_words() -> None:
    pastes = Pastes()
    assert pastes.expand("[Pasted text #1 +9 lines] why?") == "[Pasted text #1 +9 lines] why?"
    mark = pastes.mark("[Pasted text #1 +9 lines]\n" * 9)
    assert pastes.expand(f"{mark} why?") == f"{'[Pasted text #1 +9 lines]' + chr(10)}" * 9 + " why?"


def test_no_more_pastes_are_kept_than_are_used() -> None:
    pastes = Pastes()
    marks = [pastes.mark(f"{number}" * 2_000) for number in range(100)]
    assert len(pastes.marks) == 50
    assert pastes.expand(marks[-1]) == "99" * 2_000
