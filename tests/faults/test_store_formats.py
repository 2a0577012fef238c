"""Journals that earlier versions left: each is read, is valid for every provider, and goes on as on its day.

Two rules. A folder in `journals` is never changed; a new FORMAT adds its own. `entries.jsonl` is what it must hold.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from report import record
from stores import integrity

from holdfast.history.profiles import PROFILES
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import FORMAT, Entry, PromptAccepted, decode
from holdfast.session.request.validate import validate_request
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy

JOURNALS = Path(__file__).with_name("journals")
FOLDERS = sorted(path.name for path in JOURNALS.iterdir() if path.is_dir())


def test_every_format_is_here_as_it_is_left_by_a_clean_end_and_by_a_kill() -> None:
    assert [f"format-{number}-{left}" for number in range(1, FORMAT + 1) for left in ("closed", "killed")] == FOLDERS


@pytest.fixture(params=FOLDERS)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a copy of a journal."""
    return shutil.copytree(JOURNALS / request.param, tmp_path / request.param)


def entries() -> list[Entry]:
    return [decode(line) for line in (JOURNALS / "entries.jsonl").read_bytes().splitlines()]


def test_a_journal_of_any_version_is_read_and_goes_on(journal: Path) -> None:
    wrong: list[str] = []
    if [each.entry for each in read_copy(journal).records] != entries():
        wrong.append("its copy does not hold what was written")
    store = SqliteStore.open(journal)
    reading = store.read()
    if [each.entry for each in reading.records] != entries() or reading.findings:
        wrong.append("it does not hold what was written")
    more = PromptAccepted(turn=3, text="Go on.")
    store.append([more], expected=len(entries()))
    store.close()
    if [each.entry for each in read_copy(journal).records] != [*entries(), more] or integrity(journal) != "ok":
        wrong.append("it did not go on")
    conversation = fold([*entries(), more])
    wrong += [
        f"{name}: {violation}"
        for name, profile in PROFILES.items()
        for violation in validate_request(conversation, profile).violations
    ]
    record(journal.name, "loaded and continued", points=2 + len(PROFILES), violations=wrong)
    assert wrong == []
