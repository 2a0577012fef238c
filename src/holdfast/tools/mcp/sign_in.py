"""A stored sign-in at an MCP server. It is written in one piece when it is complete, or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in at the server `url`: tokens, the registration of this client, and metadata of the issuer.

    All are JSON objects of the protocol. `expires` is when the access token expires, in seconds since the epoch, if
    known.
    """

    url: str
    tokens: dict[str, object]
    client: dict[str, object]
    expires: float | None = None
    issuer: dict[str, object] | None = None
    resource: dict[str, object] | None = None


class SignInStore(Protocol):
    """Where sign-ins are stored, by the URL of their server. All block, and raise `ConfigInvalid`, `StorageFailed`."""

    def read(self, url: str) -> SignIn | None:
        """Return the sign-in, None if there is none."""
        ...

    def write(self, sign_in: SignIn) -> None:
        """Store it, durably and in one piece."""
        ...

    def forget(self, url: str) -> bool:
        """Delete it. Return whether there was one."""
        ...

    def locked(self, url: str) -> AbstractContextManager[None]:
        """Keep other processes from renewing it until this ends; waits for them."""
        ...


def needs_sign_in(server: str) -> str:
    """Return the message for a server that requires a sign-in."""
    return f"It needs sign-in: run `holdfast mcp login {server}`."
