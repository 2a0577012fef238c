"""What a turn is doing, for the status line. Pure."""

from __future__ import annotations

import math

import msgspec

from holdfast.agent.events import Event, Fact, LiveCall, LivePrompt, LiveText, LiveThinking, Shortening
from holdfast.session.journal import entries as e
from holdfast.ui.tui.widgets.status_line import Status

STARTING_UP = "starting"
STOPPING = "stopping"
WORKING = "working"


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
        case LivePrompt(percent=percent):
            return f"reading the prompt {percent} %"
        case LiveText() | LiveCall():
            return "writing"
        case Fact(entry=e.CallStarted() | e.TurnEnded() as entry):
            return (
                "running" if isinstance(entry, e.CallStarted) else WORKING
            )  # at a command of the user, if at anything
        case _:
            return ""


def retry(event: Event, now: float) -> Retry | None:
    """Return the retry that `event` announces at the time `now`, None if it announces none."""
    match event:
        case Fact(entry=e.RequestFailed(retry_in=float(delay)) as failed):
            return Retry(failed, now + delay)
        case _:
            return None


class TurnProgress:
    """The state of submitted and running work: each method notes a step and returns the status that shows it.

    Times are in seconds of any one clock.
    """

    def __init__(self) -> None:
        self._pending = 0  # prompts and commands that the agent has not accepted yet
        self._stopped = 0  # how many of these were stopped
        self._runs = False
        self._since = 0.0
        self._retry: Retry | None = None  # the one that the turn waits for
        self._prompted = self._requested = False  # in this run, by whichever session

    @property
    def starting(self) -> str:
        """Return the activity while submitted work has not started, for the status line; "" if there is none."""
        return STOPPING if self._stopped else STARTING_UP if self._pending else ""

    def submitted(self, status: Status) -> Status:
        """Show immediately that something was submitted: it can be stopped from now on."""
        self._pending += 1
        return status if status.doing else msgspec.structs.replace(status, doing=STARTING_UP, seconds=0.0)

    def prompted(self, status: Status) -> Status:
        """Show that a prompt was submitted."""
        self._prompted = True
        return self.submitted(status)

    def stopped(self, status: Status) -> Status:
        """Show that running and submitted work is being stopped."""
        self._stopped = self._pending
        return msgspec.structs.replace(status, doing=STOPPING)

    def accepted(self, status: Status) -> Status:
        """Show that the agent accepted something that was submitted."""
        self._pending, self._stopped = self._pending - 1, max(0, self._stopped - 1)
        return status if self._runs else msgspec.structs.replace(status, doing=self.starting)

    def began(self, status: Status, now: float) -> Status:
        """Show that something runs: the first turn imports and connects before its first request."""
        self._since, self._runs, self._retry = now, True, None
        busy = STARTING_UP if self._prompted and not self._requested else WORKING
        return msgspec.structs.replace(status, doing=STOPPING if self._stopped else busy, seconds=0.0, timed=True)

    def ended(self, status: Status, *, branch: str) -> Status:
        """Show that nothing runs any more, and the branch, which may have changed."""
        self._runs, self._retry = False, None
        return msgspec.structs.replace(status, doing=self.starting, branch=branch)

    def happened(self, event: Event, status: Status, now: float) -> Status:
        """Show what the turn does after an event."""
        if not status.doing or status.doing == STOPPING:
            return status
        self._requested = self._requested or (isinstance(event, Fact) and isinstance(event.entry, e.RequestStarted))
        if doing := activity(event):
            self._retry = None
            return msgspec.structs.replace(status, doing=doing, timed=True)
        if waits := retry(event, now):
            self._retry = waits
            return self.tick(status, now)
        return status

    def tick(self, status: Status, now: float) -> Status:
        """Show the elapsed time of the turn, and the time until a retry."""
        waits = self._retry is not None and status.doing != STOPPING
        doing = self._retry.text(now) if self._retry is not None and waits else status.doing
        return msgspec.structs.replace(status, seconds=now - self._since, doing=doing, timed=not waits)
