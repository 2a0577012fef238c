"""A project's own config: which file is taken for it, and what it may not say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.config.project_config import CONFIG_PATH, LARGEST_CONFIG, project_file
from holdfast.config.project_decisions import Project
from holdfast.config.settings import Config, ProjectConfig, decoded, with_project
from holdfast.errors import ConfigInvalid
from holdfast.tool_calls import Pattern

NOWHERE = Path("/nowhere")


def written(root: Path, text: str = 'model = "a:b"\n') -> Path:
    path = root / CONFIG_PATH
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_the_nearest_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    written(tmp_path, 'model = "above:all"')
    root = tmp_path / "repository"
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    assert project_file(inner, NOWHERE) is None
    (root / ".git").mkdir()
    assert project_file(inner, NOWHERE) is None
    path = written(root)
    found = project_file(inner, NOWHERE)
    assert found is not None
    assert (found.root, found.path, found.raw) == (root, path, path.read_bytes())
    written(inner, 'model = "in:ner"')
    nearest = project_file(inner, NOWHERE)
    assert nearest is not None
    assert nearest.root == inner
    assert nearest.digest != found.digest


def test_the_persons_own_is_not_the_projects(tmp_path: Path) -> None:
    assert project_file(tmp_path, written(tmp_path)) is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "long", "gone"])
def test_what_is_no_config_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / CONFIG_PATH
    path.parent.mkdir()
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "long":
            path.write_text("#" * (LARGEST_CONFIG + 1))
        case _:
            path.symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigInvalid, match=r"Project config .* cannot be read"):
        project_file(tmp_path, NOWHERE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[providers.evil]\nkind = "anthropic"\nbase_url = "http://x"', "unknown field `providers`"),
        ('[fetch]\naddresses = ["10.0.0.0/8"]', "unknown field `fetch`"),
        ("pid_namespace = false", "unknown field `pid_namespace`"),
        ('permission_mode = "yolo"', "yolo"),
        ("[limits]\nmax_step = 3", "Did you mean 'max_steps'?"),
        ("[limits.providers.anthropic]\nidle_event = 1", "unknown field `providers`"),
        ('[allow]\nruns = ["make"]', "Did you mean 'run'?"),
    ],
)
def test_what_a_project_may_not_say(tmp_path: Path, text: str, message: str) -> None:
    written(tmp_path, text)
    found = project_file(tmp_path, NOWHERE)
    assert found is not None
    with pytest.raises(ConfigInvalid) as caught:
        found.config()
    assert message in str(caught.value)


def test_what_it_says_is_said_in_place_of_the_persons() -> None:
    user = decoded(b'model = "a:own"\n[limits]\nmax_steps = 9\ntimeout = 60', Config, name="own")
    text = b'permission_mode = "plan"\n[limits]\ntimeout = 5\n[allow]\nrun = ["make *"]'
    project = decoded(text, ProjectConfig, name="project")
    both = with_project(user, project)
    assert (both.model, both.permission_mode) == ("a:own", "plan")
    assert (both.limits.max_steps, both.limits.timeout, both.limits.connect) == (9, 5, 10)
    assert project.allow.patterns == (Pattern(effect="execute", text="make *"),)


def test_trust_is_for_one_text_and_beside_what_is_allowed(tmp_path: Path) -> None:
    pattern = Pattern(effect="execute", text="make test")
    project = Project(tmp_path / "approvals", tmp_path)
    assert project.trusts("one") is None
    project.allow(pattern)
    project.set_trust("one", trusted=True)
    again = Project(tmp_path / "approvals", tmp_path, granted=(Pattern(effect="read", text="x.test"),))
    assert again.trusts("one") is True
    assert again.trusts("two") is None
    again.set_trust("two", trusted=False)
    assert (again.trusts("one"), again.trusts("two")) == (None, False)
    assert again.remembered == (pattern,)
    assert len(again.patterns) == 2
    again.forbid(pattern)
    assert Project(tmp_path / "approvals", tmp_path).trusts("two") is False


def test_a_project_whose_model_is_the_users_fallback_has_none() -> None:
    user = Config(model="a:b", fallback_model="c:d")
    assert with_project(user, ProjectConfig(model="c:d")).fallback_model is None
    assert with_project(user, ProjectConfig(model="e:f")).fallback_model == "c:d"


def test_a_project_cannot_set_a_fallback() -> None:
    with pytest.raises(ConfigInvalid, match="Only your own config may set this"):
        decoded(b'fallback_model = "c:d"', ProjectConfig, name="c")
