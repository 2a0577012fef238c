"""Opens the host of a session: the agent with the model, the tools and the settings of a run, and its title."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.agent.seam import NO_SEAM, AfterTurn
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.host.hosted_session import HostedSession, HostRules, bug_in_short
from holdfast.host.kept_files import KeptFiles
from holdfast.host.session_host import SessionHost
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.questions import ALL_ANSWERS, QuestionRules
from holdfast.session.journal.store import Reading, Store
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Toolbox

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log
    from holdfast.agent.generated_title import GeneratedTitle
    from holdfast.hooks.configured_hooks import ConfiguredHooks
    from holdfast.host.brought_commands import BroughtCommands
    from holdfast.host.session_options import SessionOptions
    from holdfast.tools.toolbox import LocalToolbox


class OpenedSession(Protocol):
    """A session that is open here, wherever its journal is: its tools work in `cwd`, `reading` is its journal."""

    @property
    def id(self) -> str: ...
    @property
    def cwd(self) -> Path: ...
    @property
    def store(self) -> Store: ...
    @property
    def toolbox(self) -> LocalToolbox: ...
    @property
    def reading(self) -> Reading: ...


def open_host(  # noqa: PLR0913 - what the surfaces differ in
    options: SessionOptions,
    session: OpenedSession,
    rules: HostRules,
    *,
    log: Log | None,
    greeting: tuple[str, ...] = (),
    offered: QuestionRules = ALL_ANSWERS,
    keeps_own: bool = False,
    toolbox: Toolbox | None = None,
    connect_to: Callable[[str], Awaitable[Model]] | None = None,
    usable: Callable[[str], object] | None = None,
    describe_bug: Callable[[BaseException], str] = bug_in_short,
) -> SessionHost:
    """Return the host of an open session, whose tools are prepared. `greeting` are the first lines of /help.

    A resumed session continues with its own model and settings, unless the run names others; with `keeps_own` also
    then. `offered` are the answers that a question may offer, and the modes that may be chosen. `toolbox` is the
    agent's, if it is not the session's. A surface may connect to models itself (`connect_to`), raise itself if one is
    not `usable`, and say itself what a bug is.
    """
    connect_model = connect_to or connector(options, log)
    brought = _brought(session.toolbox, options, agent=lambda: host.agent)
    kept_files = (
        KeptFiles(session.toolbox, session.reading, table=options.config.undo_table)
        if rules.undo and options.config.undo
        else None
    )
    seam = NO_SEAM if kept_files is None else kept_files.seam()
    hooks: ConfiguredHooks | None = None
    if options.hooks is not None and options.hooks.hooks:
        from holdfast.hooks.configured_hooks import ConfiguredHooks

        hooks = ConfiguredHooks(
            options.hooks.hooks,
            session.toolbox,
            session=session.id,
            agent=lambda: host.agent,
            asks_user=rules.asks_user,
        )
        seam = hooks.seam().and_also(seam)

    def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
        if brought is not None:
            brought.may_ask(ask if rules.asks_before else None)
        if kept_files is not None:
            emit = kept_files.bound(lambda: host.agent.journal, emit)
        if hooks is not None:
            emit = hooks.bound(emit)
        agent = options.new_agent(
            store=session.store,
            toolbox=toolbox or session.toolbox,
            project=options.project_of(session.cwd),
            connect=connect_model,
            emit=emit,
            ask=ask,
            offered=offered,
            reading=session.reading,
            log=log,
            seam=seam,
        )
        if options.resumed is not None:
            if options.model and ((options.model_chosen and not keeps_own) or not options.resumed.model):
                agent.use_model(options.model)
            if not keeps_own:
                agent.use_settings(options.chosen_settings.over(agent.conversation.settings))
        return agent

    title: GeneratedTitle | None = None
    if rules.titles and options.config.title_model:
        from holdfast.agent.generated_title import GeneratedTitle

        title = GeneratedTitle(
            options.config.title_model,
            journal=lambda: host.agent.journal,
            connect=connect_model,
            limits=options.limits,
            defaults=options.settings_of,
        )
    hosted = HostedSession(
        id=session.id,
        cwd=session.cwd,
        toolbox=session.toolbox,
        reading=session.reading,
        tools=tuple(tool.name for tool in session.toolbox.schemas),
        usable=usable or options.endpoint,
        sandbox_line=lambda mode: _sandbox_line(options, mode, session.cwd),
        greeting=greeting,
        server_prompts=options.prompt_commands,
        describe_bug=describe_bug,
        slash_commands=options.slash_commands,
        kept_files=kept_files,
        own_tests=options.config.receipt.tests,
        brought=brought,
        submit_prompt=() if hooks is None else (hooks.submit_prompt,),
        **({} if options.hooks is None else {"hook_lines": options.hooks.lines}),
    )
    after_turn: tuple[AfterTurn, ...] = ()
    if options.config.wake and rules.wake:
        from holdfast.host.wake import Wake

        after_turn = (Wake(),)
    steps = () if brought is None else (brought.expand,)
    host = SessionHost(hosted, rules, new_agent=new_agent, title=title, after_turn=after_turn, expand_prompt=steps)
    return host


def _brought(toolbox: LocalToolbox, options: SessionOptions, *, agent: Callable[[], Agent]) -> BroughtCommands | None:
    """Return the skills and commands of a session, None if it has no folder for them: nothing is loaded then."""
    if toolbox.skills is None:
        return None
    from holdfast.host.brought_commands import BroughtCommands
    from holdfast.host.slash_commands import RESERVED_COMMANDS

    return BroughtCommands(toolbox.skills, agent=agent, reserved=RESERVED_COMMANDS | options.slash_commands.keys())


def connector(options: SessionOptions, log: Log | None) -> Callable[[str], Awaitable[Model]]:
    """Return a function that connects to a model by its name.

    A start that has turned garbage collection off, because imports leave none, has it on again from then on.
    """

    async def connect_model(model: str) -> Model:
        aim = await in_daemon(lambda: options.endpoint(model))  # the keyring may be slow
        connection = await connect(aim, options.limits.of(model), log=log)
        if not gc.isenabled():
            gc.freeze()  # imports stay; a first collection would block the loop for 0.1 s
            gc.enable()
        return connection

    return connect_model


def _sandbox_line(options: SessionOptions, mode: Mode, cwd: Path) -> str:
    from holdfast.host.sandbox_line import tried_sandbox_line

    return tried_sandbox_line(options.config.sandbox, mode, options.environ, cwd)
