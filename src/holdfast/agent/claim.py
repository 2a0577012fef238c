"""The claim on a session: only one thing runs in it at a time."""

from __future__ import annotations

import asyncio

import msgspec

from holdfast.agent.cancellation import StopSignal


class Claim(msgspec.Struct, frozen=True, eq=False):
    """The session while one thing runs in it: a prompt and the messages queued behind it, a compaction, a rewind.

    `begun` is set once messages can be queued, or nothing runs any more; `over` in the latter case only.
    """

    stop: StopSignal
    begun: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    over: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
