"""The page for people who come from other agents is true of today's commands, options and files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.host.offered_commands import INIT_COMMAND, UNDO_COMMANDS
from holdfast.ui.command_table import COMMANDS
from holdfast.ui.startup.arguments import parser
from holdfast.ui.tui.command_parser import SLASH_COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "coming-from.md").read_text()
SECTIONS = re.findall(r"^## From (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
OPTIONS = {word for action in parser()._actions for word in action.option_strings}
NOT_READ = (".claude/agents", ".codex/config.toml", "opencode.json", ".cursorrules", "GEMINI.md")


def here(section: str) -> list[str]:
    """Return what a section says of holdfast: the second column of its table, or the first where it is the same."""
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ") and "There" not in line]
    return [first if second.strip().startswith("the same") else second for first, second in rows]


def test_there_is_a_section_for_each() -> None:
    assert [name for name, _ in SECTIONS] == ["Claude Code", "Codex", "pi", "opencode"]


@pytest.mark.parametrize(("name", "section"), SECTIONS)
def test_options_and_commands_are_those_of_today(name: str, section: str) -> None:
    quoted = " ".join(re.findall(r"`([^`]+)`", " ".join(here(section))))
    options = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", quoted))
    assert options, name
    assert options <= OPTIONS
    assert set(re.findall(r"holdfast ([a-z]+)", quoted)) <= {*COMMANDS}
    slash = {word for each in SLASH_COMMANDS for word in (each.name, *each.aliases)}
    slash |= {each.name for each in (*UNDO_COMMANDS, INIT_COMMAND)} | {"skill", "command"}  # the last are examples
    assert {word.lstrip("/") for word in re.findall(r"(?<!\S)/[a-z]+", quoted)} <= slash


@pytest.mark.parametrize("file", NOT_READ)
def test_what_is_said_not_to_be_read_is_not_known_to_the_source(file: str) -> None:
    assert file in PAGE
    # `autorun_files` knows what other programs obey: changes of it ask. `AGENTS.md` may be a link to such a file.
    known = ("autorun_files.py", "instruction_files.py")
    sources = [each for each in (ROOT / "src").rglob("*.py") if each.name not in known]
    assert [str(each) for each in sources if f'"{file}"' in each.read_text()] == []
