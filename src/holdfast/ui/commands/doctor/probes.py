"""The checks on this machine: simple, with timeouts, and concurrent. `findings` interprets the results."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

from holdfast import __version__
from holdfast.config.settings import Config, usable_config
from holdfast.config.undo_settings import bytes_of
from holdfast.errors import ConfigInvalid, HoldfastError, ModelUnusable, ToolFailed
from holdfast.providers.connectivity import check_provider
from holdfast.providers.model_table import facts_of, model_table
from holdfast.providers.registry import Providers, is_own_server
from holdfast.session.catalog import Catalog
from holdfast.session.storage.temporary_sessions import abandoned
from holdfast.session.verify import Report
from holdfast.system.confinement.bubblewrap import BUBBLEWRAP, pid_namespace_words
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.tools.process.supervisor_client import Supervisor
from holdfast.tools.web_search.backends import KEY_VARIABLES
from holdfast.ui.advice import COMMAND_LINE, with_advice
from holdfast.ui.commands.config import rule_rows
from holdfast.ui.commands.doctor import findings
from holdfast.ui.commands.doctor.base_prompt import base_tokens
from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.commands.verify import verify_session
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options
from holdfast.ui.startup.toolbox_settings import search_backend, search_key
from holdfast.ui.view.columns import home
from holdfast.undo.budget import kept_by_session

Probe = Callable[[RunOptions, Mapping[str, str], Path], Awaitable[Sequence[DoctorFinding]]]
"""Looks at one thing and returns its findings; it ends by itself, and raises nothing."""

OTHER_PROBES = (
    "holdfast.ui.commands.doctor.server_probe:probe_servers",
    "holdfast.ui.commands.doctor.fleet_store:probe_store",
    "holdfast.ui.commands.doctor.plugin_probe:probe_plugins",
)
"""The probes of other packages."""

STARTING = 10.0
"""Seconds for the supervisor to start and run an empty command."""

ANSWERING = 3.0
"""Seconds for a program to print its version."""

READING = 3.0
"""Seconds for reading sessions, the newest first."""

_PACKAGES = ("pydantic-ai-slim", "textual", "msgspec")
_RUNS = {"git": "git", "ripgrep": "rg", "bubblewrap": BUBBLEWRAP}


async def examine_machine(environ: Mapping[str, str], cwd: Path) -> list[DoctorFinding]:
    """Return the findings about this machine, in the order in which to fix them."""
    options, setup = _setup_findings(environ, cwd)
    (programs, commands), ways, windows, others = await asyncio.gather(
        _programs(options.config),
        _ways(options),
        in_daemon(lambda: tuple(_window(options))),
        _others(options, environ, cwd),
    )  # concurrently, because each waits for something else
    return [
        *setup,
        *ways,
        *windows,
        *others,
        *_storage(environ),
        *programs,
        commands,
        _kernel(),
        _sessions(options.catalog, options.providers),
        *_temporary(homes(environ).temporary_sessions),
        await in_daemon(lambda: _undo(environ, options.config)),
    ]


async def _others(options: RunOptions, environ: Mapping[str, str], cwd: Path) -> list[DoctorFinding]:
    """Return the findings of the probes of other packages."""
    probes = (cast("Probe", resolve_name(each)) for each in OTHER_PROBES)
    found = await asyncio.gather(*(probe(options, environ, cwd) for probe in probes))
    return [finding for findings_of_one in found for finding in findings_of_one]


def _temporary(root: Path) -> Iterator[DoctorFinding]:
    return findings.temporary_findings(home(str(root)), len(abandoned(root)))


def _setup_findings(environ: Mapping[str, str], cwd: Path) -> tuple[RunOptions, list[DoctorFinding]]:
    """Return the options of a run here, and findings about them. What is wrong in the config is left out of it."""
    path = homes(environ).config
    config, problems = usable_config(path)
    try:
        options = run_options(Arguments(), environ, user_config=config, cwd=cwd)
    except ConfigInvalid as error:  # each setting is valid, and no run can start with them
        problems = (*problems, str(error))
        options = run_options(Arguments(), environ, user_config=Config(), cwd=cwd)
    problem = " ".join(problems)
    found_keys = findings.keys(options.providers, options.keys)
    if options.unread:
        found_keys = DoctorFinding(name="keys", level="warn", what=found_keys.what, todo=options.unread)
    return options, [
        findings.versions(_versions(), findings.python()),
        _terminal(),
        findings.config(home(str(path)), there=path.exists(), problem=problem),
        *([findings.project_finding(notices)] if (notices := _other_notices(options)) else []),
        *findings.rule_findings(rule_rows(options.project_of(cwd))),
        *findings.hook_findings(options.hooks),
        found_keys,
        *([] if problem and not options.model else [findings.model(options.model, _unusable(options))]),
        _model_table(options),
        _search(options),
    ]  # fmt: skip


def _other_notices(options: RunOptions) -> list[str]:
    """Return the notices of a start without those about plug-ins and hooks, which have their own findings."""
    faults = () if options.plugins is None else options.plugins.faults
    of_plugins = {each.sentence for each in faults}
    of_hooks = () if options.hooks is None else options.hooks.faults
    return [each for each in options.notices if each not in of_plugins and each not in of_hooks]


def _search(options: RunOptions) -> DoctorFinding:
    backend = search_backend(options.config, options.environ)
    if backend is None:
        return findings.search_finding(None, "", variable="", key=None)
    try:
        key = search_key(options.config, options.environ)
    except ConfigInvalid:  # the finding about keys has the reason
        key = None
    return findings.search_finding(backend.name, backend.host, variable=KEY_VARIABLES.get(backend.name, ""), key=key)


def _unusable(options: RunOptions) -> str:
    try:
        if options.model not in ("", DEMO):
            options.endpoint(options.model)
    except ModelUnusable as error:
        return with_advice(error, COMMAND_LINE)
    return ""


def _model_table(options: RunOptions) -> DoctorFinding:
    table, config = model_table(), options.config
    provider = options.providers.get(options.model.partition(":")[0])
    facts = provider and facts_of(options.model, kind=provider.kind, overrides=config.models)
    sources = ", ".join(f"{name} {number}" for name, number in table.sources.items())
    return findings.model_table_finding(f"{table.date} ({sources})", facts, window=config.context.window)


def _window(options: RunOptions) -> Iterator[DoctorFinding]:
    """Yield whether the chosen model has room, if it is on a server of the user's own, which is asked."""
    provider = options.providers.get(options.model.partition(":")[0])
    if provider is not None and is_own_server(provider, options.environ):
        window = options.windows.learned(options.model) or options.config.context.window
        yield findings.window_finding(options.model, window=window, base=base_tokens(options, options.model))


