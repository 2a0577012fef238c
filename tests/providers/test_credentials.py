"""Keys: which one counts, where they are kept, and that no other user can read them."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import ConfigInvalid, HoldfastError
from holdfast.providers.credentials.provider_keys import KeyFile, ProviderKey, keys_in_use, with_keys
from holdfast.providers.credentials.redaction import secrets_of
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.ui.startup.run_options import RunOptions
from holdfast.ui.tui.agent_thread.model_connections import Connections
from polling import HANGS

NAME = "ANTHROPIC_API_KEY"
KEPT = {NAME: ProviderKey("file", "sk-of-the-file"), "PATH": ProviderKey("file", "/evil")}


def test_the_environment_wins_unless_it_is_blank() -> None:
    assert keys_in_use({NAME: "sk-of-now"}, PROVIDERS, KEPT)[NAME] == ProviderKey("environment", "sk-of-now")
    assert keys_in_use({NAME: "  "}, PROVIDERS, KEPT)[NAME] == ProviderKey("file", "sk-of-the-file")
    assert NAME not in keys_in_use({NAME: ""}, PROVIDERS, {})


def test_what_is_kept_is_a_key_of_a_provider_and_nothing_else() -> None:
    environ = with_keys({"PATH": "/bin"}, keys_in_use({}, PROVIDERS, KEPT))
    assert dict(environ) == {"PATH": "/bin", NAME: "sk-of-the-file"}
    assert resolve_endpoint("anthropic:m", environ).key == "sk-of-the-file"
    assert "sk-of-the-file" in secrets_of(environ)
    assert "sk-of" not in repr(KEPT)


def test_a_key_is_kept_for_its_owner_alone_and_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "state" / "holdfast-keys.json"
    file = KeyFile(path)
    assert file.read() == {}
    assert not file.forget(NAME)
    file.keep(NAME, "sk-1", place="file")
    file.keep("OPENAI_API_KEY", "sk-2", place="file")
    file.keep(NAME, "sk-3", place="file")
    assert file.read() == {NAME: ProviderKey("file", "sk-3"), "OPENAI_API_KEY": ProviderKey("file", "sk-2")}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert file.forget(NAME)
    assert "sk-3" not in path.read_text()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused_and_left_alone(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "holdfast-keys.json"
    KeyFile(path).keep(NAME, "sk-secret", place="file")
    path.chmod(mode)
    before = path.read_bytes()
    for attempt in (KeyFile(path).read, lambda: KeyFile(path).keep(NAME, "sk-other", place="file")):
        with pytest.raises(
            ConfigInvalid, match=rf"readable by other users \(mode {mode:04o}, expected 0600\).*chmod 600"
        ) as caught:
            attempt()
        assert "sk-" not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "[]", '{"keys": {"A": 1}}', '{"kees": {"A": "sk-secret"}}', "\xff", '{"\xff": 1}']
)
def test_a_damaged_file_is_said_without_what_is_in_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "holdfast-keys.json"
    path.touch(0o600)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigInvalid, match="is damaged") as caught:
        KeyFile(path).read()
    assert "secret" not in str(caught.value)


def test_a_file_that_cannot_be_used_is_repaired_and_nothing_of_it_lost(tmp_path: Path) -> None:
    path = tmp_path / "holdfast-keys.json"
    file = KeyFile(path)
    assert (file.usable(), file.repair()) == (({}, ""), "")
    file.keep(NAME, "sk-1", place="file")
    path.chmod(0o644)
    keys, wrong = file.usable()
    assert (dict(keys), wrong.endswith("Its keys are not used.")) == ({}, True)
    assert "readable only by you" in file.repair()
    assert file.usable() == ({NAME: ProviderKey("file", "sk-1")}, "")

    for number in (1, 2):
        path.write_text("{half a")
        path.chmod(0o644)
        aside = tmp_path / f"holdfast-keys.json.{number}"
        assert str(aside) in file.repair()
        assert (aside.read_text(), stat.S_IMODE(aside.stat().st_mode)) == ("{half a", 0o600)
        assert file.usable() == ({}, "")
    path.symlink_to(path)
    assert "holdfast-keys.json.3" in file.repair()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", "."):
        with pytest.raises(HoldfastError, match="Key file"):
            KeyFile(tmp_path / name).read()


# --- the keyring: the real library, with a backend of the tests, in a separate process -------------------------------

BACKEND = """
import json, os, time
from pathlib import Path
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

