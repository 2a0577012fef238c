"""Opens the host of a program's session: its store, its tools, and its agent with the user's keys and limits."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast import __version__
from holdfast.agent.agent import Agent
from holdfast.agent.context.system_prompt import folder_facts, system_prompt
from holdfast.agent.events import Event
from holdfast.agent.sessions import session_folder
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.config.settings import configure_tools, provider_limits, read_config
from holdfast.errors import SessionUnknown, UsageError
from holdfast.host.author_toolbox import AuthorToolbox
from holdfast.host.hosted_session import RULES_OF, HostedSession
from holdfast.host.library_plan import SessionPlan
from holdfast.host.session_host import SessionHost
from holdfast.providers.connect import connect
from holdfast.providers.credentials.provider_keys import KeyFile, endpoint_with_key, keys_in_use
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint, known_providers
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.journal.store import Reading
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.git import repository_names
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.text import valid_unicode


def opened_host(plan: SessionPlan) -> tuple[SessionHost, Callable[[], None]]:
    """Return the host of the session, and what closes its store.

    Raises `ModelUnusable`, `SessionBusy`, `SessionUnknown`, `UsageError` or `StorageFailed`: then nothing is held.
    """
    environ = os.environ
    places = homes(environ)
    config = read_config(places.config)
    providers = known_providers(config.providers, config.models)
    keys = keys_in_use(environ, providers, KeyFile(places.keys).usable()[0])
    limits = provider_limits(config, providers)

    def endpoint(model: str) -> ModelEndpoint:
        return endpoint_with_key(model, environ, providers, keys)

    async def connect_model(model: str) -> Model:
        return await connect(await in_daemon(lambda: endpoint(model)), limits.of(model))

    endpoint(plan.model)  # before anything is made
    if not plan.cwd.is_dir():
        raise UsageError(f"Folder cwd={str(plan.cwd)!r} does not exist. Create it, or pass another one.")
    catalog = Catalog(places.sessions)
    if plan.folder is not None:
        folder = plan.folder
    else:
        folder = catalog.folder(catalog.find(plan.resume).id if plan.resume else catalog.new_id())
    store = _store(folder)
    try:
        toolbox, reading, session, cwd = _prepared(plan, folder, store)
        configure_tools(toolbox, config)
        if plan.folder is None and not plan.resume and isinstance(opened := reading.records[0].entry, SessionOpened):
            catalog.note(opened)

        def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
            agent = Agent(
                ends_with_listener=True,
                store=store,
                toolbox=toolbox,
                connect=connect_model,
                mode=plan.mode,
                emit=emit,
                ask=ask,
                limits=limits,
                context=config.context,
                reading=reading,
                providers=providers,
                defaults=config.model_settings,
            )
            agent.use_model(plan.model)
            return agent

        hosted = HostedSession(
            id=session,
            cwd=cwd,
            toolbox=toolbox,
            reading=reading,
            tools=tuple(each.name for each in toolbox.schemas),
            usable=endpoint,
        )
        rules = msgspec.structs.replace(RULES_OF["library"], asks_user=plan.ask is not None)
        return SessionHost(hosted, rules, new_agent=new_agent), store.close
    except BaseException:
        store.close()
        raise


def _store(folder: Path) -> SqliteStore:
    """Return the journal in the folder, which is created if there is none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        return SqliteStore.open(folder)
    except SessionUnknown:  # there is none, or its creation was interrupted
        return SqliteStore.create(folder)


def _prepared(plan: SessionPlan, folder: Path, store: SqliteStore) -> tuple[AuthorToolbox, Reading, str, Path]:
    """Return the tools, the journal, the id and the folder of the session. Its first entry is written if it has none.

    A session that exists works on in its own folder.
    """
    reading = store.read()
    opened = next((each.entry for each in reading.records if isinstance(each.entry, SessionOpened)), None)
    cwd = plan.cwd if opened is None else Path(session_folder(reading))
    if not cwd.is_dir():
        raise UsageError(f"Folder {str(cwd)!r} of the session does not exist. Create it, or open another session.")
    if plan.cwd_given and not cwd.samefile(plan.cwd):
        raise UsageError(
            f"Session {folder.name!r} works in {str(cwd)!r}, but cwd={str(plan.cwd)!r} was given. Leave out cwd=, or "
            "open another session."
        )
    toolbox = AuthorToolbox(cwd, folder, named=plan.named, authored=plan.authored, model=plan.model)
    if opened is None:
        opened = _first_entry(plan, folder.name, toolbox)
        store.append([opened], expected=store.length)
        reading = store.read()
    return toolbox, reading, opened.session, cwd


def _first_entry(plan: SessionPlan, session: str, toolbox: AuthorToolbox) -> SessionOpened:
    if valid_unicode(str(plan.cwd)) != str(plan.cwd):
        raise UsageError(f"Folder cwd={str(plan.cwd)!r} cannot be used: its name is not valid UTF-8. Rename it.")
    files = toolbox.instructions()
    today = dt.datetime.now().astimezone().date().isoformat()
    facts = folder_facts(plan.cwd, today=today, instructions=files) if toolbox.works_in_folder else ""
    return SessionOpened(
        session=valid_unicode(session),
        cwd=str(plan.cwd),
        model=plan.model,
        system=valid_unicode(system_prompt(plan.system)),
        tools=toolbox.schemas,
        version=__version__,
        instructions=tuple(each.snapshot for each in files),
        facts=facts,
        repository=repository_names(plan.cwd) if toolbox.works_in_folder else (),
    )
