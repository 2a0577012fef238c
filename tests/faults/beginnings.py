"""How a session comes to be or to another folder; played under a fault, and judged by what lists and verifies it.

Two rules. What was acknowledged is listed. Everything that is listed is whole, and what is not is gone. A session that
is moved works in one of its two folders, and the list says in which.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import holdfast
from holdfast.agent.sessions import create, fork, resume
from holdfast.errors import HoldfastError
from holdfast.providers.registry import PROVIDERS
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import Moved, PromptAccepted, SessionOpened
from holdfast.session.storage.blobs import BLOB_LIMIT
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from holdfast.ui.commands import sessions
from holdfast.ui.commands.doctor import probes

_MOVED = "a session is moved"
_PROGRAMS = "a program opens a session in its own folder"
_USERS = "a program opens one of the user's sessions"
BEGINNINGS = ("a session is created", "a session is imported", "a session is copied", _MOVED, _PROGRAMS, _USERS)

_OF_ANOTHER = ("a session is copied", _MOVED)

_MODEL = "openai-chat:m"
_OPENAI = "openai:gpt-5.5"
_ORIGINAL = "original"
_LARGE = "word " * (BLOB_LIMIT // 4)


def environ(root: Path) -> dict[str, str]:
    return {"HOLDFAST_HOME": str(root / "home")}


def prepare(name: str, root: Path) -> None:
    """Put what a run starts from in the empty folder `root`."""
    (root / "work").mkdir()
    if name == "a session is imported":
        parts = [{"part_kind": "user-prompt", "content": _LARGE}]
        (root / "document.json").write_text(json.dumps([{"kind": "request", "parts": parts}]))
    if name == _MOVED:
        (root / "elsewhere").mkdir()
    if name in _OF_ANOTHER:
        store = SqliteStore.create(root / "home" / "sessions" / _ORIGINAL)
        opened = SessionOpened(
            session=_ORIGINAL, cwd=str(root.with_name("root") / "work"), model=_MODEL, system="S", tools=(), version="0"
        )
        store.append([opened, PromptAccepted(turn=1, text=_LARGE)], expected=0)
        store.close()


def begin(name: str, root: Path, report: Callable[..., None]) -> None:
    """Have the session come to be, and say which; what fails is said."""
    catalog = Catalog(root / "home" / "sessions")
    try:
        match name:
            case "a session is created":
                session = create(catalog, cwd=root / "work", model=_MODEL)
                session.store.close()
                report("acked", session.id)
            case "a session is imported":
                output = io.StringIO()
                command = ["import", str(root / "document.json"), "-m", _MODEL]
                sessions.main(command, environ=environ(root), stdout=output, stderr=output)
                report("acked", output.getvalue().partition(" as session ")[2].partition(".")[0])
            case "a session is moved":
                output = io.StringIO()
                command = ["move", _ORIGINAL, str(root / "elsewhere")]
                sessions.main(command, environ=environ(root), stdout=output, stderr=output)
                report("acked", output.getvalue().partition("Session ")[2].partition(" ")[0])
            case "a program opens a session in its own folder":
                report("acked", _opened_by_program(root, session=root / "mine"))
            case "a program opens one of the user's sessions":
                report("acked", _opened_by_program(root, session=None))
            case _:
                session = fork(catalog, catalog.find(_ORIGINAL))
                session.store.close()
                report("acked", session.id)
    except HoldfastError as error:
        report("failed", str(error))


def _opened_by_program(root: Path, *, session: Path | None) -> str:
    """Open a session as a program does, close it, and return its id."""

    async def opened() -> str:
        async with holdfast.open_session(_OPENAI, session=session, cwd=root / "work") as running:
            return running.id

    os.environ.update(environ(root), OPENAI_API_KEY="test-key")
    return asyncio.run(opened())


def _program_wrong(root: Path, *, acked: bool) -> list[str]:
    """Return what is wrong with the session in the folder of a program, which opens it twice more."""
    folder = root / "mine"
    if acked and not read_copy(folder).records:
        return ["it was opened and has no entry"]
    for _ in range(2):
        try:
            _opened_by_program(root, session=folder)
        except HoldfastError as error:
            return [f"the next one fails: {error}"]
    reading = read_copy(folder)
    firsts = [each.entry for each in reading.records if isinstance(each.entry, SessionOpened)]
    wrong = [] if len(firsts) == len(reading.records) == 1 else [f"it has {len(reading.records)} entries"]
    return wrong + [f"it has the damage {finding.what}" for finding in reading.findings]


def judge(name: str, root: Path, lines: tuple[str, ...]) -> list[str]:
    """Return what is wrong with what a run left."""
    words = [json.loads(line) for line in lines]
    if name == _PROGRAMS:
        wrong = [f"it said {word}" for word in words if word[0] not in ("acked", "failed")]
        return wrong + _program_wrong(root, acked=["acked", "mine"] in words)
    acked = [session for word, session in words if word == "acked"]
    wrong = [f"it said {word}" for word in words if word[0] not in ("acked", "failed")]
    out = io.StringIO()
    for command in (["list", "--all", "--json"], ["verify", "--all"]):
        out = io.StringIO()
        if code := sessions.main(command, environ=environ(root), stdout=out, stderr=out):
            wrong.append(f"sessions {command[0]} ends with {code}: {out.getvalue()}")
    catalog = Catalog(root / "home" / "sessions")
    doctor = probes._sessions(catalog, PROVIDERS)
    if doctor.level != "ok":
        wrong.append(f"doctor says {doctor.what}")
    listed = catalog.all()
    known = {_ORIGINAL} if name in _OF_ANOTHER else set[str]()
    wrong += [f"{each.id} is called damaged: {each.damage}" for each in listed if each.damage]
    wrong += [f"{session} is lost" for session in {*acked, *known} - {each.id for each in listed}]
    if len(listed) > len(known) + 1:
        wrong.append(f"{len(listed)} sessions are listed")
    for each in listed:
        if not read_copy(catalog.folder(each.id)).records:
            wrong.append(f"{each.id} has no entry")
        resume(catalog, each).store.close()
    if name == _MOVED:
        wrong += _misplaced(catalog, root, acked=bool(acked))
    left = {path.parent.name for path in (root / "home" / "sessions").glob("*/session.db")}
    if left - {each.id for each in listed}:
        wrong.append("a journal without an entry is left behind")
    again: list[str] = []
    begin(name, root, lambda *words: again.append(words[0]))
    return wrong if again == ["acked"] else [*wrong, "the next one fails"]


def _misplaced(catalog: Catalog, root: Path, *, acked: bool) -> list[str]:
    """Return what is wrong with where a session is that was to be moved: once moved, it is found there, and once."""
    records = read_copy(catalog.folder(_ORIGINAL)).records
    moved = [record.entry for record in records if isinstance(record.entry, Moved)]
    wrong = ["it was told as moved and is not"] if acked and not moved else []
    if len(moved) > 1:
        wrong.append(f"it was moved {len(moved)} times")
    there = catalog.latest(root / ("elsewhere" if moved else "work"))
    if there is None or there.id != _ORIGINAL:
        wrong.append("its folder does not find it")
    if catalog.latest(root / ("work" if moved else "elsewhere")) is not None:
        wrong.append("the other folder finds it")
    return wrong


def play(prepared: Path, root: Path) -> None:
    """Put a fresh copy of what a run starts from in its place."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(prepared, root)
