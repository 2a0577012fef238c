"""The screen in this process: what it shows of what is told, and what its keys and commands do."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, Static

from holdfast.agent.events import Fact
from holdfast.agent.opening import create
from holdfast.calls import Mode
from holdfast.config import Limits
from holdfast.errors import HoldfastError
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.entries import Titled
from holdfast.session.lock import Lease
from holdfast.session.sqlite import read_copy
from holdfast.ui.arguments import Arguments, parser
from holdfast.ui.exporting import write
from holdfast.ui.tui import app
from holdfast.ui.tui.advice import ADVICE, on_screen
from holdfast.ui.tui.app import Screen
from holdfast.ui.tui.composer import ASKING, BUSY, IDLE
from holdfast.ui.tui.connections import Connections
from holdfast.ui.tui.pickers import Picker
from holdfast.ui.tui.start import Start
from holdfast.ui.tui.told import Window


def start(folder: Path, *, mode: Mode = "ask", resumed: Summary | None = None) -> Start:
    return Start(
        arguments=parser().parse_args([], namespace=Arguments()),
        catalog=Catalog(folder / "home"),
        cwd=folder,
        model="demo",
        mode=mode,
        environ={},
        resumed=resumed,
    )


@asynccontextmanager
async def showing(begin: Start) -> AsyncGenerator[tuple[Screen, Pilot[int]]]:
    """Give a screen that shows what it begins with."""
    screen = Screen(begin, Connections({}, Limits()), Limits())
    async with screen.run_test() as pilot:
        await pilot.pause()
        yield screen, pilot
    assert await asyncio.to_thread(screen.agent.close, 20)


def notice(screen: Screen) -> str:
    return str(screen.query_one("#notice", Static).render())


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not seen():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.01)


async def typed(pilot: Pilot[int], line: str) -> None:
    """Type a line and send it."""
    screen = pilot.app
    assert isinstance(screen, Screen)
    screen.composer.load_text(line)
    screen.composer.move_cursor(screen.composer.document.end)
    screen.completions.offer(())
    await pilot.press("enter")


async def test_never_being_asked_is_chosen_by_name_and_not_come_by(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        modes: list[str] = []
        for _ in range(4):
            await pilot.press("shift+tab")
            modes.append(screen.status.mode)
        assert modes == ["accept-edits", "plan", "ask", "accept-edits"]
        await typed(pilot, "/permissions yolo")
        assert screen.status.mode == "yolo"
        await pilot.press("shift+tab")
        assert screen.status.mode == "ask"
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        assert screen.status.mode == "yolo"


async def test_the_window_is_that_of_the_model_in_use(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, _):
        screen.heard(Window("demo", 200_000))
        assert screen.status.window == 200_000
        screen.use_model("ollama:other")
        assert screen.status.window == 0
        screen.heard(Window("demo", 200_000))
        assert screen.status.window == 0, "it came late, and is of the model before"


async def test_a_title_is_told_when_it_is_kept(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.session = "s"
        await typed(pilot, "/rename A name")
        assert "A name" not in notice(screen)
        screen.heard(Fact(2, Titled(title="A name")))
        assert notice(screen) == "This session is called: A name"


async def test_ctrl_d_deletes_where_something_else_is_written(tmp_path: Path) -> None:
    """In the search of a picker, and where a person says why not."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/theme")
        await pilot.press("x", "home", "ctrl+d")
        assert isinstance(screen.screen, Picker)
        assert screen.screen.query_one(Input).value == ""
        await pilot.press("escape")
        await typed(pilot, "/help")
        await pilot.press("ctrl+d", "escape")
        screen.approval.display = True
        screen.approval.action_choose("no")
        await pilot.press("x", "home", "ctrl+d")
        assert screen.is_running
        assert screen.approval.query_one(Input).value == ""


async def test_who_leaves_the_question_about_a_session_in_use_begins_a_new_one(tmp_path: Path) -> None:
    session = create(Catalog(tmp_path / "home"), cwd=tmp_path, model="demo")
    summary = Catalog(tmp_path / "home").find(session.id)
    async with showing(start(tmp_path, resumed=summary)) as (screen, pilot):
        await until(lambda: isinstance(screen.screen, Picker))
        title = str(screen.screen.query_one("#title", Static).render())
        assert session.id in title
        assert "pid" in title
        await pilot.press("escape")
        await until(lambda: "in use and was not opened" in notice(screen))
        assert "Your next prompt begins a new one." in notice(screen)
        assert f"/resume {session.id}" in notice(screen)
        await typed(pilot, "!true")
        await until(lambda: bool(screen.session))
        assert screen.session != session.id
        await until(lambda: not screen.status.doing)
        await typed(pilot, f"/resume {session.id}")
        await until(lambda: isinstance(screen.screen, Picker))
        await pilot.press("escape")
        await until(lambda: "This one goes on." in notice(screen))
    session.store.close()


