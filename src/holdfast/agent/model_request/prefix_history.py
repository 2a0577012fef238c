"""Finds how much of each request a provider could have cached, and what changed the rest.

How it works. The journal has the digest of each request's prefix (`RequestStarted.prefix`). The sent messages follow
from the entries before it: folding, validating and encoding these again gives the same bytes, which the digest
confirms. So the first message that differs from the previous request is known, and so is the entry between the two
requests that changed it: a result left out, a compaction, a rewind.

Why not journal the bytes? The journal already has the entries from which they follow.

Example: request 7 kept 40,112 of 61,920 bytes: "message 12 changed: old results were left out (entry 85)".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from holdfast.errors import InvalidRequest, ModelUnusable
from holdfast.providers.protocols import protocol_of
from holdfast.providers.protocols.body_writer import BodyWriter
from holdfast.providers.registry import ModelEndpoint, Providers, profile_of, split
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import RequestPrefix, Usage
from holdfast.session.journal.store import StoredEntry
from holdfast.session.request.validate import RequestValidator


class SentRequest(msgspec.Struct, frozen=True):
    """One attempt. `seq` is its entry, `written` the prefix as it is written now, None if it cannot be written.

    `unchanged_bytes` counts the bytes at the beginning that the previous request to the same model had too. `changed`
    says why later bytes differ, "" if none do. `usage` is the provider's count, None without a response.
    """

    seq: int
    step: int
    attempt: int
    model: str
    journalled: RequestPrefix | None
    written: RequestPrefix | None
    unchanged_bytes: int
    changed: str
    usage: Usage | None = None

    @property
    def same_bytes(self) -> bool | None:
        """Return whether the bytes written now have the journalled digest, None if that is not known."""
        return None if self.journalled is None or self.written is None else self.journalled == self.written


def sent_requests(records: Iterable[StoredEntry], providers: Providers) -> Iterator[SentRequest]:
    """Yield the requests of a journal in order."""
    folded = Fold()
    writers: dict[str, _Writer] = {}
    sent: SentRequest | None = None
    for record in records:
        for each in writers.values():
            each.since.append(record)
        match record.entry:
            case e.RequestStarted() as started:
                if sent is not None:
                    yield sent
                writer = writers.setdefault(started.model, _Writer(started.model, providers))
                sent = writer.rebuild(record.seq, started, folded.conversation())
            case e.ResponseEnded(step=step, usage=usage) if sent is not None and step == sent.step:
                sent = msgspec.structs.replace(sent, usage=usage)
            case _:
                pass
        folded.add(record.entry)
    if sent is not None:
        yield sent


class _Writer:
    """Writes the requests to one model again."""

    def __init__(self, model: str, providers: Providers) -> None:
        self._profile = profile_of(model, providers)
        self._validator = RequestValidator()
        self._body_writer: BodyWriter | None = None
        self._before: tuple[str, Sequence[bytes]] | None = None  # digest of the head, messages
        self.since: list[StoredEntry] = []  # the entries since the last request to this model
        try:
            provider, name = split(model, providers)
        except ModelUnusable:  # a provider that is not configured any more
            return
        if not provider.through_pydantic_ai:
            target = ModelEndpoint(provider, name, key=None, address=None)
            self._body_writer = BodyWriter(target, protocol_of(provider.kind))

    def rebuild(self, seq: int, started: e.RequestStarted, conversation: Conversation) -> SentRequest:
        """Return what is known of a request with this conversation."""
        written, unchanged_bytes, changed = None, 0, ""
        if self._body_writer is not None:
            try:
                valid = self._validator.validate(conversation, self._profile).conversation
            except InvalidRequest as error:
                changed = str(error)
            else:
                written = self._body_writer.prefix(valid)
                unchanged_bytes, changed = self._compare(written, tuple(self._body_writer.encoded))
        self.since.clear()
        return SentRequest(
            seq, started.step, started.attempt, started.model, started.prefix, written, unchanged_bytes, changed
        )

    def _compare(self, written: RequestPrefix, messages: tuple[bytes, ...]) -> tuple[int, str]:
        """Return how many bytes the previous request had too, and what changed, "" if it had no others."""
        before, self._before = self._before, (written.head, messages)
        if before is None:
            return 0, ""
        head, earlier = before
        if head != written.head:
            return 0, f"the system prompt, the tools or the settings changed{_likely_cause(self.since)}"
        same = next((at for at, (was, now) in enumerate(zip(earlier, messages, strict=False)) if was != now), None)
        if same is None:
            same = min(len(earlier), len(messages))
        unchanged_bytes = written.bytes - _joined(messages) + _joined(messages[:same])
        return unchanged_bytes, "" if same == len(earlier) else f"message {same:,} changed{_likely_cause(self.since)}"


def _joined(messages: Sequence[bytes]) -> int:
    """Return the bytes of the messages with the commas between them."""
    return sum(map(len, messages)) + max(0, len(messages) - 1)


_CAUSES: tuple[tuple[type[e.Entry], str], ...] = (
    (e.Pruned, "old results were left out"),
    (e.Compacted, "the conversation was compacted"),
    (e.Uncompacted, "the compaction was undone"),
    (e.Rewound, "the session was rewound"),
    (e.ModelSettingsChanged, "the settings of the model were changed"),
    (e.ModelChanged, "the model was changed"),
    (e.RequestsChanged, "what the provider had refused was left out"),
    (e.Repaired, "the record was repaired"),
    (e.PromptAccepted, "the same message got another prompt"),
    (e.Steered, "the same message got another prompt"),
)
"""What changes earlier messages or the head, the likeliest cause first."""


def _likely_cause(entries: Sequence[StoredEntry]) -> str:
    """Return which entry between two requests changed the messages sent before, "" if none can have."""
    for kind, what in _CAUSES:
        for record in reversed(entries):
            if isinstance(record.entry, kind):
                return f": {what} (entry {record.seq:,})"
    for record in entries:
        if isinstance(record.entry, e.RequestFailed) and record.entry.fault in (e.NO_IMAGES, e.BAD_IMAGES):
            return f": images were left out (entry {record.seq:,})"
    return ""
