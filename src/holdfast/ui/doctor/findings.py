"""What is found of each thing that holdfast needs, and what to do about it. Pure.

Two rules. `fail` is what keeps it from working, `warn` what is missing or will be. Nothing says the value of a key.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from holdfast.agent.keys import Keys
from holdfast.agent.providers import Provider, Providers
from holdfast.agent.reaching import Reached
from holdfast.session.verify import Report
from holdfast.ui.choosing import DEMO
from holdfast.ui.setup.failures import unreached
from holdfast.ui.table import counted, size

Level = Literal["ok", "warn", "fail"]

PYTHONS = ((3, 11), (3, 13))
SMALL = (80, 24)
LITTLE, NEARLY_NONE = 1_000_000_000, 100_000_000
SHARED = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")
"""File systems whose locks and syncs cannot be relied on."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, and what to do, "" if nothing."""

    name: str
    level: Level
    what: str
    todo: str = ""


def versions(found: Mapping[str, str], python: tuple[int, int]) -> Finding:
    """Return what runs here; `found` has a version for each package that is installed."""
    told = ", ".join(f"{name} {version}" for name, version in found.items())
    if PYTHONS[0] <= python <= PYTHONS[1]:
        return Finding(name="versions", level="ok", what=told)
    todo = "Use Python 3.11, 3.12 or 3.13: others have not been tried."
    return Finding(name="versions", level="warn", what=told, todo=todo)


def terminal(*, tty: bool, term: str, columns: int, lines: int, encoding: str) -> Finding:
    """Return what kind of terminal this is."""
    what = f"{term or 'TERM is not set'}, {columns}x{lines}, {encoding}" if tty else "none, output goes elsewhere"
    if not tty:
        return Finding(name="terminal", level="ok", what=what)
    if term in ("", "dumb"):
        todo = "It cannot show a full screen: use holdfast -p, or another terminal."
    elif encoding.lower().replace("-", "") != "utf8":
        todo = "Choose a UTF-8 locale (LANG=C.UTF-8), or signs are shown as question marks."
    elif columns < SMALL[0] or lines < SMALL[1]:
        todo = f"Make it larger, {SMALL[0]}x{SMALL[1]} at least."
    else:
        todo = ""
    return Finding(name="terminal", level="warn" if todo else "ok", what=what, todo=todo)


def keys(providers: Providers, found: Keys) -> Finding:
    """Return which keys there are, and where."""
    wanted = dict.fromkeys(each.key_variable for each in providers.values() if each.key_variable)
    told = {name: found[name].source for name in wanted if name in found}
    if told:
        return Finding(name="keys", level="ok", what=", ".join(f"{name} ({where})" for name, where in told.items()))
    keyless = ", ".join(each.name for each in providers.values() if each.key_variable is None)
    todo = f"Run holdfast setup, or set a provider's variable. No key is wanted by: {keyless}."
    return Finding(name="keys", level="warn", what="none", todo=todo)


def model(name: str | None, problem: str) -> Finding:
    """Return whether the model of the config could be asked; `problem` is why it could not, "" if it could."""
    if name == DEMO:
        return Finding(name="model", level="ok", what="demo, scripted: for the screen, not for -p")
    if not name:
        todo = "Run holdfast setup, or name one with -m PROVIDER:MODEL."
        return Finding(name="model", level="warn", what="none is configured", todo=todo)
    if problem:
        return Finding(name="model", level="fail", what=name, todo=problem)
    return Finding(name="model", level="ok", what=name)


def provider(provider: Provider, way: Reached, *, chosen: bool, by: str = "") -> Finding:
    """Return whether a provider can be reached; one that is not is grave if it is the `chosen` one.

    `by` is the variable that says where it is, "" if none does.
    """
    name = f"provider {provider.name}"
    through = f"{f' (from {by})' if by else ''}{f' through {way.proxy}' if way.proxy else ''}"
    if way.step == "reached":
        return Finding(name=name, level="ok", what=f"{way.place} answers{through}")
    said = f" ({way.said})" if way.said else ""
    return Finding(
        name=name, level="fail" if chosen else "warn", what=f"{way.place}{through}{said}", todo=unreached(way)
    )


def unaddressed(provider: Provider, problem: str, *, chosen: bool) -> Finding:
    """Return that a provider cannot be asked at all: `problem` is what is wrong with where it is."""
    level: Level = "fail" if chosen else "warn"
    return Finding(name=f"provider {provider.name}", level=level, what="it is not known where it is", todo=problem)


def disk(path: str, free: int) -> Finding:
    """Return whether there is room for sessions."""
    level: Level = "fail" if free < NEARLY_NONE else "warn" if free < LITTLE else "ok"
    todo = "" if level == "ok" else "Free some space: without it sessions can be read only."
    return Finding(name="disk", level=level, what=f"{size(free)} free for {path}", todo=todo)


