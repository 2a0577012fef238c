"""The values of a place that came from outside: closed lists of what they may be, before they reach git or a container.

A client that may begin a session writes its `place`. Its values become folders to work in and arguments of programs. So
each is checked against a list of harmless forms: first where it arrives, and again by the worker, which reads it from
the record and need not trust that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from holdfast.errors import StateError, UsageError
from holdfast.typed_data import convert_value

LONGEST_VALUE = 4096
TRANSPORTS = ("https", "http", "ssh", "file")
"""How git may reach a repository. Others, such as `ext`, run a program that the address names."""

LONGEST_BRANCH = 250
_BRANCH = re.compile(r"[\w][\w.+#@/-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SCP = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>[^@/:\[\]]+|\[[^\]]+\]):(?P<path>[^:].*)")
_IMAGE = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._/-]*(?::[A-Za-z0-9_][A-Za-z0-9._-]*)?(?:@sha256:[0-9a-f]{64})?"
)
_IMAGE_SOURCES = frozenset(
    {"containers-storage", "dir", "docker", "docker-archive", "docker-daemon", "oci", "oci-archive", "ostree", "sif"}
)
"""Words that podman reads, before a colon, as the kind of a source and not as an image."""


class RequestedPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `place` of a new session, as its caller may write it."""

    kind: Literal["folder", "worktree"] = "folder"
    cwd: str = ""
    host: str = ""
    repo: str = ""
    base: str = ""
    ignored: bool = False
    around: Literal["", "sandbox", "container"] = ""
    image: str = ""
    network: bool = False


def checked_place(values: Mapping[str, object]) -> dict[str, object]:
    """Return the place of a new session; raises `UsageError` if a value of it is not in the lists."""
    try:
        place = convert_value(dict(values), RequestedPlace)
    except msgspec.ValidationError as error:
        raise UsageError(f"Place is invalid: {error}. Correct it.") from error
    for name in ("cwd", "host", "repo", "base", "image"):
        if not is_plain_value(str(values.get(name, ""))):
            raise UsageError(
                f"Place is invalid: {name} is too long or has control characters (expected at most {LONGEST_VALUE}). "
                "Correct it."
            )
    try:
        if place.repo:
            checked_repository(place.repo)
        if place.base:
            checked_branch(place.base)
        if place.image:
            checked_image(place.image)
    except StateError as error:
        raise UsageError(str(error)) from error
    return dict(values)


def is_plain_value(text: str) -> bool:
    """Return whether the text is of a bounded length and has no control characters."""
    return len(text) <= LONGEST_VALUE and not re.search(r"[\0-\x1f\x7f]", text)


def checked_branch(text: str) -> str:
    """Return the name of a branch, a tag or a commit; raises `StateError` if it could be anything else for git."""
    if len(text) > LONGEST_BRANCH or not _BRANCH.fullmatch(text) or ".." in text or "//" in text:
        raise StateError(
            f"Base {text[:LONGEST_BRANCH]!r} is not valid (expected the name of a branch, tag or commit: letters, "
            "digits and . _ / + # @ -, the first a letter or digit). Name another base."
        )
    return text


def checked_commit(text: str) -> str:
    """Return the ID of a commit; raises `StateError` for anything else."""
    if not _COMMIT.fullmatch(text):
        raise StateError(
            f"Saved commit {text[:80]!r} is not a commit's ID (expected 40 or 64 hex digits). Correct the row."
        )
    return text


def checked_image(text: str) -> str:
    """Return the name of an image; raises `StateError` if it could be an option or another kind of source."""
    if not is_plain_value(text) or not _IMAGE.fullmatch(text) or text.partition(":")[0] in _IMAGE_SOURCES:
        raise StateError(
            f"Image {text[:LONGEST_VALUE]!r} is not valid (expected [HOST/]NAME[:TAG]). Name another image."
        )
    return text


def checked_repository(text: str) -> Path | None:
    """Return the path of a local repository, None for one on a host; raises `StateError` for any other address."""
    if not is_plain_value(text):
        raise _refused(text, "it is too long or has control characters")
    if text.startswith("/"):
        return Path(text)
    if "://" in text:
        return _of_url(text)
    parts = _SCP.fullmatch(text)
    if parts is None or not _is_host(parts["host"]) or (parts["user"] and not _USER.fullmatch(parts["user"])):
        raise _refused(text, "it is neither an address nor an absolute path")
    if parts["path"].startswith("-"):
        raise _refused(text, "its path begins with a hyphen")
    return None


def _of_url(text: str) -> Path | None:
    try:
        parts = urlsplit(text)
        host, user, _ = parts.hostname or "", parts.username or "", parts.port
    except ValueError as error:
        raise _refused(text, str(error)) from error
    if parts.scheme not in TRANSPORTS:
        raise _refused(text, f"{parts.scheme}:// is not used here")
    if parts.scheme == "file":
        if parts.netloc or not parts.path.startswith("/") or parts.query or parts.fragment:
            raise _refused(text, "a file:// address needs an absolute path and nothing else")
        return Path(unquote(parts.path))
    if not _is_host(f"[{host}]" if ":" in host else host) or (
        parts.scheme == "ssh" and user and not _USER.fullmatch(user)
    ):
        raise _refused(text, "its host or user is not valid")
    return None


def folder_below(folder: Path, roots: Sequence[Path], what: str) -> Path:
    """Return the existing folder as the kernel resolves it; raises `StateError` unless it is in one of `roots`."""
    try:
        found = folder.resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StateError(f"{what} {str(folder)!r} cannot be used: {why}. Name an existing one.") from error
    if not any(found.is_relative_to(root) for root in roots):
        served = ", ".join(map(str, roots)) or "none"
        raise StateError(
            f"{what} {str(found)!r} is not served by this worker (expected below: {served}). "
            "Start `holdfast worker` with --root."
        )
    return found


def _is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def _refused(text: str, why: str) -> StateError:
    return StateError(
        f"Repository {text[:LONGEST_VALUE]!r} is refused: {why} (expected an address with "
        f"{', '.join(each + '://' for each in TRANSPORTS)}, USER@HOST:PATH, or an absolute path). Name another one."
    )
