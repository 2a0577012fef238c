"""Looking at this machine: thin, bounded, side by side; what it means is for `findings` to say."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from holdfast import __version__
from holdfast.agent.keys import KeyFile, Keys, aimed, found
from holdfast.agent.providers import PROVIDERS, Provider, Providers, asked_at, known_providers
from holdfast.agent.reaching import reached
from holdfast.agent.sites import address_of, overriding
from holdfast.config import Config, homes, read_config, with_project
from holdfast.errors import ConfigInvalid, HoldfastError, ModelUnusable, ToolFailed
from holdfast.session.catalog import Catalog
from holdfast.session.verify import Report
from holdfast.tools.launch import CONTAINED
from holdfast.tools.shell import Keeper
from holdfast.ui.choosing import DEMO, project_config
from holdfast.ui.doctor import findings
from holdfast.ui.doctor.findings import Finding
from holdfast.ui.table import home
from holdfast.ui.verify import verified

PATIENCE = 4.0
"""Seconds for a provider to be reached."""

STARTING = 10.0
"""Seconds for the keeper to start, and to run a command that does nothing."""

ANSWERING = 3.0
"""Seconds for a program to tell its version."""

READING = 3.0
"""Seconds for sessions to be read; the newest come first."""

PACKAGES = ("pydantic-ai-slim", "textual", "msgspec")
_RUNS = {"git": "git", "ripgrep": "rg", "bubblewrap": CONTAINED[0]}


async def examined(environ: Mapping[str, str], cwd: Path) -> list[Finding]:
    """Return what is found on this machine, in an order in which one would mend it."""
    config, providers, keys, seen = _before(environ, cwd)
    (programs, commands), ways = await asyncio.gather(
        _programs(config), _ways(config, providers, keys, environ)
    )  # side by side: each waits for something else
    return [*seen, *ways, *_storage(environ), *programs, commands, _kernel(), _sessions(environ, providers)]


def _before(environ: Mapping[str, str], cwd: Path) -> tuple[Config, Providers, Keys, list[Finding]]:
    """Return what is configured, and what is found of that; the defaults for what cannot be read."""
    path = homes(environ).config
    config, providers, problem = Config(), PROVIDERS, ""
    try:
        config = read_config(path)
        providers = known_providers(config.providers)
    except ConfigInvalid as error:
        problem = str(error)
    notes: list[str] = []
    trusted = None
    try:
        trusted = project_config(environ, cwd, ask=None, say=notes.append)
    except HoldfastError as error:
        notes.append(str(error))
    kept, unread = KeyFile(homes(environ).keys).usable()
    keys = found(environ, providers, kept)
    if trusted is not None:
        config = with_project(config, trusted)
    found_keys = findings.keys(providers, keys)
    if unread:
        found_keys = Finding(name="keys", level="warn", what=found_keys.what, todo=unread)
    return config, providers, keys, [
        findings.versions(_versions(), findings.python()),
        _terminal(),
        findings.config(home(str(path)), there=path.exists(), problem=problem),
        *([findings.project(notes)] if notes else []),
        found_keys,
        *([] if problem else [findings.model(config.model, _unusable(config.model, environ, providers, keys))]),
    ]  # fmt: skip


def _unusable(name: str | None, environ: Mapping[str, str], providers: Providers, keys: Keys) -> str:
    try:
        if name and name != DEMO:
            aimed(name, environ, providers, keys)
    except ModelUnusable as error:
        return str(error)
    return ""


def _versions() -> dict[str, str]:
    told = {"holdfast": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            told[name] = version(name)
        except PackageNotFoundError:
            continue
    return told


def _terminal() -> Finding:
    size = shutil.get_terminal_size()
    return findings.terminal(
        tty=os.isatty(1),  # not by sys.stdout, in whose place the screen has something of its own
        term=os.environ.get("TERM", ""),
        columns=size.columns,
        lines=size.lines,
        encoding=sys.__stdout__.encoding if sys.__stdout__ else "",
    )


async def _ways(config: Config, providers: Providers, keys: Keys, environ: Mapping[str, str]) -> list[Finding]:
    """Return which of the providers that could be used can be reached."""
    chosen = (config.model or "").partition(":")[0]

    def counts(each: Provider) -> bool:
        return each.name == chosen or each.name in config.providers or each.key_variable in keys

    addresses: dict[str, str] = {}
    nowhere: list[Finding] = []
    for each in filter(counts, providers.values()):
        try:
            asked_at(each, environ)
        except ModelUnusable as error:
            nowhere.append(findings.unaddressed(each, str(error), chosen=each.name == chosen))
        else:
            if address := address_of(each, environ):
                addresses[each.name] = address
    different = sorted(set(addresses.values()))
    found = await asyncio.gather(*(reached(each, environ, patience=PATIENCE) for each in different))
    ways = dict(zip(different, found, strict=True))
    return [
        *nowhere,
        *(
            findings.provider(providers[name], ways[at], chosen=name == chosen, by=overriding(providers[name], environ))
            for name, at in addresses.items()
        ),
    ]


def _storage(environ: Mapping[str, str]) -> Iterator[Finding]:
    path = homes(environ).sessions
    there = next(each for each in (path, *path.parents) if each.exists())
    shown = home(str(path))
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if there == path else None
        yield findings.folder(shown, mode=mode, writable=os.access(there, os.W_OK | os.X_OK), kind=_kind(there))
        yield findings.disk(shown, shutil.disk_usage(there).free)
    except OSError as error:
        yield Finding(name="data folder", level="fail", what=shown, todo=f"It cannot be looked at: {error.strerror}.")


def _kind(path: Path) -> str:
    """Return the kind of the file system that holds `path`, "" where that is not told."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    real = path.resolve()
    holding = [(len(mount[1]), mount[2]) for mount in mounts if real.is_relative_to(mount[1].replace("\\040", " "))]
    return max(holding, default=(0, ""))[1]