def folder(path: str, *, mode: int | None, writable: bool, kind: str) -> Finding:
    """Return whether the folder of the sessions can be used; `mode` is None if it is not there yet."""
    name = "data folder"
    shown = "not there yet" if mode is None else f"mode {mode:04o}"
    what = f"{path}, {shown}{f', {kind}' if kind else ''}"
    if not writable:
        todo = f"It cannot be written: correct its owner or permissions, or set HOLDFAST_HOME. See: ls -ld {path}"
        return Finding(name=name, level="fail", what=what, todo=todo)
    if kind in SHARED:
        todo = "Locks on a network's file system cannot be trusted: set HOLDFAST_HOME to a folder of this machine."
        return Finding(name=name, level="warn", what=what, todo=todo)
    if mode is not None and mode & 0o077:
        return Finding(name=name, level="warn", what=what, todo=f"Others can look into it: chmod 700 {path}")
    return Finding(name=name, level="ok", what=what)


_PROGRAMS: Mapping[str, str] = {
    "git": "/diff, and most work on a project, want it: install git.",
    "ripgrep": "Searching works, and is slower: install ripgrep.",
}


def program(name: str, version: str | None, problem: str = "") -> Finding:
    """Return whether a program that is used where it is there, is; `problem` is how asking its version ended."""
    if problem:
        todo = f"It cannot be relied on: {_PROGRAMS[name]}"
        return Finding(name=name, level="warn", what=f"installed, but {problem}", todo=todo)
    if version is None:
        return Finding(name=name, level="warn", what="not installed", todo=_PROGRAMS[name])
    return Finding(name=name, level="ok", what=version)


def bubblewrap(version: str | None, *, works: bool, wanted: bool, namespaces: str) -> Finding:
    """Return whether commands can have a PID namespace; `wanted` is the config's `pid_namespace`.

    `namespaces` is why the kernel has none for us, "" if it is not known to refuse.
    """
    name, level = "bubblewrap", "warn" if wanted else "ok"
    if version is not None and works:
        return Finding(name=name, level="ok", what=f"{version}, and the kernel lets it")
    if version is None:
        what, todo = "not installed", "pid_namespace in the config does nothing without it: install bubblewrap."
    else:
        what = f"{version}, but it cannot make a namespace"
        todo = namespaces or "The kernel, or what we run in, refuses user namespaces."
    return Finding(name=name, level=level, what=what, todo=todo if wanted else "")


def commands(problem: str) -> Finding:
    """Return whether the process that runs commands starts; `problem` is why not."""
    if problem:
        return Finding(name="commands", level="fail", what="cannot be run", todo=problem)
    return Finding(name="commands", level="ok", what="run under their keeper, and end with it")


def kernel(system: str, *, missing: Sequence[str]) -> Finding:
    """Return whether what is used of the operating system is there."""
    if system != "Linux":
        todo = "Linux is what is tried; elsewhere what a command leaves behind is found by its process group only."
        return Finding(name="kernel", level="warn", what=system, todo=todo)
    if missing:
        todo = "What a command leaves behind may not be found without it."
        return Finding(name="kernel", level="warn", what=f"no {', no '.join(missing)}", todo=todo)
    return Finding(name="kernel", level="ok", what="Linux, with /proc and child subreapers")


def sessions(reports: Sequence[Report], total: int) -> Finding:
    """Return whether sessions are damaged; `reports` are of the newest of the `total`."""
    bad = [report.session for report in reports if report.problems]
    of = f" of {total}" if total > len(reports) else ""
    what = f"{counted(len(reports), 'session')}{of} verified, {len(bad)} with findings" if total else "none yet"
    if bad:
        todo = f"See what they are: holdfast sessions verify {bad[0]}"
        return Finding(name="sessions", level="fail", what=f"{what}: {', '.join(bad[:5])}", todo=todo)
    todo = "All of them: holdfast sessions verify --all" if of else ""
    return Finding(name="sessions", level="ok", what=what, todo=todo)


def config(path: str, *, there: bool, problem: str) -> Finding:
    """Return whether the config can be read."""
    if problem:
        return Finding(name="config", level="fail", what=path, todo=problem)
    return Finding(name="config", level="ok", what=path if there else f"{path}, not there: the defaults hold")


def project(notes: Sequence[str]) -> Finding:
    """Return whether the project's config counts; `notes` are why it does not."""
    return Finding(name="project", level="warn" if notes else "ok", what=" ".join(notes) or "nothing that is ignored")


def python() -> tuple[int, int]:
    """Return the version of Python that runs this."""
    return sys.version_info[:2]
