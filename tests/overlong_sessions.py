"""What several test modules share of `test_compacting_wires`."""

from __future__ import annotations

from holdfast.agent.events import Event, Shortening
from provider_situations import Session as Matrix

LONG = "word " * 2_000


class Session(Matrix):
    """A session whose summaries are requests too, though they are in no journal."""

    def emitted(self, event: Event) -> None:
        super().emitted(event)
        if isinstance(event, Shortening):
            self.models.append(self.models[-1])
