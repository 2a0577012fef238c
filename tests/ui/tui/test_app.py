"""The screen in this process: what it shows of the messages it gets, and what its keys and commands do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.text import Text
from textual import events
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from holdfast.agent.events import Fact, TurnFailed
from holdfast.agent.sessions import create
from holdfast.config.settings import Config
from holdfast.host.events import Asked, Window
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.entries import Titled
from holdfast.tool_calls import Mode
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.ui.advice import SCREEN
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui import app
from holdfast.ui.tui.agent_thread.model_connections import Connections
from holdfast.ui.tui.app import HoldfastApp
from holdfast.ui.tui.widgets.composer import ASKING, BUSY, PLACEHOLDER_IDLE
from holdfast.ui.tui.widgets.pickers import Picker
from polling import HANGS


def start(
    folder: Path, *, mode: Mode = "ask", resumed: SessionSummary | None = None, arguments: Arguments | None = None
) -> RunOptions:
    return RunOptions(
        cwd=folder,
        arguments=arguments or Arguments(),
        model="demo",
        config=Config(permission_mode=mode),
        environ={"HOLDFAST_HOME": str(folder / "home")},
        resumed=resumed,
    )


@asynccontextmanager
async def showing(begin: RunOptions) -> AsyncGenerator[tuple[HoldfastApp, Pilot[int]]]:
    """Give a screen that shows what it begins with."""
    screen = HoldfastApp(begin, Connections(begin))
    async with screen.run_test() as pilot:
        await pilot.pause()
        yield screen, pilot
    assert await asyncio.to_thread(screen.controller.agent.close, 20)


async def _runs(context: ToolContext) -> ToolOutput:
    return ToolOutput(text=context.call)


def notice(screen: HoldfastApp) -> str:
    return str(screen.dialogs.notice.render())


def visible(screen: HoldfastApp) -> str:
    strips = screen.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANGS):
        while not seen():  # noqa: ASYNC110 - no event reports what is awaited
            await asyncio.sleep(0.01)


async def typed(pilot: Pilot[int], line: str) -> None:
    """Type a line and send it."""
    screen = pilot.app
    assert isinstance(screen, HoldfastApp)
    screen.composer.load_text(line)
    screen.composer.move_cursor(screen.composer.document.end)
    screen.completions.offer(())
    await pilot.press("enter")


class _LeftEarly(HoldfastApp):
    """Closes between its mounting and its first frame, as for a signal then."""

    CSS_PATH = Path(app.__file__).with_name("app.tcss")  # Textual looks for it beside the class

    def on_mount(self) -> None:
        self.call_after_refresh(self.exit, 1)


async def test_a_signal_before_the_first_frame_closes_it(tmp_path: Path) -> None:
    begin = start(tmp_path)
    screen = _LeftEarly(begin, Connections(begin))
    assert await screen.run_async(headless=True) == 1
    assert screen.return_code == 0  # no error
    assert await asyncio.to_thread(screen.controller.agent.close, 20)


async def test_never_being_asked_is_chosen_by_name_and_not_come_by(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        modes: list[str] = []
        for _ in range(4):
            await pilot.press("shift+tab")
            modes.append(screen.controller.status.mode)
        assert modes == ["accept-edits", "plan", "ask", "accept-edits"]
        await typed(pilot, "/permissions yolo")
        assert screen.controller.status.mode == "yolo"
        await pilot.press("shift+tab")
        assert screen.controller.status.mode == "ask"
        await pilot.press("shift+tab", "shift+tab", "shift+tab")
        assert screen.controller.status.mode == "yolo"


async def test_the_window_is_that_of_the_model_in_use(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, _):
        screen._receive(Window("demo", 200_000))
        assert screen.controller.status.window == 200_000
        screen.controller.use_model("ollama:other")
        assert screen.controller.status.window == 0
        screen._receive(Window("demo", 200_000))
        assert screen.controller.status.window == 0, "it came late, and is of the model before"


async def test_what_to_do_about_a_provider_is_said_when_it_fails(tmp_path: Path) -> None:
    """With what was said before, and until the next prompt."""
    async with showing(start(tmp_path)) as (screen, _):
        screen.dialogs.notify("something else")
        screen._receive(TurnFailed("credentials"))
        assert notice(screen) == f"something else\n{SCREEN['credentials']}"


async def test_a_title_is_confirmed_when_it_is_kept(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.controller.session = "s"
        await typed(pilot, "/rename A name")
        assert "A name" not in notice(screen)
        screen._receive(Fact(2, Titled(title="A name")))
        assert notice(screen) == 'Renamed to "A name".'


async def test_ctrl_d_deletes_where_something_else_is_written(tmp_path: Path) -> None:
    """In the search of a picker, and where the user writes why not."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/theme")
        await pilot.press("x", "home", "ctrl+d")
        assert isinstance(screen.screen, Picker)
        assert screen.screen.query_one(Input).value == ""
        await pilot.press("escape")
        await typed(pilot, "/help")
        await pilot.press("ctrl+d", "escape")
        plan = Plan(effect="execute", title="run: true", command="true", detail="true", run=_runs)
        screen._receive(Asked(question_of(plan, mode=screen.controller.status.mode, why="", call="c"), plan))
        screen.approval.choose("no")
        await pilot.press("x", "home", "ctrl+d")
        assert screen.is_running
        assert screen.approval.query_one(Input).value == ""


