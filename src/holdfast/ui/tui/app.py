"""The screen: keys and messages in, the agent's commands out."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, get_args

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.widgets import Input

from holdfast.agent.events import Event, Fact
from holdfast.agent.settle import Leave
from holdfast.calls import Mode
from holdfast.session.entries import Titled
from holdfast.ui.tui.actions import act, offer, offer_a_model, pick_prompt, pick_session, pick_turn, renamed
from holdfast.ui.tui.approval import Approval
from holdfast.ui.tui.branch import branch
from holdfast.ui.tui.commands import parse
from holdfast.ui.tui.composer import Composer
from holdfast.ui.tui.desk import READ_ONLY, Desk
from holdfast.ui.tui.editor import edited, editors
from holdfast.ui.tui.known import STOPPING
from holdfast.ui.tui.told import (
    Asked,
    AskedNoMore,
    Busy,
    Closed,
    GaveUp,
    GivenBack,
    Idle,
    InUse,
    Opened,
    Refused,
    Taken,
    Told,
    Trouble,
    Window,
)

LEAVING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals that end the screen in good order; the guard cleans up after every other."""

AGAIN = 1.0
"""Seconds in which a second ESC or Ctrl+C means more than the first."""

QUITS = "Press Ctrl+C again to quit; the session is kept."

BENEATH = frozenset({"interrupt", "leave_if_empty", "mode", "edit", "history", "expand", "page"})
"""What keys do to the screen only while nothing is open over it, which has them first."""

TICK = 0.1
"""Seconds between two drawings of the status line while something runs."""


