"""Declares `task` and `stop_task` once a session has a background task: before, they would only cost tokens."""

from __future__ import annotations

from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import ToolsChanged
from holdfast.tools.builtin.declarations import DECLARATIONS
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Toolbox
from holdfast.tools.tool_choice import OF_TASKS


def task_declarations(fold: Fold, toolbox: Toolbox, rules: RuleSet) -> tuple[ToolsChanged, ...]:
    """Return the entry that declares the tools for background tasks from the next request on, if one is missing.

    It follows from the journal alone that there has been a task, so a kill before this entry changes nothing: the next
    request declares them. They stand before the tools of MCP servers, which are listed again before each prompt.
    """
    if not (fold.tasks.open or fold.tasks.ended) or (opened := fold.conversation().opened) is None:
        return ()
    tools, declared = toolbox.tools, {schema.name for schema in opened.tools}
    if "bash" not in declared:  # its model cannot begin one
        return ()
    missing = tuple(
        each
        for each in DECLARATIONS
        if each.name in OF_TASKS - declared and each.name in tools and not rules.never_run(each.name)
    )
    if not missing:
        return ()
    remote = tuple(each for each in opened.tools if each.name.startswith("mcp_"))
    local = tuple(each for each in opened.tools if each not in remote)
    return (ToolsChanged(tools=(*local, *missing, *remote), added=True),)
