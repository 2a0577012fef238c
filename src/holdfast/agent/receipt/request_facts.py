"""Why each request of a turn was sent, whether its beginning was cached, and what was paid for what. Pure."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from holdfast.agent.receipt.receipt import ReceiptCost, RequestCause, SentRequestFacts
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import RequestPrefix, Usage
from holdfast.session.journal.tasks import TaskEndSent

SHORTEST_CACHED = 4_000
"""Bytes of a beginning that providers may keep: of a shorter one, none keeps anything."""


class RequestLog:
    """Collects the requests of a journal, from its first entry on; those that count are listed."""

    def __init__(self) -> None:
        self._sent: list[SentRequestFacts] = []
        self._prefixes: dict[str, RequestPrefix | None] = {}  # the last one to each model
        self._cause: RequestCause = "unknown"
        self._changed = ""  # what changed older messages since the last request
        self._open: int | None = None  # the place of the request that has no end yet
        self._paid: dict[str, Decimal | None] = dict.fromkeys(("model", "retries", "compaction", "title"), Decimal(0))

    def take(self, entry: e.Entry, *, counts: bool) -> None:
        """Take the next entry; only what `counts` is listed."""
        match entry:
            case e.PromptAccepted():
                self._cause = "prompt"
            case e.CallEnded():
                self._cause = "results"
            case e.Steered():
                self._cause = "message"
            case TaskEndSent():
                self._cause = "notice"
            case e.ModelChanged(why="fallback"):
                self._cause = "fallback"
            case e.Pruned():
                self._changed = "old results were left out"
            case e.Compacted(usage=usage):
                self._changed = "older messages were summarized"
                self._pay("compaction", usage, counts=counts)
            case e.Uncompacted():
                self._changed = "a summary was undone"
            case e.Rewound():
                self._changed = "the conversation was rewound"
            case e.Titled(usage=usage):
                self._pay("title", usage, counts=counts)
            case e.RequestStarted():
                self._begin(entry, counts=counts)
            case e.RequestFailed(usage=usage):
                self._pay("retries", usage, counts=counts)
                self._open = None
            case e.ResponseEnded(usage=usage):
                self._pay("model", usage, counts=counts)
                self._answered(usage)
            case _:
                pass

    def sent(self) -> tuple[SentRequestFacts, ...]:
        """Return the requests that count."""
        return tuple(self._sent)

    def cost(self) -> ReceiptCost:
        """Return what was paid."""
        paid = {name: None if amount is None else str(amount) for name, amount in self._paid.items()}
        known = [amount for amount in self._paid.values() if amount is not None]
        total = str(sum(known, Decimal(0))) if len(known) == len(self._paid) else None
        return ReceiptCost(
            total=total,
            model=paid["model"],
            retries=paid["retries"],
            compaction=paid["compaction"],
            title=paid["title"],
        )

    def _pay(self, cause: str, usage: Usage | None, *, counts: bool) -> None:
        before = self._paid[cause]
        if counts and usage is not None and before is not None:
            self._paid[cause] = None if usage.cost is None else before + Decimal(usage.cost)

    def _begin(self, started: e.RequestStarted, *, counts: bool) -> None:
        cause: RequestCause = "retry" if started.attempt > 1 else self._cause
        missed = self._why_missed(started)
        self._prefixes[started.model], self._changed = started.prefix, ""
        self._open = len(self._sent) if counts else None
        if counts:
            self._sent.append(
                SentRequestFacts(
                    step=started.step, attempt=started.attempt, model=started.model, why=cause, missed=missed
                )
            )

    def _answered(self, usage: Usage) -> None:
        if self._open is None:
            return
        sent, cached = self._sent[self._open], usage.cache_read_tokens
        self._sent[self._open] = msgspec.structs.replace(
            sent,
            input_tokens=usage.input_tokens,
            cached_tokens=cached,
            missed="" if cached else sent.missed,
            cost=usage.cost,
        )
        self._open = None

    def _why_missed(self, started: e.RequestStarted) -> str:
        """Return why nothing of the request can be cached, or is most likely not, if the provider reports nothing."""
        if started.model not in self._prefixes:
            return "the first request to this model"
        before, now = self._prefixes[started.model], started.prefix
        if before is not None and now is not None and before.head != now.head:
            return "the system prompt, the tools or the settings changed"
        if self._changed:
            return self._changed
        if now is not None and now.bytes < SHORTEST_CACHED:
            return f"it is short ({now.bytes:,} bytes)"
        return "the provider had kept nothing of it, or does not say so"
