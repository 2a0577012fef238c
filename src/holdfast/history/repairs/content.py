"""Edits for the content of messages: one for each item that breaks a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.history.edits import (
    AsText,
    CleanText,
    Complete,
    Declare,
    Drop,
    DropField,
    DropFields,
    Edit,
    Fill,
    LeaveOut,
    MoveCall,
    Quote,
    QuoteArguments,
    QuoteFields,
)
from holdfast.history.repairs.block_edits import ConvertMedia, SetCitations
from holdfast.history.rules import RuleFinding
from holdfast.history.rules.pairs import is_content
from holdfast.history.shape import GENERATED, IMAGES_ONLY, PICTURES_IN_RESULTS, Item, Message, Path, Shape

EMPTY_TEXT = "(empty)"
"""The text that replaces missing content where a provider requires some."""

_NO_THINKING = {
    "thinking-foreign": "another provider made this thinking, and only that provider can read it",
    "thinking-unsigned": "thinking without its signature is refused",
    "thinking-altered": "signed thinking that was changed is refused",
    "thinking-beside": "the provider has no such field",
    "thinking-unbound": "what this thinking produced is missing",
    "thinking-forbidden": "thinking is off",
    "thinking-off": "not every provider accepts thinking",
}
_FOREIGN = "Content of a kind that cannot be sent here"
SYSTEM_LABEL = "System message"
"""The label of a system message that is quoted in a user message."""


_OF_PAIRING = frozenset(
    {"call-without-result", "call-id-length", "call-id-charset", "duplicate-call-id", "reused-call-id"}
)
"""Common rules for which `repairs.pairing` makes the edits. They are skipped here to save time."""


def content_edits(shape: Shape, broken: Sequence[RuleFinding], frozen: int) -> Iterator[Edit]:
    """Yield the edits that repair contents. Each item is removed or turned into text at most once."""
    done: set[Edit | Path] = set()
    late = {found.path[0] for found in broken if found.rule == "late-system"}
    for found in broken:
        message = found.path[0] if found.path else None
        if found.rule in _OF_PAIRING or message is None or (isinstance(message, int) and message < frozen):
            continue
        if isinstance(message, str) and found.item is None:
            edits: Iterator[Edit] = iter((CleanText(None),))
        elif found.names:
            edits = _of_fields(found, shape, frozen, late=late)
        elif found.item is None and isinstance(message, int):
            edits = _of_message(found.rule, shape.messages[message])
        elif "assistant/image_generation_call" in found.unknown and found.item and not shape.text_only:
            edits = iter((Quote(found.item.path, GENERATED, "user"),))
        else:
            edits = _of_item(found)
        for edit in edits:
            key = edit.path if isinstance(edit, Drop | Quote) else edit
            if key not in done:
                done.add(key)
                yield edit
    yield from _unmarked(shape, [each.item for each in broken if each.rule == "too-many-cache-marks"], frozen)
    yield from _moved_calls(shape, [each.item for each in broken if each.rule == "call-not-last"], frozen)


def _of_fields(found: RuleFinding, shape: Shape, frozen: int, *, late: set[str | int]) -> Iterator[Edit]:
    mistyped = found.rule == "field-mistyped"
    if names := tuple(name for name in found.names if name not in found.with_text):
        yield DropFields(found.path, names, mistyped)
    if not found.with_text:
        return
    first = shape.messages[found.path[0] if isinstance(found.path[0], int) else 0]
    seen = any(item.kind == "result" and item.name in IMAGES_ONLY for item in first.items)
    alone = shape.grammar.atomic and (first.role == "assistant" or seen)
    index = _call_of(first, shape, frozen) if seen else first.index  # the result moves to its call
    while alone and index > frozen and shape.messages[index - 1].role == "assistant":
        index -= 1
    silent = all("blank" in item.flags for item in first.items)
    role = "user" if index in late and silent else None  # no system message may have text there
    yield QuoteFields(found.path, found.with_text, index if alone else None, mistyped, role)


def _call_of(answer: Message, shape: Shape, frozen: int) -> int:
    """Return the index of the message with the call that this one answers, its own if there is none."""
    ids = {item.id for item in answer.items if item.kind == "result"}
    for message in reversed(shape.messages[frozen : answer.index]):
        if any(item.kind == "call" and item.id in ids for item in message.items):
            return message.index
    return answer.index


def _unmarked(shape: Shape, surplus: Sequence[Item | None], frozen: int) -> Iterator[Edit]:
    """Yield the edits that remove that many cache markers, the first ones that may be edited."""
    many = sum(item.marks for item in surplus if item is not None and isinstance(item.path[0], int))
    for message in shape.messages[frozen:] if many else ():
        for item in message.items:
            if item.marks and many > 0:
                many -= item.marks
                yield DropField(item.path, "cache-mark")


def _moved_calls(shape: Shape, calls: Sequence[Item | None], frozen: int) -> Iterator[Edit]:
    """Yield the edits that move calls to the end of their response."""
    ends: dict[int, int] = {}  # for each message, the last one of its response with content
    end = -1
    for message in reversed(shape.messages if calls else ()):
        if message.role != "assistant" or not shape.grammar.atomic:
            end = -1
        if end < 0 and message.role == "assistant" and any(is_content(item, shape.grammar) for item in message.items):
            end = message.index
        ends[message.index] = end
    for call in calls:
        if call is not None and call.message >= frozen:
            yield MoveCall(call.path, ends[call.message] if shape.grammar.atomic else call.message)


def _of_message(rule: str, message: Message) -> Iterator[Edit]:
    match rule:
        case "lone-surrogate" | "nul":
            yield CleanText(message.index)
        case "unknown-role" if "role-misnamed" in message.flags:
            yield Complete((message.index,), "role")
        case "late-system" | "unknown-role" | "malformed-message":
            what = "Message of an unknown role" if rule == "unknown-role" else "Something that is not a message"
            for item in message.items:
                what = f"Message of {item.name}" if rule == "unknown-role" and item.name else what
                if "blank" in item.flags:
                    yield Drop(item.path, "it is blank")
                else:
                    yield Quote(item.path, SYSTEM_LABEL if message.role == "system" else what)
        case "blank-answer":
            for item in message.items:
                if item.kind != "thinking":
                    yield Drop(item.path, "it is blank")
        case "null-content":
            yield Fill((message.index, "content"), "")
        case "empty-calls":
            yield Drop((message.index, "tool_calls"), "it is an empty list of calls")
        case "developer-role":
            yield Complete((message.index,), "role")
        case "thinking-required":
            yield Complete((message.index,), "thinking")
        case "speaker-name-illegal":
            yield Complete((message.index,), "name")
        case "field-mistyped":
            yield DropField((message.index,), "mistyped")
        case _:
            return


def _of_item(found: RuleFinding) -> Iterator[Edit]:
    item = found.item
    assert item is not None
    match found.rule:
        case "blank-text":
            yield Drop(item.path, "it is blank")
        case "empty-content" if item.kind != "result":
            yield Drop(item.path, "it is empty")
        case "blank-block" | "blank-result" | "empty-content" | "error-result-empty":
            yield Fill(item.path, EMPTY_TEXT)
        case "arguments-not-object" | "arguments-type":
            yield QuoteArguments(item.path)
        case "reference-not-declared" | "foreign-content":
            yield from _known(item, spell=found.rewritable, unknown=found.unknown)
        case "block-misplaced" if "holds-calls" in item.flags:
            yield DropField(item.path, "calls")
        case "result-id-missing" if found.rewritable:
            yield Complete(item.path, "kind")
        case "media-invalid" if found.rewritable:
            yield Declare(item.path)
        case (
            "media-invalid" | "media-too-large" | "too-much-media" | "media-unseen" | "pdf-unreadable" | "pdf-too-large"
        ):
            yield LeaveOut(item.path, found.which, found.sentence)
        case "block-misplaced" if item.kind not in ("result", "media"):
            yield Quote(item.path, "A call", item.role)
        case "server-call-without-result":
            yield Quote(item.path, f"A call of the provider's own tool {item.name}, without a result", "assistant")
        case rule if rule in _OF_OTHERS:
            call = item.kind == "server-call"
            what = f"A call of the provider's own tool {item.name}" if call else "A result of the provider's own tool"
            yield Quote(item.path, what, "assistant")
        case "duplicate-item" if item.kind == "thinking" or (item.kind == "other" and len(item.path) == 1):
            yield Drop(item.path, "it is a duplicate")
        case rule if rule in _NO_THINKING and item.kind == "thinking":
            yield Drop(item.path, _NO_THINKING[rule])
        case rule if found.setting is not None:
            yield SetCitations(item.path, *found.setting)
        case rule:
            yield from _of_field(rule, item)


_OF_OTHERS = frozenset({"server-call-foreign", "server-call-id", "server-tool-unknown", "server-result-without-call"})
"""The rules on calls that a provider ran itself, and on results, that this one did not run."""


def _known(item: Item, *, spell: bool, unknown: frozenset[str]) -> Iterator[Edit]:
    """Yield the edits that make a content's kind one the provider knows: its spelling, or its kind."""
    if item.kind == "thinking" and "foreign" not in item.flags:
        yield Drop(item.path, "only its maker accepts it")
        return
    spell = spell and not (item.kind == "other" and len(unknown) > 1)  # it does not know the common kind either
    if spell:
        yield Complete(item.path, "kind")
    if converted := "other-picture" in item.flags or "tool/bare-image" in unknown:
        yield ConvertMedia(item.path)
    pictures = bool(unknown & PICTURES_IN_RESULTS)  # they move: see `repairs.moves`
    if item.kind == "other" and "no-text" in item.flags and not spell:
        yield Drop(item.path, "only its maker can read it")
        return
    others = "foreign" in item.flags or bool(unknown - PICTURES_IN_RESULTS - {"tool/function"})
    if (spell or converted or pictures) and not (item.kind == "result" and others):
        return
    if item.kind in ("result", "text", "thinking"):
        yield AsText(item.path)
    else:
        yield Quote(item.path, _FOREIGN, item.role)


