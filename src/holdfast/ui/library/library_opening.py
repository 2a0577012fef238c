"""Opens the host of a program's session: its store, its tools, and its agent, with the settings of its place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast import __version__
from holdfast.agent.agent import Agent
from holdfast.agent.context.system_prompt import folder_facts, system_prompt
from holdfast.agent.events import Event
from holdfast.agent.sessions import session_folder
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.errors import SessionUnknown, UsageError
from holdfast.host.author_toolbox import AuthorToolbox
from holdfast.host.hosted_session import HostedSession, HostRules
from holdfast.host.session_host import SessionHost
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.journal.store import Reading
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.system.git import repository_names
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.text import valid_unicode
from holdfast.tools.tool_choice import chosen_tools
from holdfast.ui.library.library_plan import SessionPlan
from holdfast.ui.library.place_settings import PlaceSettings, among_the_users_own, standing_alone

if TYPE_CHECKING:
    from holdfast.host.brought_commands import BroughtCommands


async def opened_host(
    plan: SessionPlan, environ: Mapping[str, str], rules: HostRules
) -> tuple[SessionHost, Callable[[], None]]:
    """Return the host of the session, and what closes its store. `rules` are those of the surface.

    Raises `ModelUnusable`, `SessionBusy`, `SessionUnknown`, `UsageError` or `StorageFailed`: then nothing is held.
    """
    if not plan.cwd.is_dir():
        raise UsageError(f"Folder cwd={str(plan.cwd)!r} does not exist. Create it, or pass another one.")
    catalog = Catalog(homes(environ).sessions)
    resumed: SessionSummary | None = None
    if plan.folder is not None:
        folder, around = plan.folder, standing_alone(environ)
    else:
        resumed = catalog.find(plan.resume) if plan.resume else None
        folder = catalog.folder(catalog.new_id() if resumed is None else resumed.id)
        place = plan.cwd if resumed is None or not resumed.cwd else Path(resumed.cwd)
        around = await among_the_users_own(plan, place, environ, resumed)
    plan = msgspec.structs.replace(
        plan, model=plan.model or around.model, mode=plan.mode or around.config.permission_mode
    )
    if not plan.model:
        raise UsageError("No model configured. Run `holdfast setup`, or name a model.")
    around.endpoint(plan.model)  # before anything is made
    store = _store(folder)
    try:
        toolbox, reading, session, cwd = _prepared(plan, folder, store, around)
        around.prepare(toolbox)
        brought: BroughtCommands | None = None
        if plan.folder is None and toolbox.skills is not None:  # a session of the user's
            from holdfast.host.brought_commands import BroughtCommands
            from holdfast.host.slash_commands import RESERVED_COMMANDS

            reserved = RESERVED_COMMANDS | around.slash_commands.keys()
            brought = BroughtCommands(toolbox.skills, agent=lambda: host.agent, reserved=reserved)
        if plan.folder is None and resumed is None and isinstance(opened := reading.records[0].entry, SessionOpened):
            catalog.note(opened)
        hosted = HostedSession(
            id=session,
            cwd=cwd,
            toolbox=toolbox,
            reading=reading,
            tools=tuple(each.name for each in toolbox.schemas),
            usable=around.endpoint,
            server_prompts=around.server_prompts,
            slash_commands=around.slash_commands,
            brought=brought,
        )
        new_agent = _agents(plan, store, toolbox, reading, around, brought)
        steps = () if brought is None else (brought.expand,)
        host = SessionHost(hosted, rules, new_agent=new_agent, expand_prompt=steps)
        return host, store.close
    except BaseException:
        store.close()
        raise


def _agents(
    plan: SessionPlan,
    store: SqliteStore,
    toolbox: AuthorToolbox,
    reading: Reading,
    around: PlaceSettings,
    brought: BroughtCommands | None,
) -> Callable[[Callable[[Event], None], ApprovalPrompt | None], Agent]:
    async def connect_model(model: str) -> Model:
        return await connect(await in_daemon(lambda: around.endpoint(model)), around.limits.of(model))

    def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
        if brought is not None:
            brought.may_ask(ask)
        agent = Agent(
            ends_with_listener=True,
            store=store,
            toolbox=toolbox,
            connect=connect_model,
            mode=plan.mode or around.config.permission_mode,
            emit=emit,
            ask=ask,
            limits=around.limits,
            context=around.config.context,
            project=around.project,
            reading=reading,
            providers=around.providers,
            defaults=around.config.model_settings,
        )
        agent.use_model(plan.model)
        return agent

    return new_agent


def _store(folder: Path) -> SqliteStore:
    """Return the journal in the folder, which is created if there is none."""
    try:
        return SqliteStore.open(folder)
    except SessionUnknown:  # there is none, or its creation was interrupted
        return SqliteStore.create(folder)


def _prepared(
    plan: SessionPlan, folder: Path, store: SqliteStore, around: PlaceSettings
) -> tuple[AuthorToolbox, Reading, str, Path]:
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
    toolbox = AuthorToolbox(
        cwd,
        folder,
        named=_names(plan, around),
        authored=plan.authored,
        remote=around.remote if plan.named is None else (),  # a program that names its tools has no other
        works_in_folder=plan.named is None or bool(plan.named),
    )
    if opened is None:
        opened = _first_entry(plan, folder.name, toolbox)
        store.append([opened], expected=store.length)
        reading = store.read()
    return toolbox, reading, opened.session, cwd


def _names(plan: SessionPlan, around: PlaceSettings) -> frozenset[str]:
    """Return the names of holdfast's own tools in the session: those that the program named, or those that suit."""
    if plan.named is not None:
        return around.allowed(plan.named)
    return frozenset(chosen_tools(plan.model)) if around.tools is None else around.tools(plan.model)


def _first_entry(plan: SessionPlan, session: str, toolbox: AuthorToolbox) -> SessionOpened:
    if valid_unicode(str(plan.cwd)) != str(plan.cwd):
        raise UsageError(f"Folder cwd={str(plan.cwd)!r} cannot be used: its name is not valid UTF-8. Rename it.")
    files = toolbox.instructions()
    today = dt.datetime.now().astimezone().date().isoformat()
    works_here = toolbox.works_in_folder
    facts = folder_facts(plan.cwd, today=today, instructions=files, program=plan.name) if works_here else ""
    return SessionOpened(
        session=valid_unicode(session),
        cwd=str(plan.cwd),
        model=plan.model,
        system=valid_unicode(system_prompt(plan.system, program=plan.name)),
        tools=toolbox.schemas,
        version=__version__,
        instructions=tuple(each.snapshot for each in files),
        facts=facts,
        program=plan.name,
        repository=repository_names(plan.cwd) if works_here else (),
    )
