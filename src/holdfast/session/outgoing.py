"""What is sent of a conversation: every message as the provider takes it, whatever a model or an older record wrote.

Two rules. The same conversation always gives the same messages, and one more message never changes an earlier one. What
has to be changed for a provider is changed here and nowhere else; `holdfast.session.gate` proves that it is enough.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from holdfast.calls import Image
from holdfast.history.formats.format import is_arguments
from holdfast.history.ids import hashed_id, legal_name
from holdfast.history.profile import NO_MEDIA, MediaLimits, Profile
from holdfast.history.profiles import ANY
from holdfast.history.shape import NO_RESPONSE
from holdfast.session.conversation import AssistantMessage, Conversation, Message, Result, Said, UserMessage
from holdfast.session.entries import CallPart, Part, TextPart, ThinkingPart


def outgoing(conversation: Conversation, profile: Profile) -> Conversation:
    """Return the conversation as it is sent to its model, whose provider is `profile`'s."""
    ids = _Ids()
    refused = frozenset(image for model, image in conversation.refused if model == conversation.model)
    album = _Album(NO_MEDIA if conversation.model in conversation.blind else profile.media, refused)
    messages: list[Message] = []
    for message in conversation.messages:
        match message:
            case UserMessage():
                said = tuple(album.said(message))
                messages.extend(_of_user(message.results, said, ids, conversation.model, profile))
            case AssistantMessage():
                messages.append(_of_assistant(message, ids, conversation.model, profile))
    if profile.calls is not None:
        messages = list(_split(messages, profile.calls))
    return replace(conversation, messages=tuple(messages))


def _split(messages: Sequence[Message], most: int) -> Iterator[Message]:
    """Yield the messages, each answer of more than `most` calls as several: between them stand the results."""
    for before, message, following in zip((None, *messages), messages, (*messages[1:], None), strict=False):
        if isinstance(message, UserMessage) and isinstance(before, AssistantMessage) and len(before.calls) > most:
            yield from _parts(before, message, most)
        elif isinstance(message, UserMessage) or not isinstance(following, UserMessage) or len(message.calls) <= most:
            yield message


