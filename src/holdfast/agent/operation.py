"""What a session is doing now: one operation at a time."""

from __future__ import annotations

import asyncio

import msgspec

from holdfast.agent.cancellation import StopSignal


class Operation(msgspec.Struct, frozen=True, eq=False):
    """The operation that runs in a session: a prompt with the messages queued behind it, a compaction, or a rewind.

    `begun` is set once messages can be queued or everything has ended, `over` only when everything has ended.
    """

    stop: StopSignal
    begun: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
