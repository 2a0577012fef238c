"""`holdfast sessions rename` and `delete`: the user's name of a session is in its journal, nothing is ever deleted."""

from __future__ import annotations

import io
import json
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy, SessionUnknown, UsageError
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import PromptAccepted, Rewound, SessionOpened
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
    code, output = run("rename", session, "  The\nengine ")
    assert (code, output) == (0, f"Title of session {session}: The engine\n")
    assert catalog.find(session).title == "The engine"
    assert fold(record.entry for record in read_copy(catalog.folder(session)).records).title == "The engine"
    assert "'The engine'" in run("show", session)[1]
    run("rename", session, "")
    assert catalog.find(session).title == "go"


def test_a_deleted_session_is_in_the_trash_and_can_be_brought_back(catalog: Catalog) -> None:
    session = put(catalog)
    code, output = run("delete", session)
    assert code == 0
    assert "trash" in output
    assert catalog.all() == ()
    with pytest.raises(SessionUnknown):
        run("delete", session)
    trashed = catalog.folder(session).parent.with_name("trash") / session
    trashed.rename(catalog.folder(session))
    assert catalog.find(session).title == "go"
    run("delete", session)
    trashed.mkdir(exist_ok=True)
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


def test_a_deleted_session_is_listed_and_restored(catalog: Catalog) -> None:
    assert run("list", "--trash") == (0, "The trash is empty.\n")
    session = put(catalog)
    run("delete", session)
    assert session in run("list", "--trash")[1]
    code, output = run("restore", session[:12])
    assert (code, output) == (0, f"Restored session {session}. Resume it: holdfast -r {session}\n")
    assert [each.id for each in catalog.all()] == [session]
    assert catalog.trashed() == ()
    with pytest.raises(SessionUnknown, match="The trash was searched"):
        run("restore", session)


def test_a_session_that_was_deleted_twice_gets_its_id_back(catalog: Catalog) -> None:
    session = put(catalog)
    shutil.copytree(catalog.trash(session), catalog.folder(session))
    numbered = catalog.trash(session).name
    assert numbered == f"{session}-2"
    assert catalog.restore(numbered).id == session
    with pytest.raises(UsageError, match=f"there is a session '{session}' now"):
        catalog.restore(session)
    assert len(catalog.trashed()) == 1


def test_a_session_in_the_trash_that_is_held_is_not_restored(catalog: Catalog) -> None:
    session = put(catalog)
    moved = catalog.trash(session)
    with closing(SqliteStore.open(moved)), pytest.raises(SessionBusy):
        catalog.restore(session)
    assert catalog.restore(session).id == session


def test_a_search_says_which_sessions_and_where(catalog: Catalog) -> None:
    session = put(catalog)
    code, output = run("search", "GO")
    assert code == 0
    assert output.splitlines()[0].startswith(session)
    assert output.splitlines()[1] == "    go"
    assert run("search", "go", "nowhere")[1] == "No session contains 'go' and 'nowhere'.\n"
    (found,) = json.loads(run("search", "go", "--json")[1])
    assert (found["summary"]["id"], found["excerpt"]) == (session, "go")


def test_branches_are_listed_and_one_is_copied(catalog: Catalog) -> None:
    session = put(catalog)
    assert run("branches", session)[1] == "This session has one branch: it was never rewound.\n"
    store = SqliteStore.open(catalog.folder(session))
    length = store.append([Rewound(turn=1)], expected=store.length)
    store.append([PromptAccepted(turn=2, text="stop")], expected=length)
    store.close()
    listed = run("branches", session)[1].splitlines()
    assert [line.split()[-1] for line in listed[:2]] == ["go", "stop"]
    assert f"sessions fork {session} --at" in listed[2]
    copied = run("fork", session, "--at", listed[0].split()[0])[1].split("holdfast -r ")[1].strip()
    assert [mark.text for mark in folded(catalog, copied).prompts] == ["go"]
    assert [mark.text for mark in folded(catalog, session).prompts] == ["stop"]
    assert json.loads(run("branches", session, "--json")[1])[0]["prompt"] == "go"


def folded(catalog: Catalog, session: str) -> Conversation:
    return fold(record.entry for record in read_copy(catalog.folder(session)).records)
