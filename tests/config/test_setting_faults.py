"""What is wrong in a config is said with its line and what is allowed, and stops nothing else from being checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.settings import read_config, usable_config
from holdfast.errors import ConfigInvalid

SERVER = '[providers.home]\nkind = "openai-chat"\nbase_url = "http://h/v1"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'model = "a:m"\n\npermission_mode = "Yolo"\n',
            'config.toml:3: permission_mode is "Yolo" (expected "accept-edits", "ask", "plan" or "yolo")',
        ),
        ("model = 3", "config.toml:1: model is 3 (expected a text in quotes)"),
        ("wake = 1", "config.toml:1: wake is 1 (expected true or false)"),
        ("[limits]\nmax_steps = 0", "config.toml:2: limits.max_steps is 0 (expected a whole number, at least 1)"),
        ("[limits]\ntimeout = 'x'", 'config.toml:2: limits.timeout is "x" (expected a number above 0)'),
        ("[context]\ncompact_at = 2.0", "expected a number above 0, at most 1"),
        ("limits = 3", "config.toml:1: limits is 3 (expected a table)"),
        ("[permissions]\nallow = 'Bash'", 'config.toml:2: permissions.allow is "Bash" (expected a list)'),
        (
            f"{SERVER}[providers.other]\nkind = 'openia'\nbase_url = 'http://h/v1'",
            'config.toml:5: providers.other.kind is "openia" (expected "anthropic", "bedrock", "gemini", "mistral"',
        ),
        ("[providers.home]\nkind = 'openai-chat'", "config.toml:1: providers.home needs base_url"),
        (f"{SERVER}limits = {{ first_event = 0 }}", "config.toml:4: providers.home.limits.first_event is 0"),
        (
            '[mcp_servers.x]\ncommand = "nosuch"',
            "config.toml:1: unknown field `mcp_servers`. MCP servers belong in [mcp.servers.NAME]; or run: holdfast ",
        ),
        (
            "[limits]\nfirst_evnt = 3",
            "config.toml:2: unknown field `first_evnt` in limits. Did you mean 'first_event'?",
        ),
        ("permision_mode = 'ask'", "config.toml:1: unknown field `permision_mode`. Did you mean 'permission_mode'?"),
    ],
)
def test_the_line_the_setting_and_what_is_allowed_are_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigInvalid) as caught:
        read_config(path)
    assert said in str(caught.value)
    assert str(caught.value).endswith("Fix or remove that setting.")


@pytest.mark.parametrize("name", ["headers = { x-key = 7777777 }", "api_key_env = 7777777", "base_url = 7777777"])
def test_what_may_be_a_secret_is_not_repeated(tmp_path: Path, name: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[providers.home]\nkind = 'openai-chat'\n{name}\n")
    with pytest.raises(ConfigInvalid) as caught:
        read_config(path)
    assert "7777777" not in str(caught.value)


def test_the_rest_of_a_config_is_used_without_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'model = "home:m"\npermission_mode = "Yolo"\n[mcp_servers.x]\ncommand = "x"\n'
        f"[limits]\nmax_steps = 0\nattempts = 2\n{SERVER}[providers.bad]\nkind = 'openia'\nbase_url = 'http://b'\n"
    )
    config, problems = usable_config(path)
    assert (config.model, config.permission_mode, config.limits.max_steps, config.limits.attempts) == (
        *("home:m", "ask", 200, 2),
    )
    assert "home" in config.providers
    assert len(problems) >= 4
    for line in (2, 3, 6, 12):
        assert any(f"config.toml:{line}: " in problem for problem in problems), problems


@pytest.mark.parametrize("text", ["model = [", "\x00", "a = 1\na = 2"])
def test_what_is_no_toml_gives_the_defaults_and_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    config, problems = usable_config(path)
    assert config.model is None
    assert len(problems) == 1
    assert "is not valid TOML" in problems[0]


def test_a_config_that_is_right_has_no_problems(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert usable_config(path)[1] == ()
    path.write_text(SERVER)
    assert usable_config(path)[1] == ()
