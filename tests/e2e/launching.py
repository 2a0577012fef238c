"""Launching holdfast for real: processes of their own, a provider on a socket, journals on the disk.

Two rules. Nothing of the product is imported into the agent's place: it is started, signalled and read from outside.
Whatever a test does, every request it caused is held to the provider's rules, the judge's, and to P8 (`World.verify`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from holdfast.session.journal.entries import Entry, ResponseCheckpoint, SessionOpened
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing.script import Call, ScriptStep, WireName
from holdfast.testing.scripted_provider import CapturedRequest, ScriptedProvider
from judges import judge
from launcher import PRODUCT, Process, launcher
from polling import HANGS, eventually

MODELS: dict[WireName, str] = {
    "openai-chat": "openai-chat:gpt-5.5",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "openai-responses": "openai:gpt-5.5",
    "gemini": "google:gemini-3.8-flash",
}
WALKED: tuple[WireName, ...] = ("openai-chat", "anthropic")
"""The wires of every story; `test_every_wire.py` walks the others."""
CONFIG = 'edit_tool = "edit"\n[limits]\nbackoff = 0.01\n'
"""Every model gets `edit`, so that one script serves all wires; `apply_patch` has its own tests."""


MEASURED = """
import re, sys
from holdfast.ui.main import main
code = main()
print(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)  # its own, not its parent's
sys.exit(code)
"""
"""The product, which says on the last line of standard error how many KB of memory it had at most."""


FACTS = "[Note from holdfast: where you work."
"""How the facts of a session begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A process that ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return standard output as the JSON lines it must be; a line that was cut short is no line."""
        return [json.loads(line) for line in self.out.splitlines(keepends=True) if line.endswith("\n")]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of one type."""
        return [line for line in self.lines if line["type"] == kind]


