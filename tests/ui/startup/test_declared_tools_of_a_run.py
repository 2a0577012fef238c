"""Which tools a new session of a run declares: those that its options, its config and its rules leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.model_servers import ModelOverrides
from holdfast.config.settings import Config, PermissionSettings
from holdfast.errors import UsageError
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import RunOptions, run_options

MODEL = "anthropic:claude-sonnet-5-5"
ALL = {"read", "write", "edit", "bash", "grep", "glob", "fetch", "todo", "present_plan", "ask_user"}


def options(folder: Path, arguments: Arguments | None = None, config: Config | None = None) -> RunOptions:
    environ = {"HOLDFAST_HOME": str(folder / "home")}
    return run_options(arguments or Arguments(), environ, user_config=config or Config(model=MODEL), cwd=folder)


def test_all_that_suit_by_default(tmp_path: Path) -> None:
    assert options(tmp_path).tools_of(MODEL) == ALL
    assert options(tmp_path).tools_of(MODEL, has_user=False) == ALL - {"present_plan", "ask_user"}


@pytest.mark.parametrize(
    ("rule", "left_out"),
    [
        ("WebFetch", {"fetch"}),
        ("AskUserQuestion", {"ask_user"}),
        ("TodoWrite", {"todo"}),
        ("Bash", {"bash"}),
        ("Read", {"read"}),
        ("Edit", {"edit", "write"}),
        ("Write", {"write"}),
        ("Bash(rm *)", set[str]()),
        ("Read(.env)", set[str]()),
        ("Edit(src/**)", set[str]()),
        ("WebFetch(domain:example.com)", set[str]()),
    ],
)
def test_a_rule_that_denies_every_call_leaves_the_tool_out(tmp_path: Path, rule: str, left_out: set[str]) -> None:
    assert options(tmp_path, Arguments(deny=[rule])).tools_of(MODEL) == ALL - left_out
    in_config = Config(model=MODEL, permissions=PermissionSettings(deny=(rule,)))
    assert options(tmp_path, config=in_config).tools_of(MODEL) == ALL - left_out
    assert options(tmp_path, Arguments(allow=[rule])).tools_of(MODEL) == ALL


def test_named_tools_are_the_only_ones_and_the_command_line_wins(tmp_path: Path) -> None:
    config = Config(model=MODEL, tools=("read", "bash"))
    assert options(tmp_path, config=config).tools_of(MODEL) == {"read", "bash"}
    assert options(tmp_path, Arguments(tools="Read, Grep"), config).tools_of(MODEL) == {"read", "grep"}
    assert options(tmp_path, Arguments(tools="")).tools_of(MODEL) == set()
    denied = Arguments(tools="read,bash", deny=["Bash"])
    assert options(tmp_path, denied).tools_of(MODEL) == {"read"}


def test_names_that_are_none_are_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--tools names an unknown tool 'reed'"):
        options(tmp_path, Arguments(tools="reed"))
    with pytest.raises(UsageError, match="Setting 'tools' names an unknown tool 'reed'"):
        options(tmp_path, config=Config(model=MODEL, tools=("reed",)))
    with pytest.raises(UsageError, match="--tools is for new sessions"):
        options(tmp_path, Arguments(tools="read", continue_=True))


def test_a_small_window_leaves_six(tmp_path: Path) -> None:
    small = Config(model="ollama:m", models={"ollama:m": ModelOverrides(context_window=8_192)})
    assert options(tmp_path, config=small).tools_of("ollama:m") == {"read", "write", "edit", "bash", "grep", "glob"}
    named = Config(model="ollama:m", models=small.models, tools=("todo",))
    assert options(tmp_path, config=named).tools_of("ollama:m") == {"todo"}
