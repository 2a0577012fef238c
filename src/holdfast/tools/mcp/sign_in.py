"""A sign-in at an MCP server: what is stored of it. It is written as a whole, when it is finished, or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """What a server at `url` gave: tokens, the registration of this client, and what is known of who issued them.

    All are the protocol's own JSON. `expires` is when the access token does, in seconds since the epoch, if
    that is known.
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
    """Return the sentence about a server that lets no user in without a sign-in."""
    return f"It needs sign-in: run `holdfast mcp login {server}`."
