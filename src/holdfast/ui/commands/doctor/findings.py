"""The finding of each check, and how to fix it. Pure.

`fail` prevents holdfast from working; `warn` is something missing, or soon a problem. No finding quotes a key.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.providers.connectivity import ConnectivityResult
from holdfast.providers.credentials.provider_keys import Keys, ProviderKey
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.registry import Provider, Providers
from holdfast.session.verify import Report
from holdfast.tool_calls import SearchName
from holdfast.ui.commands.config import RuleRow
from holdfast.ui.commands.provider_failures import unreachable_reason
from holdfast.ui.startup.run_options import DEMO
from holdfast.ui.view.columns import byte_count, count_noun

if TYPE_CHECKING:
    from holdfast.hooks.hook_set import HookSet

FindingLevel = Literal["ok", "warn", "fail"]

NEWEST_TRIED = (3, 13)
SMALL = (80, 24)
LITTLE, NEARLY_NONE = 1_000_000_000, 100_000_000
SHARED = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs")
"""File systems whose locks and syncs are unreliable."""


class DoctorFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check, and what to do about it, "" if nothing."""

    name: str
    level: FindingLevel
    what: str
    todo: str = ""


def versions(found: Mapping[str, str], python: tuple[int, int]) -> DoctorFinding:
    """Return the versions in use; `found` has a version for each installed package."""
    text = ", ".join(f"{name} {version}" for name, version in found.items())
    if python > NEWEST_TRIED:
        text += f" (not tested with Python later than {NEWEST_TRIED[0]}.{NEWEST_TRIED[1]})"
    return DoctorFinding(name="versions", level="ok", what=text)


def terminal_finding(*, tty: bool, term: str, columns: int, lines: int, encoding: str) -> DoctorFinding:
    """Return the kind of terminal."""
    what = (
        f"{term or 'TERM is not set'}, {columns}x{lines}, {encoding}" if tty else "not a terminal (output redirected)"
    )
    if not tty:
        return DoctorFinding(name="terminal", level="ok", what=what)
    if term in ("", "dumb"):
        todo = "It cannot run the full-screen UI: use holdfast -p, or another terminal."
    elif encoding.lower().replace("-", "") != "utf8":
        todo = "Set a UTF-8 locale (LANG=C.UTF-8), or some characters show as '?'."
    elif columns < SMALL[0] or lines < SMALL[1]:
        todo = f"Make it larger (at least {SMALL[0]}x{SMALL[1]})."
    else:
        todo = ""
    return DoctorFinding(name="terminal", level="warn" if todo else "ok", what=what, todo=todo)


def keys(providers: Providers, found: Keys) -> DoctorFinding:
    """Return the keys that are set, with their sources."""
    variables = dict.fromkeys(each.key_variable for each in providers.values() if each.key_variable)
    sources = {name: found[name].source for name in variables if name in found}
    if sources:
        return DoctorFinding(
            name="keys", level="ok", what=", ".join(f"{name} ({source})" for name, source in sources.items())
        )
    keyless = ", ".join(each.name for each in providers.values() if each.key_variable is None)
    todo = f"Run holdfast setup, or set a provider's variable. Providers without a key: {keyless}."
    return DoctorFinding(name="keys", level="warn", what="none", todo=todo)


def model(name: str | None, problem: str) -> DoctorFinding:
    """Return whether the configured model is usable; `problem` is why not, "" if it is."""
    if name == DEMO:
        return DoctorFinding(name="model", level="ok", what="demo (scripted; full-screen UI only, not with -p)")
    if not name:
        todo = "Run holdfast setup, or pass -m PROVIDER:MODEL."
        return DoctorFinding(name="model", level="warn", what="none configured", todo=todo)
    if problem:
        return DoctorFinding(name="model", level="fail", what=name, todo=problem)
    return DoctorFinding(name="model", level="ok", what=name)


_ASSUMED: Mapping[str, str] = {
    "context_window": "its context window is unknown",
    "prices": "its cost is unknown",
    "reasoning": "it is used as a model without reasoning settings",
}
"""The consequence if a fact about a model is not known."""


