"""A test run is found in a line by its parsed words, and its exit code is believed only if it is the line's."""

from __future__ import annotations

import pytest

from holdfast.tools.test_runs.run_of_line import found_tests, unknown_exit_note
from holdfast.tools.test_runs.runner_table import RUNNER_TABLE, count_of_tests, is_test_file

RUNS = {
    "pytest -q": "pytest",
    "python3 -m pytest tests": "pytest",
    ".venv/bin/pytest": "pytest",
    "uv run --with x pytest -q": "pytest",
    "env CI=1 nice -n 5 poetry run pytest": "pytest",
    "timeout -k 5 60 python -m unittest discover": "unittest",
    "python -m coverage run -m pytest": "pytest",
    "coverage run --source src -m pytest": "pytest",
    "cd a && python manage.py test": "django",
    "(cd x && npx jest)": "jest",
    "npm test": "npm test",
    "npm run test": "npm test",
    "yarn vitest run": "vitest",
    "go test ./...": "go test",
    "cargo +nightly test": "cargo test",
    "cargo nextest run": "cargo nextest",
    "mvn -q verify": "mvn",
    "./gradlew :app:test": "gradle",
    "dotnet test": "dotnet test",
    "ctest --test-dir build": "ctest",
    "bundle exec rspec": "rspec",
    "rake test": "rake test",
    "vendor/bin/phpunit": "phpunit",
    "mix test": "mix test",
    "swift test": "swift test",
    "deno test": "deno test",
    "make -j4 check": "make",
    "python -m tox -e py311": "tox",
    "nox -s tests": "nox",
    "node --test": "node --test",
    "just t": "just t",
}
NO_RUNS = (
    "echo pytest",
    "./pytest",
    "/tmp/pytest",
    "git commit -m 'pytest'",
    "python -c 'import pytest'",
    "python unittest",
    "pytest --collect-only",
    "PYTEST_ADDOPTS=--co pytest",
    "make -n test",
    "cargo test --no-run",
    "mvn -DskipTests verify",
    "npm test --if-present",
    "npm install test",
    "pip install pytest",
    "pytest() { :; }; pytest",
    "alias pytest=true; pytest",
    "eval pytest",
    "xargs pytest",
)
HIDDEN = {
    "pytest | tail": "a pipe",
    "pytest |& tee log": "a pipe",
    "pytest || true": "`||`",
    "false || pytest": "`||`",
    "a || pytest && true": "`||`",
    "pytest; echo 1": "another command behind it",
    "pytest\necho 1": "another command behind it",
    "pytest &": "it runs in the background",
    "(pytest &)": "it runs in the background",
    "! pytest": "`!`",
    "echo $(pytest)": "a substitution",
    "x=`pytest`": "a substitution",
    "if pytest; then :; fi": "a condition or a loop",
    "for i in 1 2; do pytest; done": "a condition or a loop",
    "pytest <<E && ls\nx\nE": "another command behind it",
    "exit 0; pytest": "`exit`",
    "set -n; pytest": "`set`",
    "PATH=.:$PATH pytest": "another PATH",
    "export PATH=.; pytest": "another PATH",
    "bash -c 'pytest; true'": "another command behind it",
    "bash -c 'pytest' | cat": "a pipe",
    "pytest a; pytest b": "another command behind it, for a run before it",
    "pytest && sed -i s/a/b/ c": "a command behind `&&`",
    "make -k test": "-k ignores failures",
}
KNOWN = (
    "cd d && pytest",
    "cd d; pytest",
    "(pytest)",
    "{ pytest; }",
    "pytest > log 2>&1",
    "pytest a && pytest b",
    "time pytest",
)


@pytest.mark.parametrize("line", RUNS)
def test_a_runner_is_found_by_its_words(line: str) -> None:
    found = found_tests(line, own_tests=("just t",))
    assert found is not None
    assert (found.runner, found.hidden) == (RUNS[line], "")


@pytest.mark.parametrize("line", NO_RUNS)
def test_what_only_looks_like_a_runner_is_none(line: str) -> None:
    assert found_tests(line, own_tests=("just t",)) is None


@pytest.mark.parametrize("line", HIDDEN)
def test_what_hides_an_exit_code(line: str) -> None:
    found = found_tests(line)
    assert found is not None
    assert found.hidden == HIDDEN[line]
    assert not found.knows(0)
    assert HIDDEN[line] in unknown_exit_note(line, 0)


@pytest.mark.parametrize("line", KNOWN)
def test_what_hides_none(line: str) -> None:
    found = found_tests(line)
    assert found is not None
    assert found.knows(1)
    assert unknown_exit_note(line, 0) == ""


def test_code_0_of_a_chain_that_only_reads_is_that_of_the_tests() -> None:
    found = found_tests("pytest && echo ok")
    assert found is not None
    assert found.knows(0)
    assert not found.knows(1)


@pytest.mark.parametrize(
    "line", ["cd /tmp && pytest", "cd ../x && pytest", "pytest /tmp/t", "pytest --rootdir=/tmp", "cd $D && pytest"]
)
def test_a_run_outside_of_the_workspace_is_elsewhere(line: str) -> None:
    found = found_tests(line, root="/w", folder="a")
    assert found is not None
    assert found.elsewhere != ("" if line != "cd ../x && pytest" else "/w/x")
    inside = found_tests("cd /w/b && pytest ../c", root="/w")
    assert inside is not None
    assert inside.elsewhere == ""


ENDS: tuple[tuple[str, int, str, int | None], ...] = (
    ("pytest", 5, "", 0),
    ("pytest", 0, "\x1b[32m41 passed\x1b[0m, 2 skipped in 0.1s", 41),
    ("pytest", 0, "2 skipped in 0.1s", 0),
    ("pytest", 0, "...", None),
    ("unittest", 0, "Ran 0 tests in 0.000s\n\nOK", 0),
    ("unittest", 0, "Ran 3 tests in 0.1s\n\nOK", 3),
    ("go test", 0, "ok  \tx/a\t0.1s\n?   \tx/b\t[no test files]", 1),
    ("go test", 0, "ok  \tx/a\t0.1s [no tests to run]", 0),
    ("cargo test", 0, "test result: ok. 0 passed; 0 failed; 0 ignored", 0),
    ("cargo test", 0, "test result: ok. 2 passed; 0 failed;\ntest result: ok. 3 passed; 0 failed;", 5),
    ("jest", 1, "Tests:       1 failed, 4 passed, 5 total", 5),
    ("jest", 0, "No tests found, exiting with code 0", 0),
    ("rspec", 0, "0 examples, 0 failures", 0),
    ("ctest", 0, "100% tests passed, 0 tests failed out of 7", 7),
)


@pytest.mark.parametrize(("runner", "code", "output", "ran"), ENDS)
def test_how_many_tests_ran_is_read_from_the_end(runner: str, code: int, output: str, ran: int | None) -> None:
    row = next(each for each in RUNNER_TABLE.runners if each.name == runner)
    found = count_of_tests(row, code, output)
    assert found == ran


def test_files_of_tests_are_known_by_their_paths() -> None:
    assert all(map(is_test_file, ("tests/a.py", "a/test_b.py", "b_test.go", "c.spec.ts", "src/ATest.java")))
    assert not any(map(is_test_file, ("src/a.py", "latest.txt", "contest.py")))
