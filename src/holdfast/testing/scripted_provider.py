"""The scripted provider: it plays a script, refuses what the real provider would refuse, and records every request.

It has its own rules and imports none from `holdfast.history`, so that neither can hide a mistake of the other.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal, Self

from holdfast.errors import UsageError
from holdfast.testing import http_exchange
from holdfast.testing.http_exchange import Loopback
from holdfast.testing.protocols.protocol import Incoming, Refusal, ResponseHead, WireEvent
from holdfast.testing.script import (
    SCRIPT_OVER,
    Hold,
    ReceivedRequest,
    Reset,
    Script,
    ScriptStep,
    Wait,
    WireName,
    check_reply,
)


class Gates:
    """Gates by name; an opened gate stays open. A reply waits on its event loop, a test blocks its thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reached: set[str] = set()
        self._open: set[str] = set()
        self._waiters: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait_open(self, name: str) -> None:
        """Wait until the gate is open."""
        waiter = (name, asyncio.get_running_loop(), asyncio.Event())
        with self._changed:
            self._reached.add(name)
            self._changed.notify_all()
            if name in self._open:
                return
            self._waiters.append(waiter)
        try:
            await waiter[2].wait()
        finally:
            with self._changed:
                self._waiters.remove(waiter)

    def release(self, name: str) -> None:
        """Open the gate, for replies that wait now and later."""
        with self._changed:
            self._open.add(name)
            for waiting, loop, event in self._waiters:
                if waiting == name:
                    loop.call_soon_threadsafe(event.set)

    def reached(self, name: str) -> bool:
        """Return whether a reply has reached the gate."""
        with self._changed:
            return name in self._reached

    def wait_for(self, name: str, *, timeout: float) -> None:
        """Block until a reply has reached the gate. Raise `TimeoutError`."""
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._reached, timeout):
                raise TimeoutError(
                    f"No reply reached gate {name!r} within {timeout:g} s (expected one that holds there)."
                )


# --- scripted provider ---

