"""On a file system that takes `.ENV` for `.env`, a rule that denies one denies the other: by tool and by command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import World, bash

from holdfast.testing.script import Call, Say
from skips import needs

pytestmark = needs("folding files")

PROGRAM = Path(__file__).parents[1] / "folding_files.py"
SECRET = "sesame-4711"
TRIED = (
    Call("read", {"path": ".ENV"}),
    Call("read", {"path": "Private/K.txt"}),
    Call("read", {"path": "caf\u0065\u0301.txt"}),
    Call("grep", {"pattern": "TOKEN", "path": "PRIVATE"}),
    Call("grep", {"pattern": "TOKEN"}),
    Call("glob", {"pattern": "*", "path": "PRIVATE"}),
    bash("cat .ENV"),
    bash("cat PRIVATE/k.txt"),
    bash("cat ./.Env Private/../.eNV"),
    bash("grep -rn TOKEN PRIVATE"),
    bash("grep -rn TOKEN ."),
    bash("find PRIVATE -name 'k*' -exec cat {} +"),
    bash("cat < PRIVATE/K.TXT"),
    bash("cat priv*/K.TXT"),
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a workspace whose names fold, outside of /tmp."""
    base = Path(tempfile.mkdtemp(prefix="holdfast-test-", dir="/srv" if os.access("/srv", os.W_OK) else Path.home()))
    files, mount = base / "files", base / "mount"
    for name in (".env", "private/k.txt", "caf\u00e9.txt"):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(f"TOKEN={SECRET}\n")
    (files / "open.txt").write_text("nothing secret\n")
    mount.mkdir()
    with subprocess.Popen([sys.executable, str(PROGRAM), str(files), str(mount)], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"mounted\n"
        yield mount
        subprocess.run(["umount", "-l", str(mount)], check=True)
    shutil.rmtree(base)


def test_the_file_system_folds_names(folder: Path) -> None:
    assert (folder / ".ENV").read_text() == (folder / "PRIVATE/K.TXT").read_text() == f"TOKEN={SECRET}\n"
    assert (folder / "cafe\u0301.TXT").samefile(folder / "caf\u00e9.txt")
    assert sorted(each.name for each in folder.iterdir()) == [".env", "caf\u00e9.txt", "open.txt", "private"]


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_no_spelling_passes_a_rule_that_denies(one_world: World, folder: Path, sandbox: str) -> None:
    rules = '["Read(.env)", "Read(private/**)", "Read(caf\u00e9.txt)"]'
    (one_world.home / "config.toml").write_text(f"[permissions]\ndeny = {rules}\n")
    one_world.script([*TRIED, Call("read", {"path": "OPEN.TXT"}), bash("cat open.txt")], [Say("Done.")])
    ran = one_world.ask("look", "--sandbox", sandbox, cwd=folder)
    assert ran.code == 0
    *denied, shown, printed = one_world.results
    assert len(denied) == len(TRIED)
    assert [each for each in denied if SECRET in each] == []
    assert "nothing secret" in shown
    assert "nothing secret" in printed


def test_without_the_rules_each_spelling_shows_the_secret(one_world: World, folder: Path) -> None:
    one_world.script([each for each in TRIED if each.name != "glob"], [Say("Done.")])
    assert one_world.ask("look", cwd=folder).code == 0
    assert len(one_world.results) == len(TRIED) - 1
    assert [each for each in one_world.results if SECRET not in each] == []


def test_without_a_rule_a_secret_in_another_spelling_asks(one_world: World, folder: Path) -> None:
    calls = [Call("read", {"path": ".ENV"}), bash("cat .ENV"), bash("head -n 1 .Env"), bash("cat .E*")]
    one_world.script(calls, [Say("Done.")])
    one_world.run("-m", one_world.model, "-p", "look", cwd=folder)
    assert len(one_world.results) == len(calls)
    assert [each for each in one_world.results if SECRET in each] == []
