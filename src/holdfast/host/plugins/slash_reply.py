"""Runs a slash command of a plug-in: on a thread, within a bound, with facts in and a closed list of commands out.

Interruption rules: nothing is journalled while it runs; what it returns is submitted as if the user had typed it. A
stop or the end of the process leaves nothing of it, a thread that does not end is left behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import cast

import msgspec

from holdfast.agent.agent import Agent
from holdfast.errors import HoldfastError, UsageError
from holdfast.host.commands import Compact, Prompt, Rename
from holdfast.host.hosted_session import HostedSession
from holdfast.host.plugins.contributions import PluginSlashCommand, Said, SlashFacts
from holdfast.system.threads import in_daemon
from holdfast.text import error_text, text_of
from holdfast.typed_data import convert_value

ANSWER_WITHIN = 10.0
"""Seconds that a slash command of a plug-in has."""
MOST_SAID = 1_000
"""Lines of its answer that are shown."""
LONGEST_SAID = 2_000
"""Characters of a line that are shown."""


async def said_by(
    command: PluginSlashCommand, agent: Agent, session: HostedSession, rest: str, *, within: float = ANSWER_WITHIN
) -> Said:
    """Return what the command wants. Raise `UsageError` if it fails, takes longer or wants what it may not."""
    conversation = agent.conversation
    facts = SlashFacts(
        session=session.id,
        cwd=session.cwd,
        model=conversation.chosen_model,
        mode=agent.mode,
        turns=conversation.turns,
        input_tokens=conversation.usage.input_tokens,
        output_tokens=conversation.usage.output_tokens,
    )
    try:
        return await asyncio.wait_for(in_daemon(lambda: _answer(command, command.run(facts, rest))), within)
    except TimeoutError:
        raise _failed(command, f"it did not end within {within:g} s") from None
    except HoldfastError:
        raise
    except Exception as error:  # the boundary of plug-ins
        raise _failed(command, error_text(error)[:LONGEST_SAID]) from error


def _answer(command: PluginSlashCommand, answer: object) -> Said:
    """Return the answer as plain values. Called on the thread of the command: reading it may run its code."""
    if not isinstance(answer, Said):
        raise _failed(command, f"it returned {type(answer).__name__} (expected Said)")
    lines = cast("object", answer.lines)
    if not isinstance(lines, tuple | list):
        raise _failed(command, f"its lines are {type(lines).__name__} (expected a tuple of texts)")
    shown = list(islice(cast("Iterable[object]", lines), MOST_SAID))
    if wrong := [type(line).__name__ for line in shown if not isinstance(line, str)]:
        raise _failed(command, f"a line of its answer is {wrong[0]} (expected a text)")
    command_for_host = cast("object", answer.command)
    if not isinstance(command_for_host, Prompt | Rename | Compact | None):
        raise _failed(command, f"it wants {type(command_for_host).__name__} (expected Prompt, Rename or Compact)")
    try:
        if command_for_host is not None:
            command_for_host = convert_value(msgspec.to_builtins(command_for_host), type(command_for_host))
    except (TypeError, ValueError) as error:
        raise _failed(
            command, f"it wants {type(command_for_host).__name__} with a wrong value: {text_of(error)}"
        ) from error
    return Said(tuple(str(line)[:LONGEST_SAID] for line in shown), command_for_host)


def _failed(command: PluginSlashCommand, why: str) -> UsageError:
    return UsageError(f"Command '/{command.name}' of a plug-in failed: {why}. Nothing was done. Fix the plug-in.")
