"""Creates the hosts of a worker's sessions, with the options of a run in their folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.agent.sessions import first_entry, tools_declared_now
from holdfast.config.settings import read_config
from holdfast.errors import UsageError
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.places.restored_toolbox import RestoredToolbox, loss_note
from holdfast.fleet.traces.turn_traces import TurnTraces
from holdfast.host.events import HostEvent
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.host.session_host import SessionHost
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.questions import QuestionRules
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import NO_SETTINGS
from holdfast.session.journal.store import Reading, Store, StoredEntry
from holdfast.system.durable_files import make_folder
from holdfast.system.user_directories import homes
from holdfast.text import valid_unicode
from holdfast.tools.toolbox import LocalToolbox, is_own
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.run_options import RunOptions, run_options

Emit = Callable[[str, Event], None]
"""Receives each event of each session, with the session's id."""


class PlacedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a fleet that this worker has open in its place."""

    id: str
    cwd: Path
    store: Store
    toolbox: LocalToolbox
    reading: Reading


class SessionAgents:
    """A `HostMaker` for one process. `folder_of` returns the folder of a session's files on this machine."""

    def __init__(
        self,
        arguments: Arguments,
        environ: Mapping[str, str],
        *,
        folder_of: Callable[[str], Path],
        emit: Emit = lambda _, __: None,
    ) -> None:
        self._arguments = arguments
        self._environ = environ
        self._folder_of = folder_of
        self._emit = emit

    def __call__(self, held_session: HeldSession, place: SessionPlace) -> SessionHost:
        """Return the host of a session. A session without entries gets its first ones. Raise `HoldfastError`."""
        options = self._options(place.cwd)
        folder = self._folder_of(held_session.id)
        make_folder(folder)
        reading = held_session.store.read()
        opened = next((r.entry for r in reading.records if isinstance(r.entry, e.SessionOpened)), None)
        if opened is None:
            toolbox, reading = self._begin(held_session, place, options, folder, reading)
        else:
            schemas = tools_declared_now(reading, opened.tools)
            remote = tuple(tool for tool in schemas if not is_own(tool.name))
            declared = {tool.name for tool in schemas}
            toolbox = LocalToolbox(place.cwd, folder, declared=declared, remote=remote)
        options.prepare(toolbox)
        if place.wrap:
            toolbox.wrap(place.wrap)
        before = held_session.place_before
        restored = bool(before.get("identity")) and before.get("identity") != place.identity

        traces = TurnTraces(held_session.id)
        for record in reading.records:
            traces.replay(record)

        def hear(event: HostEvent) -> None:
            if isinstance(event, Fact):
                traces.take(StoredEntry(event.seq, time.time(), event.entry))
            if isinstance(event, Event):
                self._emit(held_session.id, event)

        host = open_host(
            options,
            PlacedSession(
                id=held_session.id, cwd=place.cwd, store=held_session.store, toolbox=toolbox, reading=reading
            ),
            RULES_OF["fleet"],
            log=None,
            offered=QuestionRules(project=False),  # the folder is on one of many machines
            toolbox=RestoredToolbox(toolbox, loss_note(before)) if restored else None,
        )
        host.listen(hear)
        return host

    def _options(self, cwd: Path) -> RunOptions:
        user_config = read_config(homes(self._environ).config)
        options = run_options(self._arguments, self._environ, user_config=user_config, cwd=cwd)
        remove_keys(options.providers)
        return options

    def _begin(
        self, held_session: HeldSession, place: SessionPlace, options: RunOptions, folder: Path, reading: Reading
    ) -> tuple[LocalToolbox, Reading]:
        """Write the first entries of a session, for the place where it runs now."""
        if reading.records or reading.findings:
            raise UsageError(
                f"The first entry of session {held_session.id!r} is damaged. Pull it, and repair it in a terminal."
            )
        model = str(held_session.place.get("model") or options.model)
        if not model:
            raise UsageError("No model configured for this worker. Run `holdfast setup`, or pass -m PROVIDER:MODEL.")
        toolbox = LocalToolbox(place.cwd, folder, declared=options.tools_of(model), remote=options.remote_schemas())
        opened = first_entry(
            held_session.id,
            cwd=place.cwd,
            model=model,
            toolbox=toolbox,
            system=options.system,
            instructions=options.instructions,
        )
        settings = options.settings_of(model)
        title = valid_unicode(str(held_session.place.get("title", "")))
        entries: list[e.Entry] = [opened]
        if settings != NO_SETTINGS:
            entries.append(e.ModelSettingsChanged(settings=settings))
        if title:
            entries.append(e.title_entry(title))
        held_session.store.append(entries, expected=0)
        return toolbox, held_session.store.read()
