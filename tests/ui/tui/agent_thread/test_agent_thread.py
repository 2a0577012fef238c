"""The agent's side of the screen: whatever the user types is sent, or comes back to them."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Fact, LiveText, Shortening
from holdfast.agent.sessions import OpenSession, create, resume
from holdfast.errors import StorageFailed
from holdfast.host import commands as c
from holdfast.host.events import Asked, Busy, Idle, Returned, ServersShown, TaskOutput
from holdfast.providers.model import Model
from holdfast.questions import older_question
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.entries import (
    ApprovalAsked,
    Compacted,
    Entry,
    ModelChanged,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    ShellEnded,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.agent_thread import NO_SESSION, AgentThread
from holdfast.ui.tui.agent_thread.messages import (
    AgentMessage,
    ErrorMessage,
    InputAccepted,
    PromptRefused,
    SessionClosed,
    SessionOpenedMessage,
)
from long_texts import prose
from polling import HANGS

MODEL = "openai-chat:scripted"

E = TypeVar("E", bound=Entry)


class Screen:
    """An agent over a scripted model, and the messages that it sent."""

    def __init__(self, folder: Path, *, debug: bool = False) -> None:
        self.cwd = folder / "workspace"
        self.cwd.mkdir()
        options = RunOptions(
            cwd=self.cwd, environ={"HOLDFAST_HOME": str(folder / "home")}, arguments=Arguments(debug=debug)
        )
        self.catalog = options.catalog
        self.model = ScriptedModel()
        self.messages: list[AgentMessage] = []
        self.traces: list[str] = []
        self.at_idle: list[Callable[[], None]] = []
        self.connects = threading.Event()
        self.connects.set()
        self.agent = AgentThread(options, connect=self._connect, keep=self._keep, send=self._send)
        self.agent.start()

    def _send(self, message: AgentMessage) -> None:
        self.messages.append(message)
        if isinstance(message, Idle) and self.at_idle:
            self.at_idle.pop()()

    def _keep(self, trace: str) -> tuple[str, str]:
        self.traces.append(trace)
        return trace, "kept in a file"

    async def _connect(self, name: str, log: Log | None) -> Model:
        del name, log
        assert self.connects.wait(HANGS)  # the agent's loop waits too: what is typed until then lies in its mailbox
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

    def until(self, kind: Callable[[AgentMessage], bool], times: int = 1) -> None:
        """Wait until so many of a kind of message were sent."""
        deadline = time.monotonic() + HANGS
        while sum(map(kind, list(self.messages))) < times:
            assert time.monotonic() < deadline, self.messages
            time.sleep(0.005)

    def idle(self, times: int = 1) -> None:
        """Wait until the agent has become idle so many times."""
        self.until(lambda message: isinstance(message, Idle), times)

    def request_texts(self) -> list[str]:
        """Return the words of the last request, without the facts of the session, which open the first message."""
        messages = self.model.requests[-1].messages
        texts = [text for message in messages if isinstance(message, UserMessage) for text in message.texts]
        return texts[1:] if texts[0].startswith("[Note from holdfast: where you work.") else texts


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    created = Screen(tmp_path)
    yield created
    assert created.agent.close(20)


def facts(screen: Screen, kind: type[E]) -> list[E]:
    """Return the entries of a kind that were sent."""
    entries = [message.entry for message in list(screen.messages) if isinstance(message, Fact)]
    return [entry for entry in entries if isinstance(entry, kind)]


def open_files() -> set[Path]:
    """Return the files that this process has open."""
    files: set[Path] = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            files.add(link.readlink())
    return files


def approval_left_open() -> list[Entry]:
    """Return the journal of a process that died while the user was asked."""
    call = CallPart(id="c1", name="bash", arguments='{"command": "true"}')
    return [
        PromptAccepted(turn=1, text="old"),
        RequestStarted(step=1, attempt=1, model=MODEL),
        ResponseEnded(step=1, model=MODEL, parts=(call,), usage=Usage()),
        ApprovalAsked(call="c1", question=older_question("c1", "It runs a command.")),
    ]


def test_what_is_typed_while_a_crashed_session_is_settled_is_its_next_prompt(screen: Screen) -> None:
    screen.model.extend([Say("hello")])
    session = screen.session(PromptAccepted(turn=1, text="old"))
    session.store.close()
    lock = os.open(screen.catalog.folder(session.id) / "supervisor.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # its supervisor is still ending things
        screen.agent.resume(screen.catalog.find(session.id))
        screen.agent.submit(c.Prompt("please do this"))
        screen.until(lambda message: type(message).__name__ == "Busy")
        threading.Timer(0.2, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
        screen.idle(2)
    finally:
        os.close(lock)
    assert screen.request_texts()[-1] == "please do this"


def test_two_messages_at_once_are_a_prompt_and_a_message(screen: Screen) -> None:
    screen.model.extend([Say("hm"), Hold("more"), Say("done")], [Say("that too")])
    screen.agent.open(screen.session)
    screen.idle()
    screen.agent.submit(c.Prompt("go"))
    screen.agent.submit(c.Prompt("and then", "later"))
    screen.until(lambda message: isinstance(message, LiveText))
    screen.agent._commands.call_soon(lambda: screen.model.release("more"))
    screen.idle(2)
    assert screen.request_texts()[-1] == "and then"


def test_words_for_a_turn_that_was_taken_up_and_is_stopped_come_back(screen: Screen) -> None:
    screen.resume(*approval_left_open())
    screen.until(lambda message: isinstance(message, Asked))
    screen.agent.submit(c.Prompt("rather so"))
    screen.until(lambda message: "Queued" in str(message))
    screen.agent.stop()
    screen.idle()
    assert [message for message in screen.messages if isinstance(message, Returned)] == [Returned("rather so")]


def test_words_that_a_full_disk_did_not_take_come_back(screen: Screen) -> None:
    session = screen.session()
    append = session.store.append
    full = threading.Event()

    def appended(entries: list[Entry], *, expected: int) -> int:
        if full.is_set():
            raise StorageFailed("The disk is full. Free some space.")
        return append(entries, expected=expected)

    session.store.append = appended  # pyright: ignore[reportAttributeAccessIssue] - a store whose disk becomes full
    screen.model.extend([Say("hm"), Hold("more"), Say("done")])
    screen.agent.open(lambda: session)
    screen.agent.submit(c.Prompt("go"))
    screen.until(lambda message: isinstance(message, LiveText))
    full.set()
    screen.agent.submit(c.Prompt("important words"))
    screen.until(lambda message: isinstance(message, PromptRefused))
    full.clear()
    assert [message.text for message in screen.messages if isinstance(message, PromptRefused)] == ["important words"]


def test_words_that_met_the_prompt_of_another_process_come_back(screen: Screen) -> None:
    session = screen.session()
    append = session.store.append
    others = [PromptAccepted(turn=1, text="from elsewhere")]

    def appended(entries: list[Entry], *, expected: int) -> int:
        if others:
            append([others.pop()], expected=expected)
        return append(entries, expected=expected)

    session.store.append = appended  # pyright: ignore[reportAttributeAccessIssue] - another process appends first
    screen.agent.open(lambda: session)
    screen.agent.submit(c.Prompt("important words"))
    screen.until(lambda message: isinstance(message, PromptRefused))
    assert [message.text for message in screen.messages if isinstance(message, PromptRefused)] == ["important words"]


def test_a_copy_is_switched_to_the_model_that_was_chosen(screen: Screen) -> None:
    session = screen.session(PromptAccepted(turn=1, text="old"))
    session.store.close()
    screen.agent.fork(screen.catalog.find(session.id), "openai:another")
    screen.until(lambda message: isinstance(message, Fact) and isinstance(message.entry, ModelChanged))
    assert facts(screen, ModelChanged) == [ModelChanged(model="openai:another")]


def test_without_a_session_words_come_back(screen: Screen) -> None:
    screen.agent.submit(c.Prompt("hello?"))
    screen.until(lambda message: isinstance(message, PromptRefused))


@pytest.mark.parametrize("opened", [False, True])
def test_a_stop_right_behind_a_prompt_is_for_its_turn(screen: Screen, *, opened: bool) -> None:
    """Whether the session is open or still to be: the words are kept, and nothing is sent."""

    def type_and_stop() -> None:
        screen.agent.submit(c.Prompt("go"))
        screen.agent.stop()

    if opened:
        screen.at_idle.append(type_and_stop)  # on the agent's thread, which takes neither before both are there
        screen.agent.open(screen.session)
    else:
        screen.connects.clear()
        screen.agent.open(screen.session)
        type_and_stop()
        screen.connects.set()
    screen.idle(2)
    assert [entry.text for entry in facts(screen, PromptAccepted)] == ["go"]
    assert [(entry.reason, entry.cause) for entry in facts(screen, TurnEnded)] == [("cancelled", "user")]
    assert screen.model.requests == []
    screen.model.extend([Say("hello")])
    screen.agent.submit(c.Prompt("and now"))
    screen.idle(3)
    assert screen.request_texts()[-1] == "and now", "the stop was for what came before it"


def test_a_stop_right_behind_a_command_is_for_it(screen: Screen) -> None:
    screen.agent.open(screen.session)
    screen.agent.submit(c.Shell("sleep 31415"))
    screen.agent.stop()
    screen.until(lambda message: isinstance(message, Fact) and isinstance(message.entry, ShellEnded))
    assert [entry.outcome for entry in facts(screen, ShellEnded)] == ["interrupted"]


def test_a_command_that_outlives_its_turn_is_still_busy(screen: Screen) -> None:
    """There is something to stop as long as anything runs."""
    screen.model.extend([Say("hm"), Hold("more"), Say("done")])
    screen.agent.open(screen.session)
    screen.agent.submit(c.Prompt("go"))
    screen.until(lambda message: isinstance(message, LiveText))
    screen.agent.submit(c.Shell("sleep 31415"))
    screen.until(lambda message: isinstance(message, InputAccepted), 2)
    screen.agent._commands.call_soon(lambda: screen.model.release("more"))
    screen.until(lambda message: isinstance(message, Fact) and isinstance(message.entry, TurnEnded))
    assert [type(message) for message in screen.messages if isinstance(message, Busy | Idle)][-1] is Busy
    screen.agent.stop()
    screen.idle(2)
    assert [entry.outcome for entry in facts(screen, ShellEnded)] == ["interrupted"]
    last = [message for message in screen.messages if isinstance(message, Busy | Idle)][-1]
    assert isinstance(last, Idle)


def test_each_input_is_acknowledged_once(screen: Screen) -> None:
    """Begun, kept for later, or refused."""
    screen.agent.submit(c.Prompt("hello?"))
    screen.until(lambda message: isinstance(message, InputAccepted))
    screen.model.extend([Say("hm"), Hold("more"), Say("done")], [Say("that too")])
    screen.agent.open(screen.session)
    screen.agent.submit(c.Prompt("go"))
    screen.agent.submit(c.Prompt("and then", "later"))
    screen.until(lambda message: isinstance(message, InputAccepted), 3)
    screen.agent._commands.call_soon(lambda: screen.model.release("more"))
    screen.idle(2)
    assert len([message for message in screen.messages if isinstance(message, InputAccepted)]) == 3


def test_words_for_a_session_that_cannot_be_opened_come_back_with_the_reason(screen: Screen) -> None:
    def full() -> OpenSession:
        raise StorageFailed("The disk is full. Free some space.")

    screen.agent.open(full)
    screen.agent.submit(c.Prompt("go"))
    screen.until(lambda message: isinstance(message, PromptRefused))
    assert PromptRefused("go", "The disk is full. Free some space.") in screen.messages


def test_a_session_whose_log_cannot_be_opened_is_free_again(tmp_path: Path) -> None:
    """What fails once the session is open closes it, and says that none is."""
    screen = Screen(tmp_path, debug=True)
    session = screen.session()
    session.store.close()
    (screen.catalog.folder(session.id) / "debug.log").mkdir()
    screen.agent.resume(screen.catalog.find(session.id))
    screen.until(lambda message: isinstance(message, ErrorMessage))
    assert [type(message) for message in screen.messages] == [SessionClosed, ErrorMessage]
    resume(screen.catalog, screen.catalog.find(session.id)).store.close()
    screen.agent.submit(c.Prompt("go"))
    screen.until(lambda message: isinstance(message, PromptRefused))
    assert "debug.log" in str(screen.messages[-2])
    assert screen.agent.close(20)


def test_a_session_that_does_not_close_well_is_still_given_up(tmp_path: Path) -> None:
    """What it holds is let go of, and the next one opens."""
    screen = Screen(tmp_path, debug=True)
    session = screen.session()
    close = session.toolbox.close

    async def closed() -> None:
        await close()
        raise StorageFailed("Tools do not end. Look at them.")

    session.toolbox.close = closed
    screen.model.extend([Say("hm"), Hold("more")], [Say("hello")])
    screen.agent.open(lambda: session)
    screen.agent.submit(c.Prompt("go"))
    screen.until(lambda message: isinstance(message, LiveText))
    screen.agent.open(screen.session)
    screen.agent.submit(c.Prompt("again"))
    screen.until(lambda message: isinstance(message, SessionOpenedMessage), 2)
    screen.idle(4)
    assert screen.request_texts()[-1] == "again"
    assert any(
        isinstance(message, ErrorMessage) and "Tools do not end" in message.message for message in screen.messages
    )
    assert screen.catalog.folder(session.id) / "debug.log" not in open_files()
    assert screen.agent.close(20)


def long_turns(screen: Screen, count: int) -> None:
    """Open a session and run so many turns in it, each with a long answer."""
    screen.model.extend(*([Say(f"answer {turn} " + prose(10_000, "long"))] for turn in range(count)))
    screen.agent.open(screen.session)
    for turn in range(count):
        screen.idle(turn + 1)
        screen.agent.submit(c.Prompt(f"request {turn}"))
    screen.idle(count + 1)


def test_older_messages_are_summarized_and_sent_again(screen: Screen) -> None:
    long_turns(screen, 4)
    screen.model.extend([Say("sum")])
    screen.agent.submit(c.Compact("the names"))
    screen.idle(6)
    assert len(facts(screen, Compacted)) == 1
    assert "the names" in screen.request_texts()[-1]
    screen.agent.submit(c.Uncompact())
    screen.agent.submit(c.Uncompact())
    screen.until(lambda message: isinstance(message, ErrorMessage) and "not compacted" in message.message)
    assert len(facts(screen, Uncompacted)) == 1


def test_a_stop_while_they_are_summarized_leaves_all_as_it_was(screen: Screen) -> None:
    long_turns(screen, 3)
    screen.model.extend([Hold("never")], [Say("fine")])
    screen.agent.submit(c.Compact(""))
    screen.until(lambda message: isinstance(message, Shortening))
    while not screen.model.open_streams:
        time.sleep(0.005)
    screen.agent.stop()
    screen.idle(5)
    assert facts(screen, Compacted) == []
    screen.agent.submit(c.Prompt("go on"))
    screen.idle(6)
    assert screen.request_texts() == ["request 0", "request 1", "request 2", "go on"]


def test_older_messages_are_not_summarized_while_a_turn_runs(screen: Screen) -> None:
    """The turn goes on, what waits for it waits, and it can be stopped."""
    screen.model.extend([Say("hm"), Hold("more"), Say("done")])
    screen.agent.open(screen.session)
    screen.agent.submit(c.Prompt("go"))
    screen.agent.submit(c.Prompt("and then", "later"))
    screen.until(lambda message: isinstance(message, LiveText))
    screen.agent.submit(c.Compact(""))
    screen.until(lambda message: isinstance(message, ErrorMessage) and "is running" in message.message)
    screen.until(lambda message: isinstance(message, InputAccepted), 3)
    assert not [message for message in screen.messages if isinstance(message, Returned)]
    assert isinstance([message for message in screen.messages if isinstance(message, Busy | Idle)][-1], Busy)
    screen.agent.stop()
    screen.until(lambda message: isinstance(message, Returned))


def test_a_fault_of_a_command_is_reported_in_one_line_and_its_traceback_kept(screen: Screen) -> None:
    def faulty() -> OpenSession:
        raise ZeroDivisionError("a fault of ours")

    screen.agent.open(faulty)
    screen.until(lambda message: isinstance(message, ErrorMessage))
    (error,) = [message.message for message in screen.messages if isinstance(message, ErrorMessage)]
    assert "ZeroDivisionError: a fault of ours" in error
    assert "kept in a file" in error
    assert "Traceback" not in error
    assert "Traceback" in screen.traces[0]
    screen.model.extend([Say("hello")])
    session = screen.session()
    screen.agent.open(lambda: session)
    screen.agent.submit(c.Prompt("still there?"))
    screen.idle(2)
    assert screen.request_texts() == ["still there?"]


def test_a_bug_behind_a_prompt_returns_the_words_and_its_traceback_is_kept(screen: Screen) -> None:
    session = screen.session()

    async def faulty(typed: str) -> str:
        raise ZeroDivisionError(typed)

    session.toolbox.expand_prompt = faulty
    screen.agent.open(lambda: session)
    screen.agent.submit(c.Prompt("/mcp__a__b"))
    screen.until(lambda message: isinstance(message, PromptRefused))
    (refused,) = [message for message in screen.messages if isinstance(message, PromptRefused)]
    assert refused.text == "/mcp__a__b"
    assert refused.message.startswith("Internal error: ZeroDivisionError: /mcp__a__b. This is a bug in holdfast.")
    assert "Traceback" in screen.traces[0]


def test_what_is_asked_without_a_session_has_an_answer(screen: Screen) -> None:
    """Servers and tasks: there are none; the rest says that no session is open."""
    screen.agent.submit(c.ShowServers())
    screen.agent.submit(c.ShowTask("t1"))
    screen.agent.submit(c.MoveCommand())
    screen.agent.submit(c.Rename("Mine"))
    screen.until(lambda message: isinstance(message, ErrorMessage), 2)
    shown = [message for message in screen.messages if isinstance(message, ServersShown | TaskOutput)]
    assert shown == [ServersShown((), {}), TaskOutput("t1", "")]
    moved, renamed = [message.message for message in screen.messages if isinstance(message, ErrorMessage)]
    assert moved.startswith("Nothing was moved")
    assert renamed == NO_SESSION


def test_a_mode_that_was_chosen_before_a_session_holds_in_it(screen: Screen) -> None:
    screen.model.extend([Call("write", {"path": "made.txt", "text": "x"})], [Say("done")])
    screen.agent.use_mode("accept-edits")
    screen.agent.open(screen.session)
    screen.agent.submit(c.Prompt("go"))
    screen.idle(2)
    assert (screen.cwd / "made.txt").read_text() == "x"
