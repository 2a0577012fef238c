"""Where each setting comes from: default, file and line, option; and `holdfast config` as the user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.settings import Config, ProjectConfig, decoded
from holdfast.errors import ConfigInvalid
from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.ui.commands.config import resolved_settings
from holdfast.ui.main import main
from holdfast.ui.startup.arguments import Arguments, parser
from holdfast.ui.startup.project_trust import granted_patterns, judge_project, trusted_project
from holdfast.ui.startup.settings_sources import layer, option_layer, values

TEXT = """\
# what I like
model = "a:b"
limits.max_steps = 4

[providers.home]  # in the attic
kind = "openai-chat"
"base_url" = "http://me:secret@attic/v1?api-key=zzz"
limits = { first_event = 900 }
[context]
[mcp.servers."my.tools"]
url = "https://me:secret@tools/mcp"
headers = { X-Pass = "secret" }
[mcp.servers.files]
command = "files"
env = { PASS = "secret" }
"""


def test_each_value_has_the_last_that_said_it_and_its_line() -> None:
    user, project = layer("own", TEXT), layer("project", "\n[limits]\nmax_steps = 5\n")
    config = decoded(TEXT.encode(), Config, name="own")
    found = {each.name: each for each in values(config, [user, project, option_layer(Arguments(model="c:d"))])}
    origins = {name: (each.source, each.line) for name, each in found.items()}
    assert origins["model"] == ("option", 0)
    assert origins["limits.max_steps"] == ("project", 3)
    assert origins["limits.connect"] == ("default", 0)
    assert origins["providers.home.kind"] == ("own", 6)
    assert origins["providers.home.base_url"] == ("own", 7)
    assert origins["providers.home.limits.first_event"] == ("own", 8)
    assert "secret" not in str(found)
    assert "zzz" not in str(found)


def test_settings_of_a_model_on_the_command_line_are_shown_too() -> None:
    arguments = Arguments(temperature=0.5, max_output=900, service_tier="flex")
    shown = {each.name: (each.value, each.source) for each in values(Config(), [option_layer(arguments)])}
    assert shown["temperature"] == (0.5, "option")
    assert shown["max_output"] == (900, "option")
    assert shown["service_tier"] == ("flex", "option")
    assert "temperature" not in {each.name for each in values(Config(), [option_layer(Arguments())])}


def run(home: Path, *arguments: str, **environ: str) -> int:
    return main(["config", *arguments], {"HOLDFAST_HOME": str(home), **environ})


def test_the_command_tells_all_of_it_but_no_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir()
    monkeypatch.chdir(work)
    (home / "config.toml").write_text(TEXT)
    KeyFile(home / "holdfast-keys.json").keep("OPENROUTER_API_KEY", "sk-kept-0001", place="file")
    secrets = {"ANTHROPIC_API_KEY": "sk-now-0001", "OPENAI_BASE_URL": "http://u:password@x/v1"}
    assert run(home, "--max-steps", "7", "--yolo", "--json", **secrets) == 0
    out = capsys.readouterr().out
    found = json.loads(out)
    by_name = {each["name"]: each for each in found["values"]}
    assert (by_name["limits.max_steps"]["value"], by_name["limits.max_steps"]["source"]) == (7, "option")
    assert (by_name["permission_mode"]["value"], by_name["permission_mode"]["source"]) == ("yolo", "option")
    assert by_name["model"] == {"name": "model", "value": "a:b", "source": str(home / "config.toml"), "line": 2}
    sources = {each["name"]: each["source"] for each in found["keys"]}
    assert sources["ANTHROPIC_API_KEY"] == "environment"
    assert sources["OPENROUTER_API_KEY"] == "file"
    assert sources["OPENAI_API_KEY"] == ""
    assert [each["value"] for each in found["addresses"]] == ["http://x/v1"]
    assert run(home, **secrets) == 0
    shown = capsys.readouterr().out
    assert f"{home / 'config.toml'}:2" in shown
    for text in (out, shown):
        for secret in ("sk-kept", "sk-now", "password", "secret"):
            assert secret not in text
    assert run(home, "path") == 0
    assert capsys.readouterr().out == f"{home / 'config.toml'}\n"


def test_a_projects_config_is_shown_with_whether_it_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast/config.toml").write_text('model = "of:it"\n')
    monkeypatch.chdir(tmp_path)
    assert run(tmp_path / "home") == 0
    ignored = capsys.readouterr().out
    assert "Ignoring untrusted project config" in ignored
    assert "of:it" not in ignored
    assert run(tmp_path / "home", "--trust-project") == 0
    assert ".holdfast/config.toml:1" in capsys.readouterr().out
    assert run(tmp_path / "home") == 0
    assert "of:it" in capsys.readouterr().out


def test_what_settles_settings_judges_nothing(tmp_path: Path) -> None:
    file, environ = tmp_path / ".holdfast/config.toml", {"HOLDFAST_HOME": str(tmp_path / "home")}
    file.parent.mkdir()
    file.write_text('model = "of:it"\n')
    arguments = parser().parse_args(["--trust-project"], namespace=Arguments())
    judge_project(environ, tmp_path, trusted=arguments.trust_project)
    assert "of:it" in str(resolved_settings(arguments, environ, tmp_path))
    file.write_text('model = "of:another"\n[allow]\nrun = ["rm a.txt"]\n')
    for _ in range(2):
        found = str(resolved_settings(arguments, environ, tmp_path))
        assert "Ignoring untrusted project config" in found
        assert "of:another" not in found
    assert granted_patterns(environ, tmp_path) == ()


def test_a_projects_config_that_sets_nothing_is_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast/config.toml").write_text("# nothing yet\n")
    notices: list[str] = []
    environ = {"HOLDFAST_HOME": str(tmp_path / "home")}

    def ask(*_: object) -> bool:
        raise AssertionError

    assert trusted_project(environ, tmp_path, ask=ask, notify=notices.append) is None
    assert notices == []


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("[limit]", "limits"), ("[limits]\nmax_step = 1", "max_steps"), ("[providers.x]\nbase_ur = 1", "base_url")],
)
def test_an_unknown_setting_is_reported_with_the_nearest(tmp_path: Path, wrong: str, near: str) -> None:
    with pytest.raises(ConfigInvalid, match=f"Did you mean '{near}'"):
        decoded(wrong.encode(), Config, name=str(tmp_path))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("providers.x.kind = 1", "Only your own config may set this, not a project's."),
        ("pid_namespace = true", "Only your own config may set this, not a project's."),
        ("[limits]\nmax_step = 1", "Did you mean 'max_steps'"),
        ("[alow]", "Did you mean 'allow'"),
    ],
)
def test_what_a_project_may_not_say_is_refused_with_a_reason(wrong: str, reason: str) -> None:
    with pytest.raises(ConfigInvalid, match=reason):
        decoded(wrong.encode(), ProjectConfig, name="of:it")


def test_what_is_no_address_of_a_provider_is_reported_and_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, OPENAI_BASE_URL="http://[me:secret@x") == 0
    output = capsys.readouterr().out
    assert "not a URL" in output
    assert "secret" not in output
