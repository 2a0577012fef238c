"""Closing a local session: whatever raises on the way, its journal is free for another program afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy
from holdfast.session.catalog import Catalog
from holdfast.session.storage.lease import raise_if_busy
from holdfast.ui.service.local.inbox_file import InboxFile
from holdfast.ui.service.local.local_held_session import LocalHeldSession
from holdfast.ui.service.local.served_session import ServedSession, create_session, open_served_session
from holdfast.ui.service.serve_arguments import ServeArguments


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"HOLDFAST_HOME": str(home), "OPENAI_API_KEY": "key", "HOME": str(tmp_path)}


@pytest.fixture
def served(tmp_path: Path, environ: dict[str, str]) -> ServedSession:
    session = create_session(ServeArguments(), environ, tmp_path, model="openai:gpt-5.5", session_id="s-1")
    return open_served_session(ServeArguments(), environ, session)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[InboxFile]:
    inbox = InboxFile(tmp_path / "service" / "inbox.db")
    yield inbox
    inbox.close()


def folder(environ: dict[str, str]) -> Path:
    return Catalog(Path(environ["HOLDFAST_HOME"]) / "sessions").folder("s-1")


def test_a_log_that_cannot_be_closed_leaves_the_journal_free(
    environ: dict[str, str], served: ServedSession, inbox: InboxFile
) -> None:
    def fails() -> None:
        raise OSError(28, "No space left on device")

    served.closing.callback(fails)
    held = LocalHeldSession(served, inbox)
    with pytest.raises(SessionBusy):
        raise_if_busy(folder(environ))
    with pytest.raises(OSError, match="No space left"):
        held.close()
    raise_if_busy(folder(environ))


def test_a_session_that_cannot_be_prepared_leaves_the_journal_free(
    environ: dict[str, str], served: ServedSession, inbox: InboxFile
) -> None:
    LocalHeldSession(served, inbox).close()
    raise_if_busy(folder(environ))

    def unwritable(_: str) -> None:
        raise OSError(5, "Input/output error")

    arguments = ServeArguments(debug=True)
    logs = folder(environ) / "debug.log"
    with pytest.raises(OSError, match="Input/output"):
        open_served_session(arguments, environ, "s-1", notify=unwritable)
    raise_if_busy(folder(environ))
    assert not logs.is_dir()
