"""An MCP server as it is configured: a command that speaks on its stdin and stdout, or a URL."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.mcp_server_fields import McpServerFields

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class McpServer(McpServerFields, frozen=True, kw_only=True):
    """A server from the config file `source`. Times are in seconds.

    The texts may contain `${NAME}` and `${NAME:-DEFAULT}` for environment variables, unless they are `verbatim`.
    """

    name: str
    source: str = ""
    verbatim: bool = False

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the definition in hex: servers with the same digest have the same tools."""
        definition = (self.command, self.args, self.env, self.cwd, self.url, self.headers)
        definition += ((self.network,),) if self.sandbox else ()
        return hashlib.sha256(msgspec.json.encode(definition, order="deterministic")).hexdigest()

    @property
    def host(self) -> str:
        """Return the host of the URL, "" for a command."""
        try:
            return urlsplit(self.url).hostname or ""
        except ValueError:
            return ""

    @property
    def confinement(self) -> str:
        """Return what its sandbox lets it do, for people, "" if it has none."""
        reach = f"reaching {', '.join(self.network)}" if self.network else "no network"
        return f"in the sandbox, {reach}" if self.sandbox else ""

    @property
    def shown(self) -> str:
        """Return the command line and its sandbox, or the URL without credentials, for people."""
        if not self.url:
            confined = f" ({self.confinement})" if self.sandbox else ""
            return f"{shlex.join((self.command, *self.args))}{confined}"
        before, _, rest = self.url.rpartition("@")
        scheme = before.partition("://")[0]
        return f"{scheme}://{rest}" if before else self.url

    def expanded(self, environ: Mapping[str, str]) -> McpServer:
        """Return the server with environment variables replaced; raises `ToolFailed` if one is not set."""
        if self.verbatim:
            return self
        missing: list[str] = []

        def value(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            if name in environ:
                return environ[name]
            if default is None:
                missing.append(name)
            return default or ""

        def substitute(text: str) -> str:
            return _VARIABLE.sub(value, text)

        server = msgspec.structs.replace(
            self,
            command=substitute(self.command),
            args=tuple(substitute(each) for each in self.args),
            env={name: substitute(text) for name, text in self.env.items()},
            cwd=substitute(self.cwd),
            url=substitute(self.url),
            headers={name: substitute(text) for name, text in self.headers.items()},
        )
        if missing:
            raise ToolFailed(
                f"MCP server {self.name!r} cannot be used: variable {missing[0]} in its configuration is not set. "
                "Set it in the environment of holdfast. Nothing was sent."
            )
        return server