def model_table_finding(table: str, facts: ModelFacts | None, *, window: int) -> DoctorFinding:
    """Return the age of the `table` of models, and assumptions about the chosen model (`facts`, None if there is none).

    `window` is the context window that the config sets for models without a known one, 0 if none.
    """
    if facts is None or facts.known:
        return DoctorFinding(name="model table", level="ok", what=table)
    assumed = [text for field, text in _ASSUMED.items() if field in facts.assumed]
    if "context_window" in facts.assumed and window:
        assumed[0] = f"its context window is assumed to be {window:,} tokens ([context] window)"
    unlisted = f"{facts.name} is not in it" + (f": {', '.join(assumed)}" if assumed else "")
    if "context_window" not in facts.assumed or window:
        return DoctorFinding(name="model table", level="ok", what=f"{table}; {unlisted}")
    todo = (
        f'Set context_window in [models."{facts.name}"] of the config. Until then holdfast summarizes a long '
        "conversation only when the provider refuses it."
    )
    return DoctorFinding(name="model table", level="warn", what=f"{table}; {unlisted}", todo=todo)


_LITTLE_ROOM = 0.5
"""The share of a window from which on holdfast's own prompt leaves little room."""


def window_finding(model: str, *, window: int, base: int) -> DoctorFinding:
    """Return whether a model on a server of the user's own has room beside holdfast's own prompt, of `base` tokens."""
    need = f"holdfast needs about {base:,} before your first word"
    larger = (
        "Give it a larger window: OLLAMA_CONTEXT_LENGTH=32768 ollama serve, or PARAMETER num_ctx 32768 in a Modelfile."
        if model.startswith("ollama:")
        else "Start its server with a larger window (llama.cpp: -c 32768; vLLM: --max-model-len 32768)."
    )
    if not window:
        todo = f'{larger} Set context_window in [models."{model}"] of the config to its size.'
        return DoctorFinding(name="window", level="warn", what=f"of {model} unknown; {need}", todo=todo)
    what = f"{window:,} tokens; {need}"
    if base >= window:
        return DoctorFinding(name="window", level="fail", what=what, todo=f"No prompt fits. {larger}")
    if base >= _LITTLE_ROOM * window:
        return DoctorFinding(name="window", level="warn", what=what, todo=larger)
    return DoctorFinding(name="window", level="ok", what=what)


def provider_finding(provider: Provider, way: ConnectivityResult, *, chosen: bool) -> DoctorFinding:
    """Return whether a provider is reachable. If the `chosen` one is not, that is a failure, else a warning."""
    name = f"provider {provider.name}"
    through = f"{f' (from {way.variable})' if way.variable else ''}{f' through {way.proxy}' if way.proxy else ''}"
    if way.step == "reached":
        return DoctorFinding(name=name, level="ok", what=f"{way.place} reachable{through}")
    todo = unreachable_reason(way)
    detail = f" ({way.detail})" if way.detail and way.detail != todo else ""
    return DoctorFinding(name=name, level="fail" if chosen else "warn", what=f"{way.place}{through}{detail}", todo=todo)


def search_finding(name: SearchName | None, host: str, *, variable: str, key: ProviderKey | None) -> DoctorFinding:
    """Return the web search service in use, and whether its key (in `variable`, "" if it needs none) is set."""
    if name is None:
        return DoctorFinding(name="search", level="ok", what="not configured ([search] in the config)")
    if not variable:
        return DoctorFinding(name="search", level="ok", what=f"{name} at {host}, without a key")
    if key is None:
        todo = f"Set {variable} in the environment, or run: holdfast setup --search-key"
        return DoctorFinding(name="search", level="warn", what=f"{name} at {host}, no key", todo=todo)
    return DoctorFinding(name="search", level="ok", what=f"{name} at {host}, {variable} ({key.source})")


