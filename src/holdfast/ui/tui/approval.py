"""The question about one call: what will run, literally, and the answers a person may give."""

from __future__ import annotations

import time
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from holdfast.agent.calls import Answer
from holdfast.calls import Remember
from holdfast.text import literal
from holdfast.tools.patterns import suggested
from holdfast.tools.tool import Plan
from holdfast.ui.tui.told import Asked

SHARE = 0.6
"""Of the screen's lines that a question may take."""

PAUSE = 1.0
"""Seconds after an answer in which the next question has none chosen beforehand."""

AROUND = 4
"""Lines of a question besides its detail and its answers."""

ONCE, SESSION, PROJECT, NO = "once", "session", "project", "no"


def question(plan: Plan) -> str:
    """Return what a person is asked about a planned call, in one line."""
    where = "" if plan.outside is None else f" It is outside this folder, at {plan.outside}."
    match plan.effect:
        case "execute":
            return f"Run this command?{where}"
        case "write" | "read":
            return f"{plan.title[:1].upper()}{plan.title[1:]}?{where}"


def detail(plan: Plan, *, added: str, removed: str) -> Text:
    """Return all of what is planned, as it is: a command as written, the lines of a change in the styles given."""
    said = Text()
    lines = literal(plan.detail or plan.title).rstrip("\n").splitlines(keepends=True)
    if plan.change is not None and lines[0].startswith("---"):
        lines = lines[2:]  # the question names the file
    for line in lines:
        tone = {"+": added, "-": removed}.get(line[0], "") if plan.change is not None else ""
        said.append(line, tone)
    return said


def answers(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the answers that may be given about a plan, each with its words."""
    once, no = (ONCE, "Yes, this once"), (NO, "No, and say why")
    pattern = suggested(plan)
    if pattern is None:
        return once, no
    what = {"execute": "commands", "write": "changes of", "read": "pages of"}[pattern.effect]
    return (
        once,
        (SESSION, f"Yes, and always in this session: {what} `{pattern.text}`"),
        (PROJECT, f"Yes, and always in this folder: {what} `{pattern.text}`"),
        no,
    )


class Approval(Vertical):
    """Ask about a call, above the composer, until it is answered or nobody wants to know any more."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", f"choose('{ONCE}')", "Allow once", show=False),
        Binding("n", f"choose('{NO}')", "Reject", show=False),
        *(Binding(str(number), f"choose_at({number})", "Answer", show=False) for number in range(1, 5)),
    ]

    _answers: tuple[tuple[str, str], ...] = ()
    _answered_at = 0.0
    _call = ""  # that is asked about; none once it is answered, so that a key pressed twice does not answer the next

    class Answered(Message):
        """The person answered the question about `call`."""

        def __init__(self, call: str, answer: Answer) -> None:
            self.call = call
            self.answer = answer
            super().__init__()

    def compose(self) -> ComposeResult:
        """Yield the question, the detail, the answers, and a line for a reason."""
        yield Static(id="question", markup=False)
        with VerticalScroll(id="detail-box", can_focus=False):
            yield Static(id="detail", markup=False)
        yield OptionList(id="answers")
        yield Input(placeholder="Why not? The model reads it. Enter sends, also empty.", id="reason")

    def ask(self, asked: Asked, *, take: bool) -> None:
        """Show a question and, if it may, `take` the keyboard: not from somebody who is writing."""
        self._call = asked.call.id
        self.query_one("#question", Static).update(Text(literal(question(asked.plan)), "bold"))
        colours = self.app.theme_variables  # pyright: ignore[reportUnknownMemberType] - an app of any result
        shown = detail(asked.plan, added=colours["success"], removed=colours["error"])
        self.query_one("#detail", Static).update(shown)
        self._answers = answers(asked.plan)
        self._fit()
        listed = self.query_one("#answers", OptionList)
        listed.clear_options()
        for number, (answer, words) in enumerate(self._answers, start=1):
            listed.add_option(Option(Text(literal(f"{number}  {words}")), id=answer))
        # A key that is held down must not answer what comes right behind: nothing is chosen for it.
        listed.highlighted = 0 if time.monotonic() - self._answered_at > PAUSE else None
        self.query_one("#reason").display = False
        listed.display = True
        self.display = True
        if take:
            self.take()

    def take(self) -> None:
        """Take the keyboard."""
        self.query_one("#answers", OptionList).focus()

    def on_resize(self) -> None:
        """Make room for the answers, whatever the size."""
        self._fit()

    def _fit(self) -> None:
        room = int(self.screen.size.height * SHARE) - len(self._answers) - AROUND
        self.query_one("#detail-box").styles.max_height = max(2, room)

    def close(self) -> None:
        """Ask no more."""
        self.display = False

    def action_choose_at(self, number: int) -> None:
        """Give the answer at that place, from 1."""
        if number <= len(self._answers):
            self.action_choose(self._answers[number - 1][0])

    def action_choose(self, answer: str) -> None:
        """Give the answer with that name."""
        if answer == NO:
            self.query_one("#answers").display = False
            reason = self.query_one("#reason", Input)
            reason.value = ""
            reason.display = True
            reason.focus()
        else:
            remember: Remember = "session" if answer == SESSION else "project" if answer == PROJECT else ""
            self._give(Answer(allowed=True, remember=remember))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the chosen answer."""
        event.stop()
        self.action_choose(event.option_id or NO)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Reject, with the reason."""
        event.stop()
        self._give(Answer(allowed=False, words=event.value))

    def _give(self, answer: Answer) -> None:
        if call := self._call:
            self._call = ""
            self._answered_at = time.monotonic()
            self.post_message(self.Answered(call, answer))

    def on_paste(self, event: events.Paste) -> None:
        """Swallow a paste: it answers nothing."""
        event.stop()
