"""The inner seam: the steps of a turn at which a part of holdfast takes part without the turn knowing it.

For holdfast's own packages only. A plugin never gets one of these: the journal and the approval stay closed, and what a
step changes is planned, judged and journalled like anything else. The table of the steps, with their order, their time,
what a stop does and what a crash leaves, is in docs/explanation/architecture.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal import entries as e
from holdfast.tool_calls import ProcessId


class LeftBehind(msgspec.Struct, frozen=True):
    """Work that an earlier process began, by the `id` that its processes carry: its live output, and its process."""

    id: str
    spool: str | None
    process: ProcessId | None


class RecoveryStep(Protocol):
    """`recovery`: something that runs beside the turns, and settles what an earlier process left of it."""

    @property
    def any_running(self) -> bool:
        """Return whether something of it runs in this process."""
        ...

    def orphans(self, conversation: Conversation) -> Sequence[LeftBehind]:
        """Return what an earlier process began of it and did not end."""
        ...

    def missing_ends(
        self, conversation: Conversation, running: str, *, began: Mapping[str, float]
    ) -> Sequence[e.Entry]:
        """Return the ends to journal for what is open and does not run in this process. Starts and ends nothing.

        `running` is a note about processes that were left running; `began` is when they started, in seconds since the
        epoch.
        """
        ...

    async def end(self, within: float) -> object:
        """End what runs in this process, in up to twice so many seconds."""
        ...
