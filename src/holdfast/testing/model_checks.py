"""A conformance suite for any `Model`: it tries everything that the agent relies on.

Each law is tried on a new model and a new provider, so that one failure hides no other. A failure is an AssertionError
that begins with the law's name, whatever the model raised. No law takes longer than `LONGEST_LAW`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import Protocol, Self

from holdfast.errors import ProviderFailed, ProviderFault
from holdfast.providers.model import (
    CallDelta,
    Model,
    ModelFinish,
    StreamEvent,
    StreamFinished,
    TextDelta,
    ThinkingDelta,
)
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart
from holdfast.testing.named_law import NamedLaw
from holdfast.testing.script import Action, Call, Cut, Fail, Finish, FinishReason, Hold, Reply, Reset, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.tool_calls import ToolSchema

LONGEST_LAW = 60.0
"""Seconds for one law; a model that needs them counts as hung."""

_TICK = 0.01
_NEVER = Hold("never")


class ModelHarness(Protocol):
    """A provider that plays a script, and a model that is connected to it.

    A script has these actions only: `Say`, `Think`, `Call`, `Finish`, `Cut`, `Reset`, `Fail` and `Hold`, which is never
    released.
    """

    async def connect(self, script: Sequence[Reply]) -> Model:
        """Return a model whose requests are answered with these replies, one after the other."""
        ...

    @property
    def request_count(self) -> int:
        """Return how many requests have arrived."""
        ...

    @property
    def open_requests(self) -> int:
        """Return how many requests are still being answered, which ends when the model closes them."""
        ...

    async def aclose(self) -> None:
        """End the provider. The model was closed before."""
        ...


class ProviderHarness:
    """A harness for a model that speaks a protocol of `ScriptedProvider`, which it reaches at `provider.url`."""

    def __init__(self, connect: Callable[[ScriptedProvider], Awaitable[Model]]) -> None:
        """Create it; `connect` returns a model for a provider that is running."""
        self._connect = connect
        self._provider = ScriptedProvider()
        self._running = False

    async def connect(self, script: Sequence[Reply]) -> Model:
        """Start the provider, and return a model for it."""
        self._provider.extend(*script)
        self._provider.__enter__()
        self._running = True
        return await self._connect(self._provider)

    @property
    def request_count(self) -> int:
        return len(self._provider.requests)

    @property
    def open_requests(self) -> int:
        return sum(request.ended is None for request in self._provider.requests)

    async def aclose(self) -> None:
        """Stop the provider."""
        if self._running:
            self._running = False
            self._provider.__exit__(None, None, None)


def check_model(make: Callable[[], ModelHarness], *, laws: Collection[str] = ()) -> None:
    """Raise `AssertionError` with the law's name if a model breaks one; `make` returns a new harness.

    With `laws`, only these of `MODEL_LAWS` are tried. It runs an event loop, so none may be running.
    """
    for name in laws or MODEL_LAWS:
        asyncio.run(_check_law(name, make()))


async def _check_law(name: str, harness: ModelHarness) -> None:
    with NamedLaw(f"a model {name}"):
        async with asyncio.timeout(LONGEST_LAW), _Subject(harness) as subject:
            await MODEL_LAWS[name](subject)


class _Subject:
    """The model that a law is about, and what its provider sees."""

    def __init__(self, harness: ModelHarness) -> None:
        self.harness = harness
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._open.push_async_callback(self.harness.aclose)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._open.aclose()

    async def connect(self, *script: Reply) -> Model:
        """Return the model, which plays these replies."""
        model = await self.harness.connect(script)
        self._open.push_async_callback(model.aclose)
        return model

    async def wait_idle(self) -> None:
        """Wait until no request is open."""
        for _ in range(int(LONGEST_LAW / 2 / _TICK)):
            if not self.harness.open_requests:
                return
            await asyncio.sleep(_TICK)
        raise AssertionError(f"{self.harness.open_requests} request(s) stay open")


def _conversation(model: Model) -> Conversation:
    from holdfast.session.conversation.fold import fold  # imports the rules, which no fake needs

    tools = tuple(
        ToolSchema(name=name, description="A tool.", parameters={"type": "object", "properties": {}, "required": []})
        for name in ("read", "bash")
    )
    opened = SessionOpened(session="s", cwd="/", model=model.name, system="Be brief.", tools=tools, version="0")
    return fold([opened, PromptAccepted(turn=1, text="Grüße")])


async def _events_of(model: Model, *, non_streaming: bool = False) -> list[StreamEvent]:
    async with model.stream(_conversation(model), non_streaming=non_streaming) as events:
        return [event async for event in events]


async def _failure(model: Model) -> ProviderFailed:
    try:
        events = await _events_of(model)
    except ProviderFailed as failed:
        return failed
    raise AssertionError(f"it raised nothing (expected ProviderFailed), and its last event was {events[-1:]}")


def _finished(events: Sequence[StreamEvent]) -> StreamFinished:
    """Return the last event, asserting that it is the only one of its kind."""
    ends = [event for event in events if isinstance(event, StreamFinished)]
    assert len(ends) == 1, f"StreamFinished came {len(ends)} times (expected once)"
    assert events[-1] is ends[0], "events came after StreamFinished"
    return ends[0]


def _content_of(events: Sequence[StreamEvent]) -> tuple[str, str, dict[int, tuple[str, str]]]:
    """Return the text, the thinking, and name and arguments of each call, from the deltas."""
    calls: dict[int, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, CallDelta):
            name, arguments = calls.get(event.index, ("", ""))
            calls[event.index] = (name + event.name, arguments + event.arguments)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    return text, "".join(event.text for event in events if isinstance(event, ThinkingDelta)), calls


def _expect_equal(what: str, found: object, expected: object) -> None:
    assert found == expected, f"{what} is {found!r} (expected {expected!r})"


_READ, _BASH = '{"path": "a"}', '{"command": "ls"}'
_CALLS = (Call("read", _READ, chunk=3), Call("bash", _BASH, chunk=3))
_EVERYTHING: Reply = (Think("let me see", chunk=4), Say("I will look.", chunk=4), *_CALLS)


async def _has_a_name(subject: _Subject) -> None:
    model = await subject.connect()
    provider, _, name = model.name.partition(":")
    assert all((provider, name)), f"its name is {model.name!r} (expected PROVIDER:MODEL)"


async def _streams_texts(subject: _Subject) -> None:
    events = await _events_of(await subject.connect([Say("One two three.", chunk=4)]))
    finished = _finished(events)
    _expect_equal("the text of its deltas", _content_of(events)[0], "One two three.")
    _expect_equal("what it finished with", (finished.parts, finished.finish), ((TextPart("One two three."),), "stop"))


async def _streams_calls(subject: _Subject) -> None:
    events = await _events_of(await subject.connect((Say("I will look."), *_CALLS)))
    finished = _finished(events)
    parts = [part for part in finished.parts if isinstance(part, CallPart)]
    written = [(part.name, part.arguments) for part in parts]
    _expect_equal("what its calls are", written, [("read", _READ), ("bash", _BASH)])
    _expect_equal("what its deltas say of them", list(_content_of(events)[2].values()), written)
    _expect_equal(
        "the kinds of its parts", [type(part).__name__ for part in finished.parts], ["TextPart", *["CallPart"] * 2]
    )
    _expect_equal("its finish", finished.finish, "calls")


async def _streams_thinking(subject: _Subject) -> None:
    events = await _events_of(await subject.connect(_EVERYTHING))
    kinds = list(dict.fromkeys(type(event).__name__ for event in events))
    _expect_equal("the order of its events", kinds, ["ThinkingDelta", "TextDelta", "CallDelta", "StreamFinished"])
    _expect_equal("its thinking", _content_of(events)[1], "let me see")
    first = _finished(events).parts[0]
    assert isinstance(first, ThinkingPart), f"its first part is a {type(first).__name__} (expected ThinkingPart)"
    _expect_equal("the text of its thinking", first.text, "let me see")


async def _counts_tokens(subject: _Subject) -> None:
    usage = _finished(await _events_of(await subject.connect([Say("text")]))).usage
    assert usage.input_tokens > 0, f"it counted {usage.input_tokens} input tokens"
    assert usage.output_tokens > 0, f"it counted {usage.output_tokens} output tokens"


async def _says_how_a_response_ended(subject: _Subject) -> None:
    reasons: dict[FinishReason, ModelFinish] = {"stop": "stop", "length": "max_tokens", "refusal": "refusal"}
    model = await subject.connect(*([Say("text"), Finish(reason)] for reason in reasons))
    for reason, finish in reasons.items():
        _expect_equal(f"its finish for {reason!r}", _finished(await _events_of(model)).finish, finish)


async def _finishes_only_what_ended(subject: _Subject) -> None:
    cut: tuple[tuple[Action, ...], ...] = ((Cut(),), (Say("half"), Cut()), (Say("half"), _CALLS[0], Cut()))
    model = await subject.connect(*cut)
    for reply in cut:
        try:
            events = await _events_of(model)
        except ProviderFailed:  # a model may notice by itself
            continue
        ends = [event for event in events if isinstance(event, StreamFinished)]
        assert not ends, f"it finished a response that was cut off after {len(reply) - 1} action(s)"


async def _fails_on_a_broken_connection(subject: _Subject) -> None:
    failed = await _failure(await subject.connect([Say("half"), Reset()]))
    assert failed.retryable, f"a broken connection is {failed.fault!r}, which is not tried again"


async def _reports_errors(subject: _Subject) -> None:
    faults: dict[int, ProviderFault] = {
        400: "rejected",
        401: "credentials",
        404: "rejected",
        429: "rate_limited",
        500: "overloaded",
    }
    model = await subject.connect(*([Fail(status, "because of the moon", retry_after=7)] for status in faults))
    for status, fault in faults.items():
        failed = await _failure(model)
        _expect_equal(f"fault and status of an error {status}", (failed.fault, failed.status), (fault, status))
        assert "because of the moon" in str(failed), f"the provider's explanation is not in {str(failed)!r}"
        if fault == "rate_limited":
            _expect_equal("retry_after", failed.retry_after, 7)


async def _never_retries(subject: _Subject) -> None:
    model = await subject.connect([Fail(500, "Later.")], [Say("half"), Reset()], [Say("never asked for")])
    for attempt in (1, 2):
        await _failure(model)
        _expect_equal("the number of its requests", subject.harness.request_count, attempt)


async def _answers_in_one_piece(subject: _Subject) -> None:
    replies: tuple[Reply, ...] = (_EVERYTHING, (Say("text"), Finish("length")))
    model = await subject.connect(*(reply for each in replies for reply in (each, each)))
    for _ in replies:
        streamed, non_streaming = await _events_of(model), await _events_of(model, non_streaming=True)
        _expect_equal("what a response in one piece says", _content_of(non_streaming), _content_of(streamed))
        ends = _finished(non_streaming), _finished(streamed)
        _expect_equal("its finish", ends[0].finish, ends[1].finish)
        kinds = [[type(part).__name__ for part in end.parts] for end in ends]
        _expect_equal("the kinds of its parts", kinds[0], kinds[1])


async def _ends_a_cancelled_request(subject: _Subject) -> None:
    model = await subject.connect([Say("half"), _NEVER], [_NEVER])
    for non_streaming in (False, True):
        count_before = subject.harness.request_count
        task = asyncio.create_task(_events_of(model, non_streaming=non_streaming))
        while subject.harness.request_count == count_before and not task.done():  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(_TICK)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled(), "the task that read it was cancelled, and ended otherwise"
        await subject.wait_idle()


async def _ends_a_request_that_is_left(subject: _Subject) -> None:
    model = await subject.connect([Say("half of it"), _NEVER])
    async with model.stream(_conversation(model)) as events:
        async for _ in events:
            break
    await subject.wait_idle()


async def _goes_on_after_a_failure(subject: _Subject) -> None:
    model = await subject.connect([Fail(500, "Later.")], [Say("half"), Reset()], [Say("here")])
    await _failure(model)
    await _failure(model)
    _expect_equal("what it says next", _content_of(await _events_of(model))[0], "here")


_Law = Callable[[_Subject], Awaitable[None]]

MODEL_LAWS: Mapping[str, _Law] = MappingProxyType(
    {
        law.__name__.strip("_").replace("_", " "): law
        for law in (
            _has_a_name,
            _streams_texts,
            _streams_calls,
            _streams_thinking,
            _counts_tokens,
            _says_how_a_response_ended,
            _finishes_only_what_ended,
            _fails_on_a_broken_connection,
            _reports_errors,
            _never_retries,
            _answers_in_one_piece,
            _ends_a_cancelled_request,
            _ends_a_request_that_is_left,
            _goes_on_after_a_failure,
        )
    }
)
"""The laws of a model by name: `a model NAME` is a sentence."""
