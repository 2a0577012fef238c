"""Which file a program's name runs, and whether it is that program or something that chooses one."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from holdfast.tools.workspace.program_files import chosen_elsewhere, program_file

SYSTEM = "/usr/bin:/bin"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is searched before those of the system."""
    folder = tmp_path / "shims"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{SYSTEM}")
    return folder


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_what_the_system_installed_is_the_program_itself(programs: Path) -> None:
    found = [name for name in ("cat", "ls", "grep", "sh", "env") if chosen_elsewhere(name, str(programs))]
    assert found == []  # may be empty: nothing is chosen elsewhere
    assert program_file("cat", str(programs)).endswith("/cat")
    assert chosen_elsewhere("no-such-program", str(programs)) == program_file("no-such-program", "/") == ""


@pytest.mark.parametrize(
    "text",
    [
        '#!/usr/bin/env bash\nexec pyenv exec python "$@"\n',
        "#!/bin/sh\n",
        "#!/usr/bin/env -S node --x\n",
        "#!\n",
        "no first line\n",
        "",
        "\x7fEL",
    ],
)
def test_a_script_of_the_user_may_run_another_program(programs: Path, text: str) -> None:
    script(programs / "cat", text)
    assert chosen_elsewhere("cat", "/") == str(programs / "cat")
    (programs / "jq").symlink_to(programs / "cat")
    assert chosen_elsewhere("jq", "/") == str(programs / "jq")


def test_a_launcher_and_a_program_differ_by_the_name_of_their_file(programs: Path, tmp_path: Path) -> None:
    cat = shutil.which("cat")
    assert cat is not None
    launcher, version = tmp_path / "mise", tmp_path / "jq-1.7"
    for path in (launcher, version):
        shutil.copy(cat, path)
        path.chmod(0o755)
    (programs / "node").symlink_to(launcher)
    (programs / "jq").symlink_to(version)
    (programs / "rg").symlink_to(cat)
    assert chosen_elsewhere("node", "/") == str(programs / "node")
    assert chosen_elsewhere("jq", "/") == ""
    assert chosen_elsewhere("rg", "/") == "", "a link that the user made to a program of the system"


def test_a_script_of_the_system_is_as_good_as_what_runs_it(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As npm of Debian is, whose first line is `#!/usr/bin/env node`."""
    system = tmp_path / "usr"
    system.mkdir()
    monkeypatch.setattr("holdfast.tools.workspace.program_files._SYSTEM", (f"{system}/", "/usr/", "/bin/"))
    monkeypatch.setattr("holdfast.tools.workspace.program_files._LOCAL", "/nowhere/")
    monkeypatch.setenv("PATH", f"{programs}:{system}:{SYSTEM}")
    script(system / "npm", "#!/usr/bin/env cat\n")
    script(system / "loop", "#!/usr/bin/env loop\n")
    script(system / "odd", f"#!{sys.prefix}/bin/odd\n")
    assert chosen_elsewhere("npm", "/") == ""
    assert chosen_elsewhere("loop", "/") == "loop"
    assert chosen_elsewhere("odd", "/") == str(system / "odd")
    script(programs / "cat", "#!/bin/sh\n")
    assert chosen_elsewhere("npm", "/") == str(programs / "cat")


def test_a_program_of_the_folder_is_found_by_a_relative_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"bin:{SYSTEM}")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin/cat", "#!/bin/sh\n")
    assert program_file("cat", str(tmp_path)) == str(tmp_path / "bin/cat")
    (tmp_path / "bin/cat").chmod(0o644)
    assert program_file("cat", str(tmp_path)) != str(tmp_path / "bin/cat")
