"""What a turn is doing, for the status line. Pure."""

from __future__ import annotations

import math

import msgspec

from holdfast.agent.events import Event, Fact, LiveCall, LiveText, LiveThinking, Shortening
from holdfast.session.journal import entries as e


class Retry(msgspec.Struct, frozen=True):
    """A request that failed and is sent again at the time `at` of any clock, in seconds."""

    failed: e.RequestFailed
    at: float

    def text(self, now: float) -> str:
        """Return why, which attempt comes next, and when: `429 overloaded; retry 2 of 4 in 7 s`."""
        failed = self.failed
        why = failed.fault.replace("_", " ") if failed.status is None else f"{failed.status}"
        of = "" if failed.attempts is None else f" of {failed.attempts}"
        return f"{why}; retry {failed.attempt + 1}{of} in {max(0, math.ceil(self.at - now))} s"


def activity(event: Event) -> str:
    """Return what the turn is doing after `event`, "" if that has not changed."""
    match event:
        case Fact(entry=e.RequestStarted(model=model)):
            return f"waiting for {model.partition(':')[2] or model}"
        case Shortening() | LiveThinking():
            return "compacting" if isinstance(event, Shortening) else "thinking"
        case LiveText() | LiveCall():
            return "writing"
        case Fact(entry=e.CallStarted()):
            return "running"
        case _:
            return ""


def retry(event: Event, now: float) -> Retry | None:
    """Return the retry that `event` announces at the time `now`, None if it announces none."""
    match event:
        case Fact(entry=e.RequestFailed(retry_in=float(delay)) as failed):
            return Retry(failed, now + delay)
        case _:
            return None
