"""The screen: keys and the agent's messages in, widgets and the session's controller out."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.reactive import Initialize, Reactive
from textual.widgets import Input

from holdfast.agent.stop_cause import StopCause
from holdfast.host.commands import MoveCommand, Prompt, Recall, Shell, Slash, Typed, interpreted
from holdfast.ui.startup.crash_report import internal_error
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.messages import AgentMessage
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.choices import CommandTarget, offer_model, pick_prompt, pick_turn
from holdfast.ui.tui.dialogs import Dialogs
from holdfast.ui.tui.environment.environment import ScreenEnvironment
from holdfast.ui.tui.keys.key_order import KeyOrder
from holdfast.ui.tui.keys.key_routes import KeyRoutes
from holdfast.ui.tui.keys.main_keys import BENEATH, MAIN_KEYS
from holdfast.ui.tui.keys.repeated_key import RepeatedKey
from holdfast.ui.tui.prompt.prompt_file import SavedPrompts
from holdfast.ui.tui.session_controller import SessionController
from holdfast.ui.tui.session_display import SessionDisplay, Widgets
from holdfast.ui.tui.tasks.task_list import leave
from holdfast.ui.tui.themes import DARK, LIGHT, first_theme
from holdfast.ui.tui.widgets.approval import Approval
from holdfast.ui.tui.widgets.completion import Completions
from holdfast.ui.tui.widgets.composer import Composer
from holdfast.ui.tui.widgets.status_line import Status, StatusLine
from holdfast.ui.tui.widgets.transcript import Transcript
from holdfast.ui.tui.widgets.welcome import Welcome
from holdfast.ui.tui.widgets.work_list import WorkList

if TYPE_CHECKING:
    from holdfast.ui.tui.inline.scrollback import Scrollback

EXIT_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""Signals that close the screen in an orderly way; after any other, the guard restores the terminal."""

REPEAT_WITHIN = 1.0
"""Seconds within which a second Esc or Ctrl+C has another meaning."""

QUIT_HINT = "Press Ctrl+C again to quit; the session is saved."

_TICK = 0.1
"""Seconds between updates of the status line while something runs."""


def _theme_of(app: HoldfastApp) -> str:
    """Return the first theme; assigning it to a running app would parse the style sheet a second time."""
    app.register_theme(DARK)
    app.register_theme(LIGHT)
    return app.first_theme.name


