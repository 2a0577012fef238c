"""The agent's side of the screen: whatever a person types is sent, or comes back to them."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.agent.events import LiveText
from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.opening import OpenSession, create
from holdfast.agent.providers import PROVIDERS
from holdfast.config import Limits
from holdfast.errors import StorageFailed
from holdfast.session.catalog import Catalog
from holdfast.session.entries import (
    ApprovalAsked,
    CallPart,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    Usage,
)
from holdfast.session.fold import UserMessage
from holdfast.testing.model import ScriptedModel
from holdfast.testing.script import Hold, Say
from holdfast.ui.tui.agent import Agent, Wishes
from holdfast.ui.tui.told import Asked, GivenBack, Idle, Refused, Told

MODEL = "openai-chat:scripted"


class Screen:
    """An agent over a scripted model, and what it told."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "workspace"
        self.cwd.mkdir()
        self.catalog = Catalog(folder / "home")
        self.model = ScriptedModel()
        self.told: list[Told] = []
        wishes = Wishes(catalog=self.catalog, environ={}, providers=PROVIDERS, connect=self._connect, limits=Limits())
        self.agent = Agent(wishes, mode="ask", tell=self.told.append)
        self.agent.start()

    async def _connect(self, name: str, log: Log | None) -> Model:
        del name, log
        return self.model

    def session(self, *journal: Entry) -> OpenSession:
        """Return a new session with these entries."""
        session = create(self.catalog, cwd=self.cwd, model=MODEL)
        if journal:
            session.store.append(journal, expected=1)
        return session

    def resume(self, *journal: Entry) -> Path:
        """Open a session that a process left with these entries, and return its folder."""
        session = self.session(*journal)
        session.store.close()
        self.agent.resume(self.catalog.find(session.id))
        return self.catalog.folder(session.id)

    def until(self, kind: Callable[[Told], bool], times: int = 1) -> None:
        """Wait until so many of a kind were told."""
        deadline = time.monotonic() + 20
        while sum(map(kind, list(self.told))) < times:
            assert time.monotonic() < deadline, self.told
            time.sleep(0.005)

    def idle(self, times: int = 1) -> None:
        """Wait until the agent has become idle so many times."""
        self.until(lambda told: isinstance(told, Idle), times)

    def said(self) -> list[str]:
        """Return the words of the last request."""
        messages = self.model.requests[-1].messages
        return [text for message in messages if isinstance(message, UserMessage) for text in message.texts]


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    made = Screen(tmp_path)
    yield made
    assert made.agent.close(20)


def asking() -> list[Entry]:
    """Return the journal of a process that died while a person was asked."""
    call = CallPart(id="c1", name="bash", arguments='{"command": "true"}')
    return [
        PromptAccepted(turn=1, text="old"),
        RequestStarted(step=1, attempt=1, model=MODEL),
        ResponseEnded(step=1, model=MODEL, parts=(call,), usage=Usage()),
        ApprovalAsked(call="c1", why="It runs a command."),
    ]


def test_what_is_typed_while_a_crashed_session_is_settled_is_its_next_prompt(screen: Screen) -> None:
    screen.model.extend([Say("hello")])
    session = screen.session(PromptAccepted(turn=1, text="old"))
    session.store.close()
    lock = os.open(screen.catalog.folder(session.id) / "keeper.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # its keeper is still ending things
        screen.agent.resume(screen.catalog.find(session.id))
        screen.agent.prompt("please do this")
        screen.until(lambda told: type(told).__name__ == "Busy")
        threading.Timer(0.2, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        screen.idle(2)
    finally:
        os.close(lock)
    assert screen.said()[-1] == "please do this"


def test_two_messages_at_once_are_a_prompt_and_a_message(screen: Screen) -> None:
    screen.model.extend([Say("hm"), Hold("more"), Say("done")], [Say("that too")])
    screen.agent.open(screen.session)
    screen.idle()
    screen.agent.prompt("go")
    screen.agent.prompt("and then", "later")
    screen.until(lambda told: isinstance(told, LiveText))
    screen.agent._now(lambda: screen.model.release("more"))
    screen.idle(2)
    assert screen.said()[-1] == "and then"


def test_words_for_a_turn_that_was_taken_up_and_is_stopped_come_back(screen: Screen) -> None:
    screen.resume(*asking())
    screen.until(lambda told: isinstance(told, Asked))
    screen.agent.prompt("rather so")
    screen.until(lambda told: "Queued" in str(told))
    screen.agent.stop()
    screen.idle()
    assert [told for told in screen.told if isinstance(told, GivenBack)] == [GivenBack("rather so")]


def test_words_that_a_full_disk_did_not_take_come_back(screen: Screen) -> None:
    session = screen.session()
    append = session.store.append
    full = threading.Event()

    def appended(entries: list[Entry], *, expected: int) -> int:
        if full.is_set():
            raise StorageFailed("Disk is full, some space was expected. Free some.")
        return append(entries, expected=expected)

    session.store.append = appended  # pyright: ignore[reportAttributeAccessIssue] - a store whose disk becomes full
    screen.model.extend([Say("hm"), Hold("more"), Say("done")])
    screen.agent.open(lambda: session)
    screen.agent.prompt("go")
    screen.until(lambda told: isinstance(told, LiveText))
    full.set()
    screen.agent.prompt("important words")
    screen.until(lambda told: isinstance(told, Refused))
    full.clear()
    assert [told.text for told in screen.told if isinstance(told, Refused)] == ["important words"]


def test_without_a_session_words_come_back(screen: Screen) -> None:
    screen.agent.prompt("hello?")
    screen.until(lambda told: isinstance(told, Refused))