class Agent:
    """A process that was started; its output goes to files, so that no pipe fills up."""

    def __init__(self, process: Process, out: Path, err: Path) -> None:
        self._process = process
        self._out = out
        self._err = err
        self.pid = process.pid

    @property
    def so_far(self) -> Ran:
        """Return what was printed until now."""
        return Ran(code=0, out=self._out.read_text(), err=self._err.read_text())

    @property
    def size(self) -> int:
        """Return how many bytes it has printed until now."""
        return self._out.stat().st_size

    @property
    def ended(self) -> bool:
        """Return whether it has ended."""
        try:
            self._process.wait(0.001)
        except (TimeoutError, subprocess.TimeoutExpired):
            return False
        return True

    def send(self, number: signal.Signals) -> None:
        """Signal the agent, and no other process."""
        os.kill(self.pid, number)

    def kill(self) -> Ran:
        """Kill the agent without warning, unless it has ended, and return what it had printed."""
        with contextlib.suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        return self.wait()

    def wait(self, seconds: float = HANGS) -> Ran:
        """Return how it ended, which it must."""
        code = self._process.wait(seconds)
        return Ran(code=code, out=self._out.read_text(), err=self._err.read_text())


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a request, the same for every wire; a result has the name of its tool."""

    role: str
    kind: str
    text: str
    name: str = ""


class World:
    """A folder to work in, a home for sessions, and a provider that speaks one wire first."""

    def __init__(self, wire: WireName, *, root: Path, provider: ScriptedProvider) -> None:
        self.wire: WireName = wire
        self.model = MODELS[wire]
        self.provider = provider
        self.home = root / "home"
        self.folder = root / "work"
        self.one_past = True  # False for a test that makes two of one session, or damages it
        self._root = root
        self._agents: list[Agent] = []
        self.home.mkdir()
        self.folder.mkdir()
        (self.home / "config.toml").write_text(CONFIG)

    def script(self, *steps: ScriptStep) -> None:
        """Add replies."""
        self.provider.extend(*steps)

    def environ(self, **more: str) -> dict[str, str]:
        """Return the environment of an agent: no variable of the test run gets in by accident."""
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
        return {**inherited, "HOLDFAST_HOME": str(self.home), **self.provider.environ(), **more}

    def start(
        self,
        *arguments: str,
        stdin: bytes = b"",
        program: str = PRODUCT,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdout: int | None = None,
        stdin_from: Path | None = None,
        cold: bool = False,
    ) -> Agent:
        """Start an agent; `stdout` is a descriptor to use in place of a file."""
        name = self._root / f"agent-{len(self._agents)}"
        stdin_file, out, err = name.with_suffix(".in"), name.with_suffix(".out"), name.with_suffix(".err")
        stdin_file.write_bytes(stdin)
        with (stdin_from or stdin_file).open("rb") as a, out.open("wb") as b, err.open("wb") as c:
            process = launcher().start(
                program,
                arguments,
                cwd=cwd or self.folder,
                environ=self.environ() if environ is None else environ,
                files=(a.fileno(), b.fileno() if stdout is None else stdout, c.fileno()),
                cold=cold,
            )
        agent = Agent(process, out, err)
        self._agents.append(agent)
        return agent

    def run(self, *arguments: str, **how: Any) -> Ran:
        """Start an agent and return how it ended."""
        return self.start(*arguments, **how).wait()

    def ask(self, prompt: str, *arguments: str, **how: Any) -> Ran:
        """Run the first turn of a session; calls need no approval."""
        return self.run("-m", self.model, "--yolo", "-p", prompt, *arguments, **how)

    def go_on(self, *arguments: str, **how: Any) -> Ran:
        """Run one more turn; it must give an answer."""
        ran = self.run("-c", "-p", "go on", "--yolo", *arguments, **how)
        assert ran.code == 0, ran.err
        return ran

    # --- what is on the disk ------------------------------------------------------------------------------------

    @property
    def session(self) -> Path:
        """Return the folder of the only session."""
        (folder,) = self.sessions
        return folder

    @property
    def sessions(self) -> list[Path]:
        """Return the folder of every session."""
        return sorted(path.parent for path in (self.home / "sessions").glob("*/session.db"))

    def entries(self, session: Path | None = None) -> list[Entry]:
        """Return a journal as anyone may read it."""
        return [record.entry for record in read_copy(session or self.session).records]

    def checkpointed(self) -> str:
        """Return the streamed text that a crash would leave."""
        return "".join(entry.text for entry in self.entries() if isinstance(entry, ResponseCheckpoint))

    def printed(self) -> str:
        """Return what commands have printed, as it is kept."""
        return "".join(path.read_text() for path in sorted((self.session / "spool").iterdir()))

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file of the folder, none if it is not there."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    # --- what was sent ------------------------------------------------------------------------------------------

    @property
    def last(self) -> list[Block]:
        """Return the blocks of the last request, without the facts of the session, which open the first message."""
        found = blocks(self.provider.requests[-1])
        places = [at for at, block in enumerate(found) if block.text.startswith(FACTS)]
        assert places in ([], [0]), f"the facts of the session stand at {places}, not once at the beginning"
        return found[len(places) :]

    @property
    def results(self) -> list[str]:
        """Return every result in the last request, in order."""
        return [block.text for block in self.last if block.kind == "result"]

    @property
    def user_texts(self) -> list[str]:
        """Return every text of the user's side in the last request, in order."""
        return [block.text for block in self.last if block.kind == "text" and block.role == "user"]

    def verify(self) -> None:
        """Hold every request to the rules: accepted, judged, one system prompt, the past unchanged."""
        assert self.provider.refusals == ()
        assert self.provider.complaints == ()
        journalled = {e.system for s in self.sessions for e in self.entries(s) if isinstance(e, SessionOpened)}
        groups: dict[tuple[str, ...], list[CapturedRequest]] = {}
        for request in self.provider.requests:
            judge(request.wire, request.raw)
            (system,) = systems(request)
            assert system in journalled or not self.one_past
            assert request.body is not None
            opening = next((block.text for block in blocks(request)[:1]), "")  # the facts: of one session
            model = str(request.body.get("model", request.path))
            groups.setdefault((request.wire, model, system, opening), []).append(request)
        if self.one_past:
            for requests in groups.values():
                for earlier, later in pairwise(requests):
                    assert_grown(earlier, later)

    def close(self) -> None:
        """Kill what a test left running."""
        for agent in self._agents:
            try:
                agent.wait(0.01)
            except (TimeoutError, subprocess.TimeoutExpired):
                agent.kill()


