"""The list of a server: what a request looks at, and that it is the same as a list of all sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.fleet.record import FleetSession
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.entries import PromptAccepted, SessionOpened, Titled
from holdfast.session.storage.lease import Lease
from holdfast.ui.service.local import session_table
from holdfast.ui.service.local.session_table import SessionTable
from journal_files import write
from polling import eventually

OLD = 1_700_000_000


def session(root: Path, name: str, *, at: int) -> None:
    opened = SessionOpened(session=name, cwd="/w", model="m:m", system="", tools=(), version="0")
    write(root / name, opened, PromptAccepted(turn=1, text=f"prompt of {name}"))
    os.utime(root / name / "session.db", (at, at))


class Listed:
    """A table, and which sessions it looked at."""

    def __init__(self, root: Path) -> None:
        self.catalog = Catalog(root)
        self.looked: list[str] = []
        self.live: dict[str, SessionSummary] = {}
        self.states: dict[str, str] = {}
        self.table = SessionTable(self.catalog, self._describe, live=self.live.get)

    def _describe(self, summary: SessionSummary) -> FleetSession:
        self.looked.append(summary.id)
        state = "held" if summary.id in self.states else "idle"
        return FleetSession(id=summary.id, state=state, title=summary.title, changed=summary.modified)

    def ids(self, *, limit: int = 1000, after: str = "", touched: tuple[str, ...] = ()) -> list[str]:
        self.looked.clear()
        return [each.id for each in self.table.sessions(None, limit=limit, after=after, touched=touched)]

    def expected(self) -> list[str]:
        return [each.id for each in self.catalog.all()]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "sessions"
    for number in range(8):
        session(root, f"s{number}", at=OLD + number)
    os.utime(root, (OLD, OLD))
    monkeypatch.setattr(session_table, "LOOKED_AT", 3)
    monkeypatch.setattr(session_table, "_PAUSE", 1000.0)
    return root


@pytest.fixture
def listed(root: Path) -> Listed:
    listed = Listed(root)
    assert listed.ids() == listed.expected()
    listed.table.close()  # the thread that looks at old sessions ends
    return listed


def test_a_request_looks_at_the_last_used_only(listed: Listed) -> None:
    assert listed.ids() == listed.expected()
    assert sorted(listed.looked) == ["s5", "s6", "s7"]
    listed.ids(touched=("s1",))
    assert sorted(listed.looked) == ["s1", "s5", "s6", "s7"]


def test_pages_follow_each_other(listed: Listed) -> None:
    everything = listed.expected()
    assert listed.ids(limit=3) == everything[:3]
    assert listed.ids(limit=3, after=everything[2]) == everything[3:6]
    assert listed.ids(after=everything[-1]) == []
    assert listed.ids(after="unknown") == everything


def test_what_came_and_went_is_seen_at_once(listed: Listed, root: Path) -> None:
    session(root, "new", at=OLD + 3)
    assert listed.ids() == listed.expected()
    assert "new" in listed.ids()
    listed.catalog.trash("s1")
    assert listed.ids() == listed.expected()
    listed.catalog.restore("s1")
    assert listed.ids() == listed.expected()


def test_a_folder_that_becomes_a_session_later_is_seen(listed: Listed, root: Path) -> None:
    (root / "later").mkdir()
    lease = Lease.take(root / "later")  # of the process that makes it
    os.utime(root, (OLD + 1, OLD + 1))
    assert "later" not in listed.ids()
    session(root / "..", "made", at=OLD + 9)
    (root.parent / "made" / "session.db").rename(root / "later" / "session.db")
    os.utime(root, (OLD + 1, OLD + 1))  # the folder of sessions itself did not change
    assert listed.ids() == listed.expected()
    assert listed.ids()[0] == "later"
    lease.release()


def test_a_session_that_is_used_again_moves_to_the_top(listed: Listed, root: Path) -> None:
    write(root / "s2", Titled(title="again"))
    assert listed.ids(touched=("s2",)) == listed.expected()
    assert listed.ids()[0] == "s2"
    assert listed.table.sessions(None, limit=1, after="", touched=())[0].title == "again"


def test_an_open_session_is_described_from_memory(listed: Listed) -> None:
    summary = listed.catalog.find("s7")
    listed.live["s7"] = SessionSummary(
        id="s7", cwd="/w", title="live", model="m:m", created=0.0, modified=summary.modified + 9, bytes=0
    )
    assert listed.table.sessions(None, limit=1, after="", touched=())[0].title == "live"
    (row,) = [listed.table.session("s7")]
    assert row is not None
    assert row.title == "live"
    assert listed.table.session("gone") is None


def test_sessions_of_one_state(listed: Listed) -> None:
    listed.states["s6"] = "held"
    assert [each.id for each in listed.table.sessions("held", limit=9, after="", touched=())] == ["s6"]
    assert "s6" not in [each.id for each in listed.table.sessions("idle", limit=9, after="", touched=())]


def test_an_old_session_that_another_program_opened_is_seen_in_the_end(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_table, "_PAUSE", 0.0)
    listed = Listed(root)
    assert listed.ids() == listed.expected()
    write(root / "s0", Titled(title="elsewhere"))
    try:
        eventually(lambda: listed.ids()[0] == "s0")
    finally:
        listed.table.close()
    assert listed.ids() == listed.expected()
