"""Finds and loads plug-ins: the files beside the config, and the installed ones that the user's config names.

How it works. Each plug-in is imported and checked on its own thread, within `LOAD_WITHIN` seconds. One that fails,
takes longer or registers something wrong is left out as a whole, with its reason; the others are loaded. A name that an
earlier plug-in has is refused. Nothing is loaded twice in a process.

Only the user's own folder and config are read, never a project's. Code of a plug-in runs as the user: the walls here
are against faults, not against malice.

Interruption rules: loading writes nothing. A kill at any point leaves what was there before.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import msgspec

from holdfast.errors import HoldfastError
from holdfast.history.formats.format import Format
from holdfast.host.plugins.checks import NotUsable, check_unique, contributions_of, names_of
from holdfast.host.plugins.contributions import Contributions, PluginCommand, PluginSlashCommand, PluginSurface
from holdfast.providers.catalog import Provider
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.system.threads import run_within
from holdfast.text import error_text
from holdfast.tools.tool import Tool

GROUP = "holdfast.plugins"
"""The group of entry points."""
LOAD_WITHIN = 5.0
"""Seconds to import and check one plug-in."""
MOST_PLUGINS = 50
"""Files of the folder that are loaded."""

T = TypeVar("T")


class Plugin(msgspec.Struct, frozen=True):
    """A plug-in that is in use: its name, where it was found, and what it adds."""

    name: str
    source: str
    adds: Contributions


class PluginFault(msgspec.Struct, frozen=True):
    """A plug-in that is not in use, and why."""

    name: str
    source: str
    why: str

    @property
    def sentence(self) -> str:
        """Return it as a message for the user."""
        return (
            f"Plug-in {self.name!r} ({self.source}) is not in use: {self.why}. "
            f"Fix it, or add {self.name!r} to `off` in [plugins] of your config."
        )


class Plugins(msgspec.Struct, frozen=True):
    """The plug-ins of a process: those in use, those that are not, and those that the user turned off."""

    loaded: tuple[Plugin, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    off: tuple[str, ...] = ()

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return their tools by name."""
        return {tool.schema.name: tool for each in self.loaded for tool in each.adds.tools}

    @property
    def slash_commands(self) -> Mapping[str, PluginSlashCommand]:
        """Return their slash commands by name."""
        return {command.name: command for each in self.loaded for command in each.adds.slash_commands}

    @property
    def commands(self) -> Mapping[str, PluginCommand | PluginSurface]:
        """Return their commands and surfaces by name."""
        return {command.name: command for each in self.loaded for command in (*each.adds.commands, *each.adds.surfaces)}

    @property
    def providers(self) -> Mapping[str, Provider]:
        """Return their providers by name."""
        return {provider.name: provider for each in self.loaded for provider in each.adds.providers}

    @property
    def formats(self) -> Mapping[str, Format]:
        """Return their formats by name."""
        return {form.name: form for each in self.loaded for form in each.adds.formats}


@cache
def load_plugins(
    folder: Path, use: tuple[str, ...], off: tuple[str, ...], commands: frozenset[str], within: float = LOAD_WITHIN
) -> Plugins:
    """Return the plug-ins of the folder and the installed ones in `use`, without those in `off`. Never raises.

    `commands` are the names of holdfast's own commands. Each plug-in has `within` seconds.
    """
    loaded: list[Plugin] = []
    faults: list[PluginFault] = []
    files, fault = _files(folder)
    faults += fault
    sources: list[tuple[str, str, Callable[[], ModuleType]]] = []
    sources += [(path.stem, str(path), lambda path=path: _from_file(path)) for path in files]
    sources += [(name, "an installed package", lambda name=name: _from_entry_point(name)) for name in use]
    with _streams_kept() if sources else nullcontext():
        for name, source, find in sources:
            if name in off:
                continue

            def work(find: Callable[[], ModuleType] = find) -> Contributions:
                return _attempt(lambda: contributions_of(vars(find()), commands=commands))

            try:
                adds = run_within(within, work)
                check_unique([each for plugin in loaded for each in names_of(plugin.adds)] + names_of(adds))
            except TimeoutError:
                faults.append(PluginFault(name, source, f"its import did not end within {within:g} s"))
            except NotUsable as error:
                faults.append(PluginFault(name, source, str(error)))
            else:
                loaded.append(Plugin(name, source, adds))
    return Plugins(tuple(loaded), tuple(faults), tuple(name for name, *_ in sources if name in off))


@contextmanager
def _streams_kept() -> Generator[None]:
    """Keep the standard streams: what an import prints goes to standard error, and it may close or replace them."""
    with (
        open(2, "w", errors="replace", closefd=False) as words,
        redirect_stdout(words),
        redirect_stderr(words),
    ):
        yield


def _attempt(work: Callable[[], T]) -> T:
    """Return the result of a plug-in's code; any failure of it becomes `NotUsable`."""
    try:
        return work()
    except NotUsable:
        raise
    except HoldfastError as error:
        raise NotUsable(str(error)) from error
    except BaseException as error:  # the boundary of plug-ins: even SystemExit must not end the start
        raise NotUsable(error_text(error)[:500]) from error


def _files(folder: Path) -> tuple[list[Path], list[PluginFault]]:
    try:
        if folder.stat().st_mode & stat.S_IWOTH:
            return [], [
                PluginFault(folder.name, str(folder), "everybody may write the folder (expected that only you may)")
            ]
        found = sorted(Path(each.path) for each in os.scandir(folder) if each.name.endswith(".py"))
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [PluginFault(folder.name, str(folder), f"the folder cannot be read: {error.strerror}")]
    more = found[MOST_PLUGINS:]
    why = f"the folder has {len(found)} files (expected {MOST_PLUGINS} at most)"
    return found[:MOST_PLUGINS], [PluginFault(each.stem, str(each), why) for each in more]


def _from_file(path: Path) -> ModuleType:
    try:
        if path.stat().st_mode & stat.S_IWOTH:
            raise NotUsable("everybody may write the file (expected that only you may)")
        text = read_bounded(path, STATE_FILE)
    except OSError as error:
        raise NotUsable(f"the file cannot be read: {error.strerror}") from error
    module = ModuleType(f"holdfast_plugin_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # struct types look up their annotations there
    exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102 - the user's own file, as an import would
    return module


def _from_entry_point(name: str) -> ModuleType:
    from importlib.metadata import entry_points  # 40 ms: only for users who name one

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        raise NotUsable(f"no installed package has it (expected an entry point {name!r} in the group {GROUP!r})")
    if len(found) > 1:
        raise NotUsable(f"{len(found)} installed packages have it (expected one)")
    module = found[0].load()
    if not isinstance(module, ModuleType):
        raise NotUsable(f"its entry point names {type(module).__name__} (expected a module)")
    return module