class Screen(Desk):
    """The full-screen terminal."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "interrupt", "Stop", show=False, priority=True),
        Binding("ctrl+c", "give_up", "Stop, clear, quit", show=False, priority=True),
        Binding("ctrl+d", "leave_if_empty", "Quit", show=False, priority=True),
        Binding("ctrl+q", "quit", "Quit", show=False),
        Binding("shift+tab", "mode", "What may run", show=False, priority=True),
        Binding("ctrl+l", "redraw", "Redraw", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True),
        Binding("ctrl+g", "edit", "Write in an editor", show=False, priority=True),
        Binding("ctrl+r", "history", "Earlier prompts", show=False, priority=True),
        Binding("ctrl+o", "expand", "Expand", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
    ]

    died_of: int | None = None
    """The signal that ended the screen, if one did."""
    _since = 0.0
    _runs = False
    _pressed = ("", 0.0)

    def on_mount(self) -> None:
        """Begin: the prompt is shown first, then comes what takes time."""
        super().on_mount()
        loop = asyncio.get_running_loop()
        for number in LEAVING:
            loop.add_signal_handler(number, self._leave_for, number)
        self._ticker = self.set_interval(TICK, self._tick, pause=True)
        self.call_after_refresh(self._begin)

    def _leave_for(self, number: int) -> None:
        """Leave because of a signal, which the process dies of once everything has ended."""
        self.agent.leave(Leave("signal", signal.Signals(number).name))
        self.died_of = number
        self.exit(128 + number)

    def _begin(self) -> None:
        self.agent.start()
        self.say("\n".join(self._start.notices))
        summary = self._start.resumed
        if self._start.choose:
            self.attempt(lambda: pick_session(self))
        elif summary is not None and self._start.fork:
            self.go_on_in_a_copy(summary)
        elif summary is not None:
            self.agent.resume(summary, self._start.model)
        elif not self.status.model:
            offer_a_model(self)

    def _tick(self) -> None:
        if self.is_running:
            self.tell(replace(self.status, seconds=time.monotonic() - self._since))

    # --- what the agent tells -----------------------------------------------------------------------------------

    def heard(self, told: Told) -> None:
        """Show what the agent told."""
        match told:
            case Opened():
                self.show(told.session, Path(told.cwd), model=told.model, facts=told.facts, read=told.read)
                self.is_open = True
                if told.read:
                    self.say(READ_ONLY)
            case GaveUp():
                self.show("", self._start.cwd, model=self.status.model)
            case Busy() | Idle() | Taken() | Asked() | AskedNoMore():
                self._heard_of_turn(told)
            case Refused(text=text, message=message):
                self.is_open = self.is_open and bool(self.session)  # one that could not be opened is tried again
                self.composer.give_back(text)
                self.say(message, also=True)
            case GivenBack(text=text):
                self.composer.give_back(text)
            case Window(model=model, tokens=tokens):
                if model == self.status.model:
                    self.tell(replace(self.status, window=tokens))
            case Trouble(message=message):
                self.say(message, also=True)
            case InUse():
                self.is_open = bool(self.session)
                offer(told, self)
            case Closed():
                pass
            case _:
                self._heard_event(told)

    def _heard_of_turn(self, told: Busy | Idle | Taken | Asked | AskedNoMore) -> None:
        match told:
            case Busy():
                self._since = time.monotonic()
                self._runs = True
                self.tell(replace(self.status, doing=STOPPING if self.stopped else "working", seconds=0.0))
                self._ticker.resume()
            case Idle():
                self._ticker.pause()
                self._runs = False
                self.tell(replace(self.status, doing=self.starting, branch=branch(self.cwd)))
            case Taken():
                self.given, self.stopped = self.given - 1, max(0, self.stopped - 1)
                if not self._runs:
                    self.tell(replace(self.status, doing=self.starting))
            case Asked():
                self.approval.ask(told, take=not self.composer.text)
                self._ticker.pause()
                self.tell(replace(self.status, asking=True))
            case AskedNoMore():
                self.approval.close()
                self.composer.focus()
                self._ticker.resume()
                self.tell(replace(self.status, asking=False))

    def _heard_event(self, event: Event) -> None:
        if isinstance(event, Fact) and isinstance(event.entry, Titled):
            self.say(renamed(event.entry.title))
        before = self.status
        self.known.take(event)
        if self.status.queued != before.queued or not self.status.doing:  # while something is done it is drawn anyway
            self.tell(self.status)
        begun = bool(self.view.keys)
        self.transcript.show(self.view.take(event, at=time.monotonic()))
        if not begun:
            self.greet()

    # --- what the person does -----------------------------------------------------------------------------------

    def on_composer_sent(self, sent: Composer.Sent) -> None:
        """Run a command, or begin a turn with what was written; what cannot be done leaves it where it is."""
        self.say("")
        if self.attempt(lambda: self._do(sent.text, later=sent.later)):
            self.composer.accept(sent.text)

    def on_text_area_changed(self, _changed: Composer.Changed) -> None:
        """Offer what the word begun may become."""
        self.completions.look(self.composer.before)

    def _do(self, text: str, *, later: bool) -> None:
        line = parse(text)
        if text.startswith("!") and (command := text.lstrip("!").strip()):
            self.run_command(command, share=text.startswith("!!"))
        elif line is None:
            self.begin(text, "later" if later else "steer")
        else:
            act(line, self)

    def on_key(self, event: events.Key) -> None:
        """Write what is typed while the transcript, clicked a moment ago, has the keyboard."""
        if self.transcript.has_focus and event.is_printable and event.character:
            self.composer.focus()
            self.composer.insert(event.character)

    # --- keys ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key may do that now."""
        beneath = action in BENEATH and len(self.screen_stack) > 1
        return not beneath and super().check_action(action, parameters)

    def on_approval_answered(self, answered: Approval.Answered) -> None:
        """Hand on the answer."""
        self.agent.answer(answered.call, answered.answer)

    def action_interrupt(self) -> None:
        """Close what is offered; stop the turn that runs; twice, clear the prompt, or with none go back to one."""
        if self.completions.display:
            self.completions.offer(())
        elif self.status.doing:
            self._stop()
        elif not self._again("escape"):
            pass
        elif self.composer.text:
            self.composer.clear_into_history()
        else:
            self.attempt(lambda: pick_turn(self))

    def on_composer_left(self) -> None:
        """Answer the question that is asked."""
        self.approval.take()

    def on_composer_recalled(self) -> None:
        """Take back what waits to be sent."""
        if self.known.queued:
            self.agent.recall()

    def action_give_up(self) -> None:
        """Stop the turn that runs, as ESC does; idle, clear the prompt; on an empty one, twice, quit."""
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif len(self.screen_stack) > 1:
            raise SkipAction
        elif self.status.doing:
            self._stop()
        elif self.composer.text:
            self.composer.clear_into_history()
        elif self._again("ctrl+c"):
            self.exit(0)
        else:
            self._say_again()

    def action_leave_if_empty(self) -> None:
        """Quit if nothing is written; in what is open over the screen, and where one writes why not, it deletes."""
        if isinstance(self.screen.focused, Input):
            raise SkipAction
        if self.composer.text:
            self.composer.action_delete_right()
        else:
            self.exit(0)

    def action_mode(self) -> None:
        """Go on to the next approval mode; never being asked is chosen by name, not come by."""
        modes: list[Mode] = [mode for mode in get_args(Mode) if mode != "yolo" or self.may_never_ask]
        self.use_mode(modes[(modes.index(self.status.mode) + 1) % len(modes)])

    def action_edit(self) -> None:
        """Write the prompt in $VISUAL or $EDITOR."""
        with editors(LEAVING):
            self.attempt(lambda: self.composer.load_text(edited(self, self.composer.prompt, self.environ)))

    def action_history(self) -> None:
        """Search the earlier prompts, and write the chosen one again."""
        self.attempt(lambda: pick_prompt(self))

    def action_redraw(self) -> None:
        """Draw everything anew."""
        self.refresh(layout=True)

    def action_expand(self) -> None:
        """Show all of every block, or short again."""
        self.transcript.toggle_all()

    def action_page(self, by: int) -> None:
        """Move the transcript by a page."""
        self.transcript.scroll_relative(y=by * max(1, self.transcript.size.height - 2), animate=False)

    def _again(self, key: str) -> bool:
        """Return whether this key was pressed a moment ago too, and none of its kind since."""
        now = time.monotonic()
        again = self._pressed[0] == key and now - self._pressed[1] < AGAIN
        self._pressed = (key, 0.0 if again else now)
        return again

    def _say_again(self) -> None:
        """Say what a second Ctrl+C does, as long as it does."""
        self.say(QUITS)

        def over() -> None:
            if self.said == QUITS:
                self.say("")

        self.set_timer(AGAIN, over)

    def _stop(self) -> None:
        self.agent.stop()
        self.stopped = self.given
        self.tell(replace(self.status, doing=STOPPING))
