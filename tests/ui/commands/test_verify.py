"""`sessions verify` and `sessions show --history`, as the user and a program see them."""

from __future__ import annotations

import fcntl
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.errors import SessionUnknown, UsageError
from holdfast.history.profiles import PROFILES
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    ModelChanged,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.durable_files import ABOUT, DATABASE, LOCK_FILE
from holdfast.ui.commands import sessions

MODEL = "anthropic:m"
OPEN: tuple[Entry, ...] = (
    PromptAccepted(turn=1, text="go"),
    RequestStarted(step=1, attempt=1, model=MODEL),
    ResponseEnded(
        step=1,
        model=MODEL,
        parts=(
            ThinkingPart("hmm", signature="x"),
            TextPart("secret answer"),
            CallPart("aaaaaaaaa", "bash", '{"command": "ls"}'),
            CallPart("bbbbbbbbb", "bash", "{}"),
        ),
        usage=Usage(),
    ),
    CallStarted(call="aaaaaaaaa", effect="execute"),
    CallEnded(call="aaaaaaaaa", outcome="ok", text="out"),
    CallStarted(call="bbbbbbbbb", effect="execute"),
)


def run(*argv: str) -> tuple[int, str]:
    out = io.StringIO()
    code = sessions.main(list(argv), environ=os.environ, stdout=out, stderr=io.StringIO())
    return code, out.getvalue()


def stored_session(catalog: Catalog, cwd: Path | str, entries: Sequence[Entry] = OPEN) -> str:
    """Keep a session with these entries after its first, and return its id."""
    name = catalog.new_id()
    store = SqliteStore.create(catalog.folder(name))
    opened = SessionOpened(session=name, cwd=str(cwd), model=MODEL, system="S" * 1234, tools=(), version="0")
    store.append([opened, *entries], expected=0)
    store.close()
    return name


def damage(catalog: Catalog, name: str) -> None:
    path = catalog.folder(name) / DATABASE
    data = path.read_bytes()
    at = data.rindex(b"secret answer")
    path.write_bytes(data[:at] + b"SECRET" + data[at + 6 :])


def files(catalog: Catalog, name: str) -> dict[str, bytes]:
    """Return what a session's files hold, without the cache of lists."""
    found = (path for path in catalog.folder(name).iterdir() if path.is_file() and path.name != ABOUT)
    return {path.name: path.read_bytes() for path in found}


# --- verify ----------------------------------------------------------------------------------------------------------


