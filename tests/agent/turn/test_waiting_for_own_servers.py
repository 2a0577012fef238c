"""A server of the user's own may read a prompt for minutes: its signs of life give it time, a bound ends the wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest

from agent_harness import Rig, opened
from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import LivePrompt
from holdfast.config.settings import Limits
from holdfast.providers.connect import open_model
from holdfast.providers.model import Model
from holdfast.providers.protocols.openai_chat import WIRE
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, RequestFailed, TurnEnded
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Headers, Hold, Ping, Raw, Reply, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.virtual_loop import run_virtual

LIMITS = Limits(first_event=180, first_event_most=900, idle_event=120, attempts=2, backoff=1)
OWN = "http://localhost:8080/v1"
ELSEWHERE = "http://gpu.example.org:8080/v1"
KEYLESS, KEYED = "ollama:m", "openai-chat:m"


def progress(processed: int, total: int = 1000) -> bytes:
    return (
        b'data: {"object":"chat.completion.chunk","id":"c","created":1,"model":"m","choices":[{"index":0,"delta":{},'
        b'"finish_reason":null}],"prompt_progress":{"total":%d,"cache":0,"processed":%d,"time_ms":9}}\n\n'
        % (total, processed)
    )


class Waited:
    """How a turn ended, what was asked, and how long it took."""

    def __init__(self, ended: TurnEnded, rig: Rig, provider: ScriptedProvider, took: float) -> None:
        self.ended, self.rig, self.provider, self.took = ended, rig, provider, took

    @property
    def failures(self) -> list[tuple[str, bool]]:
        return [(each.fault, each.retry_unstreamed) for each in self.rig.entries if isinstance(each, RequestFailed)]

    @property
    def percents(self) -> list[int]:
        return [each.percent for each in self.rig.events if isinstance(each, LivePrompt)]


def turn(
    *script: Reply,
    model: str = KEYLESS,
    address: str = OWN,
    limits: Limits = LIMITS,
    stop_at: float | None = None,
    wrap: Callable[[Awaitable[Model]], Awaitable[Model]] = lambda model: model,
) -> Waited:
    """Play a turn with a model whose server is at the address, on a virtual clock."""

    async def work() -> Waited:
        provider = ScriptedProvider(script, key="test-key")
        rig = Rig(ScriptedModel(), limits=limits)
        variable = "OLLAMA_BASE_URL" if model == KEYLESS else "OPENAI_BASE_URL"
        endpoint = resolve_endpoint(model, {variable: address, "OPENAI_API_KEY": "test-key"})

        def client() -> httpx2.AsyncClient:
            """Return a client with the key that the scripted provider wants of everybody."""
            transport, headers = ScriptedTransport(provider), {"authorization": "Bearer test-key"}
            return httpx2.AsyncClient(transport=transport, timeout=None, headers=headers)

        async def connect(name: str) -> Model:
            del name
            return await wrap(asyncio.sleep(0, open_model(endpoint, http=client)))

        rig.agent._connection._connect = connect
        rig.agent.use_model(model)
        loop = asyncio.get_running_loop()
        before = loop.time()
        if stop_at is not None:
            loop.call_later(stop_at, rig.agent.stop)
        ended = await rig.agent.run("go")
        waited = Waited(ended, rig, provider, loop.time() - before)
        await rig.agent.close()
        return waited

    return run_virtual(work())


COLD: Reply = (Ping(20, every=30), Say("read at last"))
"""Ten minutes of pings, as llama.cpp sends them while it reads a prompt."""


@pytest.mark.parametrize(
    ("model", "address"), [(KEYLESS, OWN), (KEYLESS, ELSEWHERE), (KEYED, OWN), (KEYED, "http://127.9.9.9:1/v1")]
)
def test_pings_of_an_own_server_give_it_time(model: str, address: str) -> None:
    """On this computer, or without a key: waiting costs no money."""
    waited = turn(COLD, model=model, address=address)
    assert waited.ended.cause == "finished", waited.ended.detail
    assert len(waited.provider.requests) == 1
    assert waited.took == pytest.approx(600, abs=5)


@pytest.mark.parametrize("address", [ELSEWHERE, "https://localhost.example.org/v1", "http://10.0.0.5/v1"])
def test_pings_of_a_server_elsewhere_with_a_key_do_not_count(address: str) -> None:
    waited = turn(COLD, COLD, model=KEYED, address=address)
    assert waited.failures == [("silent", True), ("silent", False)]
    assert waited.took < 2 * 180 + 30


def test_the_wait_has_an_end_and_is_not_repeated() -> None:
    waited = turn((Ping(10_000, every=30),), COLD)
    assert (waited.ended.cause, waited.failures) == ("provider", [("silent", False)])
    assert len(waited.provider.requests) == 1
    assert "did not begin its answer within 900 s, though its server 'ollama' is alive" in waited.ended.detail
    assert "Raise first_event_most" in waited.ended.detail
    assert waited.took == pytest.approx(900, abs=5)


def test_an_own_server_that_says_nothing_is_asked_again_and_only_for_a_stream() -> None:
    waited = turn((Hold("never"),), (Say("loaded by now"),))
    assert waited.ended.cause == "finished"
    assert waited.failures == [("silent", False)]
    assert [(request.body or {}).get("stream") for request in waited.provider.requests] == [True, True]


def test_no_more_time_than_for_others_if_the_setting_says_so() -> None:
    limits = Limits(first_event=180, first_event_most=180, attempts=2, backoff=1)
    waited = turn(COLD, COLD, limits=limits)
    assert waited.failures == [("silent", True), ("silent", False)]


def test_after_the_first_event_silence_is_silence() -> None:
    waited = turn((Say("half"), Ping(100, every=30), Say("never")))
    assert waited.failures == [("silent", False)]
    assert waited.took == pytest.approx(120, abs=5)


@pytest.mark.parametrize("logged", [False, True])
def test_how_much_of_the_prompt_is_read_is_shown_as_it_grows(*, logged: bool) -> None:
    script: Reply = (
        Headers(),
        *(Raw(progress(each), every=100) for each in (0, 430, 430, 100, 1000, 2000)),
        *(Raw(progress(each, total)) for each, total in ((5, 0), (-1, 10))),
        Raw(b'data: {"choices":[],"prompt_progress":"soon"}\n\n'),
        Say("read"),
    )
    log = Log(lambda _: None, session="s")

    def wrap(model: Awaitable[Model]) -> Awaitable[Model]:
        return log.wrap_connect(lambda _: model)(KEYLESS) if logged else model

    waited = turn(script, wrap=wrap)
    assert waited.ended.cause == "finished", waited.ended.detail
    assert waited.percents == [0, 43, 100]


@pytest.mark.parametrize("at", [10, 200, 899])
def test_a_stop_ends_the_wait_at_once(at: float) -> None:
    waited = turn((Ping(10_000, every=30),), stop_at=at)
    assert waited.ended.cause == "user"
    assert waited.took == pytest.approx(at, abs=0.3)


def test_the_server_is_asked_for_its_progress_only_where_it_is_known_to_tell() -> None:
    conversation = fold([opened(), PromptAccepted(turn=1, text="go")])

    def asks(name: str, *, non_streaming: bool = False) -> bool:
        target = resolve_endpoint(name, {"OPENAI_API_KEY": "test-key"})
        return "return_progress" in WIRE.head(target, conversation, non_streaming=non_streaming)

    assert asks("llamacpp:m")
    assert not asks("llamacpp:m", non_streaming=True)
    assert not any(map(asks, ("openai-chat:m", "ollama:m", "vllm:m", "lmstudio:m")))
