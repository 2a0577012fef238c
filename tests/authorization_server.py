"""An authorization server and the MCP server behind it, on one socket: registration, PKCE, tokens that rotate, 401."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class Authorization:
    """What the server has issued. `log` has what it was asked, in order."""

    def __init__(self) -> None:
        self.url = ""
        self.log: list[str] = []
        self.clients: dict[str, list[str]] = {}
        self.codes: dict[str, tuple[str, str]] = {}  # code: challenge, redirect
        self.access: set[str] = set()
        self.refresh: set[str] = set()
        self.expires_in = 3600
        self.refuses = False
        self.revokes = False
        """Whether each call revokes the token that it came with."""
        self._lock = threading.Lock()

    def issue(self) -> dict[str, Any]:
        """Return new tokens; all earlier refresh tokens are void."""
        with self._lock:
            number = sum(each.startswith("token ") for each in self.log)
            self.refresh = {f"refresh-{number}"}
            self.access = {f"access-{number}"}
        tokens = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", "token_type": "Bearer"}
        return {**tokens, "expires_in": self.expires_in, "scope": "tools"}


class _Requests(BaseHTTPRequestHandler):
    state: Authorization
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base has it
        del format, args

    def do_GET(self) -> None:
        state, parts = self.state, urlsplit(self.path)
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            self._json({"resource": f"{state.url}/mcp", "authorization_servers": [state.url]})
        elif parts.path.startswith("/.well-known/oauth-authorization-server"):
            self._json(
                {
                    "issuer": state.url,
                    "authorization_endpoint": f"{state.url}/authorize",
                    "token_endpoint": f"{state.url}/oauth/token",
                    "registration_endpoint": f"{state.url}/oauth/register",
                    "code_challenge_methods_supported": ["S256"],
                    "response_types_supported": ["code"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "scopes_supported": ["tools"],
                }
            )
        elif parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            assert query["redirect_uri"] in state.clients[query["client_id"]]
            assert query["code_challenge_method"] == "S256"
            state.log.append("authorize")
            code = f"code-{len(state.codes)}"
            state.codes[code] = query["code_challenge"], query["redirect_uri"]
            answer = {"error": "access_denied"} if state.refuses else {"code": code}
            self.send_response(302)
            self.send_header("Location", f"{query['redirect_uri']}?{urlencode({**answer, 'state': query['state']})}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._json({"error": "not here"}, 405 if parts.path == "/mcp" else 404)

    def do_POST(self) -> None:
        state = self.state
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/oauth/register":
            registration = json.loads(raw)
            client = f"client-{len(state.clients)}"
            state.clients[client] = registration["redirect_uris"]
            state.log.append("register")
            self._json({**registration, "client_id": client}, 201)
        elif self.path == "/oauth/token":
            self._token({name: values[0] for name, values in parse_qs(raw.decode()).items()})
        elif self.path == "/mcp":
            self._speak(json.loads(raw))
        else:
            self._json({"error": "not here"}, 404)

    def _token(self, form: dict[str, str]) -> None:
        state = self.state
        if form["grant_type"] == "authorization_code":
            challenge, redirect = state.codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            right = base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
            right = right and redirect == form["redirect_uri"]
        else:
            right = form["refresh_token"] in state.refresh
        state.log.append(f"token {form['grant_type']}{'' if right else ' refused'}")
        self._json(state.issue() if right else {"error": "invalid_grant"}, 200 if right else 400)

    def _speak(self, message: dict[str, Any]) -> None:
        state, request_id = self.state, message.get("id")
        if self.headers.get("Authorization", "").removeprefix("Bearer ") not in state.access:
            state.log.append("401")
            found = f'Bearer resource_metadata="{state.url}/.well-known/oauth-protected-resource/mcp"'
            self._json({"error": "invalid_token"}, 401, {"WWW-Authenticate": found})
            return
        match message["method"]:
            case "initialize":
                era = message["params"]["protocolVersion"]
                info = {"name": "guarded", "version": "1.0"}
                result: Any = {"protocolVersion": era, "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [{"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                state.log.append("call")
                state.access = set[str]() if state.revokes else state.access
                result = {"content": [{"type": "text", "text": "echoed"}]}
            case _ if request_id is None:
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            case _:
                self._json(
                    {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Method not found"}}
                )
                return
        self._json({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def authorization_server() -> Generator[Authorization]:
    """Serve on a port of this machine."""
    state = Authorization()
    requests = type("Requests", (_Requests,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), requests)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
