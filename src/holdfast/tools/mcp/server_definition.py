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
    """A server that the config file `source` has. Times are in seconds.

    The texts may contain `${NAME}` and `${NAME:-DEFAULT}` for environment variables, unless they are `verbatim`.
    """

    name: str
    source: str = ""
    verbatim: bool = False

    @property
    def digest(self) -> str:
        """Return the SHA-256 of what is started or asked, in hex: servers with the same have the same tools."""
        what = (self.command, self.args, self.env, self.cwd, self.url, self.headers)
        return hashlib.sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()

    @property
    def host(self) -> str:
        """Return the host of the URL, "" for a command."""
        try:
            return urlsplit(self.url).hostname or ""
        except ValueError:
            return ""

    @property
    def shown(self) -> str:
        """Return the command line or the URL, for people. Credentials in the URL are left out."""
        if not self.url:
            return shlex.join((self.command, *self.args))
        before, _, rest = self.url.rpartition("@")
        scheme = before.partition("://")[0]
        return f"{scheme}://{rest}" if before else self.url

    def expanded(self, environ: Mapping[str, str]) -> McpServer:
        """Return it with the values of its environment variables; raises `ToolFailed` if one is not set."""
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

        def whole(text: str) -> str:
            return _VARIABLE.sub(value, text)

        made = msgspec.structs.replace(
            self,
            command=whole(self.command),
            args=tuple(whole(each) for each in self.args),
            env={name: whole(text) for name, text in self.env.items()},
            cwd=whole(self.cwd),
            url=whole(self.url),
            headers={name: whole(text) for name, text in self.headers.items()},
        )
        if missing:
            raise ToolFailed(
                f"MCP server {self.name!r} cannot be used: variable {missing[0]} in its configuration is not set. "
                "Set it in the environment of holdfast. Nothing was sent."
            )
        return made
