"""The lists of mutants are as they must be, and the run that tries them tells a killed one from a survivor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from listed import Mutant, listed, mutants, without, wrong

from polling import slowness
from written_tests import written_tests

ROOT = Path(__file__).resolve().parents[2]
LEAST = 100


def test_every_mutant_can_be_tried() -> None:
    assert "\n".join(wrong(listed(Path(__file__).parent), ROOT, written=written_tests())) == ""


def test_every_package_has_some_and_there_are_enough() -> None:
    found = listed(Path(__file__).parent)
    assert list(without(found, ROOT)) == []
    assert len(found) >= LEAST


FILE = "src/holdfast/one.py"
GOOD = Mutant("it is two", FILE, "= 1\n", "= 2\n", ("tests/test_one.py::test_one",))


@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (GOOD, ""),
        (Mutant("a", "src/holdfast/none.py", "a", "b", GOOD.tests), "is no file of the source"),
        (Mutant("a", "tests/test_one.py", "a", "b", GOOD.tests), "is no file of the source"),
        (Mutant("a", FILE, "= 3", "= 4", GOOD.tests), "has its text 0 times"),
        (Mutant("a", FILE, "ONE", "TWO", GOOD.tests), "has its text 2 times"),
        (Mutant("a", FILE, "= 1\n", "= (\n", GOOD.tests), "is no Python"),
        (Mutant("a", "src/holdfast/py.typed", "a", "b", GOOD.tests), "is neither Python nor a table of facts"),
        (Mutant("a", "src/holdfast/one.json", "1", "2", GOOD.tests), ""),
        (Mutant("a", "src/holdfast/one.json", "1", "1}", GOOD.tests), "Extra data"),
        (Mutant("a", FILE, "= 1\n", "= 1\n", GOOD.tests), "it changes nothing"),
        (Mutant("a", FILE, "= 1\n", "= 2\n"), "it has tests and a reason for none, or neither"),
        (Mutant("a", FILE, "= 1\n", "= 2\n", GOOD.tests, "why"), "it has tests and a reason for none, or neither"),
        (Mutant("a", FILE, "= 1\n", "= 2\n", ("tests/test_one.py::test_two",)), "is not there"),
    ],
)
def test_a_mutant_that_cannot_be_tried_is_found(tmp_path: Path, mutant: Mutant, said: str) -> None:
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("ONE = 1\nALSO = ONE\n")
    (tmp_path / "src/holdfast/one.json").write_text('{"a": 1}')
    (tmp_path / "src/holdfast/py.typed").write_text("a")
    found = list(wrong([mutant], tmp_path, written={"tests/test_one.py::test_one"}))
    assert [said in each for each in found] == ([True] if said else [])
    assert "is listed 2 times" in "\n".join(wrong([mutant, mutant], tmp_path, written=set[str]()))


def test_a_package_without_mutants_is_found(tmp_path: Path) -> None:
    for name in ("agent", "ui"):
        (tmp_path / "src/holdfast" / name).mkdir(parents=True)
        (tmp_path / "src/holdfast" / name / "__init__.py").touch()
    assert list(without([Mutant("a", "src/holdfast/ui/a.py", "a", "b")], tmp_path)) == ["agent"]


def test_a_field_that_no_mutant_has_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        mutants('[[mutant]]\nname = "a"\nfile = "b"\nfind = "c"\nreplace = "d"\ntest = ["e"]\n')


TOY = {
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "src/holdfast/__init__.py": "",
    FILE: "ONE = 1\nTWO = 2\n",
    "tests/test_one.py": """import subprocess, sys, time
from holdfast.one import ONE
def test_one():
    assert ONE == 1
def test_child():  # which is given no variable that says where the source is
    tells = "from holdfast.one import ONE; print(ONE)"
    assert subprocess.run([sys.executable, "-I", "-c", tells], env={}, capture_output=True).stdout == b"1\\n"
def test_end():
    while ONE != 1:
        time.sleep(0.1)
def test_red():
    assert ONE == 2
""",
    "tests/mutants/toy.toml": """
[[mutant]]
name = "seen"
file = "src/holdfast/one.py"
find = "ONE = 1"
replace = "ONE = 2"
tests = ["tests/test_one.py::test_one"]
[[mutant]]
name = "seen in a child"
file = "src/holdfast/one.py"
find = "ONE = 1"
replace = "ONE = 3"
tests = ["tests/test_one.py::test_child"]
[[mutant]]
name = "endless"
file = "src/holdfast/one.py"
find = "ONE = 1"
replace = "ONE = 4"
tests = ["tests/test_one.py::test_end"]
[[mutant]]
name = "not seen"
file = "src/holdfast/one.py"
find = "TWO = 2"
replace = "TWO = 3"
tests = ["tests/test_one.py::test_one"]
[[mutant]]
name = "red before"
file = "src/holdfast/one.py"
find = "TWO = 2"
replace = "TWO = 4"
tests = ["tests/test_one.py::test_red"]
[[mutant]]
name = "the same"
file = "src/holdfast/one.py"
find = "TWO = 2"
replace = "TWO = 1 + 1"
equivalent = "it is the same number"
""",
}


def test_a_run_tells_what_became_of_each_and_leaves_the_tree_alone(tmp_path: Path) -> None:
    for name, text in TOY.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    before = {path: path.stat().st_mtime_ns for path in sorted((tmp_path / "src").rglob("*"))}
    command = [sys.executable, ROOT / "tests/mutants/mutation.py", "--root", tmp_path, "-j", "1"]
    command += ["--patience", str(6 * slowness())]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests/faults")}
    ran = subprocess.run(list(map(str, command)), env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    told = ran.stdout.split("\n\n")[1].splitlines()
    ends = {line.split("  ")[-2]: line.split()[0] for line in told[:-1]}
    assert ends == {
        "the same": "equivalent",
        "seen": "killed",
        "seen in a child": "killed",
        "endless": "hangs",
        "red before": "untried",
        "not seen": "survives",
    }
    assert told[-2].startswith("survives")
    assert told[-1] == "1 equivalent, 2 killed, 1 hangs, 1 untried, 1 survives"
    assert "| one | 6 | 3 | 1 | 1 | 2 |" in ran.stdout
    assert "| one: the same | it is the same number |" in ran.stdout
    assert {path: path.stat().st_mtime_ns for path in sorted((tmp_path / "src").rglob("*"))} == before