class HoldfastApp(App[int]):
    """The full-screen terminal. It reads the state of the session from its controller."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "#composer"  # else the transcript is styled as focused first
    theme = Reactive(Initialize(_theme_of))
    BINDINGS: ClassVar[list[BindingType]] = list(MAIN_KEYS)

    exit_signal: int | None = None
    """The signal that closed the screen, if any."""

    def __init__(
        self,
        start: RunOptions,
        connections: Connections,
        *,
        keyboard: type[Driver] | None = None,
        inline: bool = False,
    ) -> None:
        """Create it; with `inline`, `keyboard` is an `InlineScreen`."""
        self.first_theme = first_theme(start.config.theme, start.environ)  # before Textual makes the style sheet of it
        super().__init__(driver_class=keyboard)
        self._inline = inline
        self._scrollback: Scrollback | None = None
        self._start = start
        self.controller = SessionController(start, connections, receive=self._receive, show=self._show)
        self.welcome = Welcome(id="welcome")
        self.transcript = Transcript(id="transcript", thoughts=start.config.show_thinking)
        self.dialogs = Dialogs(self)
        self.work = WorkList()
        self.completions = Completions(start.cwd, added=self.controller.added_commands)
        self.composer = Composer(self.completions)
        self.status_line = StatusLine(id="status")
        self._prompts = SavedPrompts(start.environ, self.dialogs, self.composer.past_prompts)
        self.environment = ScreenEnvironment(self, start, self.status_line, self.dialogs, self.welcome)
        self._order = KeyOrder()
        self._repeated = RepeatedKey(REPEAT_WITHIN)
        self._key_faults: tuple[str, ...] = ()
        self.approval = Approval(self.composer.take_over, rows=self._question_rows, id="approval")
        self._routes = KeyRoutes(self.composer, self.approval, self._order)
        self._target = CommandTarget(self, self.controller, self.dialogs, self.transcript, self.composer)
        widgets = Widgets(
            welcome=self.welcome,
            approval=self.approval,
            work=self.work,
            completions=self.completions,
            status_line=self.status_line,
        )
        self.session_display = SessionDisplay(self._target, widgets, self.environment, ticks=self._show_time)

    def compose(self) -> ComposeResult:
        """Yield the widgets, from the top."""
        yield from (self.welcome, self.transcript, self.dialogs.notice, self.approval)
        yield from (self.work, self.completions, self.composer, self.status_line)

    def on_mount(self) -> None:
        """Show the prompt first, then start what takes time."""
        self.session_display.greet()
        self._use_keys()
        self.composer.focus()
        self._show(self.controller.status)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._handle_loop_error)
        for number in EXIT_SIGNALS:
            loop.add_signal_handler(number, self._exit_for, number)
        self._ticker = self.set_interval(_TICK, self._tick, pause=True)
        self.controller.listen(loop)
        if self._inline:
            from holdfast.ui.tui.inline.scrollback import Scrollback, inline_screen

            self._scrollback = Scrollback(self, inline_screen(self), self.transcript, last=self.status_line)
            self.call_after_refresh(self._scrollback.begin)
        self.call_after_refresh(self._begin)

    def _use_keys(self) -> None:
        """Bind the keys of the config to the actions; edit the prompt with vim's keys if configured."""
        config = self._start.config
        self.composer.show_editing = self.status_line.show_editing
        if config.ui.keys == "vim":
            self.composer.use_vim(on=True)
        if config.keys:
            from holdfast.ui.settings.key_map import NO_KEY, key_map, key_words

            found = key_map(config.keys)
            self.composer.send_by(found.keys["send"], key_words(found.keys["send"][:1]))
            self.set_keymap({name: ",".join(keys) or NO_KEY for name, keys in found.keys.items()})
            self._key_faults = found.faults

    def _begin(self) -> None:
        if not self.approval.is_attached:  # a signal closed it before the first frame
            return
        self.approval.fill()
        self.controller.start()
        self.environment.begin(self.first_theme)
        self._prompts.load(self.controller.cwd if self._start.resumed is None else Path(self._start.resumed.cwd))
        if notices := [text for text in (self.first_theme.problem, *self._start.notices, *self._key_faults) if text]:
            self.dialogs.notify("\n".join(notices), also=True)  # a key before this may have said something
        if self._start.choose:
            from holdfast.ui.tui.sessions.session_list import pick_session

            self.dialogs.attempt(lambda: pick_session(self._target))
        elif self._start.resumed is None and not self.controller.status.model:
            offer_model(self._target)
        if first := self._start.first_prompt:
            ready = bool(self.controller.status.model) and not self._start.choose
            if ready and self.dialogs.attempt(lambda: self._submit(interpreted(Typed(first), with_space=False))):
                self.composer.past_prompts.add(first)
            else:
                self.composer.give_back(first)

    def on_resize(self, event: events.Resize) -> None:
        """Fit the welcome text to the screen."""
        self.welcome.fit(event.size.height if self._scrollback is None else self._scrollback.most_rows)

    def _question_rows(self) -> int:
        """Return how many rows of the screen a question may use."""
        return self.size.height if self._scrollback is None else self._scrollback.most_rows

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Close; on the inline screen, print everything before that."""
        if self._scrollback is not None:
            self._scrollback.finish()
        super().exit(result, return_code, message)

    def _exit_for(self, number: int) -> None:
        """Close because of a signal; the process ends by the same signal once everything has ended."""
        self.controller.agent.leave(StopCause("signal", signal.Signals(number).name))
        self.exit_signal = number
        self.exit(128 + number)

    def _handle_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """Close the screen after an exception in a callback of the loop, which would otherwise be lost."""
        error = context.get("exception")
        if isinstance(error, Exception):
            self._handle_exception(error)
        else:
            loop.default_exception_handler(context)

    def _fatal_error(self) -> None:
        """Close after a bug, with its traceback; Textual's own traceback shows local variables, perhaps a key."""
        if not self._exit_renderables:  # report only the first error; later ones are consequences
            self.panic(Text(f"holdfast: {internal_error(self._exception, self.controller.keep)}"))

    # --- messages from the agent -------------------------------------------------------------------------------------

    def _show(self, status: Status) -> None:
        self.session_display.show(status)

    def _show_time(self, passes: bool) -> None:  # noqa: FBT001 - the only question
        (self._ticker.resume if passes else self._ticker.pause)()

    def _tick(self) -> None:
        if self.is_running:
            self.controller.tick()

    def _receive(self, message: AgentMessage) -> None:
        if self.is_running:  # else the widgets are being removed
            self.controller.take(message)
            self.session_display.draw(message)

    # --- input of the user --------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Give keys to the approval prompt, if it has the focus."""
        if isinstance(event, events.InputEvent):
            self.environment.note_activity()
        if len(self.screen_stack) > 1 or not self._routes.takes(event):
            await super().on_event(event)

    def on_composer_entered(self) -> None:
        """Run the action of a key that was pressed after Enter."""
        self._order.handled()

    def on_composer_sent(self, sent: Composer.Sent) -> None:
        """Run a command or start a turn; a prompt that is refused returns to the composer, a command to its history."""
        self.dialogs.notify("")
        typed = interpreted(Typed(sent.text, "later" if sent.later else "steer"), with_space=False)
        if self.dialogs.attempt(lambda: self._submit(typed)):
            self.transcript.follow()
        elif isinstance(typed, Prompt):
            return self.composer.give_back(sent.text)
        return self.composer.accept(sent.text)

    def on_text_area_changed(self, _changed: Composer.Changed) -> None:
        """Offer completions for the word before the cursor."""
        self.completions.complete(self.composer.before)

    def _submit(self, typed: Prompt | Shell | Slash) -> None:
        match typed:
            case Prompt(text=text, when=when):
                self.controller.begin(text, when)
                self._prompts.keep(self.controller.cwd, text)
            case Shell():
                self.controller.run(typed)
            case Slash():
                from holdfast.ui.tui.slash_commands import run_slash_command

                run_slash_command(typed, self._target)

    def on_key(self, event: events.Key) -> None:
        """Send typed characters to the composer while the transcript has the focus after a click."""
        if self.transcript.has_focus and event.is_printable and event.character:
            self.composer.take_over(event.character)

    # --- keys ---------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether a key may do this now."""
        beneath = action in BENEATH and len(self.screen_stack) > 1
        return not beneath and super().check_action(action, parameters)

    def on_approval_answered(self, answered: Approval.Answered) -> None:
        """Send the answer to the agent."""
        self.controller.agent.answer(answered.question, answered.answer)

    def action_interrupt(self) -> None:
        """Close a dialog; else stop the running turn; twice: clear the prompt, or rewind if it is empty."""
        if self._order.waits(self.action_interrupt):
            return
        if self.completions.display:
            self.completions.offer(())
        elif self.composer.take_escape():
            pass
        elif self.controller.status.doing:
            self.controller.stop()
        elif not self._repeated.press("escape"):
            self.dialogs.notify("")
        elif self.composer.text:
            self.composer.clear_into_history()
        else:
            self.dialogs.attempt(lambda: pick_turn(self._target))

    def on_composer_focus_left(self) -> None:
        """Move the focus to the approval prompt."""
        self.approval.take()

    def on_composer_recalled(self) -> None:
        """Recall all queued messages."""
        if self.controller.status.queued:
            self.controller.agent.submit(Recall())

    def action_give_up(self) -> None:
        """Stop the running turn, as ESC does; if idle, clear the prompt; twice on an empty prompt, quit."""
        if self._order.waits(self.action_give_up):
            return
        if selected := self.screen.get_selected_text():
            self.copy_to_clipboard(selected)
            self.screen.clear_selection()
        elif len(self.screen_stack) > 1:
            raise SkipAction
        elif self.controller.status.doing:
            self.controller.stop()
        elif self.composer.text:
            self.composer.clear_into_history()
        elif self._repeated.press("ctrl+c"):
            leave(self._target)
        else:
            self.dialogs.notify_for(REPEAT_WITHIN, QUIT_HINT)

    def action_leave_if_empty(self) -> None:
        """Quit if the prompt is empty; in a dialog or a text field, delete a character."""
        if isinstance(self.screen.focused, Input):
            raise SkipAction
        if self.composer.text:
            self.composer.action_delete_right()
        else:
            leave(self._target)

    async def action_quit(self) -> None:
        """Quit; while background tasks run, ask."""
        leave(self._target)

    def action_attach(self) -> None:
        """Attach the image of the clipboard to the prompt."""
        from holdfast.ui.tui.prompt.clipboard_image import attach_clipboard

        attach_clipboard(self._target)

    def action_background(self) -> None:
        """Move the model's running command to the background."""
        self.controller.agent.submit(MoveCommand())

    def action_mode(self) -> None:
        """Switch to the next approval mode, without `yolo` unless chosen by name; at an edit, allow all edits."""
        if self.approval.offers("edits"):
            self.approval.choose("edits")
        else:
            self.controller.cycle_mode()

    def action_edit(self) -> None:
        """Edit the prompt in the user's editor."""
        from holdfast.ui.tui.prompt.external_editor import edit_text, editor_signals

        with editor_signals(EXIT_SIGNALS):
            self.dialogs.attempt(lambda: self.composer.replace_with(edit_text(self, self.composer.prompt, self._start)))

    def action_history(self) -> None:
        """Search the prompt history, and edit the chosen prompt."""
        if not self.composer.take_redo():
            self.dialogs.attempt(lambda: pick_prompt(self._target))

    def action_redraw(self) -> None:
        """Redraw everything."""
        self.refresh(layout=True)

    def action_expand(self) -> None:
        """Open the folds of a question; else expand or collapse all blocks, on the inline screen as a page."""
        if self.approval.toggle_folds():
            return
        if self._inline:
            from holdfast.ui.tui.pages.transcript_page import TranscriptPage

            self.push_screen(TranscriptPage(self.transcript.view))
        else:
            self.transcript.toggle_all()

    def action_todo(self) -> None:
        """Show the whole to-do list above the composer, or one line of it."""
        if not self.work.toggle():
            self.dialogs.notify("The model has no to-do list now.")

    def action_to_end(self) -> None:
        """Scroll the transcript to its end, and stay there."""
        self.transcript.follow()

    def action_page(self, by: int) -> None:
        """Scroll the transcript, or the detail of the question, by a page."""
        if self.approval.scroll_page(by):
            return
        if self._inline:
            self.action_expand()
        else:
            self.transcript.scroll_relative(y=by * max(1, self.transcript.size.height - 2), animate=False)
