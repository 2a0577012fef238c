"""A format as plain as can be, one for each grammar, to try repair on arrangements apart from any provider's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conversations import Answered, Junk, Piece, Returned, Said
from holdfast.history.draft_messages import DraftMessage
from holdfast.history.draft_messages import DraftPart as Placed
from holdfast.history.formats.format import (
    Json,
    RequestFacts,
    as_array,
    as_object,
    as_text,
    digest,
    is_arguments,
    quoted,
)
from holdfast.history.shape import Flag, Grammar, Item, Message, MessageFlag, Role, is_synthetic

_ROLES: dict[object, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


class Plain:
    """Messages of `{"role": …, "items": [{"kind": …, "id": …, "name": …, "text": …}]}`."""

    profile = "any"
    keys = ("messages",)

    def __init__(self, name: str, grammar: Grammar) -> None:
        self.name = name
        self.grammar = grammar

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:  # noqa: ARG002 - it declares nothing
        return RequestFacts()

    def message(self, index: int, raw: object) -> Message:
        message = as_object(raw)
        role = _ROLES.get(message.get("role"))
        if role is None:
            return Message(index, "user", (Item("other", "user", (index,)),), frozenset({"unknown-role"}))
        items = tuple(self._item(index, at, role, as_object(each)) for at, each in enumerate(_items(message)))
        flags: set[MessageFlag] = set()
        if all(item.kind == "thinking" for item in items):
            flags.add("empty")
        return Message(index, role, items, frozenset(flags))

    def _item(self, index: int, at: int, role: Role, raw: Json) -> Item:
        flags: set[Flag] = set()
        text = raw.get("text")
        call = as_text(raw.get("id"))
        match raw["kind"]:
            case "text" if not str(text).strip():
                flags.add("blank")
                kind = "text"
            case "call":
                kind = "call"
                if call is None and self.grammar.by_id:
                    flags.add("id-missing")
                if not is_arguments(text):
                    flags.add("arguments")
                if role != "assistant":
                    flags.add("misplaced")
            case "result":
                kind = "result"
                if call is None and self.grammar.by_id:
                    flags.add("id-missing")
                if text is None:
                    flags.add("null")
                elif not str(text).strip():
                    flags.add("blank")
                if is_synthetic(str(text)):
                    flags.add("synthetic")
            case "thinking":
                kind = "thinking"
            case _:
                kind = "text"
        name = as_text(raw.get("name"))
        return Item(kind, role, (index, "items", at), call, name, frozenset(flags), None, digest(str(text)))

    def build(self, row: DraftMessage, messages: Sequence[object]) -> object:
        return {"role": row.role, "items": [self._built(piece, messages) for piece in row.pieces]}

    def _built(self, piece: Placed, messages: Sequence[object]) -> Json:
        if piece.item is None:
            return {"kind": piece.kind, "id": piece.id, "name": piece.name, "text": piece.text}
        if len(piece.item.path) == 1:
            return {"kind": "text", "text": quoted(piece.label or "", str(messages[piece.item.message]))}
        at = piece.item.path[2]
        raw = as_object(_items(as_object(messages[piece.item.message]))[int(at)])
        if piece.label is not None:
            return {"kind": "text", "text": quoted(piece.label, str(raw.get("text")))}
        text: object = (
            '{"quoted": 1}' if piece.quote_arguments else raw.get("text") if piece.text is None else piece.text
        )
        return {**raw, "id": piece.id, "name": piece.name, "text": text}

    def render(self, pieces: tuple[Piece, ...]) -> list[object]:
        messages: list[object] = []
        for piece in pieces:
            role, items = _rendered(piece, "tool" if self.grammar.results == "own" else "user")
            if self.grammar.atomic and items:
                messages.extend({"role": role, "items": [item]} for item in items)
            else:
                messages.append({"role": role, "items": items})
        return messages if self.grammar.results == "own" else _gathered(messages)


def _rendered(piece: Piece, side: str) -> tuple[str | None, list[Json]]:
    match piece:
        case Said(role, text, _):
            return role, [{"kind": "text", "text": text}]
        case Answered(text, calls, thought):
            thinking: list[Json] = [] if thought is None else [{"kind": "thinking", "text": thought.text}]
            texts: list[Json] = [] if text is None else [{"kind": "text", "text": text}]
            call_blocks: list[Json] = [
                {"kind": "call", "id": call.id, "name": call.name, "text": call.arguments} for call in calls
            ]
            return "assistant", [*thinking, *texts, *call_blocks]
        case Returned(id, name, text):
            return side, [{"kind": "result", "id": id, "name": name, "text": text}]
        case Junk(role, text):
            return role, [{"kind": "text", "text": text}]


def _gathered(messages: list[object]) -> list[object]:
    """Return the messages with some of the user's that follow each other as one: where the number of items is even."""
    gathered: list[Json] = []
    for message in messages:
        here = as_object(message)
        before = gathered[-1] if gathered else {}
        if here["role"] == before.get("role") == "user" and len(_items(before)) % 3:
            gathered[-1] = {"role": "user", "items": [*_items(before), *_items(here)]}
        else:
            gathered.append(here)
    return list(gathered)


def _items(message: Mapping[str, object]) -> Sequence[object]:
    return as_array(message.get("items"))


PLAIN = {
    form.name: form
    for form in (
        Plain("own", Grammar(results="own")),
        Plain("user", Grammar(results="user")),
        Plain("items", Grammar(results="own", atomic=True)),
        Plain("by-position", Grammar(results="user", by_id=False)),
    )
}
