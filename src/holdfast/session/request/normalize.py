"""Normalizes a conversation for its provider: the messages that are actually sent.

The same conversation always gives the same messages, and a further message never changes an earlier one. Every
provider-specific change is made here and nowhere else; `holdfast.session.request.validate` checks that it is
sufficient.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from holdfast.history.formats.format import is_arguments
from holdfast.history.profiles import ANY
from holdfast.history.provider_ids import hashed_id, legal_name
from holdfast.history.rules.profile import NO_MEDIA, MediaLimits, Profile
from holdfast.history.shape import NO_RESPONSE
from holdfast.session.conversation import conversation as c
from holdfast.session.journal.entries import Part, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.tool_calls import Image, ToolSchema

if TYPE_CHECKING:
    from holdfast.session.request.changed_requests import SentChanges

_UNAVAILABLE = "It was used earlier in this conversation. It is not available any more."
"""The description of a tool that is declared only because the conversation has called it."""


def normalize(conversation: c.Conversation, profile: Profile) -> c.Conversation:
    """Return the conversation as it is sent to its model, whose provider has this profile."""
    normalizer = Normalizer(conversation, profile)
    normalizer.add(conversation.messages)
    return normalizer.normalized(conversation)


class Normalizer:
    """Normalizes the messages of one conversation in order. The result for one never depends on a later one.

    The facts of the session open the first message here, whichever it is: a compaction or a rewind neither loses nor
    repeats them.

    Only a response with more calls than the provider accepts is `pending` until its results come: it is split with
    them.
    """

    def __init__(self, conversation: c.Conversation, profile: Profile) -> None:
        self.messages: list[c.ConversationMessage] = []
        self.pending: c.AssistantMessage | None = None
        self._profile = profile
        self._model = conversation.model
        self._facts = _facts(conversation)
        self._opening = conversation.opened.facts if conversation.opened is not None else ""
        self._changes = _changes(conversation)
        # What this model signed goes back to it, unless its provider refused that.
        self._signer = None if self._changes is not None and "thinking" in self._changes.kinds else conversation.model
        self._calls = 1 if self._changes is not None and "one_call" in self._changes.kinds else profile.calls
        self._ids = _Ids()
        sees = conversation.model not in conversation.models_without_vision
        refused = frozenset(image for model, image in conversation.refused if model == conversation.model)
        self._budget = _ImageBudget(profile.media if sees else NO_MEDIA, refused)

    def serves(self, conversation: c.Conversation, profile: Profile) -> bool:
        """Return whether it normalizes the messages of this conversation in the same way."""
        return profile is self._profile and _facts(conversation) == self._facts

    def add(self, messages: Iterable[c.ConversationMessage]) -> None:
        """Normalize further messages."""
        for message in messages:
            match message:
                case c.UserMessage():
                    opening = (self._opening,) if self._opening and not self.messages else ()
                    content = (*opening, *self._budget.content(message))
                    normal = user_messages(message.results, content, self._ids, self._model, self._profile)
                case c.AssistantMessage():
                    normal = (_of_assistant(message, self._ids, self._signer, self._profile),)
            if self._changes is not None:
                normal = (self._changes.message(each, self._model) for each in normal)
            self.messages.extend(normal if self._calls is None else self._split(normal, self._calls))

    def normalized(self, conversation: c.Conversation) -> c.Conversation:
        """Return the conversation with the normalized messages."""
        pending = () if self.pending is None else (self.pending,)
        messages = (*self.messages, *pending)
        return msgspec.structs.replace(conversation, messages=messages, opened=self._declared(conversation, messages))

    def _declared(
        self, conversation: c.Conversation, messages: tuple[c.ConversationMessage, ...]
    ) -> SessionOpened | None:
        """Return the first entry, with one tool if it has none and the provider requires one because of earlier calls.

        It has none if all its MCP servers were removed, say. The tool of the first call is declared: one is enough, and
        no later call changes which it is.
        """
        opened = conversation.opened
        if opened is not None and self._changes is not None:
            opened = self._changes.opened(opened)
        if opened is not None and self._opening:  # they are in the first message now
            opened = msgspec.structs.replace(opened, facts="")
        if opened is None or opened.tools or "tools-not-declared" not in self._profile.rules:
            return opened
        calls = (call for each in messages if isinstance(each, c.AssistantMessage) for call in each.calls)
        if (first := next(calls, None)) is None:
            return opened
        unavailable = ToolSchema(name=first.name, description=_UNAVAILABLE, parameters={"type": "object"})
        return msgspec.structs.replace(opened, tools=(unavailable,))

    def _split(self, messages: Iterable[c.ConversationMessage], most: int) -> Iterator[c.ConversationMessage]:
        """Yield the messages. A response with more than `most` calls is split, with the results in between."""
        for message in messages:
            pending, self.pending = self.pending, None
            if pending is not None and isinstance(message, c.UserMessage):
                yield from _parts(pending, message, most)
                continue
            if pending is not None:
                yield pending
            if isinstance(message, c.AssistantMessage) and len(message.calls) > most:
                self.pending = message
            else:
                yield message


def _facts(conversation: c.Conversation) -> tuple[object, ...]:
    """Return all that decides how its messages are normalized and checked, except the messages."""
    return (
        conversation.model,
        conversation.opened,
        conversation.models_without_vision,
        conversation.refused,
        conversation.request_changes,
    )


def with_changes(conversation: c.Conversation) -> c.Conversation:
    """Return a request that is sent as it is, such as one for a summary, without what its provider refused."""
    changes = _changes(conversation)
    if changes is None:
        return conversation
    return msgspec.structs.replace(
        conversation,
        opened=conversation.opened and changes.opened(conversation.opened),
        messages=tuple(changes.message(each, conversation.model) for each in conversation.messages),
    )


def _changes(conversation: c.Conversation) -> SentChanges | None:
    """Return how requests to the conversation's model differ after refusals, None if they do not."""
    if not any(each.model == conversation.model for each in conversation.request_changes):
        return None
    from holdfast.session.request.changed_requests import changes_for

    return changes_for(conversation)


