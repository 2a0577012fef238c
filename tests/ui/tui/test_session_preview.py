"""What the list of sessions shows of one before it is opened."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from holdfast.questions import older_question
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import (
    ApprovalAsked,
    Entry,
    PromptAccepted,
    Queued,
    ResponseEnded,
    Rewound,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.session.journal.store import StoredEntry
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.ui.tui.sessions.session_preview import last_exchange, session_preview, session_state
from journal_files import write

PROMPT = PromptAccepted(turn=1, text="Why?\nNow.")
ANSWER = ResponseEnded(step=1, model="openai:m", parts=(TextPart("One.\n\nTwo.\nThree."),), usage=Usage())
END = TurnEnded(turn=1, reason="end_turn", cause="finished")


def stored(*entries: Entry) -> list[StoredEntry]:
    return [StoredEntry(seq, 0.0, entry) for seq, entry in enumerate(entries, 1)]


WAITS = Queued(id="q", text="more", when="later")
NEXT = PromptAccepted(turn=2, text="more", queued="q")


@pytest.mark.parametrize(
    ("entries", "state"),
    [
        ((), "no prompt yet"),
        ((PROMPT, ANSWER, END), "finished"),
        ((PROMPT, ANSWER, END, Rewound(turn=1)), "rewound"),
        ((PROMPT,), "stopped in the middle of a turn"),
        (
            (PROMPT, ApprovalAsked(call="c", question=older_question("c", "it changes files"))),
            "a question waits for your answer",
        ),
        ((PROMPT, WAITS, END), "finished, 1 queued"),
        ((PROMPT, WAITS, END, NEXT), "stopped in the middle of a turn"),
    ],
)
def test_the_state_is_what_a_resumed_session_begins_with(entries: tuple[Entry, ...], state: str) -> None:
    assert session_state(stored(*entries)) == state


def test_a_turn_that_was_stopped_says_so() -> None:
    state = session_state(stored(PROMPT, TurnEnded(turn=1, reason="cancelled", cause="user")))
    assert state != "finished"
    assert state


def test_the_last_exchange_is_a_prompt_and_the_answer_behind_it() -> None:
    assert last_exchange(stored(PROMPT, ANSWER, END)) == ("Why?\nNow.", "One.\n\nTwo.\nThree.")
    assert last_exchange(stored(PROMPT, ANSWER, END, PromptAccepted(turn=2, text="And?"))) == ("And?", "")
    assert last_exchange([]) == ("", "")


def test_every_preview_has_as_many_lines(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    opened = SessionOpened(session="s1", cwd="/w", model="openai:m", system="", tools=(), version="0")
    write(root / "s1", opened, PROMPT, ANSWER, END)
    write(root / "s2", opened)
    write(root / "s3", opened)
    (root / "s3" / "session.db").write_bytes(b"")
    catalog = Catalog(root)
    first, second, third = (session_preview(catalog.find(name), root / name).split("\n") for name in ("s1", "s2", "s3"))
    assert first[0].startswith("openai:m · /w · ")
    assert first[0].endswith(" · finished")
    assert first[1:] == ["> Why? Now.", "Two.", "Three."]
    assert second[1:] == ["", "", ""]
    assert len(third) == 4
    with closing(SqliteStore.open(root / "s1")):
        assert "open elsewhere" in session_preview(catalog.find("s1"), root / "s1")
