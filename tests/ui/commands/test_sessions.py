"""The `holdfast sessions` commands over real folders."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from holdfast.errors import DamageError, ModelUnusable, SessionUnknown, StateError, UsageError
from holdfast.history.shape import NO_RESULT
from holdfast.questions import older_question
from holdfast.session.catalog import Catalog
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallStarted,
    Entry,
    ModelChanged,
    PromptAccepted,
    Pruned,
    Repaired,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import Finding, StoredEntry
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.ui.commands import sessions
from holdfast.ui.view.journal_listing import transcript

HISTORY = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]},
    {
        "kind": "response",
        "model_id": "anthropic:m",
        "parts": [{"part_kind": "tool-call", "tool_name": "bash", "args": '{"command": "ls"}', "tool_call_id": "a"}],
    },
]


def run(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = sessions.main(list(argv), environ=os.environ, stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def opened(session: str, cwd: Path | str) -> SessionOpened:
    return SessionOpened(session=session, cwd=str(cwd), model="anthropic:m", system="S", tools=(), version="0")


def session(catalog: Catalog, cwd: Path | str, entries: Sequence[Entry] = ()) -> str:
    """Keep a session with these entries after its first, and return its id."""
    name = catalog.new_id()
    store = SqliteStore.create(catalog.folder(name))
    store.append([opened(name, cwd), *entries], expected=0)
    store.close()
    return name


def response(step: int, *parts: TextPart | CallPart) -> ResponseEnded:
    return ResponseEnded(step=step, model="anthropic:m", parts=parts, usage=Usage())


LS = CallPart("A", "bash", '{"command": "ls"}')
END = TurnEnded(turn=1, reason="end_turn", cause="finished")
GO = PromptAccepted(turn=1, text="go\nand more")


def test_an_empty_list_says_what_to_do(catalog: Catalog, here: Path) -> None:
    assert run("list") == (0, 'No sessions yet. Start one: holdfast -p "what does this project do?"\n', "")
    session(catalog, "/elsewhere")
    assert run("list")[1] == "No sessions in this directory, 1 elsewhere: holdfast sessions list --all\n"
    assert here.is_dir()


def test_a_list_shows_this_folder_or_all(catalog: Catalog, here: Path) -> None:
    mine, other = session(catalog, here, [GO]), session(catalog, "/elsewhere")
    _, listed, _ = run("list")
    assert mine in listed
    assert other not in listed
    head, row = listed.splitlines()
    assert head.split() == ["ID", "USED", "SIZE", "TITLE", "FOLDER"]
    assert row.split()[:3] == [mine, "just", "now"]
    assert head.index("TITLE") == row.index("go")
    assert other in run("list", "--all")[1]
    assert [each["id"] for each in json.loads(run("list", "--json")[1])] == [mine]


def test_a_list_fits_its_terminal_and_does_nothing_else_to_it(
    catalog: Catalog, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(catalog, here / ("d" * 100), [PromptAccepted(turn=1, text="\x1b]0;owned\x07長い題名" * 20)])
    monkeypatch.setenv("COLUMNS", "80")
    _, listed, _ = run("list", "--all")
    assert "\x1b" not in listed
    assert "…" in listed
    assert all(len(line) <= 80 for line in listed.splitlines())


def test_a_damaged_session_is_listed_with_its_damage_wherever_one_looks(catalog: Catalog, here: Path) -> None:
    name = session(catalog, here, [GO])
    (catalog.folder(name) / "session.db").write_bytes(b"nothing of the kind" * 1000)
    _, listed, _ = run("list")
    assert name in listed
    assert "damaged: " in listed
    code, shown, _ = run("show", name)
    assert code == 4
    assert "! " in shown
    code, _, complaint = run("export", name)
    assert code == 4
    assert "is damaged" in complaint


def test_a_folder_that_cannot_be_read_hides_no_other(catalog: Catalog, here: Path) -> None:
    name = session(catalog, here, [GO])
    closed = catalog.folder("20250101-0000-aaaa")
    closed.symlink_to(closed)  # root reads every folder, but not this one
    code, listed, _ = run("list")
    assert code == 0
    assert name in listed
    assert f"{closed.name}  " in listed
    assert "damaged: Its folder cannot be read: " in listed
    latest = catalog.latest(here)
    assert latest is not None
    assert latest.id == name
    with pytest.raises(StateError, match="cannot be read"):
        run("show", "20250101")


def test_a_home_that_cannot_be_used_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "file").write_text("")
    monkeypatch.setenv("HOLDFAST_HOME", str(here / "file"))
    with pytest.raises(UsageError, match="cannot be read: Not a directory"):
        run("list")
    loop = here / "loop"
    loop.symlink_to(loop)
    assert Catalog(loop / "sessions").new_id()


def test_a_folder_that_was_deleted_is_named(catalog: Catalog, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "dead.json").write_text(json.dumps(HISTORY))
    other = session(catalog, "/elsewhere")
    folder = here / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    for command in (["list"], ["import", str(here / "dead.json")]):
        with pytest.raises(UsageError, match="Cannot use the current directory"):
            run(*command)
    assert other in run("list", "--all")[1]
    assert len(catalog.all()) == 1


def test_show_tells_everything_as_what_it_is(catalog: Catalog, here: Path) -> None:
    long = "\n".join(f"line {number}" for number in range(9))
    name = session(
        catalog,
        here,
        [
            GO,
            RequestStarted(step=1, attempt=1, model="anthropic:m"),
            RequestFailed(step=1, attempt=1, fault="overloaded", message="Busy.", retry_in=2),
            response(
                1, TextPart("I look.\x1b[2J"), CallPart("A", "bash", '{"command": "ls"}'), CallPart("B", "edit", "{}")
            ),
            CallStarted(call="A", effect="execute"),
            CallEnded(call="A", outcome="ok", text=long, seconds=1.25),
            ApprovalAsked(call="B", question=older_question("B", "edits app.py")),
            ApprovalAnswered(call="B", allowed=False, reason="not that one"),
            CallEnded(call="B", outcome="denied", text="Denied by the user."),
            TurnEnded(turn=1, reason="timeout", cause="timeout", detail="60 s"),
            ModelChanged(model="openai-chat:n"),
            Repaired(findings=("entry 3 was mended",), note="[a note]"),
            CallLate(call="A", outcome="failed", text="after all"),
        ],
    )
    code, shown, _ = run("show", name[:-1])
    assert code == 0
    assert shown.splitlines() == [
        f"Session {name}",
        f"- {here} with anthropic:m",
        "",
        "> go",
        "> and more",
        "- Attempt 1 failed (overloaded); retrying in 2 s.",
        "    Busy.",
        "",
        "I look.",
        "✓ bash ls (1.2 s)",
        *(f"    line {number}" for number in range(6)),
        "    … 3 more lines",
        "- Approval requested for edit: edits app.py",
        "- Refused. not that one",
        "⊘ edit denied: Denied by the user.",
        "- Turn ended: the turn reached its time limit of 60 s",
        "- 1 command · 1 call of unknown effect · 1 call denied",
        "    Command ls: exit code not known, 1.2 s; allowed by unknown",
        "    What these calls changed is not known: A",
        "    Denied: B",
        "    Request 1 (prompt): no answer; cost not known",
        "    Cost: not known, model not known",
        "- Model switched to openai-chat:n.",
        "! entry 3 was mended",
        "- [a note]",
        "- bash ls: failed after its turn had ended",
        "    after all",
    ]
    document = json.loads(run("show", name, "--json")[1])
    assert [record["seq"] for record in document["records"]] == list(range(1, 15))


def test_a_transcript_has_damage_at_its_place_and_what_was_left_open_at_the_end() -> None:
    entries: list[Entry] = [
        opened("s", "/"),
        GO,
        response(1, CallPart("A", "bash", "{}"), CallPart("B", "read", "")),
        CallStarted(call="A", effect="execute"),
        CallEnded(call="Z", outcome="ok", text="?"),
        RequestStarted(step=2, attempt=1, model="m"),
        ResponseCheckpoint(step=2, text="half"),
    ]
    records = [StoredEntry(seq, float(seq), entry) for seq, entry in enumerate(entries, start=1) if seq != 3] + [
        StoredEntry(3, 3.0, entries[2])
    ]
    records.sort(key=lambda record: record.seq)
    lines = [(line.kind, line.text, line.detail) for line in transcript(records, [Finding(4, "x"), Finding(9, "end")])]
    assert lines[2:] == [
        ("damage", "x", ""),
        ("started", "→ bash", ""),
        ("call", "✓ a call that is not in the journal (Z)", "?"),
        ("damage", "end", ""),
        ("answer", "half", ""),
        ("cut", "The response above is incomplete in the journal.", ""),
        ("call", "◌ bash: started, outcome unknown", ""),
        ("call", "◌ read: may have run, outcome unknown", ""),
    ]


def test_an_export_of_a_session_in_use_does_not_call_what_runs_a_crash(catalog: Catalog, here: Path) -> None:
    calls = (CallPart(id="A", name="bash", arguments="{}"), CallPart(id="B", name="bash", arguments="{}"))
    name = session(catalog, here, [GO, response(1, *calls), CallStarted(call="A", effect="execute")])
    _, document, _ = run("export", name)
    running, waiting = [part["content"] for part in json.loads(document)["messages"][-1]["parts"]]
    assert running.startswith("Not finished in this copy: this session was copied in the middle of the turn")
    assert waiting.startswith("Not started in this copy: ")


def test_an_export_has_results_that_are_not_sent_any_more(catalog: Catalog, here: Path) -> None:
    part = CallPart(id="A", name="bash", arguments="{}")
    name = session(
        catalog,
        here,
        [GO, response(1, part), CallEnded(call="A", outcome="ok", text="it all"), Pruned(outputs={"A": "[left out]"})],
    )
    _, document, _ = run("export", name)
    assert json.loads(document)["messages"][-1]["parts"][0]["content"] == "it all"
    _, shown, _ = run("show", name)
    assert "    it all" in shown.splitlines()
    assert "the model gets a shortened output of 1 call" in shown
    _, history, _ = run("show", name, "--history")
    assert "it all" not in history


def test_an_export_is_what_pydantic_ai_loads_and_import_takes_back(catalog: Catalog, here: Path) -> None:
    name = session(
        catalog, here, [GO, response(1, TextPart("ünïcode")), TurnEnded(turn=1, reason="end_turn", cause="finished")]
    )
    code, document, _ = run("export", name)
    assert code == 0
    assert document.isascii()
    assert len(ModelMessagesTypeAdapter.validate_python(json.loads(document)["messages"])) == 2
    target = here / "out.json"
    assert run("export", name, "-o", str(target))[0] == 0
    assert json.loads(target.read_text()) == json.loads(document)
    assert target.stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="exists"):
        run("export", name, "-o", str(target))
    assert run("export", name, "-o", str(target), "--force")[0] == 0
    with pytest.raises(UsageError, match="Cannot write"):
        run("export", name, "-o", str(here / "no" / "out.json"))
    assert run("import", str(target))[0] == 0
    again = read_copy(catalog.folder(catalog.all()[0].id))
    assert (
        fold(r.entry for r in again.records).messages
        == fold(r.entry for r in read_copy(catalog.folder(name)).records).messages
    )


def test_an_import_repairs_says_so_and_leaves_the_file_alone(catalog: Catalog, here: Path) -> None:
    source = here / "dead.json"
    source.write_text(json.dumps({"session_id": "old", "project": "p", "messages": HISTORY}))
    before = (source.read_bytes(), source.stat().st_mtime_ns)
    code, shown, _ = run("import", str(source))
    assert code == 0
    (summary,) = catalog.all()
    assert shown.splitlines() == [
        f"Imported {source} as session {summary.id}.",
        "- These parts of the file were left out: project.",
        f"- The call at messages[1].parts[0] has no result; it gets one that says so: {NO_RESULT}",
        f"Resume it: holdfast -r {summary.id}",
    ]
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    conversation = fold(record.entry for record in read_copy(catalog.folder(summary.id)).records)
    assert conversation.opened is not None
    assert conversation.opened.imported_from == str(source)
    assert conversation.opened.cwd == str(here)
    assert conversation.opened.model == "anthropic:m"
    assert "Working directory" in conversation.opened.facts
    assert "bash" in {tool.name for tool in conversation.opened.tools}
    assert conversation.open_turn is None
    assert conversation.open_calls == ()


def test_an_import_of_a_model_unknown_here_says_to_choose_one(catalog: Catalog, here: Path) -> None:
    source = here / "other.json"
    source.write_text(json.dumps({"model": "nobody:large", "messages": HISTORY}))
    assert run("import", str(source))[1].endswith("-m PROVIDER:MODEL\n")
    run("import", str(source), "-m", "openai-chat:x")
    assert {summary.model for summary in catalog.all()} == {"", "openai-chat:x"}


def test_an_import_for_a_model_that_is_none_is_refused(catalog: Catalog, here: Path) -> None:
    source = here / "dead.json"
    source.write_text(json.dumps(HISTORY))
    for model in ("nonsense", "nobody:m", "anthropic:"):
        with pytest.raises(ModelUnusable):
            run("import", str(source), "-m", model)
    assert catalog.all() == ()


def test_an_import_that_cannot_be_begun_leaves_no_session(
    catalog: Catalog, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = here / "dead.json"
    source.write_text(json.dumps(HISTORY))
    folder = os.fsencode(here) + b"/\xff"
    try:
        os.mkdir(folder)  # noqa: PTH102 - a name of bytes
    except OSError:
        pytest.skip("this file system takes no such name")
    monkeypatch.chdir(os.fsdecode(folder))
    with pytest.raises(UsageError, match="not valid UTF-8"):
        run("import", str(source))
    assert list(catalog.folder("x").parent.iterdir()) == []


def test_a_failed_import_leaves_no_session(catalog: Catalog, here: Path) -> None:
    (here / "x.json").write_text("[]")
    with pytest.raises(DamageError):
        run("import", str(here / "x.json"))
    with pytest.raises(UsageError, match=r"Cannot read .*: No such file"):
        run("import", str(here / "gone.json"))
    assert catalog.all() == ()


def test_standard_input_is_read_as_a_file(here: Path) -> None:
    command = "import sys; from holdfast.ui.main import main; sys.exit(main(['sessions', 'import', '-']))"
    done = subprocess.run(
        [sys.executable, "-c", command],
        input=json.dumps(HISTORY),
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Imported - as session ")


def test_a_huge_file_is_refused_without_reading_it(here: Path) -> None:
    huge = here / "huge.json"
    with huge.open("wb") as file:
        file.truncate(100_000_000_000)
    with pytest.raises(UsageError, match="longer than 50 MB"):
        run("import", str(huge))


def test_an_unknown_session_is_an_error(catalog: Catalog) -> None:
    assert catalog.all() == ()
    for command in ("show", "export"):
        with pytest.raises(SessionUnknown):
            run(command, "nope")


def test_a_list_needs_neither_sqlite_nor_asyncio_nor_pydantic(catalog: Catalog, here: Path) -> None:
    session(catalog, here, [GO])
    assert run("list")[0] == 0  # its summary is written
    command = (
        "import sys, io; from holdfast.ui.commands import sessions; import os; "
        "sessions.main(['list'], environ=os.environ, stdout=io.StringIO(), stderr=io.StringIO()); "
        "print([name for name in ('sqlite3', 'asyncio', 'pydantic', 'pydantic_ai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("markdown", "# Session "),
        ("html", "<!doctype html>"),
        ("json", '{\n "session": '),
        ("openai-chat", '{\n "model": "'),
        ("anthropic", '{\n "model": "'),
    ],
)
def test_a_session_is_exported_in_other_forms(catalog: Catalog, here: Path, form: str, beginning: str) -> None:
    name = session(catalog, here, [GO, response(1, TextPart("ünïcode\x1b]0;x\x07"))])
    code, document, _ = run("export", name, "--format", form)
    assert code == 0
    assert document.startswith(beginning)
    assert "\x1b" not in document
    target = here / "out"
    assert run("export", name, "--format", form, "-o", str(target))[0] == 0
    assert "ünïcode" in target.read_text("utf-8")


def test_a_long_list_is_printed_in_pages(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sessions, "_PAGE", 3)
    for number in range(5):
        name = session(catalog, tmp_path, [PromptAccepted(turn=1, text=f"needle {number}")])
        os.utime(catalog.folder(name) / "session.db", (1_700_000_000 + number, 1_700_000_000 + number))
    ids = [each.id for each in catalog.all()]
    for command in (("list",), ("search", "needle")):
        _, out, _ = run(*command)
        assert [each for each in ids if each in out.partition("more:")[0]] == ids[:3]
        assert f"--after {ids[2]} or --limit N" in out
        _, out, _ = run(*command, "--after", ids[2])
        assert [each for each in ids if each in out] == ids[3:]
        assert "more:" not in out
        _, out, _ = run(*command, "--limit", "4")
        assert [each for each in ids if each in out.partition("more:")[0]] == ids[:4]
        _, out, _ = run(*command, "--json")
        assert [each for each in ids if each in out] == ids
        _, out, _ = run(*command, "--json", "--limit", "1", "--after", ids[0])
        assert [each for each in ids if each in out] == ids[1:2]
        with pytest.raises(UsageError, match="'nothing' is not in this list"):
            run(*command, "--after", "nothing")
        for wrong in ("0", "-1", "x", "1" * 30, "٣"):
            with pytest.raises(SystemExit):
                run(*command, f"--limit={wrong}")
