"""The suite for models: every model of holdfast passes it, and a model that breaks a law fails that law."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import pytest
from msgspec.structs import replace

from holdfast.errors import ProviderFailed
from holdfast.providers.connect import open_model
from holdfast.providers.model import CallDelta, Model, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.parts import Usage
from holdfast.testing import MODEL_LAWS, ProviderHarness, Reply, ScriptedModel, ScriptedProvider, check_model
from tiers import sampled

WIRES = ("openai:gpt-5.5", "openai-chat:m", "anthropic:m", "google:gemini-3-m", "openrouter:m")
Wrap = Callable[[ScriptedModel], Model]


class InProcess:
    """A harness for the scripted model, or for what is put around it."""

    def __init__(self, wrap: Wrap = lambda scripted: scripted) -> None:
        self._wrap = wrap
        self._scripted = ScriptedModel()

    async def connect(self, script: Sequence[Reply]) -> Model:
        self._scripted.extend(*script)
        return self._wrap(self._scripted)

    @property
    def request_count(self) -> int:
        return len(self._scripted.requests)

    @property
    def open_requests(self) -> int:
        return self._scripted.open_streams

    async def aclose(self) -> None:
        pass


def harness(name: str) -> ProviderHarness:
    async def connect(provider: ScriptedProvider) -> Model:
        environ = provider.environ() | {"OPENROUTER_BASE_URL": f"{provider.url}/v1", "OPENROUTER_API_KEY": "test-key"}
        return open_model(resolve_endpoint(name, environ))

    return ProviderHarness(connect)


@pytest.mark.parametrize(("name", "law"), sampled([(name, law) for name in WIRES for law in MODEL_LAWS], 28))
def test_every_wire_passes(name: str, law: str) -> None:
    check_model(lambda: harness(name), laws=[law])


def test_the_scripted_model_passes() -> None:
    check_model(InProcess)


class Wrong:
    """A model that breaks a law: it changes the events of a scripted one."""

    def __init__(self, scripted: ScriptedModel) -> None:
        self.scripted = scripted
        self.non_streaming = False

    @property
    def name(self) -> str:
        return self.scripted.name

    def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        return self.played(conversation, non_streaming=non_streaming)

    async def aclose(self) -> None:
        await self.scripted.aclose()

    @asynccontextmanager
    async def played(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        self.non_streaming = non_streaming
        async with self.scripted.stream(conversation, non_streaming=non_streaming) as events:
            yield self.changed(events)

    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        async for event in events:
            if (changed := self.event(event)) is not None:
                yield changed

    def event(self, event: StreamEvent) -> StreamEvent | None:
        return event


class Nameless(Wrong):
    @property
    def name(self) -> str:
        return "model"


class Mumbles(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return TextDelta(event.text.strip()) if isinstance(event, TextDelta) else event


class TellsCallsTwice(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return CallDelta(event.index, event.name, event.arguments * 2) if isinstance(event, CallDelta) else event


class ThinksInText(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return TextDelta(event.text) if isinstance(event, ThinkingDelta) else event


class CountsNothing(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return replace(event, usage=Usage()) if isinstance(event, StreamFinished) else event


class AlwaysStops(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return replace(event, finish="stop") if isinstance(event, StreamFinished) else event


class InventsAnEnd(Wrong):
    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        event = None
        async for event in events:
            yield event
        if not isinstance(event, StreamFinished):
            yield StreamFinished((), "stop", Usage())


class LeaksItsLibrarysErrors(Wrong):
    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        try:
            async for event in events:
                yield event
        except ProviderFailed as failed:
            raise ConnectionResetError(str(failed)) from failed


class SaysOnlyThatItFailed(Wrong):
    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        try:
            async for event in events:
                yield event
        except ProviderFailed as failed:
            raise ProviderFailed("It failed.", fault=failed.fault, status=failed.status) from failed


class Retries(Wrong):
    @asynccontextmanager
    async def played(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        found: list[StreamEvent] = []
        for last in (False, True):
            try:
                async with self.scripted.stream(conversation, non_streaming=non_streaming) as events:
                    found = [event async for event in events]
                break
            except ProviderFailed:
                if last:
                    raise

        async def again() -> AsyncIterator[StreamEvent]:
            for event in found:
                yield event

        yield again()


class SaysNothingInOnePiece(Wrong):
    def event(self, event: StreamEvent) -> StreamEvent | None:
        return None if self.non_streaming and not isinstance(event, StreamFinished) else event


class Lingers(Wrong):
    """It reads on in a task that never ends."""

    def __init__(self, scripted: ScriptedModel) -> None:
        super().__init__(scripted)
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def played(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        queue: asyncio.Queue[StreamEvent | Exception | None] = asyncio.Queue()

        async def read() -> None:
            try:
                async with self.scripted.stream(conversation, non_streaming=non_streaming) as events:
                    async for event in events:
                        queue.put_nowait(event)
                queue.put_nowait(None)
            except ProviderFailed as failed:
                queue.put_nowait(failed)

        async def arrived() -> AsyncIterator[StreamEvent]:
            while (event := await queue.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event

        self._tasks.add(asyncio.create_task(read()))
        yield arrived()


class SwallowsCancellation(Wrong):
    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        with suppress(asyncio.CancelledError):
            async for event in events:
                yield event


class BreaksForGood(Wrong):
    def __init__(self, scripted: ScriptedModel) -> None:
        super().__init__(scripted)
        self._broken: ProviderFailed | None = None

    async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        try:
            if self._broken is not None:
                raise self._broken
            async for event in events:
                yield event
        except ProviderFailed as failed:
            self._broken = failed
            raise


BREAKS: dict[str, tuple[Wrap, str]] = {
    "has a name": (Nameless, "its name is 'model'"),
    "streams texts": (Mumbles, "the text of its deltas is"),
    "streams calls": (TellsCallsTwice, "what its deltas say of them is"),
    "streams thinking": (ThinksInText, "the order of its events is"),
    "counts tokens": (CountsNothing, "it counted 0 input tokens"),
    "says how a response ended": (AlwaysStops, "its finish for 'length' is 'stop'"),
    "finishes only what ended": (InventsAnEnd, "it finished a response that was cut off"),
    "fails on a broken connection": (LeaksItsLibrarysErrors, "ConnectionResetError: "),
    "reports errors": (SaysOnlyThatItFailed, "the provider's explanation is not in 'It failed.'"),
    "never retries": (Retries, "the number of its requests is"),
    "answers in one piece": (SaysNothingInOnePiece, "what a response in one piece says is"),
    "ends a cancelled request": (SwallowsCancellation, "the task that read it was cancelled, and ended otherwise"),
    "ends a request that is left": (Lingers, "1 request(s) stay open"),
    "goes on after a failure": (BreaksForGood, "ProviderFailed: "),
}


@pytest.mark.parametrize("law", MODEL_LAWS)
def test_a_model_that_breaks_a_law_fails_it(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.testing.model_checks.LONGEST_LAW", 2.0)
    wrong, message = BREAKS[law]
    with pytest.raises(AssertionError) as caught:
        check_model(lambda: InProcess(wrong), laws=[law])
    assert str(caught.value).startswith(f"Law 'a model {law}' is broken: ")
    assert message in str(caught.value)


def test_a_model_that_hangs_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hangs(Wrong):
        async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
            async for event in events:
                yield event
            await asyncio.Event().wait()

    monkeypatch.setattr("holdfast.testing.model_checks.LONGEST_LAW", 0.2)
    with pytest.raises(AssertionError, match="TimeoutError"):
        check_model(lambda: InProcess(Hangs), laws=["streams texts"])


def test_an_end_that_comes_twice_or_early_fails() -> None:
    class EndsTwice(Wrong):
        async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
            async for event in events:
                yield event
                if isinstance(event, StreamFinished):
                    yield event

    class EndsFirst(Wrong):
        async def changed(self, events: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
            *before, last = [event async for event in events]
            for event in (last, *before):
                yield event

    for wrong, message in ((EndsTwice, "StreamFinished came 2 times"), (EndsFirst, "events came after StreamFinished")):
        with pytest.raises(AssertionError, match=message):
            check_model(lambda wrong=wrong: InProcess(wrong), laws=["streams texts"])
