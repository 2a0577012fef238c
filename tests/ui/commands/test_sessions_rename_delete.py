"""`holdfast sessions rename` and `delete`: what a person calls a session is in its journal, nothing is ever deleted."""

from __future__ import annotations

import io
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy, SessionUnknown
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, SessionOpened
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.ui.commands import sessions


def run(*argv: str) -> tuple[int, str]:
    stdout = io.StringIO()
    return sessions.main(list(argv), environ=os.environ, stdout=stdout, stderr=io.StringIO()), stdout.getvalue()


def put(catalog: Catalog) -> str:
    """Return the id of a new session with one prompt, closed."""
    session = catalog.new_id()
    opened = SessionOpened(session=session, cwd=str(Path.cwd()), model="a:b", system="S", tools=(), version="0")
    with closing(SqliteStore.create(catalog.folder(session))) as store:
        store.append([opened, PromptAccepted(turn=1, text="go")], expected=0)
    return session


def test_a_session_gets_a_title_that_is_in_its_journal(catalog: Catalog) -> None:
    session = put(catalog)
    code, said = run("rename", session, "  The\nengine ")
    assert (code, said) == (0, f"Title of session {session}: The engine\n")
    assert catalog.find(session).title == "The engine"
    assert fold(record.entry for record in read_copy(catalog.folder(session)).records).title == "The engine"
    assert "'The engine'" in run("show", session)[1]
    run("rename", session, "")
    assert catalog.find(session).title == "go"


def test_a_deleted_session_is_in_the_trash_and_can_be_brought_back(catalog: Catalog) -> None:
    session = put(catalog)
    code, said = run("delete", session)
    assert code == 0
    assert "trash" in said
    assert catalog.all() == ()
    with pytest.raises(SessionUnknown):
        run("delete", session)
    kept = catalog.folder(session).parent.with_name("trash") / session
    kept.rename(catalog.folder(session))
    assert catalog.find(session).title == "go"
    run("delete", session)
    kept.mkdir(exist_ok=True)
    assert catalog.all() == ()


def test_a_session_that_is_in_use_is_neither_renamed_nor_deleted(catalog: Catalog) -> None:
    session = put(catalog)
    with closing(SqliteStore.open(catalog.folder(session))) as store:
        for words in (("rename", session, "x"), ("delete", session)):
            with pytest.raises(SessionBusy):
                run(*words)
        with pytest.raises(SessionBusy):
            catalog.trash(session)
        assert store.length
    assert catalog.find(session).title == "go"


def test_two_deleted_sessions_of_one_id_are_both_kept(catalog: Catalog) -> None:
    session = put(catalog)
    first = catalog.trash(session)
    shutil.copytree(first, catalog.folder(session))
    assert catalog.trash(session) != first
    assert first.is_dir()
