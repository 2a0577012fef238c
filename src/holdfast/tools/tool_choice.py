"""Chooses the tools that a new session declares. They never change in a session: requests begin with them."""

from __future__ import annotations

import re

from holdfast.tool_calls import EditDialect
from holdfast.tools.builtin.declarations import DECLARATIONS

_TRAINED_ON_PATCHES = re.compile(r"(?:^|[/:._-])(?:gpt-(?:oss|4\.1|[5-9])|codex|o[34](?:-|$))")

ALWAYS = frozenset(schema.name for schema in DECLARATIONS) - {"edit", "apply_patch", "search"}
"""The tools that every session has."""


def chosen_tools(model: str, *, dialect: EditDialect = "auto", search: bool = False) -> frozenset[str]:
    """Return the names of the tools of a new session with `model` (PROVIDER:MODEL).

    `search` is whether the web can be searched. `auto` gives models of OpenAI from GPT-4.1 on `apply_patch` instead of
    `edit`, and all others `edit`.
    """
    patch = dialect == "patch" or (dialect == "auto" and _TRAINED_ON_PATCHES.search(model.lower()) is not None)
    return ALWAYS | {"apply_patch" if patch else "edit"} | ({"search"} if search else set[str]())