class Ring(KeyringBackend):
    priority = 1
    path = Path(os.environ["RING"])
    def _all(self):
        if os.environ.get("HOW") == "hangs":
            time.sleep(600)
        if os.environ.get("HOW") == "locked":
            raise KeyringLocked("somebody said no")
        return json.loads(self.path.read_text()) if self.path.exists() else {}
    def get_password(self, service, username):
        return self._all().get(f"{service} {username}")
    def set_password(self, service, username, password):
        self.path.write_text(json.dumps({**self._all(), f"{service} {username}": password}))
    def delete_password(self, service, username):
        self.path.write_text(json.dumps({k: v for k, v in self._all().items() if k != f"{service} {username}"}))
"""

PROGRAM = """
import sys
from pathlib import Path
import asyncio, os
from holdfast.providers.credentials import provider_keys as vault
from holdfast.providers.credentials.provider_keys import KeyFile, endpoint_with_key, keys_in_use
from holdfast.providers.credentials.provider_keys import with_keyring_value as filled
from holdfast.providers.registry import PROVIDERS
vault._PATIENCE = 1.0
file = KeyFile(Path("holdfast-keys.json"))
try:
    exec(sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""


def with_ring(folder: Path, program: str, *, backend: str = "ring.Ring", how: str = "") -> str:
    (folder / "ring.py").write_text(BACKEND)
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "PYTHON_KEYRING_BACKEND": backend,
        "RING": str(folder / "ring.json"),
        "HOW": how,
        "HOME": str(folder),
    }
    command = [sys.executable, "-c", PROGRAM, program]
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=HANGS, check=True
    ).stdout


def test_a_key_goes_to_the_keyring_and_comes_back(tmp_path: Path) -> None:
    assert with_ring(tmp_path, "print(repr(vault.unavailable_reason()))") == "''\n"
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-f', place='file'); file.keep('{NAME}', 'sk-ring', place='keyring')")
    assert "sk-" not in (tmp_path / "holdfast-keys.json").read_text()
    assert "sk-ring" in (tmp_path / "ring.json").read_text()
    assert with_ring(tmp_path, f"key = filled(file.read(), '{NAME}')['{NAME}']; print(key.source, key.value)") == (
        "keyring sk-ring\n"
    )
    assert with_ring(tmp_path, f"print(file.forget('{NAME}'), dict(file.read()))") == "True {}\n"
    assert "sk-ring" not in (tmp_path / "ring.json").read_text()


@pytest.mark.parametrize(
    ("how", "reason"),
    [("hangs", "did not answer within 1 s"), ("locked", "KeyringLocked: somebody said no")],
)
def test_a_keyring_that_cannot_be_asked_is_one_sentence_in_time(tmp_path: Path, how: str, reason: str) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    output = with_ring(tmp_path, f"filled(file.read(), '{NAME}')", how=how)
    assert output.startswith("ConfigInvalid Keyring ")
    assert reason in output
    assert "store the key in a file" in output


def test_one_that_lost_the_key_and_one_that_is_not_there(tmp_path: Path) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    (tmp_path / "ring.json").unlink()
    assert f"Key '{NAME}' is missing from the keyring" in with_ring(tmp_path, f"filled(file.read(), '{NAME}')")
    none = "keyring.backends.fail.Keyring"
    assert with_ring(tmp_path, "print(vault.unavailable_reason())", backend=none) == "no keyring service is running\n"
    output = with_ring(tmp_path, f"filled(file.read(), '{NAME}')", backend=none)
    assert "Keyring failed: NoKeyringError" in output


def test_the_keyring_is_asked_for_what_a_run_needs_and_nothing_else(tmp_path: Path) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    with_ring(tmp_path, "file.keep('OPENAI_API_KEY', 'sk-file', place='file')")
    run = "print(endpoint_with_key('%s:m', {}, PROVIDERS, keys_in_use(%s, PROVIDERS, file.read())).key)"
    assert with_ring(tmp_path, run % ("openai", {}), how="locked") == "sk-file\n"
    assert with_ring(tmp_path, run % ("ollama", {}), how="locked") == "None\n"
    assert with_ring(tmp_path, run % ("anthropic", {NAME: "sk-of-now"}), how="locked") == "sk-of-now\n"
    assert with_ring(tmp_path, run % ("anthropic", {})) == "sk-ring\n"
    assert with_ring(tmp_path, run % ("anthropic", {}), how="locked").startswith("ModelUnusable Keyring failed")


