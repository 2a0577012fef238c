"""What really happened in a turn, from its entries and never from prose, as values. `folded_receipt` makes it.

Nothing is stored, so a receipt can be made of any journal. What an older journal does not say, such as an exit code, is
not known: it is never read from words.
"""

from __future__ import annotations

from typing import Literal

import msgspec

CommandKind = Literal["", "test"]
AllowedBy = Literal["user", "rule", "pattern", "mode", "free", "unknown"]
"""What allowed a call: an answer, a rule of the settings, what the user allowed before, the mode, or no need to ask."""
RequestCause = Literal["prompt", "results", "message", "retry", "fallback", "notice", "unknown"]
"""Why a request was sent: a prompt, the results of calls, a message to the running turn, a failure before it."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A test run: its `runner`, and its exit code, which is null unless it is `known`; else `why` says why not.

    `ran` is how many tests ran, null if the output does not say it; `some` is whether at least one did. `elsewhere` is
    a folder outside of the workspace in which it ran, or which it named.
    """

    runner: str
    exit: int | None
    known: bool
    why: str = ""
    ran: int | None = None
    some: bool = False
    elsewhere: str = ""


class CommandRun(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the model; `exit` is null if it is not `known`. `edits_after` says if files changed behind it."""

    call: str
    command: str
    exit: int | None
    known: bool
    seconds: float
    edits_after: bool
    kind: CommandKind = ""
    tests: RunFacts | None = None
    tree: str = ""


class LastTests(msgspec.Struct, frozen=True, kw_only=True):
    """The last test run, by its `call` and `command`, and how many changes of files came behind it, in `files_after`.

    `deleted` are files of tests that calls deleted, and that stand nowhere else.
    """

    call: str
    command: str
    facts: RunFacts
    edits_after: int = 0
    files_after: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


class ReceiptFiles(msgspec.Struct, frozen=True):
    """Paths that calls changed: by edits, by commands, and the calls of which that is `unknown`.

    `added` and `removed` are lines, as far as edits say them; null if no edit does.
    """

    changed: tuple[str, ...] = ()
    by_command: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    added: int | None = None
    removed: int | None = None


class CallApproval(msgspec.Struct, frozen=True, kw_only=True):
    """What allowed a call that acted: `by`, and the rule, the pattern or the mode in `what`."""

    call: str
    by: AllowedBy
    what: str = ""


class SentRequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A request: why it was sent, and how many of its tokens the provider had cached, null if it did not answer.

    `missed` is why nothing was cached, "" if something was.
    """

    step: int
    attempt: int
    model: str
    why: RequestCause
    input_tokens: int | None = None
    cached_tokens: int | None = None
    missed: str = ""
    cost: str | None = None


class ReceiptCost(msgspec.Struct, frozen=True, kw_only=True):
    """What was paid, by cause, in US dollars; null where a price is not known."""

    total: str | None = "0"
    model: str | None = "0"
    retries: str | None = "0"
    compaction: str | None = "0"
    title: str | None = "0"


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What happened: commands, tests, files, approvals, calls that were denied or of unknown effect, and the cost."""

    turns: tuple[int, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    tests: LastTests | None = None
    files: ReceiptFiles = ReceiptFiles()
    approvals: tuple[CallApproval, ...] = ()
    denied: tuple[str, ...] = ()
    unknown_effects: tuple[str, ...] = ()
    tasks_running: tuple[str, ...] = ()
    requests: tuple[SentRequestFacts, ...] = ()
    cost: ReceiptCost = ReceiptCost()