async def _programs(config: Config) -> tuple[list[Finding], Finding]:
    """Return which programs are there, asked under a keeper as all commands are, and whether that starts."""
    said: dict[str, str | None] = dict.fromkeys(_RUNS)
    wrong = dict.fromkeys(_RUNS, "")
    works, problem = False, ""
    with tempfile.TemporaryDirectory(prefix="holdfast-doctor-") as name:
        folder = Path(name)
        keeper = Keeper(folder)
        try:
            problem, _ = await _run(keeper, ["true"], folder, within=STARTING)
            for each, command in _RUNS.items():
                if shutil.which(command):
                    wrong[each], output = await _run(keeper, [command, "--version"], folder, within=ANSWERING)
                    said[each] = _first(output)
            if said["bubblewrap"] is not None and not wrong["bubblewrap"]:
                works = not (await _run(keeper, [*CONTAINED, "true"], folder, within=ANSWERING))[0]
        except ToolFailed as error:
            problem = str(error)
        finally:
            await keeper.close()
    wrapped = findings.bubblewrap(
        said["bubblewrap"], works=works, wanted=config.pid_namespace, namespaces=_namespaces()
    )
    found = [*(findings.program(each, said[each], wrong[each]) for each in ("git", "ripgrep")), wrapped]
    return found, findings.commands(problem)


async def _run(keeper: Keeper, argv: list[str], folder: Path, *, within: float) -> tuple[str, bytes]:
    """Return what went wrong with a program, "" if nothing did, and what it said."""
    try:
        async with asyncio.timeout(within):
            # A call and a spool of its own: one that was left is still being ended while the next begins.
            call, spool = " ".join(argv), folder / f"spool of {argv[0]}"
            code, output = await keeper.capture(argv, call=call, cwd=folder, spool=spool)
    except TimeoutError:
        return f"it does not answer within {within:g} s", b""
    return f"it ended with code {code}" if code else "", output


def _first(output: bytes) -> str:
    return output.decode("utf-8", "replace").partition("\n")[0].strip() or "installed"


def _namespaces() -> str:
    """Return which setting of the kernel refuses user namespaces, "" if none that is known does."""
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


def _kernel() -> Finding:
    missing = [] if Path("/proc/self/stat").exists() else ["/proc"]
    return findings.kernel(platform.system(), missing=missing)


def _sessions(environ: Mapping[str, str], providers: Providers) -> Finding:
    catalog = Catalog(homes(environ).sessions)
    try:
        listed = catalog.all()
    except HoldfastError as error:
        return Finding(name="sessions", level="fail", what="cannot be listed", todo=str(error))
    reports: list[Report] = []
    until = time.monotonic() + READING
    for summary in listed:
        if time.monotonic() > until:
            break
        reports.append(verified(catalog, summary.id, providers))
    return findings.sessions(reports, len(listed))