def test_the_screen_knows_of_it_without_asking() -> None:
    options = RunOptions(cwd=Path("/"), environ={}, keys={NAME: ProviderKey("keyring", "")})
    connections = Connections(options)
    connections.check("anthropic:m")
    assert connections.has_key(PROVIDERS["anthropic"])
    assert not connections.has_key(PROVIDERS["openai"])
    with pytest.raises(HoldfastError, match="No API key for openai"):
        connections.check("openai:m")


def test_it_can_be_asked_where_a_loop_runs(tmp_path: Path) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    look = f"async def look(): return vault.get('{NAME}')\nprint(asyncio.run(look()))"
    assert with_ring(tmp_path, look) == "sk-ring\n"
    assert "did not answer within 1 s" in with_ring(tmp_path, look, how="hangs")


def test_a_key_that_the_keyring_does_not_delete_stays_and_is_deleted_later(tmp_path: Path) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    none = "keyring.backends.fail.Keyring"
    output = with_ring(tmp_path, f"file.forget('{NAME}')", backend=none)
    assert f"Key '{NAME}' was not deleted. Keyring failed" in output
    assert with_ring(tmp_path, f"print(file.read()['{NAME}'].source)") == "keyring\n"
    assert with_ring(tmp_path, f"print(file.forget('{NAME}'), file.forget('{NAME}'))") == "True False\n"
    assert "sk-ring" not in (tmp_path / "ring.json").read_text()


def test_a_key_that_moves_to_the_file_is_in_the_keyring_no_longer(tmp_path: Path) -> None:
    keep = f"file.keep('{NAME}', 'sk-%s', place='%s')"
    with_ring(tmp_path, keep % ("old", "keyring"))
    with_ring(tmp_path, keep % ("new", "file"))
    assert "sk-old" not in (tmp_path / "ring.json").read_text()

    with_ring(tmp_path, keep % ("old", "keyring"))
    assert with_ring(tmp_path, keep % ("new", "file"), how="locked") == ""
    assert "sk-old" in (tmp_path / "ring.json").read_text()
    assert with_ring(tmp_path, f"print(file.read()['{NAME}'].value)", how="locked") == "sk-new\n"
    assert with_ring(tmp_path, f"print(file.forget('{NAME}'))") == "True\n"
    assert "sk-old" not in (tmp_path / "ring.json").read_text()


def test_a_key_that_an_older_version_left_in_the_keyring_is_forgotten(tmp_path: Path) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-old', place='keyring')")
    (path,) = tmp_path.glob("*keys.json")
    path.write_text(f'{{"keys": {{"A_KEY": "sk-a"}}, "keyring": [], "left": ["{NAME}"]}}')
    assert with_ring(tmp_path, f"print(file.forget('{NAME}'), sorted(file.read()))") == "True ['A_KEY']\n"
    assert "sk-old" not in (tmp_path / "ring.json").read_text()


COMMAND = """
from holdfast.ui.main import main
from holdfast.ui.commands.setup.wizard import SetupChoice, Wizard
home = {"HOLDFAST_HOME": os.getcwd(), "HOME": os.getcwd(), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
"""


@pytest.mark.parametrize("how", ["locked", "lost"])
def test_a_keyring_that_fails_stops_nothing_that_needs_no_key(tmp_path: Path, how: str) -> None:
    with_ring(tmp_path, f"file.keep('{NAME}', 'sk-ring', place='keyring')")
    if how == "lost":
        (tmp_path / "ring.json").unlink()
    (tmp_path / "config.toml").write_text('model = "anthropic:m"\n')
    assert re.search(rf"{NAME} +set, keyring", with_ring(tmp_path, COMMAND + "main(['config'], home)", how=how))

    output = with_ring(tmp_path, COMMAND + "main(['doctor'], home)", how=how)
    assert "keyring" in re.findall(r"FAIL  model .*\n(.*)", output)[0].lower(), output
    assert f"{NAME} (keyring)" in output

    ask = "wizard = Wizard(home); print(wizard._existing_key(SetupChoice(provider=PROVIDERS['anthropic'], model='')))"
    output = with_ring(tmp_path, COMMAND + ask, how=how)
    assert "keyring" in output.lower()
    assert output.endswith("None\n")
