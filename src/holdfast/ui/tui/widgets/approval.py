"""The approval prompt for one call: what will run, literally, and the possible answers.

It takes a key only while it has the focus, and only a key that answers or scrolls. Any other
character goes to the composer, with the focus, and Tab brings the focus back (`holdfast.ui.tui.keys.question_keys`).
"""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from holdfast.host.events import Asked
from holdfast.questions import AnswerChoice, ApprovalAnswer, ChoiceName, Question
from holdfast.text import literal
from holdfast.tools.tool import Plan
from holdfast.ui.tui.keys.key_order import LineInput
from holdfast.ui.tui.keys.question_keys import (
    HOLD,
    AnswerKey,
    IgnoredKey,
    PendingKey,
    QuestionKeys,
    TypedText,
    UnhandledKey,
)
from holdfast.ui.tui.render.call_renderer import Diff
from holdfast.ui.tui.widgets.detail_view import DetailView
from holdfast.ui.tui.widgets.plan_detail import UNCHANGED_AROUND, plan_fragments
from holdfast.ui.view.columns import count_noun

SHARE = 0.75
"""Maximum share of a large screen's lines for the prompt; on a small one, `OTHER_LINES` lines are left."""

OTHER_LINES = 4
"""Lines of the composer, the status line and the gaps above them."""

ROOMY = 16
"""Minimum lines of a screen with room for empty lines and key hints."""

LEAST_LINES = 3
"""Lines of the detail and of the answers that are always visible, if the screen is large enough."""

FEWEST_ANSWERS = 2
"""Lines of the answers that stay visible beside a change."""

_NUMBER = 3  # cells of a choice's number
_SIDES = 5  # cells left and right of a text: margins, border, padding

_WHY_HINT = "Tell the model why (optional), then Enter"
_OWN_HINT = "Your answer, then Enter; empty: back to the options"

LETTERS = {"y": "once", "n": "no"}
"""Letters that answer, in addition to the numbers."""