def server_finding(
    name: str, *, tools: int, unusable: Sequence[str], problem: str, confinement: str = ""
) -> DoctorFinding:
    """Return the finding about an MCP server, which has a `problem` or lists `tools`, of which some are `unusable`."""
    row = f"mcp {name}"
    if problem:
        why = problem.removesuffix(" Nothing was sent.").removeprefix(f"MCP server {name!r} cannot be reached: ")
        what = " ".join(why.split())
        return DoctorFinding(name=row, level="warn", what=what, todo=f"Test it: holdfast mcp test {name}.")
    offered = f"works, {count_noun(tools, 'tool')}{', ' if confinement else ''}{confinement}"
    if not unusable:
        return DoctorFinding(name=row, level="ok", what=offered)
    left_out = f"{offered}; left out: {', '.join(unusable)}"
    return DoctorFinding(name=row, level="warn", what=left_out, todo=f"See why: holdfast mcp test {name}.")


def disk(path: str, free: int) -> DoctorFinding:
    """Return whether there is disk space for sessions."""
    level: FindingLevel = "fail" if free < NEARLY_NONE else "warn" if free < LITTLE else "ok"
    todo = "" if level == "ok" else "Free some disk space: without it, sessions are read-only."
    return DoctorFinding(name="disk", level=level, what=f"{byte_count(free)} free for {path}", todo=todo)


def folder_finding(path: str, *, mode: int | None, writable: bool, kind: str) -> DoctorFinding:
    """Return whether the folder of the sessions is usable; `mode` is None if it does not exist yet."""
    name = "data folder"
    shown = "does not exist yet" if mode is None else f"mode {mode:04o}"
    what = f"{path}, {shown}{f', {kind}' if kind else ''}"
    if not writable:
        todo = f"It is not writable: fix its owner or permissions, or set HOLDFAST_HOME. See: ls -ld {path}"
        return DoctorFinding(name=name, level="fail", what=what, todo=todo)
    if kind in SHARED:
        todo = "Locks on a network file system are unreliable: set HOLDFAST_HOME to a local folder."
        return DoctorFinding(name=name, level="warn", what=what, todo=todo)
    if mode is not None and mode & 0o077:
        return DoctorFinding(name=name, level="warn", what=what, todo=f"Other users can read it. Run: chmod 700 {path}")
    return DoctorFinding(name=name, level="ok", what=what)


_PROGRAMS: Mapping[str, str] = {
    "git": "Install git: /diff and most work on a project need it.",
    "ripgrep": "Install ripgrep: searching works without it, but slower.",
}


def program(name: str, version: str | None, problem: str = "") -> DoctorFinding:
    """Return whether an optional program is installed. `problem` says why it could not print its version."""
    if problem:
        todo = f"It does not work. {_PROGRAMS[name]}"
        return DoctorFinding(name=name, level="warn", what=f"installed, but {problem}", todo=todo)
    if version is None:
        return DoctorFinding(name=name, level="warn", what="not installed", todo=_PROGRAMS[name])
    return DoctorFinding(name=name, level="ok", what=version)


def bubblewrap(version: str | None, *, works: bool, configured: bool, namespaces: str) -> DoctorFinding:
    """Return whether commands can run in a PID namespace; `configured` is the config's `pid_namespace`.

    `namespaces` names the kernel setting that refuses them, "" if none is known.
    """
    name, level = "bubblewrap", "warn" if configured else "ok"
    if version is not None and works:
        return DoctorFinding(name=name, level="ok", what=f"{version}, available")
    if version is None:
        what, todo = "not installed", "Install bubblewrap: pid_namespace in the config has no effect without it."
    else:
        what = f"{version}, but it cannot create a namespace"
        todo = namespaces or "The kernel, or the container, refuses user namespaces."
    return DoctorFinding(name=name, level=level, what=what, todo=todo if configured else "")


def commands_finding(problem: str) -> DoctorFinding:
    """Return whether the process that runs commands starts; `problem` is why not."""
    if problem:
        return DoctorFinding(name="commands", level="fail", what="cannot run", todo=problem)
    return DoctorFinding(name="commands", level="ok", what="supervised; child processes are cleaned up")