def test_a_clean_session_is_said_to_be_clean(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    assert run("verify", name[:-1]) == (
        0,
        f"{name}  7 entries, 3 messages: valid for all {len(PROFILES)} providers\n",
    )


def test_damage_is_reported_with_its_place_and_what_to_do(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    damage(catalog, name)
    code, shown = run("verify", name)
    assert code == 4
    assert shown.splitlines() == [
        f"{name}  6 entries, 1 message: 1 finding",
        "  ! Entry 4 is damaged. Its checksum does not fit.",
        f"    Continue with holdfast -r {name}: everything readable is kept, and the model reads about the gap.",
    ]


def test_those_of_this_folder_or_all_and_one_that_cannot_be_read_hides_no_other(catalog: Catalog, here: Path) -> None:
    mine, broken, other = (
        stored_session(catalog, here),
        stored_session(catalog, here),
        stored_session(catalog, "/elsewhere"),
    )
    damage(catalog, broken)
    code, shown = run("verify")
    assert code == 4
    assert mine in shown
    assert other not in shown
    assert shown.endswith("2 sessions: 1 OK, 1 damaged\n")
    (catalog.folder(mine) / DATABASE).unlink()
    (catalog.folder(mine) / DATABASE).symlink_to(mine)
    code, shown = run("verify", "--all", "--json")
    found = {report["session"]: [problem["kind"] for problem in report["problems"]] for report in json.loads(shown)}
    assert (code, found[other], found[broken], found[mine]) == (4, [], ["damage"], ["unreadable"])


def test_nothing_to_verify_is_no_failure(catalog: Catalog, here: Path) -> None:
    stored_session(catalog, "/elsewhere")
    assert run("verify")[0] == 0
    assert "sessions list --all" in run("verify")[1]
    assert json.loads(run("verify", "--json")[1]) == []
    assert here.is_dir()


def test_one_and_all_contradict_each_other(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    with pytest.raises(UsageError, match="--all and session"):
        run("verify", name, "--all")
    with pytest.raises(SessionUnknown):
        run("verify", "nobody")


def test_a_session_in_use_is_verified_and_left_alone(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    store = SqliteStore.open(catalog.folder(name))
    store.append([ModelChanged(model="openai-chat:x")], expected=7)
    before = files(catalog, name)
    assert run("verify", name)[0] == 0
    assert run("verify", name)[1].startswith(f"{name}  8 entries")
    assert files(catalog, name) == before
    with (catalog.folder(name) / LOCK_FILE).open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is still held
    store.close()


def test_neither_needs_pydantic_ai_nor_a_screen(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    program = f"""
import sys
from holdfast.ui.main import main
assert main(["sessions", "verify", {name!r}]) == 0
assert main(["sessions", "show", {name!r}, "--history"]) == 0
print(sorted({{"pydantic_ai", "pydantic", "textual", "httpx", "asyncio"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("[]\n")


# --- show --history --------------------------------------------------------------------------------------------------


def test_the_messages_that_the_model_would_see(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    code, shown = run("show", name, "--history")
    assert code == 0
    assert shown.splitlines()[:2] == [
        f"{MODEL}, by the rules of anthropic:",
        "system prompt of 1,234 characters, 0 tools, 3 messages",
    ]
    head, first, _, last = shown.splitlines()[3:7]
    assert head.split() == ["#", "ROLE", "SIZE", "PARTS", "CALLS"]
    assert first.split() == ["0", "user", "2", "text", "2"]
    assert last.split()[:2] == ["2", "user"]
    assert first.index("text") == last.index("2 results") == head.index("PARTS")
    assert shown.splitlines()[5].endswith("thinking 3, text 13, 2 calls 19  aaaaaaaaa bbbbbbbbb (open)")
    assert shown.splitlines()[-1] == "open calls: bbbbbbbbb"
    assert "secret" not in shown


def test_another_provider_would_see_other_messages(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    _, shown = run("show", name, "--history", "--provider", "openai-chat")
    assert shown.startswith("openai-chat:another, by the rules of openai-chat:")
    assert [line.split()[1] for line in shown.splitlines()[4:8]] == ["user", "assistant", "tool", "tool"]
    assert "thinking" not in shown
    with pytest.raises(UsageError, match=r"Unknown provider 'nobody' \(expected one of .*mistral.*\)"):
        run("show", name, "--history", "--provider", "nobody")
    with pytest.raises(UsageError, match="works only with --history"):
        run("show", name, "--provider", "openai-chat")


def test_a_program_gets_it_whole(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    history = json.loads(run("show", name, "--history", "--json")[1])
    assert (history["model"], history["profile"], history["system"], history["tools"]) == (MODEL, "anthropic", 1234, 0)
    assert (history["open_calls"], history["findings"]) == (["bbbbbbbbb"], [])
    assert history["messages"][1]["pieces"][2] == {"kind": "call", "size": 17, "call": "aaaaaaaaa"}


def test_a_table_fits_its_terminal_and_does_nothing_else_to_it(
    catalog: Catalog, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tuple(CallPart(f"call{number:05}\x1b]0;x\x07", "bash", "{}") for number in range(30))
    entries = (*OPEN[:2], ResponseEnded(step=1, model=MODEL, parts=(TextPart("長"), *calls), usage=Usage()))
    name = stored_session(catalog, here, entries)
    monkeypatch.setenv("COLUMNS", "80")
    _, shown = run("show", name, "--history")
    assert "\x1b" not in shown
    assert "…" in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[:-1])


def test_damage_is_reported_behind_the_messages(catalog: Catalog, here: Path) -> None:
    name = stored_session(catalog, here)
    damage(catalog, name)
    code, shown = run("show", name, "--history")
    assert code == 4
    assert shown.endswith("! Entry 4 is damaged. Its checksum does not fit.\n")
