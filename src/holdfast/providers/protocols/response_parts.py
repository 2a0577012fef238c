"""The parts of a response while they arrive, in the order in which each began."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import msgspec

from holdfast.errors import ProviderFailed
from holdfast.history.formats.format import Json, is_arguments, is_array, is_object
from holdfast.providers.model import CallDelta, TextDelta, ThinkingDelta
from holdfast.providers.protocols.answer_bounds import check_calls, check_name, check_parts
from holdfast.providers.protocols.call_arguments import has_surplus, tool_name, whole_arguments
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

MOST_TOKENS = 2**53
"""No real token count is as large."""

_MOST_VALUES = 200_000
"""Values, commas and colons of one event."""


_MOST_QUOTED = 200
"""Bytes of an event to quote that is no JSON."""


class ResponseJson:
    """Reads the JSON of one response of `model`. Every method raises `ProviderFailed` for an invalid response."""

    def __init__(self, model: str) -> None:
        self._model = model

    def decode_object(self, data: bytes) -> Json:
        """Return the JSON object that the bytes encode."""
        return self._expect_object(self.value(data), "the response")

    def value(self, data: bytes) -> object:
        """Return the JSON value, decoded by the standard library if msgspec refuses it.

        So half a surrogate pair, NaN and numbers beyond a double's range (then infinite) are accepted, since servers
        send them. If a key occurs twice, the last value counts. Whole numbers are exact. Control characters in strings,
        bytes that are not UTF-8, a byte order mark, and whole numbers of more than 4,300 digits are refused.
        """
        if len(data) > _MOST_VALUES:  # decoded, a value takes many times its bytes
            from holdfast.tools.message_frame import is_too_complex

            if is_too_complex(data):
                raise self.invalid_response(f"more than {_MOST_VALUES:,} values in one event")
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        try:
            return json.loads(data.decode())
        except (ValueError, RecursionError) as error:
            begun = data[:_MOST_QUOTED].decode("utf-8", "replace")
            raise self.invalid_response(f"{type(error).__name__}: {error}, in {begun!r}") from error

    def object_in(self, holder: Json, field: str) -> Json | None:
        """Return an object field, None if it is missing or null."""
        value = holder.get(field)
        return None if value is None else self._expect_object(value, field)

    def objects_in(self, holder: Json, field: str, *, alone: bool = False) -> list[Json]:
        """Return a field that is a list of objects, empty if it is missing or null; `alone` if one may stand bare."""
        value = holder.get(field)
        if value is None:
            return []
        if alone and is_object(value):
            return [value]
        if not is_array(value):
            raise self._wrong_type(field)
        return [self._expect_object(each, field) for each in value]

    def text_in(self, holder: Json, field: str) -> str | None:
        """Return a text field, None if it is missing or null."""
        value = holder.get(field)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong_type(field)

    def arguments_in(self, holder: Json, field: str) -> str:
        """Return the arguments of a call as text: some servers send the object itself."""
        value = holder.get(field)
        return json.dumps(value, ensure_ascii=False) if is_object(value) else self.text_in(holder, field) or ""

    def number_in(self, holder: Json, field: str) -> int | None:
        """Return a field that is a whole number, None if it is missing or null."""
        value = holder.get(field)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise self._wrong_type(field)

    def flag_in(self, holder: Json, field: str) -> bool:
        """Return a field that is true or false, false if it is missing or null."""
        value = holder.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self._wrong_type(field)

    def invalid_response(self, why: str) -> ProviderFailed:
        """Return the failure for a response that breaks the protocol."""
        return ProviderFailed(f"Model {self._model!r} sent an invalid response: {why}.", fault="malformed")

    def _expect_object(self, value: object, field: str) -> Json:
        if is_object(value):
            return value
        raise self._wrong_type(field)

    def _wrong_type(self, field: str) -> ProviderFailed:
        return self.invalid_response(f"{field} has the wrong type")


def token_count(count: object) -> int:
    """Return the provider's token count, or 0 if it is not a sensible number."""
    if isinstance(count, bool) or not isinstance(count, int):
        return 0
    return count if 0 <= count < MOST_TOKENS else 0