class Approval(Vertical):
    """Asks about a call, above the composer, until it is answered or no longer needed."""

    _is_open = False  # not once it is answered, so that a second key press does not answer the next one
    _question = Question(text="", choices=())
    _choice_with_words: AnswerChoice | None = None  # the chosen answer, while the user types its words
    _plan: Plan | None = None
    _around = UNCHANGED_AROUND  # unchanged lines beside each change of the detail
    _changed = _detail_lines = 0  # changed lines of the detail, and all of them
    _sizes = ""
    _is_roomy = True
    _begins = False  # whether the detail is still to begin at its first change; never again once the user has read on
    _marked: frozenset[ChoiceName] = frozenset()  # the names of the marked options of a question of the model

    class Answered(Message):
        """The user answered the question with this id."""

        def __init__(self, question: str, answer: ApprovalAnswer) -> None:
            self.question = question
            self.answer = answer
            super().__init__()

    def __init__(self, write: Callable[[str], None], *, rows: Callable[[], int], id: str | None = None) -> None:  # noqa: A002 - Textual's word
        """Create it closed; `write` moves the focus to the composer at once, and inserts a text there.

        `rows` returns how many rows the whole screen may have.
        """
        super().__init__(id=id)
        self._rows = rows
        self._write = write
        self.keys = QuestionKeys()
        """The keys pressed lately, here and in the composer."""

    def fill(self) -> None:
        """Mount the question, the detail, the answers, a line for a reason, and the key hints.

        This is not done in `compose`: styling hidden widgets would delay the first prompt.
        """
        reason = LineInput(placeholder=_WHY_HINT, id="reason")
        question, keys = Static(id="question", markup=False), Static(id="keys", markup=False)
        detail = DetailView(id="detail")
        detail.on_moved = self._say_what_is_below
        self.mount(question, detail, OptionList(id="answers"), reason, keys)
        self.app.theme_changed_signal.subscribe(self, lambda _: self._take_colours())  # pyright: ignore[reportUnknownMemberType] - an app of any result

    def ask(self, request: Asked, *, take: bool) -> None:
        """Show the prompt; `take` moves the focus to it, unless the user is typing."""
        self.keys.drop()
        self._is_open, self._choice_with_words, self._marked = True, None, frozenset()
        self._question = request.question
        fragments = plan_fragments(request.plan)
        self._plan, self._around, self._begins = request.plan, UNCHANGED_AROUND, False
        signs = [line.sign for each in fragments if isinstance(each, Diff) for line in each.lines]
        added, removed = signs.count("+"), signs.count("-")
        self._changed, self._sizes = added + removed, f"+{added} -{removed}"
        self._detail_lines = sum(each.guess(max(1, self.screen.size.width - _SIDES)) for each in fragments)
        self.display = True
        self.set_class(bool(self._question.warnings), "-dangerous")
        detail = self.query_one(DetailView)
        detail.display = bool(fragments)
        detail.show(fragments)
        listed = self.query_one("#answers", OptionList)
        listed.clear_options()
        for number, choice in enumerate(self._question.choices, start=1):
            listed.add_option(Option(self._choice_text(number, choice), id=choice.name))
        listed.highlighted = 0
        listed.display = True
        self.query_one("#reason").display = False
        self._fit()
        if take:
            self.take()

    def _take_colours(self) -> None:
        """Draw an open question in the colours of the theme, which are part of its texts."""
        if self._is_open:
            for number, choice in enumerate(self._question.choices, start=1):
                self.query_one("#answers", OptionList).replace_option_prompt(
                    choice.name, self._choice_text(number, choice)
                )
            self._fit()

    def _choice_text(self, number: int, choice: AnswerChoice) -> Text:
        """Return a choice as the list shows it: its number, mark, label and note."""
        strong = self.app.theme_variables["secondary"]  # pyright: ignore[reportUnknownMemberType] - an app of any result
        before, mark, after = choice.label.partition("{}")
        box = f"{'[x]' if choice.name in self._marked else '[ ]'} " if self._is_markable(choice) else ""
        text = Text(f"{number}  {box}{before}")
        if mark:
            text.append(literal(choice.subject), strong).append(after)
        if choice.note:
            text.append(f"\n{' ' * (_NUMBER + len(box))}{literal(choice.note)}", "dim")
        return text

    def _is_markable(self, choice: AnswerChoice) -> bool:
        return self._question.several and bool(choice.option)

    def take(self) -> None:
        """Take the focus."""
        reason = self.query_one("#reason")
        self.screen.set_focus(reason if reason.display else self.query_one("#answers"))

    @property
    def takes_keys(self) -> bool:
        """Return whether the focus is on the answers or the detail."""
        return self.display and self.screen.focused in (self.query_one("#answers"), self.query_one(DetailView))

    def offers(self, name: str) -> bool:
        """Return whether the open question has this answer, and the focus."""
        return self._is_open and self.takes_keys and self._question.choice(name) is not None

    def take_key(self, event: events.Key) -> bool:
        """Return whether the key was handled here, or went to the composer; else the focused widget gets it."""
        self._begins = False
        character = event.character if event.is_printable and event.character else ""
        enter = event.key == "enter"
        match self.keys.press(character, self._by_key(), at=event.time, enter=enter):
            case AnswerKey(key=key):
                self._choose_key(key)
            case PendingKey():
                self.set_timer(HOLD, lambda: self.app.call_later(self._release))  # pyright: ignore[reportUnknownMemberType] - an app of any result
            case TypedText(text=text):
                self._write(text)
            case IgnoredKey():
                pass
            case UnhandledKey():
                return self._take_other(event, enter=enter)
        return True

    def scroll_page(self, by: int) -> bool:
        """Scroll the detail by `by` pages, if the prompt has the focus. Return whether it has."""
        if self.takes_keys:
            self._begins = False
            self.query_one(DetailView).scroll_page(by)
        return self.takes_keys

    def toggle_folds(self) -> bool:
        """Open or close the folds of the detail, if the prompt has the focus. Return whether there are any."""
        return self.takes_keys and self.query_one(DetailView).toggle_folds()

    def on_resize(self) -> None:
        """Keep room for the answers at any size."""
        if self.children:
            self._fit()

    def close(self) -> None:
        """Close the prompt."""
        self.keys.drop()
        self.display = False

    def choose(self, name: str) -> None:
        """Give the answer with this name, or ask for its words."""
        choice = self._question.choice(name)
        if choice is None or not self._is_open:
            return
        if self._is_markable(choice):
            self._mark(choice)
            return
        if not choice.words:
            self._submit(choice.answer(marked=self._marked_options))
            return
        self._choice_with_words = choice
        self.query_one("#answers").display = False
        reason = self.query_one("#reason", Input)
        reason.placeholder = _OWN_HINT if choice.name == "own" else _WHY_HINT
        reason.value = ""
        reason.display = True
        self.screen.set_focus(reason)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the selected answer."""
        event.stop()
        self.choose(event.option_id or "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Give the answer with the typed words."""
        event.stop()
        choice = self._choice_with_words
        if choice is None:
            return
        if choice.name != "own" or event.value.strip():
            self._submit(choice.answer(event.value, marked=self._marked_options))
            return
        self._choice_with_words = None
        self.query_one("#reason").display = False
        self.query_one("#answers").display = True
        self.take()

    @property
    def _marked_options(self) -> tuple[ChoiceName, ...]:
        """Return the names of the options that are marked, in their order."""
        return tuple(choice.name for choice in self._question.choices if choice.name in self._marked)

    def _mark(self, choice: AnswerChoice) -> None:
        """Mark an option, or unmark it."""
        toggled: frozenset[ChoiceName] = frozenset((choice.name,))
        self._marked ^= toggled
        listed = self.query_one("#answers", OptionList)
        number = self._question.choices.index(choice) + 1
        listed.replace_option_prompt(choice.name, self._choice_text(number, choice))

    def _by_key(self) -> dict[str, str]:
        """Return the names of the answers by their keys."""
        numbered = {str(number): choice.name for number, choice in enumerate(self._question.choices, start=1)}
        return {**numbered, **{key: name for key, name in LETTERS.items() if self._question.choice(name)}}

    def _choose_key(self, key: str) -> None:
        if (name := self._by_key().get(key)) is not None:
            self.choose(name)

    def _release(self) -> None:
        if (key := self.keys.release()) and self.takes_keys:
            self._choose_key(key)

    def _take_other(self, event: events.Key, *, enter: bool) -> bool:
        """Take a key that types nothing: Tab goes from the answers to a detail that scrolls, then to the composer."""
        detail, listed = self.query_one(DetailView), self.query_one("#answers", OptionList)
        in_detail = self.screen.focused is detail
        if event.key == "tab":
            if in_detail or not (detail.display and detail.overflows):
                self._write("")
            else:
                self.screen.set_focus(detail)
        elif enter and in_detail:
            self.screen.set_focus(listed)
        elif enter:
            at = listed.highlighted
            if at is None or not self._is_markable(self._question.choices[at]):  # one mark may follow another at once
                self.keys.note_confirmed(event.time)
            listed.action_select()
        elif in_detail and event.key in ("up", "down"):
            detail.scroll_lines(-1 if event.key == "up" else 1)
        else:
            return False
        return True

    def _fit(self) -> None:
        """Divide the lines: the detail and the answers scroll if they do not fit.

        If a change does not fit, what is not the change goes first: key hints, blank rows, unchanged lines, and then
        all answers but the first ones, which scroll.
        """
        height, width = self._rows(), max(1, self.screen.size.width - _SIDES)
        detail = self.query_one(DetailView)
        texts, answers = self._question_text(roomy=height >= ROOMY).plain, self._answer_lines(width)
        question_lines = sum(_lines(text, width) for text in texts.split("\n"))
        roomy = height >= ROOMY
        room = (
            int(height * SHARE) - 3 - _lines(self._hint(), width) if roomy else height - OTHER_LINES
        ) - question_lines
        least = LEAST_LINES if detail.display else 0
        shown, around = max(least, room - answers), UNCHANGED_AROUND
        if detail.display and self._changed and shown < self._detail_lines:
            short = self._question_text(roomy=False).plain
            room = height - OTHER_LINES - sum(_lines(text, width) for text in short.split("\n"))
            shown, around, roomy = max(least, room - answers, min(self._changed, room - FEWEST_ANSWERS)), 0, False
        self.query_one("#keys", Static).display = roomy
        self.query_one("#keys", Static).update(Text(self._hint(), "dim"))
        self._is_roomy = roomy
        self._show_text(roomy=roomy, below=detail.changes_below)
        detail.styles.max_height = max(1, shown)
        detail.styles.margin = (1, 0) if roomy else (0, 0)
        self.styles.margin = (int(roomy), 1, 0, 1)
        self.query_one("#answers").styles.max_height = max(
            FEWEST_ANSWERS if not around else LEAST_LINES, room - (shown if not around else min(shown, least))
        )
        if around != self._around and self._plan is not None:
            self._around, self._begins = around, not around
            detail.show(plan_fragments(self._plan, around=around))
        self._begin_at_change()

    def _begin_at_change(self) -> None:
        """Scroll the detail to its first change, once, when it is laid out."""

        def begin() -> None:
            if self._begins and self.query_one(DetailView).to_first_change():
                self._begins = False

        self.call_after_refresh(begin)

    def _question_text(self, *, roomy: bool, below: int = 0) -> Text:
        """Return the question, and how much of the change is `below` the visible lines."""
        colours = self.app.theme_variables  # pyright: ignore[reportUnknownMemberType] - an app of any result
        question = Text(literal(self._question.text), "bold")
        if below:
            question.append(f" {self._sizes} · {count_noun(below, 'line')} below", "dim")
        if roomy and self._question.why:
            question.append(f"\n{literal(self._question.why)}", "dim")
        for warning in self._question.warnings:
            question.append(f"\n! {literal(warning)}", f"bold {colours['error']}")
        return question

    def _answer_lines(self, width: int) -> int:
        return sum(
            _lines(f"1  {'[ ] ' * self._is_markable(choice)}{choice.text}", width)
            + (_lines(f"       {choice.note}", width) if choice.note else 0)
            for choice in self._question.choices
        )

    def _say_what_is_below(self) -> None:
        """Say how many changed lines are below the visible ones; they change with each scroll."""
        if self._is_open:
            self._begin_at_change()
            self._show_text(roomy=self._is_roomy, below=self.query_one(DetailView).changes_below)

    def _show_text(self, *, roomy: bool, below: int) -> None:
        for text in self.query("#question").results(Static):  # while the screen closes, it is gone before the detail
            text.update(self._question_text(roomy=roomy, below=below))

    def _hint(self) -> str:
        edits = "shift+tab: accept all edits · " if self._question.choice("edits") is not None else ""
        if self._question.several:
            return "enter or a number: mark · pgup/pgdn: scroll · tab: prompt"
        return f"{edits}pgup/pgdn: scroll · tab: prompt"

    def _submit(self, answer: ApprovalAnswer) -> None:
        if self._is_open:
            self._is_open = False
            self.post_message(self.Answered(self._question.id, answer))


def _lines(text: str, width: int) -> int:
    """Return about how many lines a text takes."""
    return max(1, -(-cell_len(text) // width))
