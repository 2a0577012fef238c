"""Patterns of commands, files and hosts that are allowed without asking, and that allow nothing else. Pure.

A pattern matches only a command that is one program with words that a shell leaves unchanged. No pattern matches files
that other programs run or obey by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from posixpath import normpath

from holdfast.tool_calls import Pattern
from holdfast.tools.command_words import harmless, lets_nothing_through
from holdfast.tools.tool import Plan
from holdfast.tools.workspace.autorun_files import runs_by_itself

_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]+")
"""Characters without a meaning for a shell. Any other one may separate, redirect, expand or quote: it never matches."""

_ANY = "*"
_BENEATH = "/**"

_RUN_THE_PROJECT = (
    *("npm test", "pnpm test", "yarn test", "cargo test", "go test", "make test"),
    *("pytest", "python -m pytest", "uv run pytest"),
)
"""Commands that may be allowed with any arguments: they run the project's own code anyway."""


def obeyed(plan: Plan) -> bool:
    """Return whether the plan changes a file that other programs run or obey by themselves, under any of its names."""
    return plan.change is not None and any(map(runs_by_itself, (plan.change.path, plan.known_as)))


def allowed(plan: Plan, patterns: Iterable[Pattern]) -> bool:
    """Return whether one of the patterns allows the plan.

    Laws (`tests/tools/test_approval_patterns_laws.py`): no command is matched that a shell would read as anything but
    one program and its words, no path outside the workspace, and nothing that runs by itself.
    """
    if plan.outside is not None:
        return False
    return any(_matches(pattern, plan) for pattern in patterns)


def suggested(plan: Plan) -> Pattern | None:
    """Return the pattern that the user may allow permanently, shown to them as is; None if there is none."""
    if plan.outside is not None:
        return None
    if plan.host:
        return Pattern(effect="read", text=plan.host)
    if plan.effect == "execute" and not plan.folder and _is_plain(plan.command):
        words = plan.command.split()
        for known in map(str.split, _RUN_THE_PROJECT):
            if words[: len(known)] == known and harmless(known, words[len(known) :]):
                return Pattern(effect="execute", text=" ".join((*known, _ANY)))
        return Pattern(effect="execute", text=" ".join(words))
    if plan.effect == "write" and plan.change is not None and not obeyed(plan):
        folder, _, _ = plan.change.path.rpartition("/")
        return Pattern(effect="write", text=f"{folder}{_BENEATH}" if folder else plan.change.path)
    return None


def unmatchable(pattern: Pattern) -> str:
    """Return why a pattern matches nothing, with an example that would, as a sentence; "" if it can match."""
    said = f"{pattern.text!r} matches nothing: it "
    match pattern.effect:
        case "execute":
            known = pattern.text.removesuffix(f" {_ANY}")
            if not _is_plain(known):
                return (
                    f"{said}is not a program with its arguments, such as 'make test', optionally with ' *' at the end."
                )
            if known != pattern.text and lets_nothing_through(known.split()):
                return f"{said}would allow {known!r} with any argument, such as another program, an address or code."
        case "write":
            path = pattern.text.removesuffix(_BENEATH)
            if (
                "*" in path
                or path.startswith(("/", "../", "~/"))
                or path in {"", ".", "..", "~"}
                or normpath(path) != path
            ):
                return f"{said}is not a file or FOLDER/** in this folder, such as 'README.md' or 'src/**'."
            if runs_by_itself(path) or (runs_by_itself(f"{path}/x") and path != pattern.text):
                return f"{said}names files that other programs run by themselves, which always need approval."
        case "read":
            if not _is_host(pattern.text):
                return f"{said}is not a host such as 'docs.python.org' (no scheme, port, path or wildcard)."
    return ""


def _is_host(text: str) -> bool:
    if ":" in text:
        try:
            return bool(ip_address(text))
        except ValueError:
            return False
    return text == text.lower() and not re.search(r"[^\w.-]", text) and bool(text)


def _matches(pattern: Pattern, plan: Plan) -> bool:
    if pattern.effect != plan.effect:
        return False
    match plan.effect:
        case "execute":
            return (
                not plan.folder and _is_plain(plan.command) and _words_match(pattern.text.split(), plan.command.split())
            )
        case "write":
            path = plan.change.path if plan.change is not None else ""
            return bool(path) and not obeyed(plan) and _path_matches(pattern.text, path)
        case "read":
            return bool(plan.host) and pattern.text == plan.host


def _is_plain(command: str) -> bool:
    return _PLAIN.fullmatch(command) is not None and bool(command.strip())


def _words_match(wanted: list[str], words: list[str]) -> bool:
    if wanted[-1:] == [_ANY]:
        known = wanted[:-1]
        return bool(known) and words[: len(known)] == known and harmless(known, words[len(known) :])
    return wanted == words


def _path_matches(wanted: str, path: str) -> bool:
    if wanted.endswith(_BENEATH):
        return path.startswith(wanted.removesuffix("**"))
    return wanted == path
