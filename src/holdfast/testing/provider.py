"""The scripted provider: it plays a script, refuses what the real one would refuse, and remembers what it was asked.

Its rules are its own; nothing of them comes from `holdfast.history`, so that neither can hide the other's mistakes.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal, Self

from holdfast.errors import UsageError
from holdfast.testing import exchange
from holdfast.testing.gates import Gates
from holdfast.testing.loopback import Loopback
from holdfast.testing.script import SCRIPT_OVER, Hold, Request, Reset, Script, Step, Wait, WireName, checked
from holdfast.testing.wires.wire import Event, Head, Incoming, Refusal

Ending = Literal[
    "completed",  # the reply was played to its end, be that a finish, a cut, a reset or an error of the script
    "refused",  # the request broke a rule
    "client_gone",  # the client left first
    "closed",  # the provider was closed meanwhile
    "broken",  # a reply function raised
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A request as it came, and how it ended: None while it is under way.

    `raw` is the body as sent, `body` its JSON if the request was accepted; `at` is the time of the event loop;
    `refusal` is what a refused client was told.
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

    As a context manager it is a real HTTP server on 127.0.0.1; `holdfast.testing.memory` plays it without a socket.
    Each accepted request plays the next reply, in order of arrival; a refused one plays none. After the last reply
    every request plays `after`. With no `key`, a request that carries one is refused, as Ollama's always is. With
    `one_system`, a request without exactly one system prompt makes a complaint. Everything may be used from any thread.
    """

    def __init__(
        self, script: Script = (), *, key: str | None = "test-key", one_system: bool = True, after: Step = SCRIPT_OVER
    ) -> None:
        self._key = key
        self._one_system = one_system
        self._after = _checked(after)
        self._steps = deque(_checked(step) for step in script)
        self._played = 0
        self._requests: list[Captured] = []
        self._complaints: list[str] = []
        self._changed = threading.Condition()  # guards the above and tells that it changed
        self._gates = Gates()
        self._loopback: Loopback | None = None
        self._closing = False

    def __enter__(self) -> Self:
        if self._loopback is not None:
            raise UsageError("Scripted provider was entered before, once was expected. Make a new one.")
        self._loopback = Loopback(self.play)
        self._loopback.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection; raises what a reply function raised, unless the block failed already."""
        self._closing = True
        failures = self._server.stop()
        if failures and error is None:
            raise failures[0]

    @property
    def url(self) -> str:
        """Return the address of the server, without a path."""
        return self._server.url

    @property
    def open_connections(self) -> int:
        """Return how many clients are connected."""
        return self._server.open_connections

    def environ(self) -> dict[str, str]:
        """Return the variables by which a child process finds this provider."""
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

    def extend(self, *steps: Step) -> None:
        """Add replies to the end of the script."""
        added = [_checked(step) for step in steps]
        with self._changed:
            self._steps += added

    @property
    def requests(self) -> tuple[Captured, ...]:
        """Return every request so far, in order of arrival."""
        with self._changed:
            return tuple(self._requests)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Return what refused clients were told."""
        return tuple(request.refusal for request in self.requests if request.refusal is not None)

    @property
    def complaints(self) -> tuple[str, ...]:
        """Return what was wrong with accepted requests, though no rule of the provider forbids it."""
        with self._changed:
            return tuple(self._complaints)

    def release(self, name: str) -> None:
        """Open the gate of `Hold(name)`, now and for later."""
        self._gates.release(name)

    def reached(self, name: str) -> bool:
        """Return whether a reply has come to `Hold(name)`."""
        return self._gates.reached(name)

    def wait_for(self, name: str, *, timeout: float = 10.0) -> None:
        """Block until a reply has come to `Hold(name)`; raises `TimeoutError`."""
        self._gates.wait_for(name, timeout=timeout)

    def wait_requests(self, count: int, *, timeout: float = 10.0) -> None:
        """Block until `count` requests have come; raises `TimeoutError`."""
        self._wait(lambda: len(self._requests) >= count, timeout, f"{count} or more were expected")

    def wait_idle(self, *, timeout: float = 10.0) -> None:
        """Block until no request is under way; raises `TimeoutError`."""
        self._wait(lambda: all(request.ended for request in self._requests), timeout, "all were expected to end")

    async def play(self, incoming: Incoming) -> AsyncGenerator[Head | bytes | Reset, None]:
        """Yield the response at its pace, for a transport to send; close the generator when the client leaves."""
        number = self._arrived(incoming)
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
                        await self._gates.passed(name)
                    case _:
                        last = following is None  # a client may leave as soon as it has all
                        yield event
                event = following
            ended = "completed"
        except (asyncio.CancelledError, GeneratorExit):
            ended = "completed" if last else "closed" if self._closing else "client_gone"
            raise
        finally:
            self._ended(number, ended)

    @property
    def _server(self) -> Loopback:
        if self._loopback is None:
            raise UsageError("Scripted provider has no server, it was expected to be entered. Use it in a `with`.")
        return self._loopback

    def _arrived(self, incoming: Incoming) -> int:
        request = Captured(
            wire=exchange.wire_of(incoming).name,
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

    def _response(self, incoming: Incoming, number: int) -> Iterator[Event]:
        wire = exchange.wire_of(incoming)
        try:
            request = exchange.admitted(wire, incoming, key=self._key)
        except Refusal as refusal:
            self._note(number, replace(self._requests[number - 1], refusal=refusal.message))
            return iter(wire.refused(refusal, number=number))
        self._note(number, replace(self._requests[number - 1], body=request.body))
        step, turn = self._next(request, number)
        reply = step(request) if callable(step) else step
        return exchange.answered(wire, request, reply, turn=turn, number=number)

    def _next(self, request: Request, number: int) -> tuple[Step, int]:
        with self._changed:
            if self._one_system and len(request.system) != 1:
                what = f"Request {number} carries {len(request.system)} system prompts, one was expected."
                self._complaints.append(what)
            self._played += 1
            return self._steps.popleft() if self._steps else self._after, self._played

    def _ended(self, number: int, ended: Ending) -> None:
        request = self._requests[number - 1]
        refused = ended == "completed" and request.refusal is not None
        self._note(number, replace(request, ended="refused" if refused else ended))

    def _note(self, number: int, request: Captured) -> None:
        with self._changed:
            self._requests[number - 1] = request
            self._changed.notify_all()

    def _wait(self, met: Callable[[], bool], timeout: float, expected: str) -> None:
        with self._changed:
            if not self._changed.wait_for(met, timeout):
                ended = [request.ended or "under way" for request in self._requests]
                raise TimeoutError(f"Requests {ended} had come after {timeout:g} s, {expected}.")


def _checked(step: Step) -> Step:
    return step if callable(step) else checked(step)
