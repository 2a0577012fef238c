"""The small parts of the screen: the inbox between two threads, the branch, the composer."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from holdfast.system.git import branch_or_commit
from holdfast.ui.tui.agent_thread.mailbox import Mailbox
from holdfast.ui.tui.prompt.pastes import FOLD_LINES
from holdfast.ui.tui.widgets.completion import Completions
from holdfast.ui.tui.widgets.composer import Composer
from holdfast.ui.tui.widgets.pickers import Choice, picker_rows


async def test_the_inbox_keeps_the_order_and_loses_nothing() -> None:
    """From before it is open, from another thread in a burst, and in slices that let the loop do other things."""
    heard: list[int] = []
    inbox: Mailbox[int] = Mailbox(heard.append)
    for number in range(10):
        inbox.put(number)
    inbox.open(asyncio.get_running_loop())
    assert heard == list(range(10))
    burst = threading.Thread(target=lambda: [inbox.put(number) for number in range(10, 50_000)])
    burst.start()
    while len(heard) < 50_000:  # noqa: ASYNC110 - what is tried is that the loop gets its turns
        await asyncio.sleep(0)
    burst.join()
    assert heard == list(range(50_000))


def test_an_inbox_whose_loop_has_closed_takes_what_it_is_given() -> None:
    loop = asyncio.new_event_loop()
    inbox: Mailbox[int] = Mailbox(lambda _: None)
    inbox.open(loop)
    loop.close()
    inbox.put(1)


def test_the_branch_is_read_as_git_writes_it(tmp_path: Path) -> None:
    assert branch_or_commit(tmp_path) == ""
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    below = tmp_path / "src/deep"
    below.mkdir(parents=True)
    assert branch_or_commit(below) == "feature/x"
    (git / "HEAD").write_text("0123456789abcdef\n")
    assert branch_or_commit(below) == "01234567"
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git}\n")
    assert branch_or_commit(tree) == "01234567"


def test_a_list_has_its_details_in_a_column_if_there_is_room() -> None:
    choices = (Choice("a", "short", "one"), Choice("b", "a long title", "two"), Choice("c", "none"))
    assert [row.plain for row in picker_rows(choices, 40)] == ["short         one", "a long title  two", "none"]
    assert [row.plain for row in picker_rows(choices, 16)] == ["short  one", "a long tit…  two", "none"]
    assert [row.plain for row in picker_rows((Choice("a", "日本語日本語", "x" * 40),), 12)] == ["日本 …  xxx…"]


class Writing(App[None]):
    """A composer alone, and what was sent from it."""

    def __init__(self, folder: Path = Path("/nowhere")) -> None:
        super().__init__()
        self.sent: list[tuple[str, bool]] = []
        self.completions = Completions(folder, added=tuple)
        self.composer = Composer(self.completions)

    def compose(self) -> ComposeResult:
        yield self.completions
        yield self.composer

    def on_mount(self) -> None:
        self.completions.display = False
        self.composer.focus()

    def on_composer_sent(self, sent: Composer.Sent) -> None:
        self.sent.append((sent.text, sent.later))
        self.composer.accept(sent.text)


async def test_lines_history_and_what_is_kept_for_later() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "enter")
        await pilot.press("c", "backslash", "enter", "d", "enter")
        assert app.sent == [("a\nb", False), ("c\nd", False)]
        await pilot.press("x", "up", "up")  # the second ↑ is from the first line of what was recalled
        assert app.composer.text == "c\nd"
        await pilot.press("up", "up")
        assert app.composer.text == "a\nb"
        await pilot.press("down", "down", "down", "down")
        assert app.composer.text in ("x", "c\nd")
        app.composer.load_text("later")
        app.composer.set_state(queueing=True, question_open=False, queued=False)
        await pilot.press("tab")
        assert app.sent[-1] == ("later", True)


async def test_what_is_sent_leaves_the_composer_at_that_moment() -> None:
    """Also before anything has taken it: a second Enter, or text that is typed next, does not send it again."""
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.load_text("once")
        for key, character in (("enter", "\r"), ("enter", "\r"), ("n", "n"), ("enter", "\r")):
            app.post_message(events.Key(key, character))
        await pilot.pause()
        assert app.sent == [("once", False), ("n", False)]
        assert app.composer.text == ""


async def test_a_long_paste_is_one_mark_and_sent_whole() -> None:
    app = Writing()
    text = "\n".join(f"line {number}" for number in range(FOLD_LINES + 5))
    async with app.run_test() as pilot:
        app.composer.post_message(events.Paste(text))
        await pilot.pause()
        assert app.composer.text.startswith("[Pasted text #1 +13 lines]")
        await pilot.press(*" why?", "enter")
        assert app.sent == [(f"{text} why?", False)]
        await pilot.press("up")
        assert app.composer.text == "[Pasted text #1 +13 lines] why?"
        await pilot.press("enter")
        assert app.sent[1:] == app.sent[:1]


async def test_a_long_line_is_one_line() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.post_message(events.Paste("x" * 2_000))
        await pilot.pause()
        assert app.composer.text == "[Pasted text #1 +2000 characters]"


async def test_words_given_back_stand_before_what_is_written() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        app.composer.load_text("half")
        app.composer.give_back("first")
        await pilot.pause()
        assert app.composer.text == "first\n\nhalf"
        app.composer.clear_into_history()
        await pilot.press("up")
        assert app.composer.text == "first\n\nhalf"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (["backspace"], "before  behind"),
        (["left", "left", "backspace"], "before  behind"),
        (["left", "left", "delete"], "before  behind"),
        (["ctrl+w"], "before  behind"),
        (["backspace", "ctrl+z"], "before PASTED behind"),
        (["left", "left", "x"], "before PASTEDx behind"),
        (["shift+left", "y"], "before y behind"),
        (["right", "backspace"], "before PASTEDbehind"),
    ],
)
async def test_the_mark_of_a_paste_is_one_thing(keys: list[str], left: str) -> None:
    """Whatever is done to a part of it is done to the whole: a broken mark would be sent as it is."""
    app = Writing()
    text = "\n".join(f"line {number}" for number in range(FOLD_LINES + 5))
    async with app.run_test() as pilot:
        app.composer.load_text("before  behind")
        app.composer.move_cursor((0, 7))
        app.composer.post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press(*keys, "enter")
        assert app.sent == [(left.replace("PASTED", text), False)]


async def test_what_is_typed_fast_is_completed_as_what_is_typed_slowly(tmp_path: Path) -> None:
    """No news of the text has come when Tab or Enter does: they look for themselves."""
    (tmp_path / "apple.py").touch()
    app = Writing(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press(*"/mod", "tab")
        assert app.composer.text == "/model "
        app.composer.load_text("")
        await pilot.press(*"/statu", "enter")
        assert app.composer.text == "/status "
        await pilot.press("enter")
        assert app.sent == [("/status ", False)]
        await pilot.press(*"/clear", "enter")  # an alias is a command too
        assert app.sent[1:] == [("/clear", False)]
        await pilot.press(*"see @ap", "tab")
        assert app.composer.text == "see @apple.py "


async def test_the_history_of_a_session_comes_before_what_was_sent_from_here() -> None:
    """A session that has just begun has none, and takes nothing away."""
    app = Writing()
    async with app.run_test() as pilot:
        await pilot.press(*"first", "enter")
        app.composer.past_prompts.begin(())
        await pilot.press("up")
        assert app.composer.text == "first"
        app.composer.past_prompts.begin(("old", "older"))
        assert app.composer.past_prompts.prompts == ("old", "older", "first")