async def test_an_open_question_takes_the_colours_of_a_new_theme(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        plan = Plan(effect="read", title="fetch it", host="example.org", run=_runs)
        screen._receive(Asked(question_of(plan, mode=screen.controller.status.mode, why="", call="c"), plan))
        for theme in ("holdfast-light", "holdfast-dark"):
            screen.theme = theme
            await pilot.pause()
            prompts = [option.prompt for option in screen.approval.query_one(OptionList).options]
            marked = {str(span.style) for text in prompts if isinstance(text, Text) for span in text.spans}
            assert marked == {screen.theme_variables["secondary"]}


async def test_who_leaves_the_question_about_a_session_in_use_begins_a_new_one(tmp_path: Path) -> None:
    session = create(start(tmp_path).catalog, cwd=tmp_path, model="demo")
    summary = start(tmp_path).catalog.find(session.id)
    async with showing(start(tmp_path, resumed=summary)) as (screen, pilot):
        await until(lambda: bool(screen.screen.query("#title")))
        title = str(screen.screen.query_one("#title", Static).render())
        assert session.id in title
        assert "pid" in title
        await pilot.press("escape")
        await until(lambda: "open elsewhere" in notice(screen))
        assert "Your next prompt starts a new one." in notice(screen)
        assert f"/resume {session.id}" in notice(screen)
        await typed(pilot, "!true")
        await until(lambda: bool(screen.controller.session))
        assert screen.controller.session != session.id
        await until(lambda: not screen.controller.status.doing)
        await typed(pilot, f"/resume {session.id}")
        await until(lambda: isinstance(screen.screen, Picker))
        await pilot.press("escape")
        await until(lambda: "Staying in this one." in notice(screen))
    session.store.close()


async def test_a_copy_of_a_session_in_use_gets_the_model_and_the_effort_of_the_run(tmp_path: Path) -> None:
    session = create(start(tmp_path).catalog, cwd=tmp_path, model="openai:gpt-5.1")
    summary = start(tmp_path).catalog.find(session.id)
    resuming = start(tmp_path, resumed=summary, arguments=Arguments(effort="low"))
    async with showing(resuming) as (screen, pilot):
        await until(lambda: isinstance(screen.screen, Picker))
        await pilot.press("enter")
        await until(lambda: bool(screen.controller.session) and screen.controller.status.effort == "low")
        assert screen.controller.session != session.id
        assert screen.controller.status.model == "demo"
    session.store.close()


async def test_a_list_begins_at_what_is_in_use(tmp_path: Path) -> None:
    """So that it shows nothing else before the user chooses it, and Enter changes nothing."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/theme holdfast-light")
        await until(lambda: screen.theme == "holdfast-light")
        await typed(pilot, "/theme")
        await until(lambda: isinstance(screen.screen, Picker))
        assert screen.theme == "holdfast-light"
        await pilot.press("up")
        await until(lambda: screen.theme == "holdfast-dark")
        await pilot.press("escape")
        await until(lambda: screen.theme == "holdfast-light")
        await typed(pilot, "/permissions plan")
        await typed(pilot, "/permissions")
        await pilot.press("enter")
        assert screen.controller.status.mode == "plan"
        await typed(pilot, "/model")
        await pilot.press("enter")
        assert screen.controller.status.model == "demo"


async def test_what_ctrl_c_would_do_again_is_said_as_long_as_it_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "REPEAT_WITHIN", 0.2)
    async with showing(start(tmp_path)) as (screen, pilot):
        hints: list[str] = []
        notify = screen.dialogs.notify

        def heard(message: str) -> None:
            hints.append(message)
            notify(message)

        monkeypatch.setattr(screen.dialogs, "notify", heard)
        await pilot.press("ctrl+c")
        await until(lambda: hints == [app.QUIT_HINT, ""])
        assert not notice(screen)
        await pilot.press("ctrl+c")
        assert screen.is_running, "the first was too long ago"
        screen.dialogs.notify("something else")
        over = asyncio.Event()
        screen.set_timer(app.REPEAT_WITHIN, over.set)  # behind that of the key
        await until(over.is_set)
        assert notice(screen) == "something else"


async def test_what_is_open_has_the_keys(tmp_path: Path) -> None:
    """Ctrl+C closes it as Esc does, the pages turned are its own, and nothing else comes on top of it."""
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.composer.past_prompts.begin(("earlier",))
        await typed(pilot, "/model")
        await pilot.press("ctrl+r", "ctrl+g", "shift+tab")
        assert len(screen.screen_stack) == 2
        assert screen.controller.status.mode == "ask"
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
        await typed(pilot, "/diff tree")
        await until(lambda: "is not in a git repository" in " ".join(visible(screen).split()))
        assert not screen.controller.session


async def test_an_empty_prompt_says_what_the_keys_do_now(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, _):
        assert screen.composer.placeholder == PLACEHOLDER_IDLE
        screen.controller.status = replace(screen.controller.status, doing="writing")
        assert screen.composer.placeholder == BUSY.format(send="Enter")
        screen.controller.status = replace(screen.controller.status, question_open=True)
        assert screen.composer.placeholder == ASKING
        screen.controller.status = replace(screen.controller.status, doing="", question_open=False)
        assert screen.composer.placeholder == PLACEHOLDER_IDLE


async def test_the_screen_answers_while_sessions_are_looked_through(tmp_path: Path) -> None:
    """Hundreds of them take a second; and what is wrong with them is said."""

    class Slow(Catalog):
        searched = threading.Event()

        def all(self) -> tuple[SessionSummary, ...]:
            assert self.searched.wait(HANGS)
            return super().all()

    slow = Slow(tmp_path / "home" / "sessions")
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.controller.catalog = slow
        await typed(pilot, "/resume")
        await pilot.press("a", "b")
        assert screen.composer.text == "ab"
        slow.searched.set()
        await until(lambda: "No other sessions" in notice(screen))


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_key_that_stops_does_not_overtake_enter(tmp_path: Path, key: str) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        screen.composer.load_text("go")
        screen.post_message(events.Key("enter", "\r"))
        screen.post_message(events.Key(key, None))
        await until(lambda: "you stopped the turn" in str(screen.transcript.view.blocks()))
        await pilot.pause()
        assert screen.composer.past_prompts.prompts == ("go",)


async def test_a_notice_ends_with_the_next_page_list_or_esc(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        for line in ("/theme", "/help"):
            await typed(pilot, line)
            screen.dialogs.notify("said before")
            await pilot.press("escape")
            assert notice(screen) == "said before", "Esc was for the list"
            await typed(pilot, line)
            assert not screen.dialogs.message
            await pilot.press("escape")
        screen.dialogs.notify("said")
        await pilot.press("escape")
        assert not screen.dialogs.message


async def test_the_terminals_cursor_is_where_one_types(tmp_path: Path) -> None:
    """A list is centred, so its line moves with the height of the list; an input method writes at the cursor."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/theme")
        await pilot.pause()
        line = screen.screen.query_one(Input)
        places = [screen.cursor_position]
        assert screen.cursor_position == line.cursor_screen_offset
        await pilot.press("l", "i", "g")
        await pilot.pause()
        assert screen.cursor_position == line.cursor_screen_offset
        places.append(screen.cursor_position)
        assert places[0].y != places[1].y
        await pilot.press("escape")
        await pilot.pause()
        assert screen.cursor_position == screen.composer.cursor_screen_offset


async def test_a_key_that_deletes_to_the_end_has_nothing_to_delete_there(tmp_path: Path) -> None:
    """Ctrl+K at the end of the last line names a line behind it, which is not there."""
    async with showing(start(tmp_path)) as (screen, pilot):
        await pilot.press("ctrl+k", "a", "ctrl+k", "ctrl+delete", "b")
        assert screen.composer.text == "ab"


async def test_help_has_two_pages(tmp_path: Path) -> None:
    async with showing(start(tmp_path)) as (screen, pilot):
        await typed(pilot, "/help")
        await pilot.pause()
        assert "interrupt the turn" in visible(screen)
        assert "/export" not in visible(screen)
        assert "Esc to close" in visible(screen)
        await pilot.press("tab")
        await pilot.pause()
        assert "/compact" in visible(screen)
        assert "interrupt the turn" not in visible(screen)
        assert "PgDn scroll" in visible(screen)
        await pilot.press("tab", "escape")
        await pilot.pause()
        assert "interrupt the turn" not in visible(screen)
