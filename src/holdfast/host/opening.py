"""Opens the host of a session: the agent with the model, the tools and the settings of a run, and its title."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.agent.agent import Agent
from holdfast.agent.events import Event
from holdfast.agent.sessions import OpenSession
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.host.hosted_session import HostedSession, HostRules
from holdfast.host.session_host import SessionHost
from holdfast.providers.connect import connect
from holdfast.providers.model import Model
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Mode

if TYPE_CHECKING:
    from holdfast.agent.debug_log.log import Log
    from holdfast.agent.generated_title import GeneratedTitle
    from holdfast.host.session_options import SessionOptions


def open_host(
    options: SessionOptions,
    session: OpenSession,
    rules: HostRules,
    *,
    log: Log | None,
    greeting: tuple[str, ...] = (),
) -> SessionHost:
    """Return the host of an open session, whose tools are prepared. `greeting` are the first lines of /help.

    A resumed session continues with its own model and settings, unless the run names others.
    """
    connect_model = connector(options, log)

    def new_agent(emit: Callable[[Event], None], ask: ApprovalPrompt | None) -> Agent:
        agent = options.new_agent(
            store=session.store,
            toolbox=session.toolbox,
            project=options.project_of(session.cwd),
            connect=connect_model,
            emit=emit,
            ask=ask,
            reading=session.reading,
            log=log,
        )
        if options.resumed is not None:
            if options.model_chosen or not options.resumed.model:
                agent.use_model(options.model)
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
        usable=options.endpoint,
        sandbox_line=lambda mode: _sandbox_line(options, mode, session.cwd),
        greeting=greeting,
        slash_commands=options.slash_commands,
    )
    host = SessionHost(hosted, rules, new_agent=new_agent, title=title, wake=options.config.wake)
    return host


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
