"""A `Model` that plays a script in this process: for driving turns without a wire.

It passes the same suite as the real ones (`tests/agent/test_models_laws.py`); what a provider would refuse it does not
know, that is the scripted provider's work.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import assert_never

from holdfast.agent.model import CallDelta, Finish, Finished, StreamEvent, TextDelta, ThinkingDelta
from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.session.conversation import Conversation
from holdfast.session.entries import CallPart, Part, TextPart, ThinkingPart, Usage
from holdfast.testing.script import (
    Call,
    Cut,
    End,
    Fail,
    Headers,
    Hold,
    Ping,
    Raw,
    Reply,
    Reset,
    Say,
    Think,
    Wait,
)
from holdfast.testing.script import (
    Finish as ScriptedFinish,
)

_USAGE = Usage(input_tokens=10, output_tokens=5, cost="0.01")

Step = Reply | Callable[[Conversation], Reply]


class ScriptedModel:
    """Play one reply for each request, in order.

    Each says that it took `usage`. `requests` are the conversations it was sent, `whole` whether each asked for the
    answer in one piece. A `Hold` waits until `release` is called with its name. After the last reply every request
    fails with status 500.
    """

    def __init__(
        self, script: Sequence[Step] = (), *, name: str = "openai-chat:scripted", usage: Usage = _USAGE
    ) -> None:
        self._name = name
        self._usage = usage
        self._steps = list(script)
        self._released: dict[str, asyncio.Event] = {}
        self.requests: list[Conversation] = []
        self.whole: list[bool] = []
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
        """Let the `Hold` of that name go on, now or when it is reached."""
        self._gate(name).set()

    def stream(
        self, conversation: Conversation, *, whole: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Play the next reply, with `whole` at its usual pace and all at its end."""
        self.whole.append(whole)
        return self._stream(conversation, whole=whole)

    async def aclose(self) -> None:
        """Remember that it was closed; a scripted model can be used again, as a new connection would be."""
        self.closed = True

    @asynccontextmanager
    async def _stream(self, conversation: Conversation, *, whole: bool) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        self.requests.append(conversation)
        step = self._steps.pop(0) if self._steps else (Fail(500, "The script is over: give it more replies."),)
        reply = step(conversation) if callable(step) else step
        self.open_streams += 1
        try:
            yield self._at_once(reply) if whole else self._play(reply)
        finally:
            self.open_streams -= 1

    async def _at_once(self, reply: Reply) -> AsyncIterator[StreamEvent]:
        events = [event async for event in self._play(reply)]
        if not events or not isinstance(events[-1], Finished):  # half of a document
            raise _failure(Raw(b""))
        for event in events:
            yield event

    async def _play(self, reply: Reply) -> AsyncIterator[StreamEvent]:
        parts: list[Part] = []
        finish: Finish = "stop"
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
                    pass  # a model has none
                case End():
                    break  # a model ends there, whatever its provider sends after it
                case Cut():
                    return
                case Raw() | Reset() | Fail():
                    raise _failure(action)
                case _:
                    assert_never(action)
        yield Finished(tuple(parts), finish, self._usage)

    def _gate(self, name: str) -> asyncio.Event:
        return self._released.setdefault(name, asyncio.Event())


_FINISH: dict[str, Finish] = {"stop": "stop", "tool_calls": "calls", "length": "max_tokens", "refusal": "refusal"}


def _chunks(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _failure(action: Raw | Reset | Fail) -> ProviderFailed:
    match action:
        case Raw():
            return ProviderFailed("Model sent what its protocol does not allow. Try again.", fault="malformed")
        case Reset():
            return ProviderFailed("Model broke off: connection reset. Try again.", fault="unreachable")
        case Fail():
            return ProviderFailed(
                f"Model answered with status {action.status}: {action.message or 'no reason'}. Try again.",
                fault="too_long" if _says_too_long(action) else _fault(action.status),
                status=action.status,
                retry_after=action.retry_after,
            )


def _says_too_long(action: Fail) -> bool:
    said = action.message or ""
    return "maximum context length" in said or "prompt is too long" in said


def _fault(status: int) -> ProviderFault:
    match status:
        case 401 | 403:
            return "credentials"
        case 429:
            return "rate_limited"
        case _:
            return "overloaded" if status >= 500 else "rejected"  # noqa: PLR2004 - HTTP's own border
