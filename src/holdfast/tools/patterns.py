"""What is allowed without asking: patterns of commands, files and hosts, which let nothing else in with them. Pure.

Two rules. A pattern matches only a command that is one program with words a shell leaves as they are. What other
programs run or obey by themselves is matched by none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category

from holdfast.calls import Pattern
from holdfast.tools.tool import Plan

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]+")
"""What a shell does nothing with. Whatever is not here may separate, redirect, expand or quote: it is never matched."""

_ANY = "*"
_BENEATH = "/**"

_RUN_THE_PROJECT = (
    *("npm test", "pnpm test", "yarn test", "cargo test", "go test", "make test"),
    *("pytest", "python -m pytest", "uv run pytest"),
)
"""Commands that may be remembered with any words behind them: what they run is the project's own code anyway."""

_RUN_BY_THEMSELVES = frozenset(
    {
        *(".git", ".hg", ".githooks", ".husky"),  # hooks, and settings that name programs
        *(".github", ".gitlab", ".circleci"),  # continuous integration, with its secrets
        *(".vscode", ".idea", ".devcontainer"),  # tasks that an editor runs when it opens the folder
        ".holdfast",  # what may run here unasked
    }
)
_RUN_BY_NAME = frozenset(
    {
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".envrc"),
        *(".gitconfig", ".gitmodules", ".pre-commit-config.yaml"),
        *(".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile"),
    }
)
"""What runs without a person deciding so. Makefiles, scripts and tests are not here: they run when the project does."""


def runs_by_itself(path: str) -> bool:
    """Return whether git, a shell, an editor or a build server would run or obey the file without being told to."""
    # Some file systems do not tell .GIT from .git, nor either from one with invisible characters in it.
    *folders, name = "".join(each for each in path.casefold() if category(each) != "Cf").split("/")
    return name in _RUN_BY_NAME or not _RUN_BY_THEMSELVES.isdisjoint((*folders, name))


def allowed(plan: Plan, patterns: Iterable[Pattern]) -> bool:
    """Return whether one of the patterns allows the plan, whatever else it may need.

    Laws (`tests/tools/test_patterns_laws.py`): no command is matched that a shell would read as anything but one
    program and its words, no path outside the workspace, and nothing that runs by itself.
    """
    if plan.outside is not None:
        return False
    return any(_matches(pattern, plan) for pattern in patterns)


def suggested(plan: Plan) -> Pattern | None:
    """Return what a person may remember of the plan, to be shown as it is; None if they must decide each time."""
    if plan.outside is not None:
        return None
    if plan.host:
        return Pattern(effect="read", text=plan.host)
    if plan.effect == "execute" and _is_plain(plan.command):
        words = plan.command.split()
        for known in map(str.split, _RUN_THE_PROJECT):
            if words[: len(known)] == known:
                return Pattern(effect="execute", text=" ".join((*known, _ANY)))
        return Pattern(effect="execute", text=" ".join(words))
    if plan.effect == "write" and plan.change is not None and not runs_by_itself(plan.change.path):
        folder, _, _ = plan.change.path.rpartition("/")
        return Pattern(effect="write", text=f"{folder}{_BENEATH}" if folder else plan.change.path)
    return None


def _matches(pattern: Pattern, plan: Plan) -> bool:
    if pattern.effect != plan.effect:
        return False
    match plan.effect:
        case "execute":
            return _is_plain(plan.command) and _words_match(pattern.text.split(), plan.command.split())
        case "write":
            path = plan.change.path if plan.change is not None else ""
            return bool(path) and not runs_by_itself(path) and _path_matches(pattern.text, path)
        case "read":
            return bool(plan.host) and pattern.text == plan.host


def _is_plain(command: str) -> bool:
    return _PLAIN.fullmatch(command) is not None and bool(command.strip())


def _words_match(wanted: list[str], words: list[str]) -> bool:
    if wanted[-1:] == [_ANY]:
        known = wanted[:-1]
        return bool(known) and words[: len(known)] == known
    return wanted == words


def _path_matches(wanted: str, path: str) -> bool:
    if wanted.endswith(_BENEATH):
        return path.startswith(wanted.removesuffix("**"))
    return wanted == path
