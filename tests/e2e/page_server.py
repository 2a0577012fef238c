"""`holdfast serve` as a separate process, and what a client asks it over HTTP."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from launching import Ran, World

from launcher import PRODUCT
from polling import HANGS, eventually

NOTHING: Mapping[str, str | int] = {}
TOKEN = re.compile(r'^token = "(.+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sent:
    """One server-sent event."""

    data: Any
    id: int | None = None
    name: str = ""


class Served:
    """A server of the sessions of a world; `client` has the token of its owner."""

    def __init__(self, world: World, arguments: tuple[str, ...] = (), *, program: str = PRODUCT) -> None:
        self.world = world
        self.program = program
        self.arguments = arguments
        self.start()

    def start(self, *, port: str = "0") -> None:
        """Start the server, as after a crash of the one before."""
        self._agent = self.world.start(
            *("serve", "--port", port, "-m", self.world.model, *self.arguments), program=self.program
        )
        eventually(lambda: "holdfast serves" in self._agent.so_far.out or self._agent.so_far.err)
        ran = self._agent.so_far
        assert "holdfast serves" in ran.out, ran.err
        self.address = ran.out.split("holdfast serves ")[1].split()[0]
        tokens = (self.world.home / "holdfast-tokens.toml").read_text()
        found = TOKEN.search(tokens)
        assert found is not None
        self.token = found[1]
        self.client = httpx2.Client(
            base_url=self.address,
            headers={"authorization": f"Bearer {self.token}"},
            timeout=HANGS,
            trust_env=False,
            limits=httpx2.Limits(keepalive_expiry=None),  # a busy machine may be slow between two requests
        )

    @property
    def pid(self) -> int:
        return self._agent.pid

    def kill(self) -> None:
        """End the server without warning."""
        self.client.close()
        self._agent.kill()

    def stop(self) -> Ran:
        """End the server as a service is ended, and return how it ended."""
        self.client.close()
        self._agent.send(signal.SIGTERM)
        return self._agent.wait()

    # --- requests -----------------------------------------------------------------------------------------------

    def get(self, path: str, **query: str | int) -> Any:
        """Return what a route answers; it must."""
        response = self.client.get(path, params=query)
        assert response.status_code == 200, response.text
        return response.json()

    def begin(self, prompt: str = "", **more: Any) -> str:
        """Begin a session and return its id."""
        response = self.client.post("/sessions", json={"prompt": prompt, **more})
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def ask(self, session: str, kind: str, key: str = "", **body: Any) -> dict[str, Any]:
        """Write into an inbox, and return the row."""
        headers = {"idempotency-key": key} if key else {}
        response = self.client.post(f"/sessions/{session}/inbox", json={"kind": kind, **body}, headers=headers)
        assert response.status_code == 202, response.text
        return response.json()

    def inbox(self, session: str) -> list[dict[str, Any]]:
        """Return the rows of an inbox."""
        return self.get(f"/sessions/{session}/inbox")["inbox"]

    def row(self, session: str, number: int) -> dict[str, Any]:
        """Return one row of an inbox."""
        return next(each for each in self.inbox(session) if each["id"] == number)

    def state(self, session: str) -> str:
        """Return the state of a session."""
        return str(self.get(f"/sessions/{session}")["state"])

    def wait_for_question(self, session: str) -> str:
        """Wait for a question, and return its call."""
        eventually(lambda: self.get(f"/sessions/{session}")["asking"])
        return str(self.get(f"/sessions/{session}")["asking"][0])

    def finished(self, session: str) -> None:
        """Wait until nothing runs and nothing waits."""
        eventually(lambda: self.state(session) == "idle")

    # --- streams ------------------------------------------------------------------------------------------------

    def raw(
        self, session: str, *, last: int | None = None, query: Mapping[str, str | int] = NOTHING
    ) -> Iterator[bytes]:
        """Yield the bytes of a stream, event by event, for as long as they are wanted."""
        headers = {} if last is None else {"last-event-id": str(last)}
        with self.client.stream("GET", f"/sessions/{session}/events", params=query, headers=headers) as response:
            if response.status_code != 200:
                response.read()
                raise AssertionError(response.text)
            yield from split_events(response.iter_bytes())

    def events(
        self, session: str, *, last: int | None = None, query: Mapping[str, str | int] = NOTHING
    ) -> Iterator[Sent]:
        """Yield the events of a stream."""
        for each in self.raw(session, last=last, query=query):
            if (event := parsed(each)) is not None:
                yield event

    def until(self, session: str, kind: str, **query: str | int) -> list[Sent]:
        """Return the entries of a stream up to the first of this kind."""
        found: list[Sent] = []
        for each in self.events(session, query=query):
            found.append(each)
            if each.data["entry"]["kind"] == kind:
                return found
        raise AssertionError(f"the stream ended without {kind}")


def split_events(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield whole events, with the empty line that ends each."""
    rest = b""
    for piece in pieces:
        rest += piece
        while b"\n\n" in rest:
            event, _, rest = rest.partition(b"\n\n")
            yield event + b"\n\n"


def parsed(event: bytes) -> Sent | None:
    """Return what a client reads of an event, None for a comment."""
    fields = dict(line.split(": ", 1) for line in event.decode().strip().split("\n") if not line.startswith(":"))
    if not fields:
        return None
    number = fields.get("id")
    return Sent(json.loads(fields["data"]), None if number is None else int(number), fields.get("event", ""))
