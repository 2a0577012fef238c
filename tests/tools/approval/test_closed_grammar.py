"""Each rule of the closed grammar: lines that it holds back, which act or show what lies outside, and usual ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_folder import HostileFolder, is_free

from holdfast.system.secret_files import holds_secrets
from holdfast.tools.shell.closed_options import closed_options, options_of
from holdfast.tools.shell.command_line import Word
from holdfast.tools.shell.read_only import awk_more, sed_reads
from holdfast.tools.workspace.command_files import MOST_BELOW, disk_surroundings

RULES: dict[str, tuple[list[str], list[str]]] = {
    "bash makes names of files out of any word": (
        ["echo data/*", "printf '%s\\n' ../outside/d/*", ": $B/outside/*; echo $_", "type data/*", "seq ../*"],
        ["echo *.txt", "printf '%s\\n' *.txt", 'echo "data/*"', "basename -a *.txt"],
    ),
    "what a variable or a command gives is matched with files": (
        ["x='data/*'; echo $x", "echo $(echo 'data/*')", "read f < a.txt; echo $f", "echo {../outside/*,x}"],
        ["x=1; echo $x", 'echo "$(cat a.txt)"', "echo $HOME", "for i in 1 2 3; do echo $i; done"],
    ),
    "a loop goes over names": (
        ['for f in data/*; do echo "$f"; done', 'for f in ../outside/*; do echo "$f"; done'],
        ['for f in *.txt; do echo "$f"; done'],
    ),
    "find runs a command on files that it names": (
        [
            "find clean/x.txt -exec cat link \\;",
            "find clean/x.txt -exec ls data \\;",
            "find clean/x.txt -exec cat .env \\;",
            "find clean/x.txt -exec grep -r KEY . \\;",
            "find clean/x.txt -exec cat *n* \\;",
        ],
        ["find a.txt b.txt -name '*.txt' -exec wc -l {} +", "find clean/x.txt -exec cat a.txt {} +"],
    ),
    "an option whose value may stand apart hides no file": (
        ["od -w link", "od -cw link", "df --output link", "column -d link", "git diff -M link a.txt; cat link"],
        ["od -c a.txt", "df .", "column -t a.txt"],
    ),
    "behind two dashes an option is one still": (
        [
            "rg -g --pre=./evil.sh one",
            "ls --format -- -L",
            "uniq -- -x a.txt",
            "grep --color -- --dereference-recursive x .",
        ],
        ["cat -- -n", "git diff -- a.txt", "grep -e -x a.txt", "tail -n -1 a.txt"],
    ),
    "an archive is the file that its name says": (
        ["unzip -l z", "unzip -l 'z*'", "unzip -v 'z?zip'"],
        ["unzip -l x.zip"],
    ),
    "the kernel's own links lead elsewhere for each process": (
        [
            "cd sub && cat /proc/self/cwd/out/plain.txt",
            "cd sub && cat ../procself/out/plain.txt",
            "cat procself/a.txt",
        ],
        ["cd sub && cat c.txt"],
    ),
    "cd goes by names, or as the kernel finds them": (
        ["cd sub/up/../ws && cat ../outside/plain.txt", "cd sub/up/../ws; cat ../outside/plain.txt"],
        ["cd sub && cat ../a.txt", "cd sub && cd ../clean && cat x.txt"],
    ),
    "several wildcards are one character": (
        ["LC_ALL=C; cd clean && cat ????", "cd clean && head ????"],
        ["cd clean && cat ?.txt"],
    ),
    "git finds and shows files by other names": (
        ["cd clean && git grep KEY ..", "cd clean && git -C .. grep --untracked KEY", "git show HEAD:.env"],
        ["git show HEAD:a.txt"],
    ),
    "the settings of the user may hold passwords": (
        [
            "git config --list",
            "git config --global -l",
            "git config --get-regexp .",
            "git config --get http.extraheader",
        ],
        ["git config --get user.name", "git config --local --list"],
    ),
    "a search reads what it shall ignore": (
        ["rg one proj", "fd a proj", "cd proj && rg one"],
        ["rg one a.txt", "fd a clean"],
    ),
    "a date may name a file of time zones": (["date -d 'TZ=\"$B/outside/plain.txt\" now'"], ["date -d @0"]),
    "a name may be asked of a server": (["hostname -f", "hostname -i"], ["hostname", "hostname -s"]),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_holds_back_what_acts_and_not_what_is_usual(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = HostileFolder(tmp_path)
    (folder.ws / "clean").mkdir()
    (folder.ws / "clean/x.txt").write_text("x\n")
    (folder.ws / "clean/éé").symlink_to("../../outside/plain.txt")
    (folder.ws / "sub/up").symlink_to("..")
    (folder.ws / "procself").symlink_to("/proc/self/cwd")
    (folder.ws / "proj").mkdir()
    (folder.ws / "proj/.gitignore").symlink_to("../../outside/plain.txt")
    (folder.ws / "z.zip").symlink_to("../outside/plain.txt")
    monkeypatch.chdir(folder.ws)
    hostile, usual = RULES[rule]
    assert [line for line in hostile if is_free(folder, folder.filled(line))] == []
    assert [line for line in usual if not is_free(folder, folder.filled(line))] == []


def test_what_lies_outside_has_names_that_no_list_of_secrets_holds_back(tmp_path: Path) -> None:
    """A line that names a secret asks for its name alone: then no rule about links and folders would be tried."""
    folder = HostileFolder(tmp_path)
    outside = [path for path in (folder.base / "outside").rglob("*") if path.is_file()]
    assert len(outside) == 2
    assert [path for path in outside if holds_secrets(str(path))] == []


def test_a_program_that_another_one_starts_does_not_lie_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = HostileFolder(tmp_path)
    (folder.ws / "bin").mkdir()
    for name in ("gzip", "wc", "grep"):
        (folder.ws / "bin" / name).write_text("#!/bin/sh\ntouch PWNED\n")
        (folder.ws / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", "bin:/usr/bin:/bin")
    lines = ["tar tzf a.tgz", "find a.txt -exec wc {} +", "egrep x a.txt"]
    assert [line for line in lines if is_free(folder, line)] == []
    (folder.base / "tools").mkdir()
    (folder.base / "tools/ls").symlink_to(folder.ws / "bin/wc")
    monkeypatch.setenv("PATH", f"{folder.base}/tools:/usr/bin:/bin")
    assert not is_free(folder, "ls")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert [line for line in ["ls", *lines] if not is_free(folder, line)] == []


def words(*texts: str) -> tuple[Word, ...]:
    return tuple(Word(text, fixed=True, raw=text, prefix=text) for text in texts)


def test_a_value_that_looks_like_an_option_may_be_one() -> None:
    of = closed_options("r", "ge", "", "glob")
    assert options_of(words("-g", "--pre=x"), of).unknown() is not None
    assert options_of(words("--glob", "-f"), of).unknown() is not None
    assert options_of(words("--glo", "x"), of).unknown() is not None
    assert options_of(words("-e", "--pre=x"), of).unknown() is None
    assert options_of(words("-g", "-5"), of).unknown() is None
    assert options_of(words("--", "-f"), of).unknown() is not None
    assert options_of(words("--", "-r"), of).unknown() is None


def test_a_delimiter_of_sed_does_not_stand_in_brackets() -> None:
    assert not sed_reads("s/[/]/p;y/w PWNED/aaaaaaa/")
    assert not sed_reads("/[/]/w PWNED/p")
    assert sed_reads("s/[a-z]*/x/;s#[^/]*$##;/^[^#]/p")


def test_awk_reaches_no_variable_by_a_name_that_is_put_together() -> None:
    assert awk_more(words('BEGIN{SYMTAB["AR" "GV"][1]="link"} 1'))
    assert not awk_more(words("{print $1}", "a.txt"))


def test_no_more_names_are_looked_at_for_a_line_than_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    for name in range(MOST_BELOW // 2 + 1):
        (tmp_path / "0" / str(name)).touch()
    for at in range(1, 4):
        (tmp_path / str(at)).symlink_to("0")
    around = disk_surroundings().remembering()
    found = [around.below(str(tmp_path / str(at)), False).is_complete for at in range(4)]  # noqa: FBT003 - a lookup with two arguments
    assert found == [True, True, False, False]
    assert disk_surroundings().remembering().below(str(tmp_path / "3"), False).is_complete  # noqa: FBT003 - likewise
