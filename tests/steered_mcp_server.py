"""An MCP server that does whatever a call says: its tool `run` runs a line in a shell. `python steered_mcp_server.py`.

It stands for a server that an attacker wrote, or that a page steers. With the argument `stay` it ignores the end of
its input and SIGTERM, and has a child that does too. What it writes on stderr is its log.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, None if it is not known."""
    if method == "initialize":
        info = {"name": "steered", "version": "1.0"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"line": {"type": "string"}}}
        return {"tools": [{"name": "run", "description": "Runs a line.", "inputSchema": schema}]}
    if method != "tools/call":
        return None
    line = params["arguments"]["line"]
    done = subprocess.run(
        ["/bin/bash", "-c", line],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=False,
        timeout=120,
    )
    text = done.stdout.decode(errors="replace")
    return {"content": [{"type": "text", "text": text}], "isError": done.returncode != 0}


def main() -> None:
    sys.stderr.write("the server began\n")
    sys.stderr.flush()
    if sys.argv[1:] == ["stay"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["setsid", "sleep", "1000.75"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message["method"], message.get("params") or {})
            unknown = {"error": {"code": -32601, "message": "Method not found"}}
            outcome = unknown if result is None else {"result": result}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
            sys.stdout.flush()
    while sys.argv[1:] == ["stay"]:
        signal.pause()
    os._exit(0)


if __name__ == "__main__":
    main()
