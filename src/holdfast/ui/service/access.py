"""Access rights: tokens with rights in a file that only its owner can read, and the cookie of the page.

A token is compared in constant time with every token in the file, so that the response time reveals nothing. The page's
cookie is derived from a token but is not a token: it names the caller and proves that the server created it. It cannot
be used as a bearer token, and it becomes invalid when its token is removed from the file. The server keeps no state, so
several servers can serve the same sessions.

Checks the host and the origin of a request. Pure.

They stop two attacks by another page that the user visits. DNS rebinding: the page's host name points to this machine,
so the browser sends the page's requests here; their `Host` is not this server's. Forged requests: the browser sends
them with this server's cookie; their `Origin` is not the host that they are for.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import re
import secrets
import stat
import threading
import tomllib
from collections.abc import Container, Generator
from hashlib import sha256
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from holdfast.errors import ConfigInvalid, StateError
from holdfast.system.bounded_files import STATE_FILE, open_unblocked, read_beginning
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.typed_data import convert_value

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names of this machine that are always served."""


def host_refusal(host: str, names: Container[str]) -> str:
    """Return why a request with this `Host` is refused, "" if it is allowed."""
    name = host_name(host)
    if name in names:
        return ""
    return f"Host {host!r} is not served here. Start holdfast serve with --host-name {name or 'NAME'} if it should be."


def origin_refusal(host: str, origin: str | None, site: str | None) -> str:
    """Return why a request with these `Host`, `Origin` and `Sec-Fetch-Site` is refused, "" if it is allowed."""
    if site in {"cross-site", "same-site"}:
        return "The request comes from another site. Only holdfast's own page may send it."
    if origin is None:
        return ""
    try:
        same_origin = urlsplit(origin).netloc.lower() == host.lower() and origin.lower().startswith(
            ("http://", "https://")
        )
    except ValueError:
        same_origin = False
    return "" if same_origin else f"Origin {origin!r} is not {host!r}. Only holdfast's own page may send this request."


def host_name(host: str) -> str:
    """Return the name in a `Host` header, in lower case and without a port; all of it if it is malformed."""
    found = _HOST.fullmatch(host.lower())
    return host.lower() if found is None else found[1]


# --- access ---

Right = Literal["read", "ask", "answer"]
"""`read`: see sessions. `ask`: begin sessions, send prompts, steer, stop. `answer`: approve calls, set the mode."""

RIGHTS: tuple[Right, ...] = ("read", "ask", "answer")
COOKIE = "holdfast"
_SHORTEST = 20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Caller(msgspec.Struct, frozen=True):
    """The sender of a request: the name of a token, and its rights."""

    name: str
    rights: frozenset[Right]


class _Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    token: str
    rights: frozenset[Right]


class _Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: dict[str, _Token]


class TokenFile:
    """The tokens in a file, which is read again when it changes: a token can be revoked without a restart."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raise `ConfigInvalid` if it is unsafe or unreadable."""
        self._path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._tokens: dict[str, _Token] = {}
        self._read()

    def bearer(self, token: str) -> Caller | None:
        """Return the caller with this token, None if there is none."""
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        found: Caller | None = None
        for name, each in self._now().items():
            if hmac.compare_digest(sha256(each.token.encode()).digest(), digest):
                found = Caller(name, each.rights)
        return found

    def cookie(self, value: str) -> Caller | None:
        """Return the caller of a cookie, None if the cookie is invalid or its token is no longer in the file."""
        name, _, proof = value.partition(".")
        found: Caller | None = None
        for token_name, each in self._now().items():
            matches = hmac.compare_digest(_proof(token_name, each.token).encode(), proof.encode("utf-8", "replace"))
            if matches and token_name == name:
                found = Caller(token_name, each.rights)
        return found

    def cookie_of(self, caller: Caller) -> str:
        """Return the value of a caller's cookie."""
        return f"{caller.name}.{_proof(caller.name, self._now()[caller.name].token)}"

    def _now(self) -> dict[str, _Token]:
        with self._lock:
            try:
                self._read()
            except ConfigInvalid:
                self._tokens = {}  # an unsafe or broken file admits no caller
                self._stamp = None
            return self._tokens

    def _read(self) -> None:
        try:
            file = open_unblocked(self._path, os.O_NOFOLLOW)
        except OSError as error:
            raise ConfigInvalid(
                f"Token file {str(self._path)!r} cannot be read: {error.strerror}. Fix its path."
            ) from error
        with file:
            status = os.fstat(file.fileno())
            if stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.geteuid():
                raise ConfigInvalid(
                    f"Token file {str(self._path)!r} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}, "
                    "expected 0600 and your own). Run: chmod 600 on it, and replace its tokens."
                )
            stamp = status.st_mtime_ns, status.st_size
            if stamp == self._stamp:
                return
            data = read_beginning(file, STATE_FILE + 1)
        if len(data) > STATE_FILE:
            raise ConfigInvalid(f"Token file {str(self._path)!r} is larger than {STATE_FILE:,} bytes. Fix it.")
        self._tokens, self._stamp = self._parse(data), stamp

    def _parse(self, data: bytes) -> dict[str, _Token]:
        try:
            tokens = convert_value(tomllib.loads(data.decode()), _Tokens).tokens
        except (ValueError, RecursionError, msgspec.ValidationError) as error:  # no TOML, no text, or not to be read
            raise ConfigInvalid(f"Token file {str(self._path)!r} is invalid: {error}. Fix it.") from error
        for name, each in tokens.items():
            if not _NAME.fullmatch(name) or len(each.token) < _SHORTEST or not each.token.isascii():
                raise ConfigInvalid(
                    f"Token {name!r} in {str(self._path)!r} is invalid (expected a name of letters, digits, - and _, "
                    f"and at least {_SHORTEST} ASCII characters). Create one with: holdfast serve --new-token NAME."
                )
        return tokens


def _proof(name: str, token: str) -> str:
    return hmac.digest(token.encode(), f"holdfast page {name}".encode(), "sha256").hex()


def new_token(path: Path, name: str, rights: tuple[Right, ...]) -> str:
    """Add a token to the file, creating it if needed, and return the token. Raise `ConfigInvalid` for a used name."""
    if not _NAME.fullmatch(name):
        raise ConfigInvalid(f"Name {name!r} is invalid (expected letters, digits, - and _). Choose another one.")
    token = secrets.token_urlsafe(32)
    listed = ", ".join(f'"{each}"' for each in rights)
    added = f'[tokens.{name}]\ntoken = "{token}"\nrights = [{listed}]\n'
    try:
        make_folder(path.parent)
        with _only_writer(path.parent):
            before = _tokens_before(path, name)
            replace_file(path, f"{before.rstrip()}\n\n{added}".lstrip().encode())
    except OSError as error:
        raise StateError(f"Cannot write {str(path)!r}: {error.strerror}. Free some space.") from error
    return token


def _tokens_before(path: Path, name: str) -> str:
    """Return the text of the file, "" if there is none. Raise `ConfigInvalid` if it is unsafe or has the name."""
    if not path.exists():
        return ""
    TokenFile(path)  # raises if the file is unsafe or invalid
    before = path.read_text("utf-8")
    if name in tomllib.loads(before).get("tokens", {}):
        raise ConfigInvalid(f"Token {name!r} exists in {str(path)!r}. Choose another name, or delete it there.")
    return before


@contextlib.contextmanager
def _only_writer(folder: Path) -> Generator[None]:
    """Wait for other programs that add a token. The kernel ends the lock with the process."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