def kernel(system: str, *, missing: Sequence[str]) -> DoctorFinding:
    """Return whether the needed features of the operating system are available."""
    if system != "Linux":
        todo = "Only Linux is tested. Elsewhere, leftover processes are found by process group only."
        return DoctorFinding(name="kernel", level="warn", what=system, todo=todo)
    if missing:
        todo = "Without it, leftover processes of commands may not be found."
        return DoctorFinding(name="kernel", level="warn", what=f"no {', no '.join(missing)}", todo=todo)
    return DoctorFinding(name="kernel", level="ok", what="Linux, with /proc and child subreapers")


def sessions(reports: Sequence[Report], total: int) -> DoctorFinding:
    """Return whether sessions are damaged; `reports` are of the newest of the `total`."""
    bad = [report.session for report in reports if report.problems]
    of = f" of {total}" if total > len(reports) else ""
    what = f"{count_noun(len(reports), 'session')}{of} verified, {len(bad)} with findings" if total else "none yet"
    if bad:
        todo = f"For details: holdfast sessions verify {bad[0]}"
        return DoctorFinding(name="sessions", level="fail", what=f"{what}: {', '.join(bad[:5])}", todo=todo)
    todo = "To verify all: holdfast sessions verify --all" if of else ""
    return DoctorFinding(name="sessions", level="ok", what=what, todo=todo)


def undo_finding(sizes: Mapping[str, int], most: int) -> DoctorFinding:
    """Return how much the sessions keep of files for an undo, each by its bytes; all of them may keep `most`."""
    total = sum(sizes.values())
    what = f"{byte_count(total)} kept by {count_noun(len(sizes), 'session')} (at most {byte_count(most)})"
    if total <= most or not sizes:
        return DoctorFinding(name="undo", level="ok", what=what)
    largest = max(sizes, key=lambda name: sizes[name])
    todo = f"Commands are not covered any more. Delete a session, the largest: holdfast sessions delete {largest}"
    return DoctorFinding(name="undo", level="warn", what=what, todo=todo)


def temporary_findings(root: str, left: int) -> Iterator[DoctorFinding]:
    """Yield a finding if runs with --no-session were killed, and left files."""
    if left:
        what = f"{count_noun(left, 'killed run')} with --no-session left files in {root}"
        yield DoctorFinding(name="temporary", level="warn", what=what, todo="The next holdfast -p deletes them.")


def config(path: str, *, there: bool, problem: str) -> DoctorFinding:
    """Return whether the config is readable."""
    if problem:
        return DoctorFinding(name="config", level="fail", what=path, todo=problem)
    return DoctorFinding(name="config", level="ok", what=path if there else f"{path}: not found, using defaults")


def project_finding(notes: Sequence[str]) -> DoctorFinding:
    """Return whether the project's config is in use; `notes` are the reasons if it is not."""
    return DoctorFinding(name="project", level="warn" if notes else "ok", what=" ".join(notes) or "nothing ignored")


def rule_findings(rows: Iterable[RuleRow]) -> Iterator[DoctorFinding]:
    """Yield a finding if there are rules about calls that match nothing."""
    notes = [f"{each.rule} in {each.source}: {each.note}" for each in rows if each.note]
    if notes:
        todo = "Correct or remove them: they have no effect here."
        yield DoctorFinding(name="rules", level="warn", what="; ".join(notes), todo=todo)


def hook_findings(found: HookSet | None) -> Iterator[DoctorFinding]:
    """Yield a finding about hooks if a file has some: how many run, and why others do not."""
    if found is not None:
        what = f"none runs: {found.off}" if found.off else f"{count_noun(len(found.hooks), 'hook')} in use"
        level: FindingLevel = "warn" if found.faults else "ok"
        yield DoctorFinding(name="hooks", level=level, what=what, todo=" ".join(found.faults))


def python() -> tuple[int, int]:
    """Return the version of the running Python."""
    return sys.version_info[:2]
