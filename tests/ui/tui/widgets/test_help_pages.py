"""Pages to read: what does not fit goes on beneath its column, and leaves no column without room."""

from __future__ import annotations

import pytest
from rich.console import Console

from holdfast.ui.tui.widgets.help_pages import lines_page

NOTE = "is not trusted and ignored: run holdfast with --trust-project to obey it"


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("path", ["~/work", "/tmp/" + "long-name/" * 9])
def test_words_behind_a_long_path_are_read_whole(width: int, path: str) -> None:
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(lines_page("Settings", [f"project   {path}  {NOTE}", "config    ~/config.toml"]))
    shown = capture.get().splitlines()
    assert " ".join(capture.get().split()).replace(" ", "").count(NOTE.replace(" ", "")) == 1
    beneath = [line for line in shown[3:-1] if line]
    assert all(line.startswith(" " * 10) for line in beneath)  # may be empty: both fit into one line
    assert max(map(len, shown)) <= width
    assert len(shown) < 12


def test_a_line_without_columns_is_a_line() -> None:
    console = Console(width=40)
    with console.capture() as capture:
        console.print(lines_page("Notes", ["one line", "  indented"]))
    assert [line.rstrip() for line in capture.get().splitlines()] == ["Notes", "", "one line", "  indented"]
