"""Where a key or a paste goes while the main screen is shown, decided before any widget gets it, so in order."""

from __future__ import annotations

from textual import events

from holdfast.ui.tui.keys.key_order import KeyOrder
from holdfast.ui.tui.widgets.approval import Approval
from holdfast.ui.tui.widgets.composer import Composer


class KeyRoutes:
    """Routes keys to the approval prompt if it has the focus, and notes those that go to the composer."""

    def __init__(self, composer: Composer, approval: Approval, order: KeyOrder) -> None:
        self._composer = composer
        self._approval = approval
        self._order = order

    def takes(self, event: events.Event) -> bool:
        """Return whether the event was handled, so that no widget needs it."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            return False
        if self._composer.has_focus:
            self._note(event)
        elif self._approval.takes_keys:
            if isinstance(event, events.Key):
                return self._approval.take_key(event)
            self._composer.take_over()  # a paste is not an answer: it goes to the composer
        return False

    def _note(self, event: events.Key | events.Paste) -> None:
        if not isinstance(event, events.Key):
            return
        if event.key in self._composer.send_keys:
            self._order.pressed()
            self._approval.keys.note_sent()
        elif event.is_printable:
            self._approval.keys.note_typed(event.time)
