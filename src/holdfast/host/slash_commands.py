"""The slash commands that need no screen, as one table: what is listed, completed and run is the same on each surface.

A command reads the session and returns lines to show and, if it has an effect, a command of the host. It never acts
itself: the host does what it returns, as if a client had submitted that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

import msgspec

from holdfast.agent.agent import Agent
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host.events import LeaveRequested
from holdfast.host.hosted_session import HostedSession, HostRules
from holdfast.host.offered_commands import (
    INIT_COMMAND,
    RECEIPT_COMMAND,
    SCREEN_COMMANDS,
    SKILLS_COMMAND,
    UNDO_COMMANDS,
    OfferedCommand,
    added_commands,
)
from holdfast.session.journal.model_settings import EFFORTS, settings_text
from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.tool_calls import Mode


class SlashReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a slash command wants: a `command` of the host, to `leave` the session, then `lines` to show.

    `late` are last lines that take a moment.
    """

    lines: tuple[str, ...] = ()
    command: c.Command | None = None
    leave: LeaveRequested | None = None
    late: Callable[[], tuple[str, ...]] | None = None


class SlashContext(msgspec.Struct, frozen=True):
    """What a slash command may read."""

    agent: Agent
    session: HostedSession
    rules: HostRules


class SlashCommand(msgspec.Struct, frozen=True):
    """A slash command: its `summary`, and what it returns for the rest of its line.

    `takes` says what the rest is. The command is listed only if it `fits`; else `run` refuses it.
    """

    summary: str
    run: Callable[[SlashContext, str], SlashReply]
    takes: str = ""
    fits: Callable[[SlashContext], bool] = lambda _: True


def offered_commands(agent: Agent, session: HostedSession, rules: HostRules) -> tuple[OfferedCommand, ...]:
    """Return the commands that there are now, skills, the commands of plug-ins, then the prompts of servers."""
    now = SlashContext(agent, session, rules)
    commands = (
        OfferedCommand(name, each.summary, each.takes) for name, each in SESSION_COMMANDS.items() if each.fits(now)
    )
    brought = () if session.brought is None else session.brought.offered()
    return (*commands, *brought, *added_commands(session.slash_commands, session.server_prompts()))


def _help(now: SlashContext, rest: str) -> SlashReply:
    del rest
    listed = offered_commands(now.agent, now.session, now.rules)
    return SlashReply(lines=(*now.session.greeting, *(f"/{each.name}: {each.summary}" for each in listed)))


def _model(now: SlashContext, rest: str) -> SlashReply:
    if not rest:
        return _usage("model", f"Now: {now.agent.conversation.chosen_model}.")
    return SlashReply(command=c.UseModel(rest))


def _effort(now: SlashContext, rest: str) -> SlashReply:
    settings = now.agent.conversation.settings
    if rest not in (*EFFORTS, "default"):
        levels = f"Levels: {', '.join((*map(str, EFFORTS), 'default'))}."
        return _usage("effort", f"Now: {settings.effort or 'default'}.", levels)
    settings = msgspec.structs.replace(settings, effort=next((each for each in EFFORTS if each == rest), None))
    return SlashReply(command=c.UseSettings(settings), lines=(settings_text(settings),))


def _permissions(now: SlashContext, rest: str) -> SlashReply:
    every: tuple[Mode, ...] = get_args(Mode)
    modes: tuple[Mode, ...] = tuple(each for each in every if each != "yolo" or now.agent.permissions.offered.yolo)
    if not rest:
        return _usage("permissions", f"Now: {now.agent.mode}.", f"Modes: {', '.join(modes)}.")
    mode: Mode | None = next((each for each in modes if each == rest), None)
    if mode is None:
        raise UsageError(f"Unknown mode {rest!r} (expected one of {', '.join(modes)}).")
    return SlashReply(command=c.UseMode(mode), lines=(f"Mode: {mode}.",))


def _rename(now: SlashContext, rest: str) -> SlashReply:
    del now
    return SlashReply(command=c.Rename(rest), lines=(f'Renamed to "{literal(rest)}".',)) if rest else _usage("rename")


def _status(now: SlashContext, rest: str) -> SlashReply:
    del rest
    conversation, mode = now.agent.conversation, now.agent.mode
    usage = conversation.usage
    cost = "unknown" if usage.cost is None else f"${float(usage.cost):.2f}"
    return SlashReply(
        lines=(
            f"Session {now.session.id}, {conversation.turns} turns.",
            f"Model {conversation.chosen_model}. Mode {mode}.",
            f"Tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out. Cost: {cost}.",
        ),
        late=lambda: (f"Sandbox {now.session.sandbox_line(mode)}.",),
    )


def _hooks(now: SlashContext, rest: str) -> SlashReply:
    del rest
    return SlashReply(lines=now.session.hook_lines())


def _can_leave(now: SlashContext) -> bool:
    return now.rules.leaves


def _leave(now: SlashContext, rest: str, *, renew: bool = False) -> SlashReply:
    del rest
    if not _can_leave(now):
        place = now.rules.place
        raise UsageError(f"The session was not left: {place} opens and closes its sessions itself. Use its commands.")
    return SlashReply(leave=LeaveRequested(renew=renew))


def _can_continue(now: SlashContext) -> bool:
    return now.agent.recovery.can_resume


def _continue(now: SlashContext, rest: str) -> SlashReply:
    del rest
    if not _can_continue(now):
        raise UsageError("Nothing to continue: no question is open. Send a prompt.")
    return SlashReply(command=c.Continue())


def _can_undo(now: SlashContext) -> bool:
    return now.session.kept_files is not None


