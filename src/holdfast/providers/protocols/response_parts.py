"""The parts of a response while they arrive, in the order in which each began."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import msgspec

from holdfast.providers.model import CallDelta, TextDelta, ThinkingDelta
from holdfast.providers.protocols.answer_bounds import check_calls, check_name, check_parts
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart


class TextDraft(msgspec.Struct):
    """A text, and the signature of the thinking before it, if its protocol signs texts."""

    text: list[str] = msgspec.field(default_factory=list[str])
    signature: str | None = None


class ThinkingDraft(msgspec.Struct):
    """Thinking; the fields are those of `ThinkingPart`."""

    text: list[str] = msgspec.field(default_factory=list[str])
    signature: str | None = None
    id: str | None = None
    provider: str | None = None
    details: dict[str, object] | None = None


class CallDraft(msgspec.Struct):
    """A call; the fields are those of `CallPart`."""

    index: int
    name: list[str] = msgspec.field(default_factory=list[str])
    arguments: list[str] = msgspec.field(default_factory=list[str])
    size: int = 0  # characters of the arguments
    wire_id: str | None = None
    item_id: str | None = None
    provider: str | None = None
    details: dict[str, object] | None = None


PartDraft = TextDraft | ThinkingDraft | CallDraft
_D = TypeVar("_D", TextDraft, ThinkingDraft, CallDraft)


class ResponseParts:
    """The parts so far. A part is found by a key of its protocol's: a block's number, an item's id."""

    def __init__(self, provider: str) -> None:
        """Create it without parts; signed parts are marked with the name of the `provider`."""
        self._provider = provider
        self._drafts: dict[Hashable, PartDraft] = {}
        self._calls = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._drafts

    def add_text(self, key: Hashable, text: str) -> tuple[TextDelta, ...]:
        """Add to the text of this key, created if new. Return the delta."""
        self.text(key).text.append(text)
        return (TextDelta(text),) if text else ()

    def add_thinking(self, key: Hashable, text: str) -> tuple[ThinkingDelta, ...]:
        """Add to the thinking of this key, created if new. Return the delta."""
        self.thinking(key).text.append(text)
        return (ThinkingDelta(text),) if text else ()

    def add_call(self, key: Hashable, name: str, arguments: str) -> tuple[CallDelta, ...]:
        """Add to the call of this key, created if new. Return the delta."""
        is_new = key not in self._drafts
        draft = self.call(key)
        if name:
            draft.name.append(name)
            check_name(sum(map(len, draft.name)))
        if arguments:
            draft.arguments.append(arguments)
            draft.size += len(arguments)
        return (CallDelta(draft.index, name, arguments),) if is_new or name or arguments else ()

    def text(self, key: Hashable) -> TextDraft:
        """Return the text of this key, created if new."""
        return self._draft(key, TextDraft, TextDraft)

    def thinking(self, key: Hashable) -> ThinkingDraft:
        """Return the thinking of this key, created if new."""
        return self._draft(key, ThinkingDraft, lambda: ThinkingDraft(provider=self._provider))

    def call(self, key: Hashable) -> CallDraft:
        """Return the call of this key, created if new."""
        return self._draft(key, CallDraft, lambda: CallDraft(len(self._drafts)))

    def drafts(self) -> tuple[PartDraft, ...]:
        """Return the parts in order, to be completed."""
        return tuple(self._drafts.values())

    def parts(self) -> tuple[Part, ...]:
        """Return the parts in order. A signed text has an empty, signed thinking before it, as the journal keeps it."""
        return tuple(part for draft in self._drafts.values() for part in self._parts_of(draft))

    def _draft(self, key: Hashable, kind: type[_D], new: Callable[[], _D]) -> _D:
        draft = self._drafts.get(key)
        if not isinstance(draft, kind):  # a server that changes its mind about a part gets a second one
            key = key if draft is None else (key, kind)
            draft = self._drafts.get(key)
        if not isinstance(draft, kind):
            draft = self._drafts[key] = new()
            self._count(draft)
        return draft

    def _count(self, new: PartDraft) -> None:
        """Count a part. Raise `Flood` if there are too many: a part without text is no delta, and takes memory."""
        if isinstance(new, CallDraft):
            self._calls += 1
            check_calls(self._calls)
        else:
            check_parts(len(self._drafts) - self._calls)

    def _parts_of(self, draft: PartDraft) -> Iterator[Part]:
        match draft:
            case TextDraft():
                if draft.signature:
                    yield ThinkingPart("", signature=draft.signature, provider=self._provider)
                yield TextPart("".join(draft.text))
            case ThinkingDraft():
                yield ThinkingPart(
                    "".join(draft.text),
                    signature=draft.signature,
                    id=draft.id,
                    provider=draft.provider,
                    details=draft.details,
                )
            case CallDraft():
                yield CallPart(
                    id="",
                    name="".join(draft.name),
                    arguments="".join(draft.arguments),
                    wire_id=draft.wire_id,
                    item_id=draft.item_id,
                    provider=draft.provider,
                    details=draft.details,
                )
