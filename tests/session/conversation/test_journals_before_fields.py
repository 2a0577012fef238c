"""Journals of before the fields of questions, edits and compactions were renamed mean what they meant, to the byte.

`folds_before_fields.jsonl` never changes. Each line is a journal of the version of 28 November 2026, of agents with
questions, edits, failures, compactions and tasks, or one with every field there was. With it are the SHA-256 of the
bodies that version made of its first half and of the whole, for two protocols, and of what it then knew: the files,
what is allowed, the mode, the title, the open calls.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import ApprovalAnswered, Compacted, Entry, decode, encode
from holdfast.session.request.exported_body import Body, anthropic, openai_chat, settled_conversation

pytestmark = pytest.mark.whole  # each is a session of a user, and cheap

LINES = Path(__file__).with_name("folds_before_fields.jsonl").read_bytes().splitlines()


class Old(msgspec.Struct, frozen=True):
    """A journal, and the digests of what became of it."""

    name: str
    entries: tuple[msgspec.Raw, ...]
    chat: tuple[str, str] = msgspec.field(name="openai-chat")
    anthropic: tuple[str, str]
    state: tuple[str, str]


JOURNALS = [msgspec.json.decode(line, type=Old) for line in LINES]


def digest(value: Body | list[object]) -> str:
    written = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def state(entries: Sequence[Entry]) -> str:
    """Return the digest of what a session knows after these entries, besides its messages."""
    fold = Fold(())
    for entry in entries:
        fold.add(entry)
    now = fold.conversation()
    calls = [
        [each.part.id, each.started is not None, each.approval_request is not None, each.approval_answer is not None]
        for each in now.open_calls
    ]
    known: list[object] = [msgspec.to_builtins(dict(fold.files)), msgspec.to_builtins(now.allowed)]
    return digest([*known, now.mode, now.title, calls])


@pytest.mark.parametrize("old", JOURNALS, ids=lambda old: old.name)
def test_it_is_read_as_it_was(old: Old) -> None:
    entries = [decode(bytes(raw)) for raw in old.entries]
    for read in (entries, [decode(encode(each)) for each in entries]):
        halves = (read[: len(read) // 2], read)
        assert tuple(digest(openai_chat(settled_conversation(each))) for each in halves) == old.chat
        assert tuple(digest(anthropic(settled_conversation(each))) for each in halves) == old.anthropic
        assert tuple(state(each) for each in halves) == old.state


def test_every_field_that_was_renamed_is_among_them() -> None:
    fields = {
        (each["kind"], name)
        for old in JOURNALS
        for raw in old.entries
        for each in (msgspec.json.decode(raw, type=dict[str, object]),)
        for name in each
    }
    assert fields >= {
        ("call-started", "change"),
        ("call-started", "changes"),
        ("call-ended", "seen"),
        ("call-ended", "seen_also"),
        ("approval-asked", "why"),
        ("approval-asked", "pattern"),
        ("approval-asked", "patterns"),
        ("approval-answered", "words"),
        ("approval-answered", "pattern"),
        ("approval-answered", "patterns"),
        ("compacted", "said"),
        ("request-failed", "retry_whole"),
    }


def test_each_renamed_field_keeps_its_value() -> None:
    one, two = ({"effect": "execute", "text": text} for text in ("make *", "ls"))
    answered = {"kind": "approval-answered", "call": "c", "allowed": True, "words": "go", "remember": "session"}
    read = decode(msgspec.json.encode({**answered, "pattern": one, "patterns": [two]}))
    assert isinstance(read, ApprovalAnswered)
    assert ([each.text for each in read.remembered], read.reason) == (["make *", "ls"], "go")
    note = {"kind": "compacted", "step": 1, "note": "n", "why": "asked", "said": 3}
    compacted = decode(msgspec.json.encode(note))
    assert isinstance(compacted, Compacted)
    assert compacted.user_texts == 3
    turned = decode(b'{"note":"n","step":1,"said":2,"why":"asked","kind":"compacted"}')
    assert isinstance(turned, Compacted)
    assert turned.user_texts == 2, "whatever comes first"