async def test_a_list_begins_at_what_is_in_use(tmp_path: Path) -> None:
    """So that it shows nothing else before anybody chose it, and Enter changes nothing."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/theme holdfast-light")
        await typed(pilot, "/theme")
        assert screen.theme == "holdfast-light"
        await pilot.press("up")
        assert screen.theme == "holdfast-dark"
        await pilot.press("escape")
        assert screen.theme == "holdfast-light"
        await typed(pilot, "/permissions plan")
        await typed(pilot, "/permissions")
        await pilot.press("enter")
        assert screen.status.mode == "plan"
        await typed(pilot, "/model")
        await pilot.press("enter")
        assert screen.status.model == "demo"


async def test_what_ctrl_c_would_do_again_is_said_as_long_as_it_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "AGAIN", 0.2)
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.press("ctrl+c")
        assert notice(screen) == app.QUITS
        await until(lambda: not notice(screen))
        await pilot.press("ctrl+c")
        assert screen.is_running, "the first was too long ago"
        screen.say("something else")
        await asyncio.sleep(0.4)
        assert notice(screen) == "something else"


async def test_what_is_open_has_the_keys(tmp_path: Path) -> None:
    """Ctrl+C closes it as Esc does, the pages turned are its own, and nothing else comes on top of it."""
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.composer.remember(("earlier",))
        await typed(pilot, "/model")
        await pilot.press("ctrl+r", "ctrl+g", "shift+tab")
        assert len(screen.screen_stack) == 2
        assert screen.status.mode == "ask"
        await pilot.press("ctrl+c")
        assert len(screen.screen_stack) == 1
        assert notice(screen) == ""
        await typed(pilot, "/help")
        await pilot.press("pagedown")
        page = screen.screen.query_one(VerticalScroll)
        await until(lambda: page.scroll_y > 0)
        await pilot.press("ctrl+c")
        assert len(screen.screen_stack) == 1


async def test_a_diff_outside_a_repository_says_so(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/diff")
        assert "is in no git repository" in notice(screen)
        assert not screen.session


async def test_an_empty_prompt_says_what_the_keys_do_now(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, _):
        assert screen.composer.placeholder == IDLE
        screen.tell(replace(screen.status, doing="writing"))
        assert screen.composer.placeholder == BUSY
        screen.tell(replace(screen.status, asking=True))
        assert screen.composer.placeholder == ASKING
        screen.tell(replace(screen.status, doing="", asking=False))
        assert screen.composer.placeholder == IDLE


async def test_the_screen_answers_while_sessions_are_looked_through(tmp_path: Path) -> None:
    """Hundreds of them take a second; and what is wrong with them is said."""

    class Slow(Catalog):
        looked = threading.Event()

        def all(self) -> tuple[Summary, ...]:
            assert self.looked.wait(20)
            return super().all()

    slow = Slow(tmp_path / "home")
    async with showing(replace(start(tmp_path), catalog=slow)) as (screen, pilot):
        await typed(pilot, "/resume")
        await pilot.press("a", "b")
        assert screen.composer.text == "ab"
        slow.looked.set()
        await until(lambda: "no other session" in notice(screen))


def test_what_an_error_advises_can_be_done_on_the_screen(tmp_path: Path) -> None:
    """Each piece of advice is one that an error gives, word for word."""
    catalog = Catalog(tmp_path)
    session = create(catalog, cwd=tmp_path, model="demo")
    said: list[str] = []

    def fails(what: Callable[[], object]) -> None:
        with pytest.raises(HoldfastError) as failed:
            what()
        said.append(str(failed.value))

    fails(lambda: catalog.find("zz"))
    fails(lambda: catalog.folder("../x"))
    fails(lambda: Lease.take(catalog.folder(session.id)))
    fails(lambda: write(tmp_path / session.id, ""))
    fails(lambda: Connections({}, Limits()).check("anthropic:claude"))
    session.store.close()
    (catalog.folder(session.id) / "session.db").unlink()
    fails(lambda: read_copy(catalog.folder(session.id)))
    shown = [on_screen(each) for each in said]
    assert all(any(piece in each for each in said) for piece in ADVICE)
    assert not any(re.search(r"holdfast [a-z]|--[a-z]", each) for each in shown), shown