# --- response parts ---


class TextDraft(msgspec.Struct):
    """A text, and the signature of the thinking before it, if its protocol signs texts."""

    text: list[str] = msgspec.field(default_factory=list[str])
    size: int = 0  # characters of the text
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
    statements: list[str] = msgspec.field(default_factory=list[str])  # texts that came as all of the arguments
    size: int = 0  # characters of the arguments
    wire_id: str | None = None
    item_id: str | None = None
    provider: str | None = None
    details: dict[str, object] | None = None


_MOST_STATEMENTS = 4
"""Texts to keep that differ and that a server sent as all arguments of one call: two are enough to refuse the call."""

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
        draft = self.text(key)
        draft.text.append(text)
        draft.size += len(text)
        return (TextDelta(text),) if text else ()

    def state_text(self, key: Hashable, text: str) -> tuple[TextDelta, ...]:
        """Read what a server sent as the whole text of this key. Return the delta if it continues the pieces."""
        draft = self._drafts.get(key)
        size = draft.size if isinstance(draft, TextDraft) else 0
        if len(text) <= size or (isinstance(draft, TextDraft) and not text.startswith("".join(draft.text))):
            return ()
        return self.add_text(key, text[size:])

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

    def state_arguments(self, key: Hashable, arguments: str) -> tuple[CallDelta, ...]:
        """Record what a server sent as all arguments of this call. Return the delta if it continues the pieces."""
        draft = self.call(key)
        if not arguments or arguments in draft.statements or len(draft.statements) == _MOST_STATEMENTS:
            return ()
        draft.statements.append(arguments)
        if len(arguments) > draft.size and arguments.startswith("".join(draft.arguments)):
            return self.add_call(key, "", arguments[draft.size :])
        return ()

    def text(self, key: Hashable) -> TextDraft:
        """Return the text of this key, created if new."""
        return self._draft(key, TextDraft, TextDraft)

    def thinking(self, key: Hashable) -> ThinkingDraft:
        """Return the thinking of this key, created if new."""
        return self._draft(key, ThinkingDraft, lambda: ThinkingDraft(provider=self._provider))

    def call(self, key: Hashable) -> CallDraft:
        """Return the call of this key, created if new."""
        return self._draft(key, CallDraft, lambda: CallDraft(len(self._drafts)))

    def items(self) -> tuple[tuple[Hashable, PartDraft], ...]:
        """Return the parts with their keys, in order."""
        return tuple(self._drafts.items())

    def drafts(self) -> tuple[PartDraft, ...]:
        """Return the parts in order, to be completed."""
        return tuple(self._drafts.values())

    def parts(self) -> tuple[Part, ...]:
        """Return the parts in order. A signed text has an empty, signed thinking before it, as the journal keeps it.

        Arguments that do not fit are no JSON text of an object, so their call is not run. Beside them, a call that has
        none may be the one that some of them belong to, so it gets the same, and no call is put together by a guess.
        """
        calls = [draft for draft in self._drafts.values() if isinstance(draft, CallDraft)]
        misplaced = next(("".join(each.arguments) for each in calls if has_surplus(each.arguments)), "")
        unfit = any(_is_unfit(each) for each in calls)
        return tuple(part for draft in self._drafts.values() for part in self._parts_of(draft, misplaced, unfit=unfit))

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

    def _parts_of(self, draft: PartDraft, misplaced: str, *, unfit: bool) -> Iterator[Part]:
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
                arguments = whole_arguments(draft.arguments, draft.statements)
                if unfit and not draft.statements:  # what looks repeated here may belong to the call that is no object
                    arguments = "".join(draft.arguments)
                yield CallPart(
                    id="",
                    name=tool_name("".join(draft.name)),
                    arguments=arguments if arguments.strip() else misplaced or arguments,
                    wire_id=draft.wire_id,
                    item_id=draft.item_id,
                    provider=draft.provider,
                    details=draft.details,
                )


def _is_unfit(draft: CallDraft) -> bool:
    """Return whether the pieces of a call make no object, though there are some."""
    return any(each.strip() for each in draft.arguments) and not is_arguments(
        whole_arguments(draft.arguments, draft.statements)
    )
