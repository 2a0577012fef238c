"""Asks a model for a summary, with the usual deadlines, retries and stop of a request, but without journal entries.

The messages to summarize are quoted as JSON, so no text in them can pass for another speaker or an earlier summary.
They are truncated to fit, tool outputs first, so that a model can also summarize a conversation that is too long for
it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files

import msgspec

from holdfast.agent.cancellation import DetachedTasks, StopSignal
from holdfast.agent.model_request.connection import Connection
from holdfast.agent.model_request.response_stream import Stream
from holdfast.agent.model_request.retry import retry_delay, without_streaming
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.history.tokens import BYTES, tokens_of
from holdfast.providers.model import StreamFinished
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, ConversationMessage, UserMessage
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.request.normalize import with_changes
from holdfast.text import valid_unicode
from holdfast.tools.truncation import cap

CUTS = (16_000, 4_000, 1_000, 300)
"""Bytes quoted per output; the first size with which everything fits is used. Messages get four times as much.

An earlier summary gets up to half of the space in any case.
"""

SMALLER = 3
"""How many times what was quoted is halved if the provider rejects it as too long."""


class WrittenSummary(msgspec.Struct, frozen=True):
    """The text a model wrote, and its token usage."""

    text: str
    model: str
    usage: Usage


class Summarizer:
    """Asks for summaries over a session's connection. `notify` gets progress messages for the user."""

    def __init__(
        self, *, connection: Connection, detached: DetachedTasks, limits: Limits, notify: Callable[[str], None]
    ) -> None:
        self._connection = connection
        self._detached = detached
        self._limits = limits
        self._notify = notify

    async def summary(
        self,
        conversation: Conversation,
        older: Sequence[ConversationMessage],
        stop: StopSignal,
        *,
        room: int,
        wish: str = "",
    ) -> WrittenSummary:
        """Return a summary of the `older` messages, of which at most `room` tokens are quoted.

        `wish` names what to keep. Raises `ProviderFailed` if there is no summary, `TurnStopped` on a stop.
        """
        question = request(conversation, older, room=room, wish=wish)
        for smaller in range(SMALLER + 1):
            try:
                return await self._send(question, stop)
            except ProviderFailed as failed:
                room = min(room, _quoted_tokens(question)) // 2
                refused, question = question, request(conversation, older, room=room, wish=wish)
                if failed.fault != "too_long" or smaller == SMALLER or question == refused:
                    raise
        raise AssertionError

    async def _send(self, conversation: Conversation, stop: StopSignal) -> WrittenSummary:
        limits = self._limits.of(conversation.model)
        non_streaming, fell_back, attempt = False, False, 0
        while True:
            attempt += 1
            model = await self._connection.model(conversation.model, stop)
            stream = Stream(
                conversation.steps,
                model,
                non_streaming=non_streaming,
                limits=limits,
                detached=self._detached,
                append=lambda _: None,
                emit=lambda _: None,
            )
            try:
                finished = await stream.run(conversation, stop, on_event=lambda: None)
            except ProviderFailed as failed:
                await self._connection.drop()
                delay = retry_delay(
                    failed, attempt, limits=limits, shown=False, non_streaming=non_streaming or stream.gave_up
                )
                if delay is None:
                    raise
                non_streaming = without_streaming(failed, fell_back=fell_back, patient=stream.patient)
                fell_back = fell_back or non_streaming
                self._notify(f"Summary: attempt {attempt}/{limits.attempts} failed, retrying in {delay:g} s: {failed}")
                await stop.race(asyncio.sleep(delay))
                continue
            return _summary(finished, model.name)


def _summary(finished: StreamFinished, model: str) -> WrittenSummary:
    text = valid_unicode("".join(part.text for part in finished.parts if isinstance(part, TextPart))).strip()
    if not text or finished.finish == "refusal":
        raise ProviderFailed(f"Model {model!r} wrote no summary.", fault="malformed")
    if finished.finish == "max_tokens":
        text += "\n[The summary ends here: the model reached its output limit.]"
    return WrittenSummary(text, model, finished.usage)


def request(
    conversation: Conversation, older: Sequence[ConversationMessage], *, room: int, wish: str = ""
) -> Conversation:
    """Return a conversation, without tools, that asks its model to summarize the `older` messages."""
    opened = conversation.opened
    system = files("holdfast.agent.context").joinpath("summary.md").read_text("utf-8").strip()
    first_entry = SessionOpened(
        session=opened.session if opened else "",
        cwd=opened.cwd if opened else "",
        model=conversation.model,
        system=system,
        tools=(),
        version=opened.version if opened else "",
    )
    texts = [
        "\n".join(quoted_summary(older, has_summary=conversation.compacted is not None, room=room - tokens_of(system)))
    ]
    if wish.strip():
        texts.append(f"The user wants the summary to keep this in particular: {wish.strip()}")
    return with_changes(
        msgspec.structs.replace(conversation, opened=first_entry, messages=(UserMessage((), tuple(texts)),), queued=())
    )


def quoted_summary(messages: Sequence[ConversationMessage], *, has_summary: bool, room: int) -> list[str]:
    """Return the messages as JSON lines of at most `room` tokens. With `has_summary`, the first is an earlier summary.

    The earlier summary stays even if other messages do not fit.
    """
    lines: list[str] = []
    for longest in CUTS:
        lines = [
            json.dumps(line, ensure_ascii=False) for line in _lines(messages, longest, room, has_summary=has_summary)
        ]
        if sum(map(_weight, lines)) <= room:
            return lines
    head, tail = lines[:has_summary], lines[has_summary:]
    remaining = room - sum(map(_weight, head))
    count = 0
    for line in reversed(tail):
        remaining -= _weight(line)
        if remaining < 0:
            break
        count += 1
    notice = json.dumps({"note": f"{len(tail) - count} earlier messages are left out here: there is no room for them."})
    return [*head, notice, *tail[len(tail) - count :]]


def _quoted_tokens(question: Conversation) -> int:
    """Return about how many tokens a request for a summary quotes."""
    return sum(
        tokens_of(each)
        for message in question.messages
        if isinstance(message, UserMessage)
        for each in message.content
        if isinstance(each, str)
    )


def _weight(line: str) -> int:
    return tokens_of(line) + 1


def _lines(
    messages: Sequence[ConversationMessage], longest: int, room: int, *, has_summary: bool
) -> Iterator[dict[str, str]]:
    for message in messages:
        match message:
            case UserMessage(results=results, content=content):
                for result in results:
                    yield {"result": cap(result.text, longest), "of": result.name, "outcome": result.outcome}
                for item in content:
                    most = max(4 * longest, room * BYTES // 2 if has_summary else 0)
                    text = cap(item, most) if isinstance(item, str) else f"[an image: {item.described}]"
                    yield {"earlier summary" if has_summary else "user": text}
                    has_summary = False
            case AssistantMessage(parts=parts):
                for part in parts:
                    match part:
                        case TextPart(text=text):
                            yield {"assistant": cap(text, 4 * longest)}
                        case CallPart(name=name, arguments=arguments):
                            yield {"call": name, "arguments": cap(arguments, longest)}
                        case ThinkingPart():
                            pass
