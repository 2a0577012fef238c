"""A session whose folder was moved, renamed or removed continues in another one, and its model reads that."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.agent.sessions import create, fork, move_session, resume, session_folder
from holdfast.errors import SessionBusy, SessionUnknown, UsageError
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.fold import fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.tasks import TaskStarted
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.system.git import repository_names
from holdfast.tool_calls import Pattern, ProcessId
from holdfast.tools.process.process_table import boot, running_process
from holdfast.ui.commands.sessions import main
from holdfast.ui.startup.arguments import Arguments, parser
from holdfast.ui.startup.session_choice import chosen_session, lost_sessions

MODEL = "openai-chat:m"
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org")


def begun(home: Path, folder: Path, *more: e.Entry) -> str:
    """Return the id of a new session that worked in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    session = create(Catalog(home / "sessions"), cwd=folder, model=MODEL)
    session.store.append(
        [e.PromptAccepted(turn=1, text="hi"), e.TurnEnded(turn=1, reason="end_turn", cause="finished"), *more],
        expected=session.store.length,
    )
    session.store.close()
    return session.id


def ran(home: Path, *arguments: str) -> str:
    out = io.StringIO()
    assert (
        main(list(arguments), environ={"HOLDFAST_HOME": str(home), "HOME": "/"}, stdout=out, stderr=io.StringIO()) == 0
    )
    return out.getvalue()


def moves(home: Path, session: str) -> list[e.Moved]:
    records = read_copy(home / "sessions" / session).records
    return [record.entry for record in records if isinstance(record.entry, e.Moved)]


def arguments_of(*words: str) -> Arguments:
    return parser().parse_args(list(words), namespace=Arguments())


def test_a_session_is_moved_by_a_command_and_is_one_of_its_new_folder(tmp_path: Path) -> None:
    session = begun(tmp_path, tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    catalog = Catalog(tmp_path / "sessions")
    with pytest.raises(UsageError, match=rf"does not exist.*holdfast -r {session} -C DIR"):
        resume(catalog, catalog.find(session))
    said = ran(tmp_path, "move", session, str(tmp_path / "b"))
    assert f"works in {tmp_path / 'b'} from now on; before, in {tmp_path / 'a'}." in said
    (moved,) = moves(tmp_path, session)
    assert (moved.from_, moved.to, moved.by) == (str(tmp_path / "a"), str(tmp_path / "b"), "command")
    assert f"now works in the folder '{tmp_path / 'b'}'" in moved.note
    latest = catalog.latest(tmp_path / "b")
    assert latest is not None
    assert latest.id == session
    assert catalog.latest(tmp_path / "a") is None
    opened = resume(catalog, latest)
    opened.store.close()
    assert opened.cwd == tmp_path / "b"
    assert "works in" in ran(tmp_path, "move", session, str(tmp_path / "b"))
    assert len(moves(tmp_path, session)) == 1, "it was there already"


@pytest.mark.parametrize("copied", [False, True], ids=["resumed", "forked"])
def test_an_option_continues_it_elsewhere(tmp_path: Path, *, copied: bool) -> None:
    session = begun(tmp_path, tmp_path / "a")
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "b").mkdir()
    catalog = Catalog(tmp_path / "sessions")
    words = ("-r", session, "-C", str(tmp_path / "b"), *(["--fork"] if copied else []))
    chosen = chosen_session(catalog, arguments_of(*words), cwd=tmp_path / "b")
    assert chosen is not None
    assert chosen.cwd == str(tmp_path / "b")
    opened = fork(catalog, chosen) if copied else resume(catalog, chosen)
    opened.store.close()
    assert opened.cwd == tmp_path / "b"
    (moved,) = moves(tmp_path, opened.id)
    assert (moved.from_, moved.by) == (str(tmp_path / "a"), "resume")
    assert session_folder(opened.reading) == str(tmp_path / "b")
    assert moves(tmp_path, session) == ([] if copied else [moved])
    again = resume(catalog, catalog.find(opened.id))
    again.store.close()
    assert again.cwd == tmp_path / "b"


