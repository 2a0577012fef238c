"""Asking a model for a summary: the same deadlines, retries and stop as any request, and nothing of it in the journal.

Two rules. What is summed up is quoted: no words in it can pass for another speaker's, or for an earlier summary. It is
cut to fit, the outputs of tools first, so that a conversation too long for its model can be summed up by it all the
same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from holdfast.agent import prompts
from holdfast.agent.abandoned import Abandoned
from holdfast.agent.connection import Connection
from holdfast.agent.limits import retry_delay, without_streaming
from holdfast.agent.model import Finished
from holdfast.agent.stop import Stop
from holdfast.agent.stream import Stream
from holdfast.config import Limits
from holdfast.errors import ProviderFailed
from holdfast.history.tokens import BYTES, tokens_of
from holdfast.session.conversation import AssistantMessage, Conversation, Message, UserMessage
from holdfast.session.entries import CallPart, SessionOpened, TextPart, ThinkingPart, Usage
from holdfast.text import valid_unicode
from holdfast.tools.output import cap

CUTS = (16_000, 4_000, 1_000, 300)
"""Bytes of an output that are quoted, the first with which all of it fits; of what is said four times as many.

An earlier summary has up to half of the room, whatever else has."""

SMALLER = 3
"""How many times less is quoted when the provider says that it is still too long."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model wrote, and what that took."""

    text: str
    model: str
    usage: Usage


class Summarizer:
    """Asks for summaries over a session's connection; `tell` is told what a person waits for."""

    def __init__(
        self,
        *,
        connection: Connection,
        abandoned: Abandoned,
        limits: Limits,
        tell: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._abandoned = abandoned
        self._limits = limits
        self._tell = tell

    async def summary(
        self, conversation: Conversation, older: Sequence[Message], stop: Stop, *, room: int, wish: str = ""
    ) -> Summary:
        """Return a summary of the `older` messages; what is quoted of them has at most `room` tokens.

        `wish` is what is to be kept of them especially. Raises `ProviderFailed` if there is none, `Left` on a stop.
        """
        for smaller in range(SMALLER + 1):
            try:
                return await self._asked(request(conversation, older, room=room >> smaller, wish=wish), stop)
            except ProviderFailed as failed:
                if failed.fault != "too_long" or smaller == SMALLER:
                    raise
        raise AssertionError

    async def _asked(self, conversation: Conversation, stop: Stop) -> Summary:
        limits = self._limits.of(conversation.model)
        whole, fell_back, attempt = False, False, 0
        while True:
            attempt += 1
            model = await self._connection.model(conversation.model, stop)
            stream = Stream(
                conversation.steps,
                model,
                whole=whole,
                limits=limits,
                abandoned=self._abandoned,
                append=lambda _: None,
                emit=lambda _: None,
            )
            try:
                finished = await stream.run(conversation, stop, on_event=lambda: None)
            except ProviderFailed as failed:
                await self._connection.drop()
                delay = retry_delay(failed, attempt, limits=limits, shown=False, whole=whole)
                if delay is None:
                    raise
                whole = without_streaming(failed, fell_back=fell_back)
                fell_back = fell_back or whole
                self._tell(f"Summing up: attempt {attempt}/{limits.attempts} failed, again in {delay:g} s: {failed}")
                await stop.race(asyncio.sleep(delay))
                continue
            return _summary(finished, model.name)


def _summary(finished: Finished, model: str) -> Summary:
    text = valid_unicode("".join(part.text for part in finished.parts if isinstance(part, TextPart))).strip()
    if not text or finished.finish == "refusal":
        raise ProviderFailed(
            f"Model {model!r} wrote no summary, one was expected. Try again, or choose another model with /model.",
            fault="malformed",
        )
    if finished.finish == "max_tokens":
        text += "\n[The summary ends here: the model that wrote it came to its limit.]"
    return Summary(text, model, finished.usage)


def request(conversation: Conversation, older: Sequence[Message], *, room: int, wish: str = "") -> Conversation:
    """Return what asks the model of the conversation for a summary of the `older` messages, without tools."""
    opened = conversation.opened
    system = files(prompts).joinpath("summary.md").read_text("utf-8").strip()
    asked = SessionOpened(
        session=opened.session if opened else "",
        cwd=opened.cwd if opened else "",
        model=conversation.model,
        system=system,
        tools=(),
        version=opened.version if opened else "",
    )
    texts = ["\n".join(quoted(older, summed_up=conversation.compacted is not None, room=room - tokens_of(system)))]
    if wish.strip():
        texts.append(f"The user wants this kept especially: {wish.strip()}")
    return replace(conversation, opened=asked, messages=(UserMessage((), tuple(texts)),), queued=())


def quoted(messages: Sequence[Message], *, summed_up: bool, room: int) -> list[str]:
    """Return the messages as JSON lines of at most `room` tokens; with `summed_up` an earlier summary is the first.

    It stays whatever has no room.
    """
    lines: list[str] = []
    for longest in CUTS:
        lines = [json.dumps(line, ensure_ascii=False) for line in _lines(messages, longest, room, summed_up=summed_up)]
        if sum(map(_weight, lines)) <= room:
            return lines
    head, tail = lines[:summed_up], lines[summed_up:]
    left = room - sum(map(_weight, head))
    kept = 0
    for line in reversed(tail):
        left -= _weight(line)
        if left < 0:
            break
        kept += 1
    gone = json.dumps({"note": f"{len(tail) - kept} earlier messages are left out here: there is no room for them."})
    return [*head, gone, *tail[len(tail) - kept :]]


def _weight(line: str) -> int:
    return tokens_of(line) + 1


def _lines(messages: Sequence[Message], longest: int, room: int, *, summed_up: bool) -> Iterator[dict[str, str]]:
    for message in messages:
        match message:
            case UserMessage(results=results, said=said):
                for result in results:
                    yield {"result": cap(result.text, longest), "of": result.name, "outcome": result.outcome}
                for one in said:
                    most = max(4 * longest, room * BYTES // 2 if summed_up else 0)
                    text = cap(one, most) if isinstance(one, str) else f"[an image: {one.described}]"
                    yield {"earlier summary" if summed_up else "user": text}
                    summed_up = False
            case AssistantMessage(parts=parts):
                for part in parts:
                    match part:
                        case TextPart(text=text):
                            yield {"assistant": cap(text, 4 * longest)}
                        case CallPart(name=name, arguments=arguments):
                            yield {"call": name, "arguments": cap(arguments, longest)}
                        case ThinkingPart():
                            pass
