"""The claim on a session: only one thing runs in it at a time."""

from __future__ import annotations

import asyncio

import msgspec

from holdfast.agent.cancellation import StopSignal


class Claim(msgspec.Struct, frozen=True, eq=False):
    """Held while one thing runs in the session: a prompt with the messages queued behind it, a compaction, a rewind.

    `begun` is set once messages can be queued or everything has ended, `over` only when everything has ended.
    """

    stop: StopSignal
    begun: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
