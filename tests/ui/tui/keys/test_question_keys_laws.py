"""Laws of the keys at a question: what is typed is written, in order, and only a key alone answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ui.tui.keys.question_keys import (
    HOLD,
    PAUSE,
    AnswerKey,
    IgnoredKey,
    PendingKey,
    QuestionKeys,
    TypedText,
    UnhandledKey,
)
from laws import law

CHOICES = frozenset("1234yn")
SOON = st.floats(min_value=0, max_value=HOLD * 0.9, allow_nan=False)


def pressed(keys: QuestionKeys, typed: list[tuple[str, float]], *, at: float = 100.0) -> tuple[str, list[str]]:
    """Press the keys, each so long after the one before; return what is written and what answers."""
    written, answered = "", list[str]()
    is_open = True
    for character, gap in typed:
        at += gap
        if gap >= HOLD and (alone := keys.release()):
            answered.append(alone)
        if not is_open:
            written += character
            keys.note_typed(at)
            continue
        match keys.press(character, CHOICES, at=at):
            case TypedText(text=text):
                written += text
                is_open = False
            case AnswerKey(key=key):
                answered.append(key)
            case PendingKey() | IgnoredKey() | UnhandledKey():
                pass
    if alone := keys.release():
        answered.append(alone)
    return written, answered


@law()
@given(st.text(alphabet="14yn e,.", min_size=2, max_size=12), st.lists(SOON, min_size=13, max_size=13))
def test_a_burst_is_written_in_order_and_answers_nothing(text: str, gaps: list[float]) -> None:
    if text[0] == text[1]:
        text = "e" + text
    written, answered = pressed(QuestionKeys(), list(zip(text, gaps, strict=False)))
    assert (written, answered) == (text, [])


@law()
@given(st.sampled_from(sorted(CHOICES)))
def test_a_choice_alone_answers_once(choice: str) -> None:
    assert pressed(QuestionKeys(), [(choice, 1.0)]) == ("", [choice])
    assert pressed(QuestionKeys(), [(choice, 1.0), (choice, HOLD / 2)]) == ("", [choice])
    keys = QuestionKeys()
    assert keys.press(choice, CHOICES, at=1.0) == PendingKey()
    assert keys.press("", CHOICES, at=1.1, enter=True) == AnswerKey(choice)


@law()
@given(st.text(alphabet="14yn e", min_size=1, max_size=6), SOON, st.sampled_from(sorted(CHOICES)))
def test_a_choice_behind_words_continues_them(words: str, gap: float, choice: str) -> None:
    """The question appears in the middle of a word; after an Enter, a sentence begins that has no beginning yet."""
    keys = QuestionKeys()
    keys.note_typed(100.0)
    assert keys.press(choice, CHOICES, at=100.0 + gap) == TypedText(choice)
    keys = QuestionKeys()
    keys.note_typed(100.0)
    keys.note_sent()
    assert keys.press(choice, CHOICES, at=100.0 + gap) == PendingKey()
    del words


@law()
@given(st.sampled_from(sorted(CHOICES)), st.integers(min_value=3, max_value=30))
def test_a_key_held_down_answers_nothing(choice: str, times: int) -> None:
    assert pressed(QuestionKeys(), [(choice, 1.0), *[(choice, HOLD / 6)] * (times - 1)]) == ("", [])


def test_an_enter_held_down_answers_one_question() -> None:
    keys = QuestionKeys()
    assert keys.press("", CHOICES, at=1.0, enter=True) == UnhandledKey()
    keys.note_confirmed(1.0)
    assert keys.press("", CHOICES, at=1.0 + PAUSE / 2, enter=True) == IgnoredKey()
    assert keys.press("", CHOICES, at=1.0 + PAUSE, enter=True) == IgnoredKey()
    assert keys.press("", CHOICES, at=1.0 + 3 * PAUSE, enter=True) == UnhandledKey()


def test_a_question_that_closes_takes_its_held_key_with_it() -> None:
    keys = QuestionKeys()
    keys.press("y", CHOICES, at=1.0)
    keys.drop()
    assert keys.release() == ""
