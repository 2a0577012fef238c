"""How much of a window holdfast needs before the first prompt: its own prompt and the tools that it declares."""

from __future__ import annotations

from pathlib import Path

from holdfast.agent.context import system_prompt
from holdfast.history.tokens import BYTES
from holdfast.session.conversation.token_estimate import overhead_tokens
from holdfast.session.journal.entries import SessionOpened
from holdfast.tools.builtin.declarations import DECLARATIONS
from holdfast.ui.startup.run_options import RunOptions

_FACTS = 150
"""Tokens of the facts about the folder, about."""


def base_tokens(options: RunOptions, model: str) -> int:
    """Return about how many tokens a new session with a model has before its first prompt, without instructions."""
    names = options.tools_of(model)
    tools = (*(each for each in DECLARATIONS if each.name in names), *options.remote_schemas())
    opened = SessionOpened(session="", cwd="", model=model, system="", tools=tools, version="")
    system = Path(system_prompt.__file__).with_name("system.md").stat().st_size // BYTES
    return overhead_tokens(opened) + system + _FACTS
