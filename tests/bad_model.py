"""A Chat Completions server that plays a model with bad habits: the last word of the prompt names the habit.

What it says depends on how many results followed the newest message of the user, so each habit is a function of that.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

Delta = dict[str, Any]
Said = tuple[list[Delta], str]
"""The deltas of an answer, and its finish reason."""

READ: dict[str, object] = {"path": "README.md"}
CHANT = "I will now read the file README.md to see its title. "
WRITTEN = '{"name": "read", "arguments": {"path": "README.md"}}'


def say(text: str, finish: str = "stop", times: int = 1) -> Said:
    return [{"content": text}] * times, finish


def call(name: str, arguments: dict[str, object] | str, *, index: int = 0) -> Delta:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"tool_calls": [{"index": index, "type": "function", "function": {"name": name, "arguments": raw}}]}


def calls(*made: Delta, finish: str = "tool_calls") -> Said:
    return list(made), finish


def once(said: Said) -> Callable[[int], Said]:
    """Return a habit that is given up after a result."""
    return lambda results: say("done") if results else said


def always(said: Said) -> Callable[[int], Said]:
    return lambda _: said


SEVERAL = calls(
    call("read", {**READ, "offset": "1", "limit": "20", "encoding": "utf8"}),
    call("edit", {"file": "README.md", "old_str": "Fruit", "new_str": "Frut"}, index=1),
    call("bash", {"command": ["ls", "-la"]}, index=2),
    call("todo", {"items": '[{"text": "a"}]'}, index=3),
)
INVENTED = calls(
    call("git", {"command": "git branch", "timeout": 120}),
    call("rename", {"old_name": "a", "new_name": "b"}, index=1),
    call("edit basket.py", {"old": "a"}, index=2),
    call("functions.read", READ, index=3),
    call("read_file", {"file_path": "README.md"}, index=4),
)

HABITS: MappingProxyType[str, Callable[[int], Said]] = MappingProxyType(
    {
        "samecall": always(calls(call("read", READ))),
        "samefail": always(calls(call("read", {"path": "nothing.md"}))),
        "sameerr": always(calls(call("edit", {**READ, "old": "zzz", "new": "y"}))),
        "pingpong": lambda results: calls(call("read", {"path": ("README.md", "basket.py")[results % 2]})),
        "empty": always(say("")),
        "emptyonce": lambda results: say("") if results else calls(call("read", READ)),
        "space": always(say(" \n")),
        "thinkonly": always(say("<think>I should read the file.</think>")),
        "thinkopen": always(say("<think>I should read the file and then I will")),
        "reasononly": always(([{"reasoning_content": "I should read the file."}], "stop")),
        "textcall": once(say(f"I will read it.\n<tool_call>\n{WRITTEN}\n</tool_call>")),
        "fencecall": always(say(f"```json\n{WRITTEN}\n```")),
        "xmlcall": always(say("<function=read>\n<parameter=path>\nREADME.md\n</parameter>\n</function>")),
        "badjson": lambda results: calls(call("read", '{"path": "README.md"')) if results < 3 else say("done"),
        "badjsonforever": always(calls(call("read", "{path: README.md}"))),
        "argstring": once(calls(call("bash", '"ls"'))),
        "noargs": once(calls(call("read", ""))),
        "unknown": once(calls(call("list_files", {"dir": "."}))),
        "unknownforever": always(calls(call("frobnicate", {"dir": "."}))),
        "wrongtypes": once(SEVERAL),
        "lenstop": always(
            calls({"content": "I begin"}, call("write", '{"path": "x.txt", "content": "aaaa'), finish="length")
        ),
        "lenempty": always(([{"reasoning_content": "hm " * 50}], "length")),
        "callsnone": always(say("I call now", "tool_calls")),
        "callstop": once(calls(call("read", READ), finish="stop")),
        "chant": always(say(CHANT, times=4_000)),
        "chantcalls": always(calls(*(call("read", READ, index=index) for index in range(300)))),
        "gitcall": once(INVENTED),
        "announce": always(say("I will now read README.md and fix the bug:")),
        "userecho": always(say("Sure.\n<|im_end|>\n<|im_start|>user\nthanks<|im_end|>")),
    }
)
"""The habits by name."""


class BadModel:
    """The server's address and how many requests it got."""

    def __init__(self) -> None:
        self.requests = 0
        self.left: list[OSError] = []
        self.address = ""

    def answer(self, body: dict[str, Any]) -> Iterator[bytes]:
        """Yield the events of the answer to a request."""
        self.requests += 1
        messages = body["messages"]
        newest = max(at for at, message in enumerate(messages) if message["role"] == "user")
        content = messages[newest]["content"]
        prompt = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
        results = [message for message in messages[newest:] if message["role"] == "tool"]
        deltas, finish = HABITS[prompt.split()[-1]](len(results))
        yield _event({"role": "assistant"}, None)
        for number, delta in enumerate(deltas):
            for each in delta.get("tool_calls", ()):
                each["id"] = f"call_{self.requests}_{number}"
            yield _event(delta, None)
        yield _event({}, finish)
        yield b"data: [DONE]\n\n"


def _event(delta: Delta, finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "bad", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


@contextmanager
def bad_model() -> Generator[BadModel]:
    """Serve it."""
    model = BadModel()

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base's
            del format, args

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.close_connection = True
            if not self.path.endswith("/chat/completions"):  # what your own servers are asked about their models
                self.send_error(404)
                return
            try:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for event in model.answer(body):
                    self.wfile.write(event)
            except OSError as error:  # the client has cut the answer off
                model.left.append(error)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    model.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
