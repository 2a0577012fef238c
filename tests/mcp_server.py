"""MCP servers for tests, each a separate program: `python mcp_server.py KIND [MARKER]`.

Written by hand for the era of the handshake, so that they start fast and misbehave exactly. `sdk` and `http PORT` are
servers of the official SDK.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Send = Callable[[dict[str, Any]], None]
_LOCK = threading.Lock()

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Does {name}.",
        "inputSchema": {"$schema": "x", "type": "object", "properties": properties},
    }


def tools(kind: str, marker: Path) -> list[dict[str, Any]]:
    if kind == "many":
        named = [tool(f"tool{number:03}", what={"type": "string"}) for number in range(300)]
        return named if time.time_ns() % 2 else named[::-1]
    if kind == "stepping":
        return [tool("steps")]
    if kind == "changing":
        with marker.open("a") as file:
            file.write("listed\n")
        return [tool("echo")] if len(marker.read_text().split()) == 1 else [tool("other")]
    if kind in ("hinted", "unhinted"):  # the second withdraws the hint after its first list
        first = not marker.exists()
        marker.touch()
        hints = {"annotations": {"readOnlyHint": kind == "hinted" or first}}
        return [tool("echo") | hints, tool("slow") | hints, tool("fail")]
    if kind in ("asking", "modern"):
        return [tool("book", **{"class": {"type": "string"}}), tool("open"), tool("sample"), tool("loop"), tool("late")]
    names = ("echo", "slow", "die", "fail", "refuse", "picture", "structured", "big", "environment")
    return [tool(name, text={"type": "string"}) for name in names]


def answer(kind: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911 - one for each tool
    match name:
        case "echo" | "other" | "tool007":
            return text(f"echo {arguments.get('text', '')}")
        case "fail":
            return {**text("it failed"), "isError": True}
        case "picture":
            return {"content": [{"type": "image", "data": IMAGE, "mimeType": "image/png"}]}
        case "structured":
            return {"content": [], "structuredContent": {"a": 1}}
        case "big":
            return text("x" * 10_000_000)
        case "environment":
            return text(" ".join(sorted(os.environ)) + " " + os.environ.get("SECRET", ""))
        case _:
            return text(f"{kind} {name}")


def print_line(what: str) -> None:
    sys.stdout.write(what + "\n")
    sys.stdout.flush()


def text(what: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": what}]}


def serve(kind: str, marker: Path) -> None:
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        marker.write_text(f"{os.getpid()} {child.pid}\n")
    if kind == "banners":
        print_line("Welcome to the banner server!\n\n  version 1")
    if kind == "noisy":
        for number in range(1000):
            print_line(f"line {number}")
    if kind == "mute":
        time.sleep(600)
    if kind == "broken":
        sys.stderr.write("no such database\n")
        sys.exit(4)

    def send(message: dict[str, Any]) -> None:
        with _LOCK:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    for line in sys.stdin:
        if kind == "banners":
            print_line("debug: got a line")
        one(kind, json.loads(line), send, marker)
    while kind == "stubborn":
        time.sleep(600)


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "seat": {"type": "string", "enum": ["aisle", "window"]},
        "age": {"type": "integer", "minimum": 18},
    },
    "required": ["name", "seat"],
}
PROMPTS: list[dict[str, Any]] = [
    {
        "name": "greet",
        "description": "Greets somebody.\nAt length.",
        "arguments": [{"name": "who", "required": True}, {"name": "how"}],
    },
    {"name": "wait"},
]


def prompt_result(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    content = f"{name} {json.dumps(arguments, sort_keys=True)} @/etc/passwd.png"
    return {"messages": [{"role": "user", "content": {"type": "text", "text": content}}]}


WAITING: dict[str, Any] = {}
"""The calls of an asking server that wait for an answer, by the id of its question."""


def question(name: str) -> dict[str, Any]:
    if name == "open":
        page = {"mode": "url", "message": "Please pay.", "url": "https://pay.example.com/42", "elicitationId": "e1"}
        return {"method": "elicitation/create", "params": page}
    if name == "sample":
        return {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Who travels?", "requestedSchema": FORM},
    }


def note(marker: Path, what: str) -> None:
    with marker.with_suffix(".calls").open("a") as file:
        file.write(what + "\n")


def modern(message: dict[str, Any], send: Send, marker: Path) -> None:
    """Answer as a server of the era without a handshake does."""
    request_id, method = message.get("id"), message.get("method")
    params: dict[str, Any] = message.get("params") or {}
    done = {"resultType": "complete"}
    match method:
        case "server/discover":
            meta = {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "1.0"}}
            offered: dict[str, Any] = {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "_meta": meta,
            }
            send({"id": request_id, "result": {**done, **offered, "ttlMs": 0, "cacheScope": "private"}})
        case "tools/list":
            send(
                {
                    "id": request_id,
                    "result": {**done, "tools": tools("modern", marker), "ttlMs": 0, "cacheScope": "private"},
                }
            )
        case "tools/call":
            name: str = params["name"]
            answers: dict[str, Any] | None = params.get("inputResponses")
            state = f"opaque {name} \u00e9 1"
            if answers is None or name == "loop":
                note(marker, f"asked {name}")
                requests = {"who": question(name)}
                send(
                    {
                        "id": request_id,
                        "result": {"resultType": "input_required", "requestState": state, "inputRequests": requests},
                    }
                )
                return
            if params.get("requestState") != state:
                send({"id": request_id, "error": {"code": -32602, "message": "unknown state"}})
                return
            note(marker, f"did {name}")
            send({"id": request_id, "result": {**done, **text(json.dumps(answers["who"], sort_keys=True))}})
        case _ if request_id is not None:
            send({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
        case _:
            pass


def call(kind: str, request_id: Any, params: dict[str, Any], send: Send, marker: Path) -> None:
    """Do what a tool does."""
    name: str = params["name"]
    arguments: dict[str, Any] = params.get("arguments") or {}
    note(marker, name)
    if name == "die":
        sys.stderr.write("about to die\n")
        sys.stderr.flush()
        os._exit(3)
    if kind == "asking" and name == "late":
        late = {"id": request_id, "result": text("late")}
        threading.Timer(float(arguments.get("text", "1")), lambda: send(late)).start()
    elif kind == "asking":
        WAITING[f"q{request_id}"] = request_id
        send({"id": f"q{request_id}", **question(name)})
    elif name == "refuse":
        send({"id": request_id, "error": {"code": -32602, "message": "bad arguments"}})
    elif name == "steps":
        token = params["_meta"]["progressToken"]
        threading.Thread(target=steps, args=(send, request_id, token, marker), daemon=True).start()
    elif name != "slow":
        send({"id": request_id, "result": answer(kind, name, arguments)})


def one(kind: str, message: dict[str, Any], send: Send, marker: Path) -> None:
    if kind == "modern":
        return modern(message, send, marker)
    if kind == "asking" and (waits := WAITING.pop(str(message.get("id")), None)) is not None:
        note(marker, f"answered {json.dumps(message.get('result', message.get('error')), sort_keys=True)}")
        return send(
            {"id": waits, "result": text(json.dumps(message.get("result", message.get("error")), sort_keys=True))}
        )
    request_id, method = message.get("id"), message.get("method")
    params: dict[str, Any] = message.get("params") or {}
    match method:
        case "initialize":
            info = {"name": kind, "version": "1.0"}
            era = params["protocolVersion"]
            offers: dict[str, Any] = {"tools": {}, **({"prompts": {}} if kind == "prompting" else {})}
            send({"id": request_id, "result": {"protocolVersion": era, "capabilities": offers, "serverInfo": info}})
        case "prompts/list" if kind == "prompting":
            send({"id": request_id, "result": {"prompts": PROMPTS}})
        case "prompts/get" if kind == "prompting":
            note(marker, f"wrote {params['name']}")
            if params["name"] != "wait":
                send({"id": request_id, "result": prompt_result(params["name"], params.get("arguments") or {})})
        case "tools/list":
            send({"id": request_id, "result": {"tools": tools(kind, marker)}})
        case "tools/call":
            call(kind, request_id, params, send, marker)
        case "notifications/cancelled":
            note(marker, "cancelled")
        case _ if request_id is not None:
            send({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
        case _:
            pass
    return None


def steps(send: Send, request_id: Any, token: Any, marker: Path) -> None:
    """Report progress for each file that appears beside the marker, and answer once there is one named `end`."""
    steps_reported = 0
    while not marker.with_suffix(".end").exists():
        if marker.with_suffix(f".{steps_reported}").exists():
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": steps_reported}})
            steps_reported += 1
        time.sleep(0.01)
    send({"id": request_id, "result": text(f"{steps_reported} steps")})


def official(port: int | None) -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("official", version="2.0")

    def echo(text: str) -> str:
        return f"official {text}"

    server.tool()(echo)
    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", port=port)


if __name__ == "__main__":
    if sys.argv[1] in ("sdk", "http"):
        official(int(sys.argv[2]) if sys.argv[1] == "http" else None)
    else:
        serve(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else os.devnull))
