"""The slash commands: read, offered, documented, and done."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console, RenderableType

from holdfast.errors import UsageError
from holdfast.host.commands import Slash, Typed, interpreted
from holdfast.host.offered_commands import SCREEN_COMMANDS, OfferedCommand
from holdfast.host.slash_commands import SESSION_COMMANDS, SLASH_ALIASES
from holdfast.ui.export.export import FORMS, Form, form_of
from holdfast.ui.tui import slash_commands
from holdfast.ui.tui.command_parser import SLASH_COMMANDS, SlashInput, match_slash_commands, screen_command
from holdfast.ui.tui.widgets.completion import file_begun, files, matching_commands, suggestion_rows
from holdfast.ui.tui.widgets.help_pages import help_pages

HOURS = OfferedCommand("hours", "when the shop is open")

PAGE = (Path(__file__).parents[3] / "docs/reference/terminal.md").read_text()


def read(line: str, *added: str) -> SlashInput | None:
    """Return the command of the screen in a typed line; None for a prompt, or for a command that was `added`."""
    typed = interpreted(Typed(line), with_space=False)
    return screen_command(typed, added) if isinstance(typed, Slash) else None


@pytest.mark.parametrize("command", SLASH_COMMANDS, ids=lambda command: command.name)
def test_a_command_is_read_done_and_documented(command: object) -> None:
    """Each does something or says why not, and the page has it with all its names."""
    found = next(each for each in SLASH_COMMANDS if each is command)
    line = read(f"/{found.name}")
    assert line is not None
    assert line.command is found
    assert found.name in slash_commands.COMMAND_FUNCTIONS
    for name in (found.name, *found.aliases):
        assert re.search(rf"`/{name}[` ]", PAGE), name
        assert read(f"/{name}") == line


def test_what_is_no_command() -> None:
    """A path, several lines and plain words are prompts."""
    assert read("/usr/bin/env is missing") is None
    assert read("/help\nme") is None
    assert read("help") is None
    assert read(" /help") is None, "the way to send it as a prompt"
    assert read("/mcp__files__list x") is None, "the prompt of a server"


def test_what_cannot_be_done_is_said() -> None:
    """An unknown name hints at a near one; what takes no arguments is given nothing."""
    with pytest.raises(UsageError, match=r"Did you mean /model\?"):
        read("/modle x")
    with pytest.raises(UsageError, match="takes no arguments"):
        read("/new thing")


def test_the_command_of_a_plug_in_is_the_hosts_and_hinted_at_and_offered() -> None:
    assert read("/hours Friday", "hours") is None
    with pytest.raises(UsageError, match=r"No command /hour\. Did you mean /hours\?"):
        read("/hour", "hours")
    assert [each.shown for each in matching_commands("/hou", lambda: [HOURS])] == ["/hours"]
    assert "when the shop is open" in "".join(shown_text(page) for page in help_pages(defaultdict(str), [HOURS]))


def test_no_plug_in_can_have_a_name_of_the_screen() -> None:
    names = {name for command in SLASH_COMMANDS for name in (command.name, *command.aliases)}
    assert names - {*SESSION_COMMANDS, *SLASH_ALIASES} == SCREEN_COMMANDS - {*SESSION_COMMANDS, *SLASH_ALIASES}
    assert not SCREEN_COMMANDS & {*SESSION_COMMANDS, *SLASH_ALIASES}


def shown_text(page: RenderableType) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(page)
    return console.export_text()


def test_an_export_is_what_the_name_of_its_file_says() -> None:
    assert set(FORMS) == set(get_args(Form))
    for form, (ending, _) in FORMS.items():
        assert form_of(f"notes{ending}") == form
    assert form_of("a.MD") == "markdown"
    assert form_of("notes.txt") == form_of("notes") == "pydantic-ai"


def test_commands_are_offered() -> None:
    """By their beginning first, by an alias too, then by what they hold; not once there is more than a name."""
    assert [match.name for match in match_slash_commands("/re")][:3] == ["resume", "rewind", "rename"]
    assert [(match.command.name, match.names) for match in match_slash_commands("/cl")] == [("new", "/clear, /new")]
    assert match_slash_commands("/model x") == ()
    assert match_slash_commands("x /model") == ()
    assert len(match_slash_commands("/")) == len(SLASH_COMMANDS)
    (offered,) = matching_commands("/cos", tuple)
    assert (offered.text, offered.length) == ("/cost ", 4)


def test_a_full_name_is_offered_first() -> None:
    """So that Enter runs what is typed, by whichever of its names."""
    for command in SLASH_COMMANDS:
        for name in (command.name, *command.aliases):
            assert matching_commands(f"/{name}", tuple)[0].text == f"/{name} "


def test_descriptions_stand_in_a_column() -> None:
    rows = [row.plain for row in suggestion_rows(matching_commands("/", tuple))]
    assert len({row.index(command.description) for row, command in zip(rows, SLASH_COMMANDS, strict=True)}) == 1
    assert rows[1].startswith("/new, /clear ")
    assert [row.plain for row in suggestion_rows(files("a", ("a.py", "b_a")))] == ["a.py", "b_a"]


@pytest.mark.parametrize(
    ("before", "begun"),
    [("look at @src/m", "src/m"), ("@", ""), ("mail me@home", None), ("@a b", None), ("two @a @b", "b")],
)
def test_where_a_file_is_begun(before: str, begun: str | None) -> None:
    assert file_begun(before) == begun


def test_files_are_offered_best_first() -> None:
    """A name that begins so, then a path, then what holds it, then its letters in order."""
    names = ("src/other/main.py", "main/", "tests/domain.py", "src/my_app_in.py", "README.md", "mainly/x.py")
    assert [each.shown for each in files("main", names)] == [
        "main/",
        "src/other/main.py",
        "mainly/x.py",
        "tests/domain.py",
        "src/my_app_in.py",
    ]
    assert files("zz", names) == ()
