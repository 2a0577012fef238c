"""The gate: what is about to be sent, against the rules that hold for everybody else's conversations too.

Two rules. A conversation of ours that breaks a rule is a fault of holdfast: it is mended, and told. One that cannot be
mended is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from holdfast.calls import Image
from holdfast.errors import Unsendable
from holdfast.history import rules
from holdfast.history.draft import apply
from holdfast.history.formats.format import (
    Declared,
    digest,
    is_arguments,
    json_text,
    project,
    quoted,
    quoted_arguments,
    unclean,
)
from holdfast.history.formats.reading import says_nothing
from holdfast.history.formats.writing import note
from holdfast.history.profile import Profile
from holdfast.history.profiles import PAIRS
from holdfast.history.repair import repair
from holdfast.history.rows import Piece, Row
from holdfast.history.rules import Violation
from holdfast.history.shape import NO_FLAGS, Flag, Grammar, Item, Media, Path, Role, Shape, is_synthetic
from holdfast.history.shape import Message as Seen
from holdfast.session.conversation import AssistantMessage, Conversation, Message, Result, Said, UserMessage
from holdfast.session.entries import CallPart, Part, TextPart, ThinkingPart
from holdfast.session.outgoing import outgoing

_OTHER = "another"
"""The maker of thinking that is another model's: which one does not matter."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A conversation that its provider accepts, and what had to be mended for that: of ours, nothing."""

    conversation: Conversation
    violations: tuple[Violation, ...]


def admit(conversation: Conversation, profile: Profile) -> Admitted:
    """Return what may be sent of the conversation; raises `Unsendable` if it breaks a rule that no repair mends."""
    return _admitted(outgoing(conversation, profile), profile)


def _admitted(sent: Conversation, profile: Profile) -> Admitted:
    form = _Own(profile, sent.model)
    messages = form.written(sent.messages)
    shape = _shape(form, messages, sent)
    violations = rules.check(shape, profile)
    if not violations:
        return Admitted(sent, ())
    mended = apply(form, messages, shape, repair(shape, profile))
    left = rules.check(_shape(form, mended, sent), profile)
    if left:
        raise Unsendable(
            f"Conversation breaks the rule {left[0].rule!r} of {profile.name}, one that the provider accepts was "
            f"expected: {left[0].position}: {left[0].sentence} Nothing was sent. Go "
            "back to an earlier prompt (/rewind), try another model, or export the conversation and take it elsewhere.",
            rule=left[0].rule,
        )
    return Admitted(replace(sent, messages=tuple(form.read(mended))), violations)


def arranged(sent: Conversation, profile: Profile) -> list[tuple[Role, Message]]:
    """Return the messages of what is sent with their roles, each one of the provider's: as a violation counts them."""
    form = _Own(profile, sent.model)
    return [(form.role(message), message) for message in form.written(sent.messages)]


def violations(conversation: Conversation, profile: Profile) -> tuple[Violation, ...]:
    """Return the rules that the conversation would break if it were sent with the next prompt."""
    sent = _prompted(outgoing(conversation, profile))
    form = _Own(profile, sent.model)
    return rules.check(_shape(form, form.written(sent.messages), sent), profile)


def left_broken(conversation: Conversation, profile: Profile) -> str:
    """Return the rule that keeps the next prompt from being sent, "" if repair leaves none broken."""
    try:
        _admitted(_prompted(outgoing(conversation, profile)), profile)
    except Unsendable as error:
        return error.rule
    return ""


def _prompted(sent: Conversation) -> Conversation:
    if sent.messages and isinstance(sent.messages[-1], UserMessage):
        return sent
    return replace(sent, messages=(*sent.messages, UserMessage((), ("The next prompt.",))))


def finding(violation: Violation) -> str:
    """Return the sentence that a journal and a person are told of a violation."""
    return f"The conversation broke the rule {violation.rule!r} at {violation.position}: {violation.sentence}"


def _shape(form: _Own, messages: Sequence[object], conversation: Conversation) -> Shape:
    opened = conversation.opened
    tools = frozenset(tool.name for tool in opened.tools) if opened else frozenset[str]()
    shape = project(form, messages, Declared(tools=tools or None))
    return msgspec.structs.replace(shape, beside=tuple(unclean({"system": conversation.system}, ())))


