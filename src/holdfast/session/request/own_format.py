"""holdfast's own messages as a format of `holdfast.history`: how rules see them, and how edits are applied to them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

import msgspec

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.formats.content import empty_flags, note_block
from holdfast.history.formats.format import (
    RequestFacts,
    digest,
    is_arguments,
    json_text,
    quoted,
    quoted_arguments,
)
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.limits import shortened_arguments, shortened_text
from holdfast.history.rules.profile import Profile, TextLimits
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, LongText, Media, Message, Path, Role, is_synthetic
from holdfast.session.conversation import conversation as c
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import REQUIRED_THINKING, CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import Image

_OTHER = "another"
"""The maker of thinking by any other model."""


class OwnFormat:
    """The format, arranged for a provider: results in user messages or separate. `model` gets the request."""

    keys = ("messages",)

    def __init__(self, profile: Profile, model: str) -> None:
        self._model = model
        self._separate = profile.name in PAIRS["openai-chat"]
        self.name = "holdfast"
        self.profile = profile.name
        self._texts = profile.texts
        self.grammar = Grammar(results="own" if self._separate else "user")

    def request_facts(self, body: Mapping[str, object]) -> RequestFacts:  # noqa: ARG002 - there is no body
        """Return nothing: a conversation declares its tools itself."""
        return RequestFacts()

    def written(self, messages: Sequence[c.ConversationMessage]) -> list[c.ConversationMessage]:
        """Return the messages split as the provider counts them."""
        if not self._separate:
            return list(messages)
        split: list[c.ConversationMessage] = []
        for message in messages:
            if isinstance(message, c.UserMessage):
                split.extend(c.UserMessage((result,), ()) for result in message.results)
                if message.content or not message.results:
                    split.append(c.UserMessage((), message.content) if message.results else message)
            else:
                split.append(message)
        return split

    def read(self, messages: Sequence[object]) -> list[c.ConversationMessage]:
        """Return the messages with consecutive user-side ones joined, results first."""
        joined: list[c.ConversationMessage] = []
        for message in messages:
            assert isinstance(message, c.UserMessage | c.AssistantMessage)
            last = joined[-1] if joined else None
            if isinstance(message, c.UserMessage) and isinstance(last, c.UserMessage):
                joined[-1] = c.UserMessage((*last.results, *message.results), (*last.content, *message.content))
            else:
                joined.append(message)
        return joined

    def role(self, raw: c.ConversationMessage) -> Role:
        """Return the role of one message."""
        if isinstance(raw, c.AssistantMessage):
            return "assistant"
        return "tool" if self._separate and raw.results else "user"

    def message(self, index: int, raw: object) -> Message:
        """Return the projection of one message."""
        role: Role
        match raw:
            case c.UserMessage():
                role = self.role(raw)
                results = [_result((index, "results", at), result, role) for at, result in enumerate(raw.results)]
                content = [_content_item((index, "texts", at), item) for at, item in enumerate(raw.content)]
                items = (*results, *content)
            case c.AssistantMessage():
                role = "assistant"
                same_model = raw.model == self._model
                items = tuple(
                    _part((index, "parts", at), part, same_model=same_model) for at, part in enumerate(raw.parts)
                )
            case _:
                raise TypeError(f"Message {raw!r} is of an unknown type")
        long_texts = tuple(_too_long(items, raw, self._texts))
        return Message(index, role, items, frozenset(empty_flags(role, items)), long_texts=long_texts)

    def build(self, row: DraftMessage, messages: Sequence[object]) -> c.ConversationMessage:
        """Return the message for an edited row."""
        if row.role == "assistant":
            makers = [each.model for index in row.sources if isinstance(each := messages[index], c.AssistantMessage)]
            parts = tuple(_built_part(piece, messages) for piece in row.pieces)
            # Only thinking of the conversation's own model is here.
            thinks = any(isinstance(part, ThinkingPart) for part in parts)
            return c.AssistantMessage(self._model if thinks or not makers else makers[0], parts)
        results = tuple(_built_result(piece, messages) for piece in row.pieces if piece.kind == "result")
        content = tuple(_built_content(piece, messages) for piece in row.pieces if piece.kind != "result")
        return c.UserMessage(results, content)


# --- from messages to items, and back -------------------------------------------------------------------------------


def _content_item(path: Path, content: c.UserContent) -> Item:
    if isinstance(content, str):
        return _text(path, content, "user")
    media = Media(
        declared=content.media_type,
        found=content.media_type,
        size=len(content.data),
        width=content.width,
        height=content.height,
        name=content.name,
    )
    return Item("media", "user", path, media=(media,))


def _text(path: Path, text: str, role: Role) -> Item:
    return Item("text", role, path, flags=NO_FLAGS if text.strip() else frozenset({"blank"}))


def _result(path: Path, result: c.Result, role: Role) -> Item:
    flags: set[Flag] = set()
    if not result.text.strip():
        flags.add("blank")
    if is_synthetic(result.text):
        flags.add("synthetic")
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("result", role, path, result.call, result.name, kinds, None, digest(result.text))


def _part(path: Path, part: Part, *, same_model: bool) -> Item:
    match part:
        case TextPart():
            return _text(path, part.text, "assistant")
        case ThinkingPart():
            is_sent = part.signature or part == REQUIRED_THINKING
            flags: frozenset[Flag] = NO_FLAGS if is_sent else frozenset({"unsigned"})
            return Item("thinking", "assistant", path, flags=flags, maker=None if same_model else _OTHER)
        case CallPart():
            flags = NO_FLAGS if is_arguments(part.arguments) else frozenset({"arguments"})
            return Item("call", "assistant", path, part.id, part.name, flags)


def _too_long(items: Sequence[Item], raw: object, limits: TextLimits) -> Iterator[LongText]:
    for item in items:
        match _value_of(item, raw):
            case str() as text if limits.text is not None and len(text) > limits.text:
                yield LongText(item.path, "text", len(text))
            case c.Result(text=text) | TextPart(text=text) if limits.text is not None and len(text) > limits.text:
                yield LongText(item.path, "text", len(text))
            case CallPart(arguments=text) if limits.arguments is not None and len(text) > limits.arguments:
                yield LongText(item.path, "arguments", len(text))
            case _:
                pass


def shortened(index: int, raw: object, long: Container[Path], limits: TextLimits) -> c.ConversationMessage:
    """Return the message with the beginning and the end of each text or argument that is too long."""
    text, arguments = limits.text or 0, limits.arguments or 0
    match raw:
        case c.UserMessage():
            results = (
                msgspec.structs.replace(each, text=shortened_text(each.text, text))
                if (index, "results", at) in long
                else each
                for at, each in enumerate(raw.results)
            )
            content = (
                shortened_text(each, text) if isinstance(each, str) and (index, "texts", at) in long else each
                for at, each in enumerate(raw.content)
            )
            return c.UserMessage(tuple(results), tuple(content))
        case c.AssistantMessage():
            parts: list[Part] = []
            for at, part in enumerate(raw.parts):
                if (index, "parts", at) in long and isinstance(part, TextPart):
                    parts.append(msgspec.structs.replace(part, text=shortened_text(part.text, text)))
                elif (index, "parts", at) in long and isinstance(part, CallPart):
                    cut = str(shortened_arguments(part.arguments, arguments))
                    parts.append(msgspec.structs.replace(part, arguments=cut))
                else:
                    parts.append(part)
            return msgspec.structs.replace(raw, parts=tuple(parts))
        case _:
            raise TypeError(f"Message {raw!r} is of an unknown type")


def _raw(piece: DraftPart, messages: Sequence[object]) -> c.UserContent | c.Result | Part:
    assert piece.item is not None
    return _value_of(piece.item, messages[piece.item.message])


def _value_of(item: Item, raw: object) -> c.UserContent | c.Result | Part:
    """Return the part of the message that the item stands for."""
    place = int(item.path[2])
    match raw:
        case c.UserMessage():
            return raw.results[place] if item.kind == "result" else raw.content[place]
        case c.AssistantMessage():
            return raw.parts[place]
        case _:
            raise TypeError(f"Message {raw!r} is of an unknown type")


def _built_content(piece: DraftPart, messages: Sequence[object]) -> c.UserContent:
    raw = None if piece.text is not None or piece.left_out else _raw(piece, messages)
    return raw if isinstance(raw, Image) else _built_text(piece, messages)


def _built_text(piece: DraftPart, messages: Sequence[object]) -> str:
    if piece.text is not None:
        return piece.text
    if piece.left_out:
        return note_block(piece.left_out)
    raw = _raw(piece, messages)
    text = (
        raw
        if isinstance(raw, str)
        else raw.text
        if isinstance(raw, c.Result | TextPart)
        else json_text(msgspec.to_builtins(raw))
    )
    return text if piece.label is None else quoted(piece.label, text)


def _built_result(piece: DraftPart, messages: Sequence[object]) -> c.Result:
    call, name = piece.id or "", piece.name or ""
    if piece.item is None:
        return c.Result(call, name, "interrupted", piece.text or "")
    raw = _raw(piece, messages)
    assert isinstance(raw, c.Result)
    return msgspec.structs.replace(raw, call=call, name=name, text=raw.text if piece.text is None else piece.text)


def _built_part(piece: DraftPart, messages: Sequence[object]) -> Part:
    raw = None if piece.item is None else _raw(piece, messages)
    if not isinstance(raw, CallPart | ThinkingPart) or piece.label is not None:
        return TextPart(_built_text(piece, messages))
    if isinstance(raw, ThinkingPart) or not piece.touched:
        return raw
    arguments = json_text(quoted_arguments(raw.arguments)) if piece.quote_arguments else raw.arguments
    return msgspec.structs.replace(raw, id=piece.id or "", name=piece.name or "", arguments=arguments)