def _parts(answer: AssistantMessage, given: UserMessage, most: int) -> Iterator[Message]:
    """Yield the answer in parts, each with its results; words and thinking stay with the first calls."""
    part_of = {call.id: number // most for number, call in enumerate(answer.calls)}
    last = (len(answer.calls) - 1) // most
    for number in range(last + 1):
        parts = (each for each in answer.parts if number == (part_of[each.id] if isinstance(each, CallPart) else 0))
        results = (each for each in given.results if number == part_of.get(each.call, last))
        yield AssistantMessage(answer.model, tuple(parts))
        yield UserMessage(tuple(results), given.said if number == last else ())


def _of_user(
    given: tuple[Result, ...], said: tuple[Said, ...], ids: _Ids, model: str, profile: Profile
) -> Iterator[Message]:
    results = tuple(_of_result(result, ids) for result in given)
    if results and said and "user-after-result" in profile.rules:
        yield UserMessage(results, ())
        yield AssistantMessage(model, (TextPart(NO_RESPONSE),))
        yield UserMessage((), said)
    else:
        yield UserMessage(results, said)


def _of_result(result: Result, ids: _Ids) -> Result:
    call, name = ids[result.call], sendable_name(result.name)
    if (call, name) == (result.call, result.name) and not result.images:
        return result
    return replace(result, call=call, name=name, images=())


def _of_assistant(message: AssistantMessage, ids: _Ids, model: str, profile: Profile) -> AssistantMessage:
    """Return the message with thinking for its maker only, and calls behind everything else.

    DeepSeek's Messages validator takes text after a call for the missing result. Elsewhere, where signed thinking is
    sent along, the order is its maker's, and stays: the signature may cover it.
    """
    own = message.model == model
    kept = [
        part
        for part in message.parts
        if not isinstance(part, ThinkingPart) or _goes_back(part, message.model, model, profile)
    ]
    if "thinking-unbound" in profile.rules:
        kept = _bound(kept)
    parts: list[Part] = [_of_call(part, ids, own=own) if isinstance(part, CallPart) else part for part in kept]
    signed = any(isinstance(part, ThinkingPart) and part.signature for part in parts)
    if not signed or "call-not-last" in profile.rules:
        parts.sort(key=lambda part: isinstance(part, CallPart))
    return AssistantMessage(message.model, tuple(parts))


def _goes_back(part: ThinkingPart, maker: str, model: str, profile: Profile) -> bool:
    if maker != model or "thinking-off" in profile.rules:
        return False
    return bool(part.signature) or "thinking-unsigned" not in profile.rules


def _bound(parts: list[Part]) -> list[Part]:
    """Return the parts with that thinking only which is sealed, and followed by what it led to.

    Several summaries are one item, and of its parts the first has the seal.
    """
    sealed = {part.id for part in parts if isinstance(part, ThinkingPart) and part.id and part.signature}
    last = max((at for at, part in enumerate(parts) if not isinstance(part, ThinkingPart)), default=0)
    return [
        part for at, part in enumerate(parts) if not isinstance(part, ThinkingPart) or (at < last and part.id in sealed)
    ]


def _of_call(part: CallPart, ids: _Ids, *, own: bool) -> CallPart:
    """Return the call as it is sent; what its maker put on it, a signature say, is for its maker only."""
    call, name, arguments = ids[part.id], sendable_name(part.name), sendable_arguments(part.arguments)
    if (call, name, arguments) != (part.id, part.name, part.arguments):
        part = msgspec.structs.replace(part, id=call, name=name, arguments=arguments)
    if own or (part.item_id is None and part.provider is None and part.details is None):
        return part
    return msgspec.structs.replace(part, item_id=None, provider=None, details=None)


class _Album:
    """The images of a conversation, each shown if its provider takes it: what was shown once is always shown again.

    A provider that takes only small ones beside more than so many is never sent more, once there is a large one. Nor is
    it ever sent more than a request may hold: the first stay.
    """

    def __init__(self, limits: MediaLimits, refused: frozenset[Image]) -> None:
        self._limits = limits
        self._refused_before = refused
        self._shown = 0
        self._bytes = 0
        self._side = 0  # of the largest

    def said(self, message: UserMessage) -> Iterator[Said]:
        """Yield what the message says behind its results: first the images that they hold."""
        for one in (*(image for result in message.results for image in result.images), *message.said):
            if not isinstance(one, Image):
                yield one
            elif reason := self._refused(one):
                yield f"[Image {one.described} cannot be shown: {reason}.]"
            else:
                self._shown += 1
                self._bytes += len(one.data)
                self._side = max(self._side, self._side_of(one))
                yield f"[Image {one.described}:]"
                yield one

    def _refused(self, image: Image) -> str:
        limits = self._limits
        if not limits.types:
            return "this model cannot see images"
        if image.media_type not in limits.types:
            return f"this model takes no {image.media_type}"
        if image in self._refused_before:
            return "this model's provider refused it, or one beside it"
        if len(image.data) > limits.size or max(image.width, image.height) > limits.side:
            return "it is larger than this model takes"
        return self._too_much(image)

    def _too_much(self, image: Image) -> str:
        limits = self._limits
        if self._shown >= limits.most:
            return f"there are {self._shown} already, and this model takes no more"
        if self._bytes + len(image.data) > limits.total:
            return "with those before it, it is more than this model takes"
        if self._shown >= limits.crowded and max(self._side, self._side_of(image)) > limits.crowded_side:
            return f"there are {self._shown} already, and so many may not be large"
        return ""

    def _side_of(self, image: Image) -> int:
        """Return the pixels of the longer side; one of unknown size may be as large as they get."""
        return max(image.width, image.height) or self._limits.side


class _Ids:
    """Ids of calls as every provider takes them: ours are, an older record's may not be."""

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}
        self._taken: set[str] = set()

    def __getitem__(self, call: str) -> str:
        """Return the id to send, the same for the same call."""
        if call not in self._sent:
            fits = ANY.id_pattern is not None and ANY.id_fits(call) and ANY.id_pattern.fullmatch(call) is not None
            self._sent[call] = call if fits else hashed_id(call, taken=self._taken.__contains__)
            self._taken.add(self._sent[call])
        return self._sent[call]


def sendable_arguments(raw: str) -> str:
    """Return `raw` if it is the text of a JSON object, else an object that quotes it: every wire needs an object."""
    if not raw.strip():
        return "{}"
    return raw if is_arguments(raw) else json.dumps({"INVALID_JSON": raw}, ensure_ascii=False)


def sendable_name(name: str) -> str:
    """Return `name` if every provider takes it for a tool's, else one that they take, the same for the same name.

    A model may call a tool by a name that no tool can have; the result says what was called, and history goes on.
    """
    return name if ANY.name_pattern.fullmatch(name) else legal_name(name)