def _versions() -> dict[str, str]:
    versions = {"holdfast": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _terminal() -> DoctorFinding:
    size = shutil.get_terminal_size()
    return findings.terminal_finding(
        tty=os.isatty(1),  # not sys.stdout, which the screen replaces
        term=os.environ.get("TERM", ""),
        columns=size.columns,
        lines=size.lines,
        encoding=sys.__stdout__.encoding if sys.__stdout__ else "",
    )


async def _ways(options: RunOptions) -> list[DoctorFinding]:
    """Return findings about whether the usable providers are reachable."""
    chosen = options.model.partition(":")[0]
    usable = [
        each
        for each in options.providers.values()
        if each.name == chosen or each.name in options.config.providers or each.key_variable in options.keys
    ]
    ways = await asyncio.gather(*(check_provider(each, options.environ) for each in usable))
    return [
        findings.provider_finding(provider, way, chosen=provider.name == chosen)
        for provider, way in zip(usable, ways, strict=True)
        if way.step != "unknown"
    ]


def _storage(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    path = homes(environ).sessions
    there = next(each for each in (path, *path.parents) if each.exists())
    shown = home(str(path))
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if there == path else None
        yield findings.folder_finding(shown, mode=mode, writable=os.access(there, os.W_OK | os.X_OK), kind=_kind(there))
        yield findings.disk(shown, shutil.disk_usage(there).free)
    except OSError as error:
        yield DoctorFinding(
            name="data folder", level="fail", what=shown, todo=f"It cannot be checked: {error.strerror}."
        )


def _undo(environ: Mapping[str, str], config: Config) -> DoctorFinding:
    return findings.undo_finding(kept_by_session(homes(environ).sessions), bytes_of(config.undo_table.max_total))


def _kind(path: Path) -> str:
    """Return the type of the file system that holds `path`, "" if unknown."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    real = path.resolve()
    holding = [(len(mount[1]), mount[2]) for mount in mounts if real.is_relative_to(mount[1].replace("\\040", " "))]
    return max(holding, default=(0, ""))[1]


async def _programs(config: Config) -> tuple[list[DoctorFinding], DoctorFinding]:
    """Return the findings about programs, run under a supervisor like any command, and about the supervisor."""
    versions: dict[str, str | None] = dict.fromkeys(_RUNS)
    problems = dict.fromkeys(_RUNS, "")
    works, problem = False, ""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="holdfast-doctor-")
    except OSError as error:
        unusable = f"No folder for temporary files can be written ({error.strerror}). Set TMPDIR to one."
        return [], findings.commands_finding(unusable)
    with scratch as name:
        folder = Path(name)
        supervisor = Supervisor(folder)
        try:
            problem, _ = await _run(supervisor, ["true"], folder, within=STARTING)
            for each, command in _RUNS.items():
                if shutil.which(command):
                    problems[each], output = await _run(supervisor, [command, "--version"], folder, within=ANSWERING)
                    versions[each] = _first(output)
            if versions["bubblewrap"] is not None and not problems["bubblewrap"]:
                works = not (
                    await _run(supervisor, [*pid_namespace_words(BUBBLEWRAP), "true"], folder, within=ANSWERING)
                )[0]
        except ToolFailed as error:
            problem = str(error)
        finally:
            await supervisor.close()
    wrapped = findings.bubblewrap(
        versions["bubblewrap"], works=works, configured=config.pid_namespace, namespaces=_namespaces()
    )
    found = [*(findings.program(each, versions[each], problems[each]) for each in ("git", "ripgrep")), wrapped]
    return found, findings.commands_finding(problem)


async def _run(supervisor: Supervisor, argv: list[str], folder: Path, *, within: float) -> tuple[str, bytes]:
    """Run a program. Return its problem, "" if none, and its output."""
    try:
        async with asyncio.timeout(within):
            # A separate call and spool, because an earlier program may still be ending.
            call, spool = " ".join(argv), folder / f"spool of {argv[0]}"
            code, output = await supervisor.capture(argv, call=call, cwd=folder, spool=spool)
    except TimeoutError:
        return f"it did not answer within {within:g} s", b""
    return f"it failed with exit code {code}" if code else "", output


def _first(output: bytes) -> str:
    return output.decode("utf-8", "replace").partition("\n")[0].strip() or "installed"


def _namespaces() -> str:
    """Return a sentence about the kernel setting that refuses user namespaces, "" if none is known."""
    for setting, refusing in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/user/max_user_namespaces", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        try:
            if Path(setting).read_text("ascii").strip() == refusing:
                return f"The kernel refuses user namespaces: {setting} is {refusing}."
        except OSError:
            continue
    return ""


def _kernel() -> DoctorFinding:
    missing = [] if Path("/proc/self/stat").exists() else ["/proc"]
    return findings.kernel(platform.system(), missing=missing)


def _sessions(catalog: Catalog, providers: Providers) -> DoctorFinding:
    try:
        listed = catalog.all()
    except HoldfastError as error:
        return DoctorFinding(name="sessions", level="fail", what="cannot be listed", todo=str(error))
    reports: list[Report] = []
    until = time.monotonic() + READING
    for summary in listed:
        if time.monotonic() > until:
            break
        reports.append(verify_session(catalog, summary.id, providers))
    return findings.sessions(reports, len(listed))
