"""What is known of a session follows from what the agent tells, without any screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.events import Event, Fact, LiveText, LiveThinking, Shortening
from holdfast.config.model_servers import ModelOverrides
from holdfast.config.settings import Config
from holdfast.errors import ModelUnusable, UsageError
from holdfast.host.commands import Shell
from holdfast.host.events import AskClosed, Busy, Idle, Window
from holdfast.providers.credentials.provider_keys import ProviderKey
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    Entry,
    ModelChanged,
    ModelSettingsChanged,
    PromptAccepted,
    Queued,
    RequestFailed,
    RequestStarted,
    Rewound,
    SessionOpened,
)
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.messages import (
    CurrentConversation,
    InputAccepted,
    SessionClosed,
    SessionOpenedMessage,
)
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.session_controller import READ_ONLY, SessionController
from holdfast.ui.tui.widgets.activity import STARTING_UP, STOPPING
from holdfast.ui.tui.widgets.status_line import Status

OPENED = SessionOpened(session="s", cwd="/", model="a:b", system="", tools=(), version="0")


def controller(folder: Path, shown: list[Status], *, model: str = "demo") -> SessionController:
    """Return a controller whose agent is never started; `shown` gets every status."""
    start = RunOptions(cwd=folder, model=model, environ={"HOLDFAST_HOME": str(folder / "home")})
    return SessionController(start, Connections(start), receive=lambda _: None, show=shown.append)


@pytest.fixture
def shown() -> list[Status]:
    return []


@pytest.fixture
def session(tmp_path: Path, shown: list[Status]) -> Iterator[SessionController]:
    created = controller(tmp_path, shown)
    yield created
    assert created.agent.close(20)


def opened(*entries: Entry, read_only: bool = False) -> SessionOpenedMessage:
    now = CurrentConversation(fold([OPENED, *entries]), 7)
    return SessionOpenedMessage(session="s", cwd="/", now=now, facts=(), read_only=read_only)


def test_a_session_that_is_opened_is_known_by_its_conversation(session: SessionController) -> None:
    prompts = [PromptAccepted(turn=turn, text=f"p{turn}") for turn in (1, 2, 3)]
    session.take(
        opened(*prompts, Rewound(turn=2), PromptAccepted(turn=4, text="again"), Queued(id="q", text="", when="later"))
    )
    assert (session.session, session.status.model, session.status.queued, session.status.context) == ("s", "a:b", 1, 7)
    assert {each.turn: each.text for each in session.prompts} == {1: "p1", 4: "again"}
    session.take(SessionClosed())
    assert (session.session, session.prompts) == ("", ())
    assert session.status == Status(mode="ask", model="a:b", branch=session.status.branch, cwd=session.status.cwd)


def test_an_answer_sets_the_mode_of_its_session_and_of_no_other(session: SessionController) -> None:
    session.use_mode("plan")
    session.take(opened())
    session.take(Fact(1, ApprovalAnswered(call="c", allowed=True)))
    assert session.status.mode == "plan"
    session.take(Fact(2, ApprovalAnswered(call="c", allowed=True, mode="accept-edits")))
    assert session.status.mode == "accept-edits"
    session.take(opened())
    assert session.status.mode == "plan"


@pytest.mark.parametrize(
    ("event", "doing"),
    [
        (Fact(1, RequestStarted(step=1, attempt=1, model="a:b")), "waiting for b"),
        (LiveThinking(1, "hm"), "thinking"),
        (LiveText(1, "more"), "writing"),
        (Shortening("…"), "compacting"),
        (
            Fact(
                1,
                RequestFailed(
                    step=1, attempt=1, fault="rate_limited", message="", status=429, retry_in=4.0, attempts=3
                ),
            ),
            "429; retry 2 of 3 in 4 s",
        ),
    ],
)
def test_what_is_being_done(session: SessionController, event: Event, doing: str) -> None:
    """As of the last event, until a stop was asked for; an idle session does nothing."""
    session.take(event)
    assert session.status.doing == ""
    session.take(Busy())
    session.take(event)
    assert session.status.doing == doing
    session.stop()
    session.take(event)
    assert session.status.doing == STOPPING
    session.take(Idle(None))
    assert session.status.doing == ""


def test_what_was_submitted_is_seen_at_once_and_a_stop_is_for_it(session: SessionController) -> None:
    session.run(Shell("true"))
    assert session.status.doing == STARTING_UP
    session.stop()
    session.run(Shell("true"))
    session.take(InputAccepted())
    assert session.status.doing == STARTING_UP, "the second was not stopped"
    session.take(InputAccepted())
    assert session.status.doing == ""


def test_each_state_is_shown_once(session: SessionController, shown: list[Status]) -> None:
    session.take(Fact(1, ModelChanged(model="c:d")))
    session.take(Fact(2, ModelChanged(model="c:d")))
    session.take(AskClosed("c"))
    assert [each.model for each in shown] == ["c:d"]


def test_what_cannot_take_a_prompt_says_so(tmp_path: Path, session: SessionController) -> None:
    session.take(opened(read_only=True))
    with pytest.raises(UsageError, match="Read-only") as refused:
        session.run(Shell("true"))
    assert str(refused.value) == READ_ONLY
    assert session.status.doing == ""
    without = controller(tmp_path, [], model="")
    with pytest.raises(ModelUnusable, match="No model configured"):
        without.begin("go", "steer")
    assert without.agent.close(20)


def test_between_turns_the_status_has_the_chosen_model_and_the_window_is_that_of_the_model_shown(
    session: SessionController,
) -> None:
    session.take(opened())
    session.take(Busy())
    session.take(Window("a:b", 1_000))
    session.take(Window("c:d", 200))  # the fallback is connected before the change is journalled
    assert (session.status.model, session.status.window) == ("a:b", 1_000)
    session.take(Fact(2, ModelChanged(model="c:d", why="fallback")))
    assert (session.status.model, session.status.window) == ("c:d", 200)
    session.take(Idle(None))
    assert (session.status.model, session.status.window) == ("a:b", 1_000)


def test_a_model_chosen_while_a_fallback_stands_in_begins_with_its_own_settings(tmp_path: Path) -> None:
    configured = {
        "openai:a": ModelOverrides(effort="high"),
        "openai:b": ModelOverrides(effort="low"),
        "openai:c": ModelOverrides(effort="max"),
    }
    start = RunOptions(
        cwd=tmp_path,
        model="openai:a",
        environ={"HOLDFAST_HOME": str(tmp_path / "home")},
        config=Config(models=configured),
        keys={"OPENAI_API_KEY": ProviderKey("environment", "key")},
    )
    session = SessionController(start, Connections(start), receive=lambda _: None, show=lambda _: None)
    try:
        session.take(
            opened(ModelChanged(model="openai:a"), ModelSettingsChanged(settings=ModelSettings(effort="high")))
        )
        session.take(Busy())
        session.take(Fact(3, ModelChanged(model="openai:b", why="fallback")))
        session.use_model("openai:c")
        assert (session.settings.effort, session.status.effort) == ("max", "max")
    finally:
        assert session.agent.close(20)


def test_the_note_about_an_effort_knows_that_requests_have_tools(tmp_path: Path) -> None:
    session = controller(tmp_path, [], model="openai-chat:gpt-5.5")
    try:
        assert "takes no effort together with tools" in session.effort_note("high")
    finally:
        assert session.agent.close(20)


def test_a_session_that_is_only_read_keeps_its_model_and_its_settings(session: SessionController) -> None:
    session.take(opened(read_only=True))
    with pytest.raises(UsageError, match="Read-only"):
        session.use_effort("high")
    with pytest.raises(UsageError, match="Read-only"):
        session.use_model("demo")
    assert (session.status.model, session.status.effort) == ("a:b", None)