def _parts(answer: c.AssistantMessage, following: c.UserMessage, most: int) -> Iterator[c.ConversationMessage]:
    """Yield the response in parts, each with its results. Text and thinking stay with the first calls."""
    part_of = {call.id: number // most for number, call in enumerate(answer.calls)}
    last = (len(answer.calls) - 1) // most
    for number in range(last + 1):
        parts = (each for each in answer.parts if number == (part_of[each.id] if isinstance(each, CallPart) else 0))
        results = (each for each in following.results if number == part_of.get(each.call, last))
        yield c.AssistantMessage(answer.model, tuple(parts))
        yield c.UserMessage(tuple(results), following.content if number == last else ())


def user_messages(
    of_calls: tuple[c.Result, ...], content: tuple[c.UserContent, ...], ids: _Ids, model: str, profile: Profile
) -> Iterator[c.ConversationMessage]:
    """Yield the messages to send for one message of results and content."""
    results = tuple(_of_result(result, ids) for result in of_calls)
    if results and content and "user-after-result" in profile.rules:
        yield c.UserMessage(results, ())
        yield c.AssistantMessage(model, (TextPart(NO_RESPONSE),))
        yield c.UserMessage((), content)
    else:
        yield c.UserMessage(results, content)


def _of_result(result: c.Result, ids: _Ids) -> c.Result:
    call, name = ids[result.call], sendable_name(result.name)
    if (call, name) == (result.call, result.name) and not result.images:
        return result
    return msgspec.structs.replace(result, call=call, name=name, images=())


def _of_assistant(message: c.AssistantMessage, ids: _Ids, model: str | None, profile: Profile) -> c.AssistantMessage:
    """Return the message with only thinking of `model`, and calls after everything else.

    DeepSeek's Messages validator mistakes text after a call for a missing result. Where signed thinking is sent along,
    the order stays as the model wrote it: the signature may cover it.
    """
    same_model = message.model == model
    sent = [
        part
        for part in message.parts
        if not isinstance(part, ThinkingPart) or _is_sent_back(part, message.model, model, profile)
    ]
    if "thinking-unbound" in profile.rules:
        sent = _bound(sent)
    if "thinking-last" in profile.rules:
        sent = _ended(sent)
    parts: list[Part] = [
        _of_call(part, ids, same_model=same_model) if isinstance(part, CallPart) else part for part in sent
    ]
    signed = any(isinstance(part, ThinkingPart) and part.signature for part in parts)
    if not signed or "call-not-last" in profile.rules:
        parts.sort(key=lambda part: isinstance(part, CallPart))
    return c.AssistantMessage(message.model, tuple(parts))


def _is_sent_back(part: ThinkingPart, maker: str, model: str | None, profile: Profile) -> bool:
    if maker != model or "thinking-off" in profile.rules:
        return False
    return bool(part.signature) or "thinking-unsigned" not in profile.rules


def _bound(parts: list[Part]) -> list[Part]:
    """Return the parts, with only the thinking that is encrypted and followed by a text or a call.

    Several summaries form one item, and the first of its parts carries the encrypted content.
    """
    sealed = {part.id for part in parts if isinstance(part, ThinkingPart) and part.id and part.signature}
    last = max((at for at, part in enumerate(parts) if not isinstance(part, ThinkingPart)), default=0)
    return [
        part for at, part in enumerate(parts) if not isinstance(part, ThinkingPart) or (at < last and part.id in sealed)
    ]


def _ended(parts: list[Part]) -> list[Part]:
    """Return the parts without the thinking at their end, unless there is nothing else."""
    spoken = (at for at in range(len(parts) - 1, -1, -1) if _is_spoken(parts[at]))
    last = next(spoken, None)
    return parts if last is None else parts[: last + 1]


def _is_spoken(part: Part) -> bool:
    return isinstance(part, CallPart) or (isinstance(part, TextPart) and bool(part.text.strip()))


def _of_call(part: CallPart, ids: _Ids, *, same_model: bool) -> CallPart:
    """Return the call as it is sent. Extras such as a signature go back only to the model that made them."""
    call, name, arguments = ids[part.id], sendable_name(part.name), sendable_arguments(part.arguments)
    if (call, name, arguments) != (part.id, part.name, part.arguments):
        part = msgspec.structs.replace(part, id=call, name=name, arguments=arguments)
    if same_model or (part.item_id is None and part.provider is None and part.details is None):
        return part
    return msgspec.structs.replace(part, item_id=None, provider=None, details=None)


class _ImageBudget:
    """The images that the provider accepts. An image sent once is always sent again.

    Some providers accept many images only if all are small: once a large one was sent, they get no more than the limit
    for large ones. The total size per request is limited too; the first images stay.
    """

    def __init__(self, limits: MediaLimits, refused: frozenset[Image]) -> None:
        self._limits = limits
        self._refused = refused
        self._shown = 0
        self._bytes = 0
        self._side = 0  # of the largest

    def content(self, message: c.UserMessage) -> Iterator[c.UserContent]:
        """Yield the content after the results, starting with the images of the results."""
        for item in (*(image for result in message.results for image in result.images), *message.content):
            if not isinstance(item, Image):
                yield item
            elif reason := self._refusal(item):
                yield f"[Image {item.described} cannot be shown: {reason}.]"
            else:
                self._shown += 1
                self._bytes += len(item.data)
                self._side = max(self._side, self._side_of(item))
                yield f"[Image {item.described}:]"
                yield item

    def _refusal(self, image: Image) -> str:
        limits = self._limits
        if not limits.types:
            return "this model cannot see images"
        if image.media_type not in limits.types:
            return f"this model takes no {image.media_type}"
        if image in self._refused:
            return "this model's provider refused it, or one beside it"
        if len(image.data) > limits.size or max(image.width, image.height) > limits.side:
            return "it is larger than this model takes"
        return self._over_limit(image)

    def _over_limit(self, image: Image) -> str:
        limits = self._limits
        if self._shown >= limits.most:
            return f"there are {self._shown} already, and this model takes no more"
        if self._bytes + len(image.data) > limits.total:
            return "with those before it, it is more than this model takes"
        if self._shown >= limits.crowded and max(self._side, self._side_of(image)) > limits.crowded_side:
            return f"there are {self._shown} already, and so many may not be large"
        return ""

    def _side_of(self, image: Image) -> int:
        """Return the pixels of the longer side. An image of unknown size counts as the largest possible."""
        return max(image.width, image.height) or self._limits.side


class _Ids:
    """Call ids that every provider accepts. holdfast's own are; those of older records may not be."""

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}
        self._used: set[str] = set()

    def __getitem__(self, call: str) -> str:
        """Return the id to send, always the same for the same call."""
        if call not in self._sent:
            fits = not ANY.broken_id_rules(call)
            self._sent[call] = call if fits else hashed_id(call, is_used=self._used.__contains__)
            self._used.add(self._sent[call])
        return self._sent[call]


def sendable_arguments(raw: str) -> str:
    """Return `raw` if it is a JSON object, else an object that quotes it: every protocol requires one."""
    if not raw.strip():
        return "{}"
    return raw if is_arguments(raw) else json.dumps({"INVALID_JSON": raw}, ensure_ascii=False)


def sendable_name(name: str) -> str:
    """Return `name` if every provider accepts it as a tool name, else a valid one derived from it.

    A model may call a tool by an impossible name. The result quotes the original name, and the conversation continues.
    """
    return name if ANY.name_pattern.fullmatch(name) else legal_name(name)
