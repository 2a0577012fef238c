"""A config file that is changed: as a whole, by one process at a time, and never when it cannot be read."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.config.settings import Config
from holdfast.config.settings_file import SettingsFile
from holdfast.config.toml_edit import with_setting
from holdfast.errors import ConfigInvalid, StorageFailed

WRITER = """
import sys, time
from pathlib import Path
from holdfast.config import settings_file
from holdfast.config.settings import Config
from holdfast.config.toml_edit import with_setting

name, times = sys.argv[2], int(sys.argv[3])
settings_file.LOCK_PATIENCE = 600.0
for number in range(times):
    def edit(text):
        return with_setting(text, ("models", f"{name}:{number}", "max_output"), number + 1)
    settings_file.SettingsFile(Path(sys.argv[1]), Config).change(edit)
    print(number, flush=True)
"""


def writer(path: Path, name: str, times: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, path, name, str(times)], stdout=subprocess.PIPE, text=True)


def set_theme(path: Path, name: str) -> None:
    SettingsFile(path, Config).change(lambda text: with_setting(text, ("theme",), name))


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n")
    running = [writer(path, name, 12) for name in ("a", "b", "c")]
    for each in running:
        each.communicate()
        assert each.returncode == 0
    written = tomllib.loads(path.read_text())["models"]
    assert written.keys() == {f"{name}:{number}" for name in "abc" for number in range(12)}
    assert path.read_text().startswith("# mine\n")
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]  # no lock, no copy


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for _ in range(4):
        before = path.read_text() if path.exists() else ""
        victim = writer(path, "a", 10**6)
        assert victim.stdout is not None
        first = victim.stdout.readline()
        victim.kill()
        victim.communicate()
        assert first
        after = path.read_text()
        tomllib.loads(after)
        assert after.startswith(before.rstrip()[:10])
    set_theme(path, "nord")  # its lock ended with it
    assert tomllib.loads(path.read_text())["theme"] == "nord"


@pytest.mark.parametrize("text", ["theme = \n", "thema = 'x'\n", "theme = 'x'\n\xff"])
def test_what_cannot_be_read_is_never_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigInvalid) as failed:
        set_theme(path, "nord")
    assert path.read_bytes() == text.encode("latin-1")
    if "= \n" in text:
        assert "line 1" in str(failed.value)


def test_nor_is_it_replaced_by_what_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("mouse = true\n")
    with pytest.raises(ConfigInvalid):
        SettingsFile(path, Config).change(lambda text: text.replace("true", "maybe"))
    assert path.read_text() == "mouse = true\n"


def test_a_link_stays_a_link_and_the_mode_what_it_was(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "holdfast.toml"
    real.parent.mkdir()
    real.write_text("mouse = true\n")
    real.chmod(0o640)
    path = tmp_path / "config.toml"
    path.symlink_to(real)
    set_theme(path, "nord")
    assert path.is_symlink()
    assert real.read_text() == 'mouse = true\ntheme = "nord"\n'
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file" / "config.toml"
    path.parent.write_text("in the way")
    with pytest.raises(StorageFailed, match=r"Cannot write the config .* Nothing was changed\."):
        set_theme(path, "nord")


def test_a_lock_that_another_keeps_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    code = (
        "import fcntl,os,sys; fcntl.flock(os.open(sys.argv[1],os.O_RDONLY),fcntl.LOCK_EX); print(1,flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    holder.stdout.readline()
    monkeypatch.setattr("holdfast.config.settings_file.LOCK_PATIENCE", 0.05)
    with pytest.raises(StorageFailed, match="Another process has been changing the settings"):
        set_theme(path, "nord")
    assert not path.exists()
    holder.communicate("\n")
    set_theme(path, "nord")
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]
