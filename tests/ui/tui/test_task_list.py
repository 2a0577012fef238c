"""Background tasks on the screen: their number, their list, and the question on leaving."""

from __future__ import annotations

from pathlib import Path

from test_app import notice, showing, start, typed, until

from holdfast.agent.events import Fact
from holdfast.host.events import TaskOutput
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.ui.tui.app import HoldfastApp
from holdfast.ui.tui.tasks.known_tasks import KnownTasks
from holdfast.ui.tui.widgets.pickers import Picker
from holdfast.ui.tui.widgets.status_line import Status, status_text
from holdfast.ui.tui.widgets.text_page import TextPage

STARTED = Fact(1, TaskStarted(id="t1", call="c", command="npm run\ndev"))
ENDED = Fact(3, TaskEnded(id="t1", outcome="failed", text="", seconds=61))


def shows_list(screen: HoldfastApp) -> bool:
    return isinstance(screen.screen, Picker)


def test_what_is_known_of_them_comes_from_the_facts() -> None:
    tasks = KnownTasks([STARTED, Fact(2, TaskStarted(id="t2", call="d", command="make"))])
    assert tasks.running == ("t1", "t2")
    assert tasks.rows["t1"].command == "npm run dev"
    assert tasks.rows["t1"].state.startswith("runs, ")
    tasks.take(ENDED)
    assert tasks.running == ("t2",)
    assert tasks.rows["t1"].state == "failed, 1 min 01 s"


def test_the_status_line_counts_them() -> None:
    assert "· 2 tasks" in status_text(Status(mode="ask", tasks=2), 80).plain
    assert "1 queued · ↑ to edit · 1 task" in status_text(Status(mode="ask", tasks=1, queued=1), 80).plain
    assert "task" not in status_text(Status(mode="ask"), 80).plain


async def test_leaving_asks_while_they_run_and_only_then(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        screen._receive(STARTED)
        assert screen.controller.status.tasks == 1
        await typed(pilot, "/quit")
        await until(lambda: shows_list(screen))
        await pilot.press("down", "enter")
        await until(lambda: not shows_list(screen))
        assert screen.is_running
        await pilot.press("ctrl+d")
        await until(lambda: shows_list(screen))
        await pilot.press("escape")
        await until(lambda: not shows_list(screen))
        screen._receive(ENDED)
        assert screen.controller.status.tasks == 0
        await pilot.press("ctrl+d")
        await until(lambda: screen.return_code == 0)


async def test_they_are_listed_shown_and_unknown_ones_refused(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/tasks")
        assert notice(screen).startswith("No background tasks yet.")
        screen._receive(STARTED)
        await typed(pilot, "/tasks stop t9")
        assert notice(screen).startswith("Unknown task 't9' (expected one of t1).")
        await typed(pilot, "/tasks")
        await until(lambda: shows_list(screen))
        await pilot.press("escape")
        screen._receive(TaskOutput("t1", "ready\n"))
        await until(lambda: isinstance(screen.screen, TextPage))
        await pilot.press("escape")
        await pilot.press("ctrl+b")
        await until(lambda: "Nothing was moved" in notice(screen))
