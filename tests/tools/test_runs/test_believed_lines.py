"""The exit code of a test run is believed only in a line of which each word is in a closed list."""

from __future__ import annotations

import pytest

from holdfast.tools.test_runs.run_of_line import found_tests, unknown_exit_note
from holdfast.tools.test_runs.runner_table import RUNNER_TABLE

BELIEVED = (
    "pytest",
    "pytest -q tests/x.py -k name -x",
    "pytest -xq -n4 --tb=short --maxfail 1 -p no:cacheprovider -ra",
    "python -m pytest -q",
    "python3 -B -m pytest tests/test_a.py::test_b",
    "uv run pytest",
    "uv run --frozen -- pytest -q",
    "poetry run pytest",
    "cd sub && pytest",
    "cd sub && git status && pytest",
    "pip install -e . && pytest",
    "set -euo pipefail; pytest",
    "npm test",
    "npm run test",
    "npx jest --ci",
    "node_modules/.bin/jest",
    "/w/.venv/bin/python -m pytest",
    "cargo test",
    "cargo test --workspace -- --nocapture",
    "go test ./...",
    "go test -race -count=1 -run Name ./...",
    "make test",
    "make -C sub -j4 check",
    "tox",
    "tox run -e py311",
    "nox -s tests",
    "timeout 60 pytest",
    "CI=1 npm test",
    "mvn -B -ntp clean verify",
    "./gradlew test",
    "rake test",
    "node --test",
    "./scripts/check",
)
DOUBTED = {
    "setsid -f pytest": "`setsid`",
    "nohup pytest": "`nohup`",
    "nohup --version pytest": "`nohup`",
    "command pytest": "`command`",
    "sleep 1 & pytest": "it runs in the background",
    "bash -c 'exit 0; pytest'": "the script of a shell",
    "bash -c 'set -n; pytest'": "the script of a shell",
    "bash -nc pytest": "the script of a shell",
    "bash -c pytest && echo ok": "the script of a shell",
    "builtin exit 0; pytest": "`builtin`",
    "command exit 0; pytest": "`command`",
    "builtin hash -p /bin/true pytest; pytest": "`builtin`",
    "hash -p /bin/true pytest; pytest": "`hash`",
    "kill -9 1; pytest": "`kill`",
    "export PYTEST_ADDOPTS=--collect-only; pytest": "`export`",
    "PYTEST_ADDOPTS=-h; pytest": "another PYTEST_ADDOPTS",
    "OPTS=--co; pytest $OPTS": "another OPTS",
    "pytest $OPTS": "`$OPTS`, which only the shell knows",
    "pytest tests/*.py": "`tests/*.py`, which only the shell knows",
    "pytest > $LOG": "`$LOG`, which only the shell knows",
    "cd -P a && pytest": "`cd`",
    "MAKEFLAGS=n make test": "another MAKEFLAGS",
    "env MAKEFLAGS=n make test": "another MAKEFLAGS",
    "env -i pytest": "option -i of env",
    "env --version pytest": "option --version of env",
    "nice --version pytest": "option --version of nice",
    "python - -m pytest": "option - of python",
    "python -O -m pytest": "option -O of python",
    "python -W=./x -m pytest": "option -W=./x of python",
    "uv run --with ./fake pytest": "option --with of uv run",
    "make -sn test": "option -sn of make is not known here",
    "make -in test": "option -in of make is not known here",
    "make -o test test": "option -o of make is not known here",
    "make test V=1": "`V=1` of make is not known here",
    "make check-format": "`check-format` of make is not known here",
    "make clean-test": "`clean-test` of make is not known here",
    "npm run test:lint": "`test:lint` of npm test is not known here",
    "npm test -- --listTests": "option -- of npm test is not known here",
    "yarn test --listTests": "option --listTests of npm test is not known here",
    "tox -e lint": "option -e of tox is not known here",
    "tox run -n": "option -n of tox is not known here",
    "rake -nq test": "option -nq of rake test is not known here",
    "node --check --test": "node --test without --test in front",
    "node a.js --test": "node --test without --test in front",
    "gradle -xtest build": "option -xtest of gradle is not known here",
    "pytest --collect": "option --collect of pytest is not known here",
    "pytest -p liar": "option -p of pytest is not known here",
    "pytest -k -x": "option -k of pytest is not known here",
    "timeout x pytest": "`x` of timeout",
    "cargo test -- --ignored": "option --ignored of cargo test is not known here",
    "pytest @more": "option @more of pytest is not known here",
    "go test ./... -args -x": "option -args of go test is not known here",
    "/outside/bin/pytest": "`/outside/bin/pytest`, another program",
    "bin/pytest": "`bin/pytest`, another program",
    "../w2/.venv/bin/pytest": "`../w2/.venv/bin/pytest`, another program",
    "/x/bin/uv run pytest": "`/x/bin/uv`, another program",
    "/x/bin/python -m pytest": "`/x/bin/python`, another program",
    "./scripts/check --dry-run": "`--dry-run` behind ./scripts/check",
    "setsid -f pytest; pytest": "`setsid`",
}


@pytest.mark.parametrize("line", BELIEVED)
def test_the_usual_lines_are_believed(line: str) -> None:
    found = found_tests(line, root="/w", own_tests=("./scripts/check",))
    assert found is not None
    assert (found.hidden, found.elsewhere) == ("", "")
    assert found.knows(0)


@pytest.mark.parametrize("line", DOUBTED)
def test_what_is_in_no_list_is_not_believed(line: str) -> None:
    found = found_tests(line, root="/w", own_tests=("./scripts/check",))
    assert found is not None
    assert not found.knows(0)
    assert not found.knows(1)
    assert DOUBTED[line] in found.hidden


def test_a_program_that_is_named_by_its_path_is_said() -> None:
    found = found_tests("cd a && .venv/bin/python -m pytest", root="/w")
    assert found is not None
    assert found.programs == ("a/.venv/bin/python",)


def test_a_runner_that_prints_how_many_ran_is_counted() -> None:
    uncounted = {row.name for row in RUNNER_TABLE.runners if not row.counted}
    assert uncounted == {row.name for row in RUNNER_TABLE.runners if row.opaque}


def test_a_model_reads_no_doubt_about_the_workspaces_own_program() -> None:
    assert unknown_exit_note("/w/.venv/bin/pytest -q", 0, root="/w") == ""
    assert "another program" in unknown_exit_note("/x/.venv/bin/pytest -q", 0, root="/w")
