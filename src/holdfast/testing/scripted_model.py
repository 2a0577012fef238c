"""A `Model` that plays a script in this process, for turns without HTTP.

It passes the same suite as the real models (`tests/providers/test_model_laws.py`). It refuses nothing: to test what a
provider refuses, use the scripted provider.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import assert_never

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.model import CallDelta, ModelFinish, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.testing.script import Call, Cut, End, Fail, Headers, Hold, Ping, Raw, Reply, Reset, Say, Think, Wait
from holdfast.testing.script import Finish as ScriptedFinish

_USAGE = Usage(input_tokens=10, output_tokens=5, cost="0.01")

Step = Reply | Callable[[Conversation], Reply]


class ScriptedModel:
    """A model that plays one reply for each request, in order.

    Each reply reports `usage`. `requests` are the conversations it was sent, `non_streaming` whether each request asked
    for a response without streaming. A `Hold` waits until `release` is called with its name. After the last reply,
    every request fails with status 500.
    """

    def __init__(
        self, script: Sequence[Step] = (), *, name: str = "openai-chat:scripted", usage: Usage = _USAGE
    ) -> None:
        self._name = name
        self._usage = usage
        self._steps = list(script)
        self._gates: dict[str, asyncio.Event] = {}
        self.requests: list[Conversation] = []
        self.non_streaming: list[bool] = []
        self.open_streams = 0
        self.closed = False

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return self._name

    def extend(self, *replies: Step) -> None:
        """Add replies to the script."""
        self._steps.extend(replies)

    def release(self, name: str) -> None:
        """Release the `Hold` of that name, now or when it is reached."""
        self._gate(name).set()

    def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Play the next reply; with `non_streaming`, at the same pace and all events at the end."""
        self.non_streaming.append(non_streaming)
        return self._stream(conversation, non_streaming=non_streaming)

    async def aclose(self) -> None:
        """Note that it was closed; a scripted model can be used again, like a new connection."""
        self.closed = True

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        self.requests.append(conversation)
        step = self._steps.pop(0) if self._steps else (Fail(500, "The script is over. Add more replies."),)
        reply = step(conversation) if callable(step) else step
        self.open_streams += 1
        try:
            async with aclosing(self._play_at_end(reply) if non_streaming else self._play(reply)) as events:
                yield events
        finally:
            self.open_streams -= 1

    async def _play_at_end(self, reply: Reply) -> AsyncGenerator[StreamEvent]:
        events = [event async for event in self._play(reply)]
        if not events or not isinstance(events[-1], StreamFinished):  # an incomplete document
            raise _failure(Raw(b""))
        for event in events:
            yield event

    async def _play(self, reply: Reply) -> AsyncGenerator[StreamEvent]:
        parts: list[Part] = []
        finish: ModelFinish = "stop"
        for action in reply:
            match action:
                case Say():
                    parts.append(TextPart(action.text))
                    for chunk in _chunks(action.text, action.chunk):
                        yield TextDelta(chunk)
                        await asyncio.sleep(action.delay)
                case Think():
                    signature = action.signature or "scripted"
                    parts.append(ThinkingPart(action.text, signature=signature, provider="scripted"))
                    for chunk in _chunks(action.text, action.chunk):
                        yield ThinkingDelta(chunk)
                        await asyncio.sleep(action.delay)
                case Call():
                    raw = action.arguments if isinstance(action.arguments, str) else json.dumps(action.arguments)
                    index = len(parts)
                    parts.append(CallPart(id="", name=action.name, arguments=raw, wire_id=action.id or f"wire-{index}"))
                    finish = "calls"
                    yield CallDelta(index, action.name, "")
                    for chunk in _chunks(raw, action.chunk):
                        yield CallDelta(index, "", chunk)
                        await asyncio.sleep(action.delay)
                case Wait():
                    await asyncio.sleep(action.seconds)
                case Hold():
                    await self._gate(action.name).wait()
                case Ping():
                    await asyncio.sleep(action.count * action.every)
                case ScriptedFinish():
                    finish = _FINISH[action.reason]
                case Headers():
                    pass  # has no meaning without HTTP
                case End():
                    break  # a model ends here, whatever its provider still sends
                case Cut():
                    return
                case Raw() | Reset() | Fail():
                    raise _failure(action)
                case _:
                    assert_never(action)
        yield StreamFinished(tuple(parts), finish, self._usage)

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())


_FINISH: dict[str, ModelFinish] = {"stop": "stop", "tool_calls": "calls", "length": "max_tokens", "refusal": "refusal"}


def _chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _failure(action: Raw | Reset | Fail) -> ProviderFailed:
    match action:
        case Raw():
            return ProviderFailed("Model sent an invalid response. Try again.", fault="malformed")
        case Reset():
            return ProviderFailed("Connection to the model failed: connection reset. Try again.", fault="unreachable")
        case Fail():
            return ProviderFailed(
                f"Model failed with status {action.status}: {action.message or 'no reason'}. Try again.",
                fault="too_long" if _is_too_long(action) else _fault(action.status),
                status=action.status,
                retry_after=action.retry_after,
            )


def _is_too_long(action: Fail) -> bool:
    message = action.message or ""
    return "maximum context length" in message or "prompt is too long" in message


def _fault(status: int) -> ProviderFault:
    match status:
        case 401 | 403:
            return "credentials"
        case 429:
            return "rate_limited"
        case _:
            return "overloaded" if status >= 500 else "rejected"  # noqa: PLR2004 - HTTP's own border
