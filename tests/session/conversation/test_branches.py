"""The branches of a session, and a copy that takes one up."""

from __future__ import annotations

from pathlib import Path

from holdfast.agent.sessions import fork
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.branches import branches
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry, PromptAccepted, ResponseEnded, Rewound, SessionOpened, TurnEnded
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.session.journal.store import StoredEntry
from holdfast.session.storage.sqlite_store import read_copy
from journal_files import write


def turn(number: int) -> tuple[Entry, ...]:
    answer = ResponseEnded(step=number, model="openai:m", parts=(TextPart(f"answer {number}"),), usage=Usage())
    end = TurnEnded(turn=number, reason="end_turn", cause="finished")
    return PromptAccepted(turn=number, text=f"prompt {number}"), answer, end


def opened(cwd: Path) -> SessionOpened:
    return SessionOpened(session="s1", cwd=str(cwd), model="openai:m", system="", tools=(), version="0")


def stored(*entries: Entry) -> list[StoredEntry]:
    return [StoredEntry(seq, float(seq), entry) for seq, entry in enumerate(entries, 1)]


def journal(cwd: Path) -> tuple[Entry, ...]:
    """Return a session that was rewound twice: 1 2 3, back to 2; 4, back to 4; 5."""
    return (
        opened(cwd),
        *turn(1),
        *turn(2),
        *turn(3),
        Rewound(turn=2),
        *turn(4),
        Rewound(turn=4),
        *turn(5),
    )


def test_a_session_that_was_never_rewound_has_none(tmp_path: Path) -> None:
    assert branches(stored(opened(tmp_path), *turn(1), *turn(2))) == ()


def test_each_rewind_leaves_a_branch(tmp_path: Path) -> None:
    first, second, present = branches(stored(*journal(tmp_path)))
    assert (first.turn, first.prompt, first.turns, first.answer, first.until) == (2, "prompt 2", 2, "answer 3", 10)
    assert (second.turn, second.prompt, second.turns, second.until) == (4, "prompt 4", 1, 14)
    assert (present.turn, present.prompt, present.left, present.until) == (5, "prompt 5", None, 18)
    assert first.left is not None


def test_right_after_a_rewind_the_present_branch_is_empty(tmp_path: Path) -> None:
    _, present = branches(stored(opened(tmp_path), *turn(1), *turn(2), Rewound(turn=2)))
    assert (present.turns, present.prompt, present.answer) == (0, "", "")


def test_a_rewind_to_a_prompt_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert branches(stored(opened(tmp_path), *turn(1), Rewound(turn=9))) == ()


def test_a_copy_until_a_branch_has_its_conversation_and_the_original_stays(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    write(root / "s1", *journal(tmp_path))
    catalog = Catalog(root)
    before = read_copy(root / "s1")
    first, *_ = branches(before.records)
    copied = fork(catalog, catalog.find("s1"), until=first.until)
    copied.store.close()
    conversation = fold(record.entry for record in copied.reading.records)
    assert [mark.text for mark in conversation.prompts] == ["prompt 1", "prompt 2", "prompt 3"]
    assert conversation.answer == "answer 3"
    assert not conversation.is_open
    assert read_copy(root / "s1") == before


def test_a_copy_that_ends_in_the_middle_of_a_turn_is_settled(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    write(root / "s1", *journal(tmp_path))
    catalog = Catalog(root)
    copied = fork(catalog, catalog.find("s1"), until=5)  # the second prompt
    copied.store.close()
    conversation = fold(record.entry for record in copied.reading.records)
    assert [mark.text for mark in conversation.prompts] == ["prompt 1", "prompt 2"]
    assert not conversation.is_open
