"""Which names are those of secrets, for tools and for the wall alike."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from holdfast.system.confinement.credential_places import closed_to_others, credential_masks
from holdfast.system.confinement.machine import toolchain_folders
from holdfast.system.secret_files import CREDENTIALS_AT_HOME, holds_secrets, perhaps_secret
from holdfast.tools.workspace.command_files import disk_surroundings
from skips import needs

pytestmark = pytest.mark.whole  # each is a place of secrets, and cheap

SECRETS = """
.env .env.local .ENV.production ..env prod.env docker/db.env key.pem a/server.key AuthKey_X.p8 id_rsa id_ed25519
deploy_key .envrc .envrc.local
.aws/config .aws/credentials .kube/config .kube/cache/x .docker/config.json .ssh/id .gnupg/x kubeconfig dev.kubeconfig
credentials.json .credentials secrets.yaml .secrets .streamlit/secrets.toml my-service-account.json .npmrc .pypirc
a.tfstate terraform.tfstate.1700.backup prod.auto.tfvars .dev.vars .vault_pass .bash_history .viminfo .pgpass
.claude/.credentials.json .codex/auth.json .config/gh/hosts.yml .config/github-copilot/apps.json .m2/settings.xml
.local/share/keyrings/login.keyring .local/share/uv/credentials/credentials.toml .mozilla/firefox/x/logins.json
.env~ .env.bak #.env# .#.env server.key~ server.key.bak server.key.old.1 .server.key.swp id_rsa.orig .pgpass~ a.pem.bak
"""

PUBLIC = """
.env.example .env.local.sample example.env test.env credentials.py secrets.py secret.ts environment.yml env.py
.ssh/config .ssh/known_hosts .ssh/known_hosts.old id_rsa.pub .aws.md cacert.pem config .git/config src/config.json
auth.json settings.xml gradle.properties notes.md~ a.py.bak keys.py monkey key.txt serviceaccount.yaml.md
token.py history .envrc.example .environment .envy
"""


@pytest.mark.parametrize("name", SECRETS.split())
@pytest.mark.parametrize("folder", ["", "/srv/work/", "a/b/"])
def test_a_secret(name: str, folder: str) -> None:
    assert holds_secrets(folder + name)
    assert holds_secrets(folder + name.upper())


@pytest.mark.parametrize("name", PUBLIC.split())
def test_no_secret(name: str) -> None:
    assert not holds_secrets(f"/srv/work/{name}")


@pytest.mark.parametrize("entry", CREDENTIALS_AT_HOME)
def test_what_the_wall_masks_at_home_asks_where_home_is_the_workspace(tmp_path: Path, entry: str) -> None:
    path = tmp_path / entry.upper()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    masked = [mask.path for mask in credential_masks(str(tmp_path)) if mask.path.startswith(f"{tmp_path}/")]
    assert masked == [str(path)]
    assert holds_secrets(str(path))
    assert holds_secrets(f"{path}/below/it")


@pytest.mark.parametrize("name", [".bashrc", ".profile", ".cache/mozilla", ".cache/keyring-x", ".config", "Documents"])
def test_of_home_only_toolchains_are_shown_to_what_runs_unasked(tmp_path: Path, name: str) -> None:
    for each in (name, ".cache/pip", ".cargo"):
        (tmp_path / each).mkdir(parents=True)
    shown = toolchain_folders({"PATH": "/usr/bin"}, str(tmp_path), roots=())
    assert shown == (str(tmp_path / ".cargo"), str(tmp_path / ".cache/pip"))


@pytest.mark.parametrize("folder", ["vendor", "target", "node_modules", ".venv", ".next", "a/vendor"])
def test_a_projects_own_secret_in_a_folder_of_packages_is_found(tmp_path: Path, folder: str) -> None:
    for name in (".env", "deep/server.key", "deep/deeper/test.key", "deep/lib.js"):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = disk_surroundings().below(str(tmp_path), False)  # noqa: FBT003 - of a lookup
    assert {each for each in found.files if holds_secrets(each)} == {
        str(tmp_path / folder / ".env"),
        str(tmp_path / folder / "deep/server.key"),
    }


def test_all_of_a_terraform_folder_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / ".terraform/a/b/terraform.tfstate"
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert str(path) in disk_surroundings().below(str(tmp_path), False).files  # noqa: FBT003 - of a lookup


def test_very_many_packages_are_no_hindrance(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / "node_modules" / f"p{number}").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("x")
    found = disk_surroundings().below(str(tmp_path), False)  # noqa: FBT003 - of a lookup
    assert (found.is_complete, found.seen_names) == (True, 2)


def test_a_program_folder_shows_its_parent_unless_that_is_secret_or_of_all_programs(tmp_path: Path) -> None:
    for name in ("tool/bin", ".docker/bin", ".local/bin", ".local/share/bin", ".config/bin"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    path = ":".join(f"{tmp_path}/{name}/bin" for name in ("tool", ".docker", ".local", ".local/share", ".config"))
    path += f":{tmp_path}/.config:{tmp_path}/.docker"
    shown = toolchain_folders({"PATH": path}, str(tmp_path), roots=(), secret=(str(tmp_path / ".docker"),))
    expected = {"tool", ".docker/bin", ".local/bin", ".local/share/bin", ".config/bin"}
    assert set(shown) == {str(tmp_path / name) for name in expected}


def test_credentials_that_a_variable_moves_are_masked_where_they_are(tmp_path: Path) -> None:
    names = (
        "cargo/credentials.toml",
        "cargo/bin/x",
        "cfg/GH/hosts.yml",
        "cfg/app/x",
        "kube/one",
        "kube/two",
        "ws/key.json",
    )
    for name in (*names, "home/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    environ = {
        "CARGO_HOME": f"{tmp_path}/cargo",
        "XDG_CONFIG_HOME": f"{tmp_path}/cfg",
        "KUBECONFIG": f"{tmp_path}/kube/one:{tmp_path}/kube/two:relative",
        "GOOGLE_APPLICATION_CREDENTIALS": f"{tmp_path}/ws/key.json",
        "GNUPGHOME": f"{tmp_path}/home",
        "DOCKER_CONFIG": "/",
    }
    masks = credential_masks(f"{tmp_path}/home", environ, roots=(f"{tmp_path}/ws",))
    found = {mask.path for mask in masks if mask.path.startswith(f"{tmp_path}/") or mask.path == "/"}
    assert found == {f"{tmp_path}/{name}" for name in ("cargo/credentials.toml", "cfg/GH", "kube/one", "kube/two")}


def test_the_home_that_the_system_has_for_the_user_counts_beside_another_one(tmp_path: Path) -> None:
    here = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    there = [name for name in CREDENTIALS_AT_HOME if os.access(here / name, os.R_OK)]
    masked = {mask.path for mask in credential_masks(str(tmp_path))}
    assert {os.path.realpath(here / name) for name in there} <= masked  # may be empty: a home without credentials


def test_what_a_system_keeps_from_its_users_is_found_and_looked_for_again_when_a_name_comes(tmp_path: Path) -> None:
    modes = {"open/file": 0o644, "open/closed": 0o640, "open/empty": 0o600, "keys/file": 0o644, "net/wifi": 0o600}
    for name, mode in modes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name.endswith("empty") else "x")
        (tmp_path / name).chmod(mode)
    (tmp_path / "keys").chmod(0o710)
    (tmp_path / "link").symlink_to("open/closed")
    expected = [f"{tmp_path}/{name}" for name in ("keys", "net/wifi", "open/closed")]
    assert list(closed_to_others(str(tmp_path))) == expected
    (tmp_path / "open/later").write_text("x")
    (tmp_path / "open/later").chmod(0o600)
    assert list(closed_to_others(str(tmp_path))) == [*expected, f"{tmp_path}/open/later"]


@needs("root")
def test_root_has_a_mask_for_what_in_etc_only_root_may_read() -> None:
    masked = {mask.path for mask in credential_masks("/nowhere")}
    assert set(closed_to_others("/etc")) <= masked
    assert "/etc/shadow" in masked


@pytest.mark.parametrize(
    "path", [*SECRETS.split(), *CREDENTIALS_AT_HOME, *(f"{each}/x" for each in CREDENTIALS_AT_HOME)]
)
def test_no_file_with_secrets_is_passed_over_when_many_are_looked_at(path: str) -> None:
    for name in (path, path.upper(), f"{path}~", f"{path}.bak", path.replace("k", "\u212a")):
        folder, _, last = f"/srv/work/{name}".rpartition("/")
        if holds_secrets(f"{folder}/{last}"):
            assert perhaps_secret(folder, ["a.py", last, "z.md"])
    assert not perhaps_secret("/srv/work/src", ["a.py", "notes.md", "environment.py", "keyboard.c"])
