"""Makes many sessions quickly, to measure what lists and searches cost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from holdfast.session.journal.entries import Entry, PromptAccepted, ResponseEnded, SessionOpened
from holdfast.session.journal.parts import TextPart, Usage
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.durable_files import BLOBS, DATABASE

KINDS = 40
"""Different sessions; the others are copies of them, each with its own id and time."""

_SECOND = 1_000_000_000
_OLDEST = 1_700_000_000


def make_sessions(home: Path, count: int, *, cwd: Path) -> list[str]:
    """Make `count` sessions in `home` without their caches, and return their ids, the oldest first."""
    root, models = home / "sessions", home / "models-of-sessions"
    kinds = [_kind(models / f"kind-{number}", number, cwd) for number in range(min(KINDS, count))]
    root.mkdir(mode=0o700, exist_ok=True)
    ids: list[str] = []
    for number in range(count):
        session = session_name(number)
        folder = root / session
        (folder / BLOBS).mkdir(parents=True)
        (folder / DATABASE).write_bytes(kinds[number % len(kinds)])
        at = (_OLDEST + number) * _SECOND
        os.utime(folder / DATABASE, ns=(at, at))
        ids.append(session)
    shutil.rmtree(models)
    return ids


def session_name(number: int) -> str:
    """Return the id of the session with this number."""
    minute, letters = divmod(number, 10)
    day, minute = divmod(minute, 24 * 60)
    month, day = divmod(day, 28)
    hour, minute = divmod(minute, 60)
    return f"2023{month + 1:02}{day + 1:02}-{hour:02}{minute:02}-s{letters:03}"


def _kind(folder: Path, number: int, cwd: Path) -> bytes:
    """Return the database of a session with one turn."""
    opened = SessionOpened(session=folder.name, cwd=str(cwd), model="openai-chat:m", system="", tools=(), version="0")
    prompt = PromptAccepted(turn=1, text=f"What does module number{number:03} do?")
    answer = " ".join(f"word{number:03}{each:03} explains the module" for each in range(60))
    ended = ResponseEnded(step=1, model="openai-chat:m", parts=(TextPart(text=answer),), usage=Usage(), finish="end")
    entries: list[Entry] = [opened, prompt, ended]
    store = SqliteStore.create(folder)
    store.append(entries, expected=0)
    store.close()
    return (folder / DATABASE).read_bytes()