def _of_field(rule: str, item: Item) -> Iterator[Edit]:
    match rule:
        case "duplicate-item" | "item-id-illegal" | "item-without-thinking":
            yield DropField(item.path, "item-id")
        case "second-kind":
            yield Complete(item.path, "part")
        case "field-missing":
            yield Complete(item.path, "field")
        case "thinking-in-content":
            yield DropField(item.path, "thoughts")
        case "signature-required":
            yield Complete(item.path, "signature")
        case "item-not-stored":
            yield Drop(item.path, "it refers to something that the provider did not store")
        case "thinking-foreign" if item.kind == "other" and "no-text" in item.flags:
            yield Drop(item.path, "only its maker can read it")
        case "thinking-foreign" if item.kind == "other":
            yield Quote(item.path, "A summary that another model made", item.role)
        case "too-many-cache-marks" if isinstance(item.path[0], str):
            yield DropField(item.path, "cache-mark")
        case "error-result-not-text":
            yield AsText(item.path, only_texts=True)
        case "cache-mark-order":
            yield DropField(item.path, "cache-ttl")
        case "caller-unknown":
            yield DropField(item.path, "caller")
        case "thinking-altered" | "thinking-foreign":
            yield DropField(item.path, "signature")
        case "field-mistyped" if "illegal-value" in item.flags:
            yield Quote(item.path, f"A call of the provider's own ({item.name})", "assistant")
        case "field-mistyped":
            yield DropField(item.path, "mistyped")
        case _:
            return