class _Own:
    """The format of our own messages, arranged as the profile's provider has them: results with the user or apart."""

    keys = ("messages",)

    def __init__(self, profile: Profile, model: str) -> None:
        self._model = model
        self._apart = profile.name in PAIRS["openai-chat"]
        self.name = "holdfast"
        self.profile = profile.name
        self.grammar = Grammar(results="own" if self._apart else "user")

    def declared(self, body: Mapping[str, object]) -> Declared:  # noqa: ARG002 - there is no body
        """Return nothing: a conversation declares its tools itself."""
        return Declared()

    def written(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages, each of them one of the provider's."""
        if not self._apart:
            return list(messages)
        apart: list[Message] = []
        for message in messages:
            if isinstance(message, UserMessage):
                apart.extend(UserMessage((result,), ()) for result in message.results)
                if message.said or not message.results:
                    apart.append(UserMessage((), message.said) if message.results else message)
            else:
                apart.append(message)
        return apart

    def read(self, messages: Sequence[object]) -> list[Message]:
        """Return the messages with what the user's side says in a row in one, results first."""
        joined: list[Message] = []
        for message in messages:
            assert isinstance(message, UserMessage | AssistantMessage)
            last = joined[-1] if joined else None
            if isinstance(message, UserMessage) and isinstance(last, UserMessage):
                joined[-1] = UserMessage((*last.results, *message.results), (*last.said, *message.said))
            else:
                joined.append(message)
        return joined

    def role(self, raw: Message) -> Role:
        """Return the role of one message."""
        if isinstance(raw, AssistantMessage):
            return "assistant"
        return "tool" if self._apart and raw.results else "user"

    def message(self, index: int, raw: object) -> Seen:
        """Return the projection of one message."""
        role: Role
        match raw:
            case UserMessage():
                role = self.role(raw)
                results = [_result((index, "results", at), result, role) for at, result in enumerate(raw.results)]
                texts = [_said((index, "texts", at), said) for at, said in enumerate(raw.said)]
                items = (*results, *texts)
            case AssistantMessage():
                role = "assistant"
                own = raw.model == self._model
                items = tuple(_part((index, "parts", at), part, own=own) for at, part in enumerate(raw.parts))
            case _:
                raise TypeError(f"Message {raw!r} is not one of ours")
        return Seen(index, role, items, frozenset(says_nothing(role, items)))

    def build(self, row: Row, messages: Sequence[object]) -> Message:
        """Return the message that a touched row stands for."""
        if row.role == "assistant":
            makers = [each.model for index in row.sources if isinstance(each := messages[index], AssistantMessage)]
            parts = tuple(_built_part(piece, messages) for piece in row.pieces)
            thinks = any(isinstance(part, ThinkingPart) for part in parts)  # only its own model's is here
            return AssistantMessage(self._model if thinks or not makers else makers[0], parts)
        results = tuple(_built_result(piece, messages) for piece in row.pieces if piece.kind == "result")
        texts = tuple(_built_said(piece, messages) for piece in row.pieces if piece.kind != "result")
        return UserMessage(results, texts)


# --- from our messages to items, and back ----------------------------------------------------------------------------


def _said(path: Path, said: Said) -> Item:
    if isinstance(said, str):
        return _text(path, said, "user")
    media = Media(
        declared=said.media_type,
        found=said.media_type,
        size=len(said.data),
        width=said.width,
        height=said.height,
        name=said.name,
    )
    return Item("media", "user", path, media=(media,))


def _text(path: Path, text: str, role: Role) -> Item:
    return Item("text", role, path, flags=NO_FLAGS if text.strip() else frozenset({"blank"}))


def _result(path: Path, result: Result, role: Role) -> Item:
    flags: set[Flag] = set()
    if not result.text.strip():
        flags.add("blank")
    if is_synthetic(result.text):
        flags.add("synthetic")
    kinds = frozenset(flags) if flags else NO_FLAGS
    return Item("result", role, path, result.call, result.name, kinds, None, digest(result.text))


def _part(path: Path, part: Part, *, own: bool) -> Item:
    match part:
        case TextPart():
            return _text(path, part.text, "assistant")
        case ThinkingPart():
            flags: frozenset[Flag] = NO_FLAGS if part.signature else frozenset({"unsigned"})
            return Item("thinking", "assistant", path, flags=flags, maker=None if own else _OTHER)
        case CallPart():
            flags = NO_FLAGS if is_arguments(part.arguments) else frozenset({"arguments"})
            return Item("call", "assistant", path, part.id, part.name, flags)


def _raw(piece: Piece, messages: Sequence[object]) -> Said | Result | Part:
    assert piece.item is not None
    index, _, at = piece.item.path
    match messages[int(index)], int(at):
        case UserMessage() as message, place:
            return message.results[place] if piece.item.kind == "result" else message.said[place]
        case AssistantMessage() as message, place:
            return message.parts[place]
        case raw, _:
            raise TypeError(f"Message {raw!r} is not one of ours")


def _built_said(piece: Piece, messages: Sequence[object]) -> Said:
    raw = None if piece.text is not None or piece.left_out else _raw(piece, messages)
    return raw if isinstance(raw, Image) else _built_text(piece, messages)


def _built_text(piece: Piece, messages: Sequence[object]) -> str:
    if piece.text is not None:
        return piece.text
    if piece.left_out:
        return note(piece.left_out)
    raw = _raw(piece, messages)
    said = (
        raw
        if isinstance(raw, str)
        else raw.text
        if isinstance(raw, Result | TextPart)
        else json_text(msgspec.to_builtins(raw))
    )
    return said if piece.what is None else quoted(piece.what, said)


def _built_result(piece: Piece, messages: Sequence[object]) -> Result:
    call, name = piece.id or "", piece.name or ""
    if piece.item is None:
        return Result(call, name, "interrupted", piece.text or "")
    raw = _raw(piece, messages)
    assert isinstance(raw, Result)
    return replace(raw, call=call, name=name, text=raw.text if piece.text is None else piece.text)


def _built_part(piece: Piece, messages: Sequence[object]) -> Part:
    raw = None if piece.item is None else _raw(piece, messages)
    if not isinstance(raw, CallPart | ThinkingPart) or piece.what is not None:
        return TextPart(_built_text(piece, messages))
    if isinstance(raw, ThinkingPart) or not piece.touched:
        return raw
    arguments = json_text(quoted_arguments(raw.arguments)) if piece.quote_arguments else raw.arguments
    return msgspec.structs.replace(raw, id=piece.id or "", name=piece.name or "", arguments=arguments)
