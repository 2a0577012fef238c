"""Entries that an earlier version wrote fold to the same bytes: `folds_before_names.jsonl` has both, and never changes.

Each line is a journal drawn from `journals.journals`, with the SHA-256 of the bodies that the version of
22 November 2026 (commit 86860c1) made of its first half and of the whole, for two protocols.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from holdfast.session.journal.entries import Entry, decode
from holdfast.session.request.exported_body import Body, anthropic, openai_chat, settled_conversation

pytestmark = pytest.mark.whole  # each is a session of a user, and cheap

LINES = Path(__file__).with_name("folds_before_names.jsonl").read_bytes().splitlines()
WRITERS: dict[str, Callable[[Sequence[Entry]], Body]] = {
    "openai-chat": lambda entries: openai_chat(settled_conversation(entries)),
    "anthropic": lambda entries: anthropic(settled_conversation(entries)),
}


class Old(msgspec.Struct, frozen=True):
    """A journal, and the digests of its bodies."""

    entries: tuple[msgspec.Raw, ...]
    chat: tuple[str, str] = msgspec.field(name="openai-chat")
    anthropic: tuple[str, str]


def digest(body: Body) -> str:
    """Return the digest of a body, without the tool that is declared since then where there were calls and no tools."""
    tools: Any = body.get("tools")
    if tools and tools[0].get("description", "").endswith("It is not available any more."):
        body = {**body, "tools": []}
    written = json.dumps(body, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


LATER = {"model-settings-changed", "mode-changed", "task-started", "task-ended", "task-told"} | {
    "call-waits",
    "hook-started",
    "hook-ended",
    "result-amended",
    "call-answered",
    "tools-changed",
    "requests-changed",
    "server-failed",
    "moved",
    "folder-gone",
    "snapshot-taken",
    "files-moved",
    "restore-started",
    "restore-ended",
}
"""The kinds that these journals are older than."""


@pytest.mark.parametrize("number", range(len(LINES)))
def test_it_folds_to_the_same_bytes(number: int) -> None:
    old = msgspec.json.decode(LINES[number], type=Old)
    entries = [decode(bytes(raw)) for raw in old.entries]
    for name, digests in (("openai-chat", old.chat), ("anthropic", old.anthropic)):
        write = WRITERS[name]
        assert (digest(write(entries[: len(entries) // 2])), digest(write(entries))) == digests


def test_every_kind_of_entry_is_among_them() -> None:
    kinds = {msgspec.json.decode(raw)["kind"] for line in LINES for raw in msgspec.json.decode(line, type=Old).entries}
    assert kinds >= {each.__struct_config__.tag for each in get_args(Entry)} - LATER