def systems(request: CapturedRequest) -> list[str]:
    """Return every system prompt of a request."""
    body: Any = request.body
    if request.wire == "anthropic":
        return [_text(body["system"])] if "system" in body else []
    if request.wire == "gemini":
        return [_text(body["systemInstruction"]["parts"])] if "systemInstruction" in body else []
    sent: list[Any] = body["input" if request.wire == "openai-responses" else "messages"]
    return [_text(message["content"]) for message in sent if message.get("role") in ("system", "developer")]


def messages(request: CapturedRequest) -> list[Any]:
    """Return the messages of a request without the system prompt, and without cache markers: those move along."""
    body: Any = json.loads(request.raw, object_hook=_unmarked)
    sent: list[Any] = next(body[key] for key in ("messages", "input", "contents") if key in body)
    return [message for message in sent if message.get("role") not in ("system", "developer")]


def _unmarked(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "cache_control"}


def assert_grown(earlier: CapturedRequest, later: CapturedRequest) -> None:
    """Fail unless the later request is the earlier one with more at its end; its last message may gain blocks."""
    before, after = messages(earlier)[:-1], messages(later)
    for place, message in enumerate(before):
        assert after[place] == message, f"Message {place} was {message}, and is {after[place]}."
    for earlier_block, later_block in zip(blocks(earlier), blocks(later), strict=False):
        assert earlier_block == later_block, f"{earlier_block} was sent, and became {later_block}."


def blocks(request: CapturedRequest) -> list[Block]:
    """Return the pieces of a request in order, however its wire cuts them."""
    names: dict[str, str] = {}
    found: list[Block] = []
    for message in messages(request):
        role = str(message.get("role", "assistant")).replace("model", "assistant")
        found.extend(_part(role, part) for part in message.get("parts", ()))
        match message.get("type"):
            case "reasoning":
                found.append(Block(role, "thinking", _text(message["summary"])))
            case "function_call":
                names[message["call_id"]] = message["name"]
                found.append(Block(role, "call", message["arguments"], message["name"]))
            case "function_call_output":
                found.append(Block("user", "result", _text(message["output"]), names[message["call_id"]]))
            case _:
                pass
        if role == "tool":
            found.append(Block("user", "result", _text(message["content"]), names[message["tool_call_id"]]))
            continue
        if thoughts := message.get("reasoning_content"):
            found.append(Block(role, "thinking", thoughts))
        content: Any = message.get("content") or ()
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match part["type"]:
                case "tool_use":
                    names[part["id"]] = part["name"]
                    found.append(Block(role, "call", json.dumps(part["input"]), part["name"]))
                case "tool_result":
                    found.append(Block(role, "result", _text(part["content"]), names[part["tool_use_id"]]))
                case "thinking":
                    found.append(Block(role, "thinking", part["thinking"]))
                case "image" | "image_url":
                    found.append(Block(role, "image", json.dumps(part)))
                case _:
                    found.append(Block(role, "text", part["text"]))
        calls: Any = message.get("tool_calls") or ()
        for call in calls:
            names[call["id"]] = call["function"]["name"]
            found.append(Block(role, "call", call["function"]["arguments"], call["function"]["name"]))
    return found


def _part(role: str, part: dict[str, Any]) -> Block:
    """Return a part of Gemini's."""
    match part:
        case {"functionCall": call}:
            return Block(role, "call", json.dumps(call["args"]), call["name"])
        case {"functionResponse": result}:
            return Block(role, "result", str(next(iter(result["response"].values()))), result["name"])
        case {"inlineData": _}:
            return Block(role, "image", json.dumps(part))
        case _:
            return Block(role, "thinking" if part.get("thought") else "text", part["text"])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def bash(command: str) -> Call:
    """Return a call that runs a command."""
    return Call("bash", {"command": command})


def alive(pids: list[str]) -> list[int]:
    """Return which of the processes are there, zombies apart."""
    found: list[int] = []
    for pid in map(int, pids):
        ran = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if ran.stdout.strip() and not ran.stdout.strip().startswith("Z"):
            found.append(pid)
    return found


def gone_within(seconds: float, pids: list[str]) -> None:
    """Fail unless every process is gone by then."""
    eventually(lambda: not alive(pids), seconds)