def _undo(now: SlashContext, rest: str) -> SlashReply:
    if rest not in ("", "files"):
        return _usage("undo")
    prompts = now.agent.conversation.prompts
    if not prompts:
        raise UsageError("Nothing to undo: the conversation has no prompt yet. Send one first.")
    return SlashReply(command=c.Rewind(prompts[-1].turn, "files" if rest else "both"))


def _redo(now: SlashContext, rest: str) -> SlashReply:
    del now, rest
    return SlashReply(command=c.Redo())


def _receipt(now: SlashContext, rest: str) -> SlashReply:
    if rest not in ("", "all"):
        return _usage("receipt")
    prompts, journal = now.agent.conversation.prompts, now.agent.journal
    turn = 0 if rest or not prompts else prompts[-1].turn

    def lines() -> tuple[str, ...]:
        from holdfast.agent.receipt.folded_receipt import receipt
        from holdfast.agent.receipt.receipt_lines import receipt_details

        return receipt_details(
            receipt(journal.entries(), turn=turn, root=str(now.session.cwd), tests=now.session.own_tests)
        )

    return SlashReply(late=lines)


def _usage(name: str, *chosen: str) -> SlashReply:
    """Return what is chosen now, and what the command is for."""
    return SlashReply(lines=(*chosen, SESSION_COMMANDS[name].summary))


def _init(now: SlashContext, rest: str) -> SlashReply:
    del now
    return SlashReply(command=c.Prompt(f"/init {rest}".rstrip(), mentions=False))


def _skills(now: SlashContext, rest: str) -> SlashReply:
    del rest
    if now.session.brought is None:
        raise UsageError("This session has no skills and no commands. docs/how-to/skills.md says where they are put.")
    return SlashReply(lines=now.session.brought.lines())


SESSION_COMMANDS: Mapping[str, SlashCommand] = {
    "help": SlashCommand("list the commands", _help),
    "new": SlashCommand(
        "start a new session (this one is saved)",
        lambda now, rest: _leave(now, rest, renew=True),
        fits=_can_leave,
    ),
    "model": SlashCommand("switch model: /model PROVIDER:MODEL", _model, "PROVIDER:MODEL"),
    "effort": SlashCommand("set how much the model reasons: /effort LEVEL, or default", _effort, "LEVEL"),
    "permissions": SlashCommand("set what runs without asking: /permissions MODE", _permissions, "MODE"),
    "rename": SlashCommand("set the title of this session: /rename TITLE", _rename, "TITLE"),
    "continue": SlashCommand(
        "answer the question that is still open, and continue its turn", _continue, fits=_can_continue
    ),
    "compact": SlashCommand(
        "summarize older messages to free context",
        lambda _now, rest: SlashReply(command=c.Compact(rest), lines=("Compacted.",)),
        "what the summary should keep",
    ),
    "uncompact": SlashCommand(
        "undo the last compaction",
        lambda _now, _rest: SlashReply(command=c.Uncompact(), lines=("Compaction undone.",)),
    ),
    **{
        each.name: SlashCommand(each.summary, run, each.takes, fits=_can_undo)
        for each, run in zip(UNDO_COMMANDS, (_undo, _redo), strict=True)
    },
    RECEIPT_COMMAND.name: SlashCommand(RECEIPT_COMMAND.summary, _receipt, RECEIPT_COMMAND.takes),
    "init": SlashCommand(INIT_COMMAND.summary, _init, INIT_COMMAND.takes),
    "skills": SlashCommand(SKILLS_COMMAND.summary, _skills, fits=lambda now: now.session.brought is not None),
    "status": SlashCommand("show session, model, mode, cost and sandbox", _status),
    "hooks": SlashCommand("show the hooks, and those that are not used", _hooks),
    "quit": SlashCommand("quit (the session is saved)", _leave, fits=_can_leave),
}
"""The commands, by their names."""

SLASH_ALIASES = {"clear": "new", "exit": "quit", "mode": "permissions", "cost": "status"}
"""Other names of them."""

RESERVED_COMMANDS = frozenset({*SESSION_COMMANDS, *SLASH_ALIASES, *SCREEN_COMMANDS})
"""The names of holdfast's own commands, which win over skills and commands on every surface."""


def is_known(typed: c.Slash, session: HostedSession) -> bool:
    """Return whether there is a command of this name, in holdfast or in a plug-in, or a skill."""
    known = SLASH_ALIASES.get(typed.name, typed.name) in SESSION_COMMANDS or typed.name in session.slash_commands
    return known or (session.brought is not None and session.brought.has(typed.name))


async def reply_to(agent: Agent, session: HostedSession, typed: c.Slash, rules: HostRules) -> SlashReply:
    """Return what a slash command wants, typed in the place of the rules.

    Raise `UsageError` for an unknown one, or for words that it cannot use.
    """
    now = SlashContext(agent, session, rules)
    command = SESSION_COMMANDS.get(SLASH_ALIASES.get(typed.name, typed.name))
    if command is None and (added := session.slash_commands.get(typed.name)) is not None:
        from holdfast.host.plugins.slash_reply import said_by

        answer = await said_by(added, agent, session, typed.rest)
        return SlashReply(lines=answer.lines, command=answer.command)
    if command is None and session.brought is not None and session.brought.has(typed.name):
        return SlashReply(command=c.Prompt(f"/{typed.name} {typed.rest}".rstrip()))
    if command is None:
        raise UsageError(f"No command /{literal(typed.name)} in {rules.place}. See /help.")
    reply = command.run(now, typed.rest)
    if reply.late is None:
        return reply
    return msgspec.structs.replace(reply, lines=(*reply.lines, *(await in_daemon(reply.late))))
