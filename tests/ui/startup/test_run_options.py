"""The options of a run: which source wins, and what is said of a config or a key that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.model_servers import ProviderLimits
from holdfast.config.settings import Config, Limits
from holdfast.errors import ConfigInvalid, UsageError
from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.session.catalog import SessionSummary
from holdfast.ui.commands.config import resolved_settings
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import RunOptions, run_options

USER_CONFIG = Config(model="own:m", limits=Limits(max_steps=9))


def read(
    folder: Path, arguments: Arguments | None = None, *, user_config: Config = USER_CONFIG, model: str | None = None
) -> RunOptions:
    resumed = None
    if model is not None:
        resumed = SessionSummary(id="a", cwd=str(folder), title="", model=model, created=0, modified=0, bytes=0)
    environ = {"HOLDFAST_HOME": str(folder / "home")}
    return run_options(arguments or Arguments(), environ, user_config=user_config, cwd=folder, resumed=resumed)


def test_the_command_line_wins_over_the_session_and_the_session_over_the_config(tmp_path: Path) -> None:
    assert read(tmp_path, Arguments(model="given:m"), model="old:m").model == "given:m"
    assert read(tmp_path, model="old:m").model == "old:m"
    assert read(tmp_path, model="").model == "own:m"
    assert read(tmp_path, user_config=Config()).model == ""


def test_a_fallback_is_compared_with_the_model_that_the_session_is_continued_with(tmp_path: Path) -> None:
    config = Config(model="openai:a")
    arguments = Arguments(fallback_model="openai:a")
    assert read(tmp_path, arguments, user_config=config, model="openai:b").fallback == "openai:a"
    for options in ((arguments, None), (arguments, ""), (arguments, "openai:a")):
        with pytest.raises(UsageError, match="is the model itself"):
            read(tmp_path, options[0], user_config=config, model=options[1])
    with pytest.raises(UsageError, match="is the model itself"):
        read(tmp_path, Arguments(model="openai:a", fallback_model="openai:a"), user_config=config, model="openai:b")


def test_a_model_for_titles_is_of_a_known_provider(tmp_path: Path) -> None:
    assert read(tmp_path, user_config=Config(title_model="openai:small")).config.title_model == "openai:small"
    with pytest.raises(ConfigInvalid, match=r"Title model cannot be used\."):
        read(tmp_path, user_config=Config(title_model="nobody:small"))


def test_the_command_line_wins_over_the_project_and_the_project_over_the_config(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast/config.toml").write_text('permission_mode = "plan"\n[limits]\nmax_steps = 5\n')
    ignored = read(tmp_path)
    assert (ignored.mode, ignored.limits.max_steps, ignored.project) == ("ask", 9, None)
    assert "Ignoring untrusted project config" in ignored.notices[0]
    judge_project(ignored.environ, tmp_path, trusted=True)
    trusted = read(tmp_path)
    assert (trusted.mode, trusted.limits.max_steps, trusted.notices) == ("plan", 5, ())
    options = read(tmp_path, Arguments(yolo=True, max_steps=2))
    assert (options.mode, options.limits.max_steps, options.config.limits.max_steps) == ("yolo", 2, 2)


def test_a_stored_key_is_not_in_the_environment_but_is_redacted_and_its_source_is_shown(tmp_path: Path) -> None:
    KeyFile(tmp_path / "home/holdfast-keys.json").keep("OPENAI_API_KEY", "key-of-the-file", place="file")
    options = read(tmp_path)
    assert "OPENAI_API_KEY" not in options.environ
    assert "key-of-the-file" in options.secrets
    assert options.endpoint("openai:m").key == "key-of-the-file"
    shown = resolved_settings(options.arguments, options.environ, tmp_path)
    assert {each.name: each.source for each in shown.keys}["OPENAI_API_KEY"] == "file"


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_a_limit_that_is_not_positive_is_refused(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(UsageError, match="--timeout must be greater than 0"):
        read(tmp_path, Arguments(timeout=timeout))


def test_limits_of_an_unknown_provider_are_refused(tmp_path: Path) -> None:
    config = Config(limits=Limits(providers={"opnai": ProviderLimits(attempts=1)}))
    with pytest.raises(ConfigInvalid, match="Unknown provider 'opnai'"):
        read(tmp_path, user_config=config)
