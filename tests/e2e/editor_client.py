"""An editor: `holdfast acp` as a process, driven over pipes, each of its lines judged by the protocol's own schema."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema  # pyright: ignore[reportMissingTypeStubs] - it has none
from launching import Agent, Ran, World
from line_reader import LineReader

from launcher import PRODUCT
from polling import HANGS

SCHEMA = json.loads(Path(__file__).with_name("agent_client_protocol.json").read_text())
ANSWERS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
}
CALLED = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
    "$/cancel_request": "CancelRequestNotification",
}


def judge_by(name: str, value: object) -> None:
    """Fail unless the schema has this."""
    judged: Any = jsonschema
    judged.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}).validate(value)


class Editor:
    """A client of one process, which has its own Python: what it does with its descriptors is tried as it is."""

    def __init__(
        self,
        world: World,
        *options: str,
        program: str = PRODUCT,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        cold: bool = True,
    ) -> None:
        read_in, self._write = os.pipe()
        self._read, write_out = os.pipe()
        self.world = world
        self.folder = cwd or world.folder
        self.agent: Agent = world.start(
            *("acp", "-m", world.model, *options),
            stdin_from=Path(f"/proc/self/fd/{read_in}"),
            stdout=write_out,
            program=program,
            environ=environ,
            cwd=self.folder,
            cold=cold,
        )
        os.close(read_in)
        os.close(write_out)
        reader = LineReader(self._read, self._judge)
        self.lines, self.until, self.more = reader.lines, reader.until, reader.more
        self._methods: dict[int, str] = {}
        self._next = 0

    # --- out ----------------------------------------------------------------------------------------------------

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        """Send messages, or lines as they are, in one packet."""
        lines = [m if isinstance(m, bytes) else json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n" for m in messages]
        rest = memoryview(b"".join(lines))
        while rest:
            rest = rest[os.write(self._write, rest) :]

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Return a request, to be sent."""
        self._next += 1
        self._methods[self._next] = method
        return {"id": self._next, "method": method, "params": params}

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        request = self.request(method, **params)
        self.send(request)
        return self.answer(request)

    def opened(self, *, servers: Sequence[dict[str, Any]] = (), **capabilities: Any) -> str:
        """Initialize, open a session, and return its id."""
        parameters = {"protocolVersion": 1, "clientCapabilities": capabilities}
        judge_by("InitializeRequest", parameters)
        self.ask("initialize", **parameters)
        new = {"cwd": str(self.folder), "mcpServers": list(servers)}
        judge_by("NewSessionRequest", new)
        return str(self.ask("session/new", **new)["result"]["sessionId"])

    def load(self, session_id: str, **capabilities: Any) -> dict[str, Any]:
        """Initialize, load a session, and return the answer."""
        self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return self.ask("session/load", sessionId=session_id, cwd=str(self.folder), mcpServers=[])

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        """Send a prompt and return its request."""
        request = self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        self.send(request)
        return request

    def cancel(self, session: str) -> None:
        self.send(cancelled(session))

    # --- in -----------------------------------------------------------------------------------------------------

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the only answer to a request, as soon as it is there."""
        return self.until(lambda line: "method" not in line and line["id"] == request["id"])

    def updates(self, kind: str) -> list[dict[str, Any]]:
        """Return the updates of a kind, in order."""
        updates = [line["params"]["update"] for line in self.lines if line.get("method") == "session/update"]
        return [each for each in updates if each["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each["content"]["text"] for each in self.updates(kind))

    def permission(self, count: int = 1) -> dict[str, Any]:
        """Return the question of this number, as soon as it is asked."""
        return self.until(lambda _: len(self.questions) >= count) and self.questions[count - 1]

    @property
    def questions(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("method") == "session/request_permission"]

    def form(self, count: int = 1) -> dict[str, Any]:
        """Return the form of this number, as soon as it is shown."""
        return self.until(lambda _: len(self.forms) >= count) and self.forms[count - 1]

    @property
    def forms(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("method") == "elicitation/create"]

    def fill(self, form: dict[str, Any], **content: Any) -> None:
        """Accept a form."""
        result = {"action": "accept", "content": content}
        judge_by("CreateElicitationResponse", result)
        self.send({"id": form["id"], "result": result})

    def choose(self, question: dict[str, Any], option: str) -> None:
        """Answer a question."""
        outcome = {"outcome": "selected", "optionId": option}
        self.send({"id": question["id"], "result": {"outcome": outcome}})

    # --- the end ------------------------------------------------------------------------------------------------

    def leave(self) -> Ran:
        """Close the editor's end, take every line, and return how the agent ended."""
        os.close(self._write)
        while self.more(HANGS):
            pass
        os.close(self._read)
        return self.agent.wait()

    def vanish(self) -> Ran:
        """Close both ends at once, as a killed editor does."""
        os.close(self._read)
        os.close(self._write)
        return self.agent.wait()

    def killed(self) -> Ran:
        """Kill the agent, and take what it had written."""
        ran = self.agent.kill()
        while self.more(HANGS):
            pass
        os.close(self._read)
        os.close(self._write)
        return ran

    def _judge(self, line: dict[str, Any]) -> None:
        assert line["jsonrpc"] == "2.0"
        judge_by("RequestId", line.get("id"))
        if "method" in line:
            assert ("id" in line) == (line["method"] in ("session/request_permission", "elicitation/create"))
            judge_by(CALLED[line["method"]], line["params"])
        elif "error" in line:
            judge_by("Error", line["error"])
        else:
            judge_by(ANSWERS[self._methods[line["id"]]], line["result"])
            assert not any("method" not in each and each["id"] == line["id"] for each in self.lines), "answered twice"


def cancelled(session: str) -> dict[str, Any]:
    """Return the notification that cancels what runs in a session."""
    return {"method": "session/cancel", "params": {"sessionId": session}}
