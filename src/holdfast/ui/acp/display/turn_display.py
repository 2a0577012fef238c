"""The display of an open session in the client: updates of its turns, its title, its choices and its usage.

Nothing of a turn is shown after the answer to its prompt. Later news, e.g. the outcome of a call that did not end in
time, is held back until the next prompt, where the model reads it too, or until a turn begins for an ended task.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable

from holdfast.agent.events import Event, Fact, LiveOutput, TurnFailed
from holdfast.errors import ProviderFault
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import Tally
from holdfast.session.journal import entries as e
from holdfast.ui.acp.display.call_cards import AcpFields
from holdfast.ui.acp.display.session_updates import SessionUpdates
from holdfast.ui.acp.session_choices import SessionChoices
from holdfast.ui.startup.run_options import RunOptions

OUTPUT_EVERY = 0.1
"""Seconds between two updates of a running call's output."""
OUTPUT_TAIL = 4_000
"""Characters shown of that output."""


class TurnDisplay:
    """Shows one session. `notify` sends an update; `conversation` and `choices` return the current state."""

    def __init__(
        self,
        updates: SessionUpdates,
        *,
        notify: Callable[[AcpFields], None],
        conversation: Callable[[], Conversation],
        choices: Callable[[], SessionChoices],
        options: RunOptions,
    ) -> None:
        self._updates = updates
        self.notify = notify
        self._conversation = conversation
        self._choices = choices
        self._options = options
        self.fault: ProviderFault | None = None
        """The fault of the provider that has ended the turn."""
        self._turn = False  # whether a prompt has no answer yet, or a turn runs
        self._pending: list[AcpFields] | None = None  # updates for the next prompt; None: they are dropped
        self._printed: dict[str, str] = {}
        self._tally = Tally()

    def opened(self) -> None:
        """Show updates from now on, and how much of the context is used, if there is any."""
        self._pending = []
        if self._conversation().messages:
            self.notify(self._usage())

    def begin_turn(self) -> None:
        """Show a turn: no fault has ended it yet."""
        self.fault = None
        self.begin()

    def begin(self) -> None:
        """Show the updates that were held back, and from now on each one as it comes."""
        if self._pending is None:
            return
        self._turn = True
        pending, self._pending = self._pending, []
        for update in pending:
            self.notify(update)

    def end(self) -> None:
        """Hold back updates: every prompt is answered, and nothing runs."""
        self._turn = False
        self._printed.clear()

    def show(self, update: AcpFields) -> None:
        """Show an update of a turn now, or with the next prompt."""
        if self._turn:
            self.notify(update)
        elif self._pending is not None:
            self._pending.append(update)

    def emit(self, event: Event) -> None:
        """Show an event."""
        match event:
            case TurnFailed(fault=fault):
                self.fault = fault
            case LiveOutput(call=call, text=text):
                self._add_output(call, text)
            case _:
                if isinstance(event, Fact) and isinstance(event.entry, e.CallEnded):
                    self._printed.pop(event.entry.call, None)
                for update in self._updates.of(event):
                    self.show(update)
                if isinstance(event, Fact):
                    self._show_changes(event.entry)

    def _show_changes(self, entry: e.Entry) -> None:
        """Show changes that an entry makes outside of the transcript: choices, usage, title."""
        loop = asyncio.get_running_loop()
        match entry:
            case e.ModeChanged() | e.ModelChanged() | e.ModelSettingsChanged():
                loop.call_soon(self._send_choices)  # the change applies after it is journalled
            case e.ApprovalAnswered(mode=mode) if mode is not None:
                loop.call_soon(self._send_choices)
            case e.ResponseEnded() | e.Compacted() | e.Uncompacted() if self._turn:
                self.notify(self._usage(again=not isinstance(entry, e.ResponseEnded)))
            case e.PromptAccepted(turn=1, text=text):
                self._send_title(text)
            case e.Titled(title=title) if title:
                self._send_title(title)
            case _:
                pass

    def _send_title(self, title: str) -> None:
        """Show a title at once: a generated one comes behind the answer to the prompt."""
        if self._pending is None:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        first = title.strip().partition("\n")[0][:80]
        self.notify({"sessionUpdate": "session_info_update", "title": first, "updatedAt": now})

    def _send_choices(self) -> None:
        if self._pending is None:
            return
        choices = self._choices()
        self.notify({"sessionUpdate": "current_mode_update", "currentModeId": choices.mode})
        self.notify({"sessionUpdate": "config_option_update", "configOptions": choices.config_options()})

    def _usage(self, *, again: bool = False) -> AcpFields:
        """Return how much of the context is used; `again` if it has become less."""
        now = self._conversation()
        if again:
            self._tally = Tally()
        used = self._tally.tokens(now)
        config = self._options.config
        size = self._options.windows.at_hand(now.model) or config.context.window
        update: AcpFields = {"sessionUpdate": "usage_update", "used": used, "size": max(size, used)}
        if now.usage.cost is not None:
            update["cost"] = {"amount": float(now.usage.cost), "currency": "USD"}
        return update

    def _add_output(self, call: str, text: str) -> None:
        """Keep the end of a call's output, and show it soon."""
        waits = call in self._printed
        self._printed[call] = (self._printed.get(call, "") + text)[-OUTPUT_TAIL:]
        if not waits:
            asyncio.get_running_loop().call_later(OUTPUT_EVERY, self._show_output, call, "")

    def _show_output(self, call: str, before: str) -> None:
        """Show a call's output, again and again until it ends."""
        now, card = self._printed.get(call), self._updates.card(call)
        if now is None or card is None or not self._turn:
            return
        if now != before:
            self.notify(card.output_update(now))
        asyncio.get_running_loop().call_later(OUTPUT_EVERY, self._show_output, call, now)