def test_the_model_reads_it_once_and_what_was_allowed_ends() -> None:
    pattern = Pattern(effect="execute", text="make *")
    note = "[Note: moved.]"
    journal: list[e.Entry] = [
        e.SessionOpened(session="s", cwd="/a", model="m", system="", tools=(), version="1"),
        e.PromptAccepted(turn=1, text="one"),
        e.ResponseEnded(step=1, model="m", parts=(CallPart(id="c", name="bash", arguments="{}"),), usage=Usage()),
        e.ApprovalAnswered(call="c", allowed=True, remember="session", patterns=(pattern,)),
        e.CallEnded(call="c", outcome="ok", text="done"),
        e.TurnEnded(turn=1, reason="end_turn", cause="finished"),
    ]
    before = fold(journal)
    assert before.allowed == (pattern,)
    journal += [e.Moved(from_="/a", to="/b", by="resume", note=note), e.PromptAccepted(turn=2, text="two")]
    after = fold(journal)
    assert after.allowed == ()
    assert after.opened is not None
    assert after.opened.cwd == "/b"
    assert str(after.messages).count(note) == 1
    rewound = fold([*journal, e.Rewound(turn=1, note="")])
    assert rewound.opened is not None
    assert rewound.opened.cwd == "/b"


def test_a_session_with_a_running_task_or_another_holder_is_not_moved(tmp_path: Path) -> None:
    process = subprocess.Popen(["/bin/sleep", "600"])
    try:
        found = running_process(process.pid)
        assert found is not None
        known = ProcessId(pid=process.pid, start=found.start, boot=boot())
        session = begun(
            tmp_path,
            tmp_path / "a",
            TaskStarted(id="t9", call="c9", command="sleep 600", spool="c9.out"),
            e.ProcessStarted(call="c9", process=known),
        )
        catalog = Catalog(tmp_path / "sessions")
        with pytest.raises(UsageError, match=rf"background task t9 still runs \(process {process.pid}\)"):
            move_session(catalog, catalog.find(session), tmp_path, "command")
        assert moves(tmp_path, session) == []
    finally:
        process.kill()
        process.wait()
    assert move_session(catalog, catalog.find(session), tmp_path, "command")
    store = SqliteStore.open(catalog.folder(session))
    with pytest.raises(SessionBusy):
        move_session(catalog, catalog.find(session), tmp_path / "a", "command")
    store.close()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run([*GIT, "-C", str(folder), "commit", "-q", "--allow-empty", "-m", folder.name], check=True)
    return folder


def test_a_repository_is_recognized_wherever_it_is(tmp_path: Path) -> None:
    first = repository(tmp_path / "a")
    (commit,) = repository_names(first)
    assert commit.startswith("commit ")
    subprocess.run(["git", "-C", str(first), "worktree", "add", "-q", str(tmp_path / "w"), "-b", "w"], check=True)
    assert repository_names(tmp_path / "w") == (commit,)
    (first / "deep").mkdir()
    assert repository_names(first / "deep") == (commit,)
    assert repository_names(tmp_path) == ()


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/Team/engine.git",
        "https://ann:SECRET@example.org/Team/engine",
        "git@Example.org:Team/engine.git",
        "ssh://git@example.org/Team/engine/",
    ],
)
def test_a_remote_has_one_name_without_credentials(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "a"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)
    assert repository_names(folder) == ("remote example.org/Team/engine",)


def test_a_session_of_a_renamed_repository_is_named_where_it_is_missed(tmp_path: Path) -> None:
    session = begun(tmp_path, repository(tmp_path / "a"))
    other = begun(tmp_path, repository(tmp_path / "other"))
    stays = begun(tmp_path, tmp_path / "plain")
    catalog = Catalog(tmp_path / "sessions")
    (tmp_path / "a").rename(tmp_path / "b")
    with pytest.raises(SessionUnknown, match=rf"{session} of the same repository.*holdfast -r {session} -C \."):
        chosen_session(catalog, arguments_of("-c"), cwd=tmp_path / "b")
    assert [each.id for each in lost_sessions(catalog.all(), tmp_path / "b")] == [session]
    assert list(lost_sessions(catalog.all(), tmp_path / "other")) == []
    assert list(lost_sessions(catalog.all(), tmp_path / "plain")) == []
    assert {other, stays} < {each.id for each in catalog.all()}


def test_a_list_and_the_transcript_name_the_new_folder(tmp_path: Path) -> None:
    session = begun(tmp_path, tmp_path / "a")
    (tmp_path / "b").mkdir()
    ran(tmp_path, "move", session, str(tmp_path / "b"))
    listed = json.loads(ran(tmp_path, "list", "--all", "--json"))
    assert [each["cwd"] for each in listed] == [str(tmp_path / "b")]
    assert "The session works in" in ran(tmp_path, "show", session)
