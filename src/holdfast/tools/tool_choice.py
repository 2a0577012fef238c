"""Chooses the tools that a new session declares. They stay in a session: requests begin with them.

Some come later, once they are of use (`agent/context/later_declarations.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from holdfast.errors import UsageError
from holdfast.tool_calls import EditDialect
from holdfast.tools.builtin.declarations import DECLARATIONS
from holdfast.tools.permission_rules.permission_rule import own_tool_name

_TRAINED_ON_PATCHES = re.compile(r"(?:^|[/:._-])(?:gpt-(?:oss|4\.1|[5-9])|codex|o[34](?:-|$))")

ALL_TOOLS = frozenset(schema.name for schema in DECLARATIONS)
"""All tools that are no server's."""
EDIT_TOOLS = frozenset({"edit", "apply_patch"})
"""The tools that change parts of files: a session has one of them."""
OF_TASKS = frozenset({"task", "stop_task"})
"""The tools for background tasks, declared with the first one."""
FOR_THE_USER = frozenset({"ask_user", "present_plan"})
"""The tools that a user must answer."""
CORE = frozenset({"read", "write", "bash", "grep", "glob"})
"""All that a small context window has room for, besides a tool that edits."""
SMALL_WINDOW = 16_384
"""Tokens; a model with a smaller context window gets the core tools."""


def chosen_tools(
    model: str,
    *,
    dialect: EditDialect = "auto",
    search: bool = False,
    only: Collection[str] | None = None,
    window: int = 0,
    has_user: bool = True,
) -> frozenset[str]:
    """Return the names of the tools of a new session with `model` (PROVIDER:MODEL).

    `search` is whether the web can be searched, `window` the model's context window, 0 if unknown, and `has_user`
    whether a user can answer. `only` are the tools that the user wants, None for all that suit. `auto` gives models
    of OpenAI from GPT-4.1 on `apply_patch` instead of `edit`, and all others `edit`.
    """
    patch = dialect == "patch" or (dialect == "auto" and _TRAINED_ON_PATCHES.search(model.lower()) is not None)
    editor = "apply_patch" if patch else "edit"
    if only is not None:
        return frozenset(editor if name == "edit" else name for name in only)
    if 0 < window < SMALL_WINDOW:
        return CORE | {editor}
    left_out = EDIT_TOOLS | OF_TASKS | (frozenset[str]() if search else {"search"})
    return (ALL_TOOLS - left_out - (frozenset[str]() if has_user else FOR_THE_USER)) | {editor}


def wanted_tools(names: Collection[str], *, source: str, search: bool, added: Collection[str] = ()) -> frozenset[str]:
    """Return holdfast's names of the tools that the user named in `source`, by Claude Code's names or its own.

    `added` are the tools of plug-ins. Raise `UsageError` for an unknown one, and for `search` without a service.
    """
    stripped = {name.strip() for name in names if name.strip()}
    chosen = {name if name in added else own_tool_name(name) for name in stripped}
    known = ALL_TOOLS.union(added)
    for name in sorted(chosen - known):
        raise UsageError(f"{source} names an unknown tool {name!r} (expected some of {', '.join(sorted(known))}).")
    if "search" in chosen and not search:
        raise UsageError(f"{source} names 'search', which needs a search service. Run holdfast setup search.")
    return frozenset(chosen)
