"""The approval prompt for one call: what will run, literally, and the possible answers."""

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

from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.text import literal
from holdfast.tool_calls import Remember
from holdfast.tools.tool import Plan
from holdfast.ui.tui.agent_thread.messages import ApprovalRequested

SHARE = 0.6
"""Maximum share of the screen's lines for the prompt."""

PAUSE = 1.0
"""Seconds after an answer during which the next prompt has no preselected answer."""

AROUND = 4
"""Lines of the prompt except its detail and its answers."""

ONCE, SESSION, PROJECT, NO = "once", "session", "project", "no"


def question(plan: Plan) -> str:
    """Return the question about a planned call, in one line."""
    where = "" if plan.outside is None else f" It is outside this folder, at {plan.outside}."
    match plan.effect:
        case "execute":
            return f"Run this command?{where}"
        case "write" | "read":
            return f"{plan.title[:1].upper()}{plan.title[1:]}?{where}"


def detail(plan: Plan, *, added: str, removed: str) -> Text:
    """Return the whole plan: a command as written, or the lines of a change in the given styles."""
    said = Text()
    lines = literal(plan.detail or plan.title).rstrip("\n").splitlines(keepends=True)
    if plan.change is not None and lines[0].startswith("---"):
        lines = lines[2:]  # the question has the file name
    for line in lines:
        tone = {"+": added, "-": removed}.get(line[0], "") if plan.change is not None else ""
        said.append(line, tone)
    return said


def answers(plan: Plan) -> tuple[tuple[str, str], ...]:
    """Return the possible answers to a plan, each with its label."""
    once, no = (ONCE, "Allow once"), (NO, "Reject with feedback")
    from holdfast.tools.approval_patterns import suggested  # noqa: PLC0415 - tables of programs, for a question

    pattern = suggested(plan)
    if pattern is None:
        return once, no
    what = {"execute": "running", "write": "edits to", "read": "pages from"}[pattern.effect]
    return (
        once,
        (SESSION, f"Always allow {what} `{pattern.text}` (this session)"),
        (PROJECT, f"Always allow {what} `{pattern.text}` (this folder)"),
        no,
    )


class Approval(Vertical):
    """Asks about a call, above the composer, until it is answered or no longer needed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", f"choose('{ONCE}')", "Allow once", show=False),
        Binding("n", f"choose('{NO}')", "Reject", show=False),
        *(Binding(str(number), f"choose_at({number})", "Answer", show=False) for number in range(1, 5)),
    ]

    _answers: tuple[tuple[str, str], ...] = ()
    _answered_at = 0.0
    _call = ""  # the open call, "" once answered, so that a second key press does not answer the next one

    class Answered(Message):
        """The user answered the prompt for `call`."""

        def __init__(self, call: str, answer: ApprovalAnswer) -> None:
            self.call = call
            self.answer = answer
            super().__init__()

    def compose(self) -> ComposeResult:
        """Yield the question, the detail, the answers, and a line for a reason."""
        yield Static(id="question", markup=False)
        with VerticalScroll(id="detail-box", can_focus=False):
            yield Static(id="detail", markup=False)
        yield OptionList(id="answers")
        yield Input(placeholder="Tell the model why (optional), then Enter", id="reason")

    def ask(self, asked: ApprovalRequested, *, take: bool) -> None:
        """Show the prompt; `take` moves the focus to it, unless the user is typing."""
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
        # A key that is held down must not answer the next prompt, so nothing is preselected.
        listed.highlighted = 0 if time.monotonic() - self._answered_at > PAUSE else None
        self.query_one("#reason").display = False
        listed.display = True
        self.display = True
        if take:
            self.take()

    def take(self) -> None:
        """Take the focus."""
        self.query_one("#answers", OptionList).focus()

    def on_resize(self) -> None:
        """Keep room for the answers at any size."""
        self._fit()

    def _fit(self) -> None:
        room = int(self.screen.size.height * SHARE) - len(self._answers) - AROUND
        self.query_one("#detail-box").styles.max_height = max(2, room)

    def close(self) -> None:
        """Close the prompt."""
        self.display = False

    def action_choose_at(self, number: int) -> None:
        """Give the answer number `number`, from 1."""
        if number <= len(self._answers):
            self.action_choose(self._answers[number - 1][0])

    def action_choose(self, answer: str) -> None:
        """Give the answer with this name."""
        if answer == NO:
            self.query_one("#answers").display = False
            reason = self.query_one("#reason", Input)
            reason.value = ""
            reason.display = True
            reason.focus()
        else:
            remember: Remember = "session" if answer == SESSION else "project" if answer == PROJECT else ""
            self._give(ApprovalAnswer(allowed=True, remember=remember))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the selected answer."""
        event.stop()
        self.action_choose(event.option_id or NO)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Reject with the typed reason."""
        event.stop()
        self._give(ApprovalAnswer(allowed=False, reason=event.value))

    def _give(self, answer: ApprovalAnswer) -> None:
        if call := self._call:
            self._call = ""
            self._answered_at = time.monotonic()
            self.post_message(self.Answered(call, answer))

    def on_paste(self, event: events.Paste) -> None:
        """Ignore a paste, so that it answers nothing."""
        event.stop()