Ending = Literal[
    "completed",  # the reply was played to its end, also if that is a cut, a reset or an error
    "refused",  # the request broke a rule
    "client_gone",  # the client disconnected first
    "closed",  # the provider was closed first
    "broken",  # a reply function raised
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedRequest:
    """A request as received, and how it ended (None while in progress).

    `raw` is the body as sent, `body` its JSON if the request was accepted, `at` the time of the event loop, `refusal`
    the error message sent to a refused client.
    """

    wire: WireName
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    at: float
    body: dict[str, object] | None = None
    refusal: str | None = None
    ended: Ending | None = None


class ScriptedProvider:
    """A provider that answers from a script.

    As a context manager it is a real HTTP server on 127.0.0.1; `holdfast.testing.http_transport` plays it without a
    socket. Each accepted request plays the next reply, in order of arrival; a refused request plays none. After the
    last reply, every request plays `after`. Without a `key`, requests that carry one are refused, as Ollama always
    does. Requests for the list of `models`, and for the window of one, are answered too, and are not in `requests`.
    With `one_system`, a request without exactly one system prompt adds a complaint. It may be used from any thread.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        key: str | None = "test-key",
        one_system: bool = True,
        after: ScriptStep = SCRIPT_OVER,
        models: Sequence[str] = (),
    ) -> None:
        self._key = key
        self._one_system = one_system
        self._after = _check_step(after)
        self._models = tuple(models)
        self._steps = deque(_check_step(step) for step in script)
        self._reply_count = 0
        self._requests: list[CapturedRequest] = []
        self._complaints: list[str] = []
        self._changed = threading.Condition()  # guards the above and signals changes
        self._gates = Gates()
        self._loopback: Loopback | None = None
        self._closing = False

    def __enter__(self) -> Self:
        if self._loopback is not None:
            raise UsageError("Scripted provider can be entered only once. Create a new one.")
        self._loopback = Loopback(self.play)
        self._loopback.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection. Raise what a reply function raised, unless the block already failed."""
        self._closing = True
        failures = self._server.stop()
        if failures and error is None:
            raise failures[0]

    @property
    def url(self) -> str:
        """Return the URL of the server, without a path."""
        return self._server.url

    @property
    def open_connections(self) -> int:
        """Return how many clients are connected."""
        return self._server.open_connections

    def environ(self) -> dict[str, str]:
        """Return environment variables that point a child process to this provider."""
        paths = {
            "OPENAI_BASE_URL": "/v1",
            "ANTHROPIC_BASE_URL": "",
            "GOOGLE_GEMINI_BASE_URL": "",
            "MISTRAL_BASE_URL": "/mistral/v1",
            "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "/anthropic",
            "OLLAMA_BASE_URL": "/ollama/v1",
        }
        addresses = {name: f"{self.url}{path}" for name, path in paths.items()}
        keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY", "AWS_BEARER_TOKEN_BEDROCK")
        return addresses if self._key is None else addresses | dict.fromkeys(keys, self._key)

    def extend(self, *steps: ScriptStep) -> None:
        """Add replies to the end of the script."""
        added = [_check_step(step) for step in steps]
        with self._changed:
            self._steps += added

    @property
    def requests(self) -> tuple[CapturedRequest, ...]:
        """Return every request so far, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Return the error messages sent to refused clients."""
        return tuple(request.refusal for request in self.requests if request.refusal is not None)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Return problems of accepted requests that no rule of the provider forbids."""
        with self._changed:
            return tuple(self._complaints)

    def release(self, name: str) -> None:
        """Release `Hold(name)`, now and for later."""
        self._gates.release(name)

    def reached(self, name: str) -> bool:
        """Return whether a reply has reached `Hold(name)`."""
        return self._gates.reached(name)

    def wait_for(self, name: str, *, timeout: float = 10.0) -> None:
        """Block until a reply has reached `Hold(name)`. Raise `TimeoutError`."""
        self._gates.wait_for(name, timeout=timeout)

    def wait_requests(self, count: int, *, timeout: float = 10.0) -> None:
        """Block until `count` requests have arrived. Raise `TimeoutError`."""
        self._wait(lambda: len(self._requests) >= count, timeout, f"expected {count} or more")

    def wait_idle(self, *, timeout: float = 10.0) -> None:
        """Block until no request is in progress. Raise `TimeoutError`."""
        self._wait(lambda: all(request.ended for request in self._requests), timeout, "expected all to end")

    async def play(self, incoming: Incoming) -> AsyncGenerator[ResponseHead | bytes | Reset, None]:
        """Yield the response at the script's pace, for a transport; close the generator when the client disconnects."""
        if (listing := http_exchange.model_listing(incoming, self._models)) is not None:
            yield listing[0]
            yield listing[1]
            return
        number = self._record_request(incoming)
        ended: Ending = "broken"
        last = False
        try:
            events = self._response(incoming, number)
            event = next(events, None)
            while event is not None:
                following = next(events, None)
                match event:
                    case Wait(seconds):
                        await asyncio.sleep(seconds)
                    case Hold(name):
                        await self._gates.wait_open(name)
                    case _:
                        last = following is None  # a client may disconnect once it has everything
                        yield event
                event = following
            ended = "completed"
        except (asyncio.CancelledError, GeneratorExit):
            ended = "completed" if last else "closed" if self._closing else "client_gone"
            raise
        finally:
            self._record_ending(number, ended)

    @property
    def _server(self) -> Loopback:
        if self._loopback is None:
            raise UsageError("Scripted provider has no server yet. Use it in a `with` statement.")
        return self._loopback

    def _record_request(self, incoming: Incoming) -> int:
        request = CapturedRequest(
            wire=http_exchange.wire_for_path(incoming).name,
            method=incoming.method,
            path=incoming.path,
            headers=incoming.headers,
            raw=incoming.body,
            at=asyncio.get_running_loop().time(),
        )
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            return len(self._requests)

    def _response(self, incoming: Incoming, number: int) -> Iterator[WireEvent]:
        wire = http_exchange.wire_for_path(incoming)
        try:
            request = http_exchange.admit_request(wire, incoming, key=self._key)
        except Refusal as refusal:
            self._update(number, replace(self._requests[number - 1], refusal=refusal.message))
            return iter(wire.error_response(refusal, number=number))
        self._update(number, replace(self._requests[number - 1], body=request.body))
        step, turn = self._next(request, number)
        reply = step(request) if callable(step) else step
        return http_exchange.response_events(wire, request, reply, turn=turn, number=number)

    def _next(self, request: ReceivedRequest, number: int) -> tuple[ScriptStep, int]:
        with self._changed:
            if self._one_system and len(request.system) != 1:
                what = f"Request {number} has {len(request.system)} system prompts (expected one)."
                self._complaints.append(what)
            self._reply_count += 1
            return self._steps.popleft() if self._steps else self._after, self._reply_count

    def _record_ending(self, number: int, ended: Ending) -> None:
        request = self._requests[number - 1]
        refused = ended == "completed" and request.refusal is not None
        self._update(number, replace(request, ended="refused" if refused else ended))

    def _update(self, number: int, request: CapturedRequest) -> None:
        with self._changed:
            self._requests[number - 1] = request
            self._changed.notify_all()

    def _wait(self, predicate: Callable[[], bool], timeout: float, expected: str) -> None:
        with self._changed:
            if not self._changed.wait_for(predicate, timeout):
                ended = [request.ended or "under way" for request in self._requests]
                raise TimeoutError(f"Requests after {timeout:g} s: {ended} ({expected}).")


def _check_step(step: ScriptStep) -> ScriptStep:
    return step if callable(step) else check_reply(step)
