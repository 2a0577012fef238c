"""Declares tools that a session began without, once they are of use: before, they would only cost tokens.

`task` and `stop_task` come with the first background task; `ask_user` and `present_plan` with the first turn in which a
user can answer, in a session that began where none could (`holdfast -p`, continued on a screen).
"""

from __future__ import annotations

from holdfast.session.conversation.fold import Fold
from holdfast.session.journal.entries import ToolsChanged
from holdfast.tools.builtin.declarations import DECLARATIONS
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Toolbox
from holdfast.tools.tool_choice import EDIT_TOOLS, FOR_THE_USER, OF_TASKS, chosen_tools


def later_declarations(fold: Fold, toolbox: Toolbox, rules: RuleSet, *, has_user: bool) -> tuple[ToolsChanged, ...]:
    """Return the entry that declares tools from the next request on, if one is missing.

    What is missing follows from the journal and from whether a user can answer, so a kill before this entry changes
    nothing: the next request declares them. They stand before the tools of MCP servers, which are listed again before
    each prompt.
    """
    if (opened := fold.conversation().opened) is None:
        return ()
    tools, declared = toolbox.tools, {schema.name for schema in opened.tools}
    useful: frozenset[str] = frozenset()
    if (fold.tasks.open or fold.tasks.ended) and "bash" in declared:  # without it the model cannot begin one
        useful |= OF_TASKS
    if has_user and declared >= chosen_tools("", has_user=False) - EDIT_TOOLS:  # the user chose no fewer
        useful |= FOR_THE_USER
    missing = tuple(
        each
        for each in DECLARATIONS
        if each.name in useful - declared and each.name in tools and not rules.never_run(each.name)
    )
    if not missing:
        return ()
    remote = tuple(each for each in opened.tools if each.name.startswith("mcp_"))
    local = tuple(each for each in opened.tools if each not in remote)
    return (ToolsChanged(tools=(*local, *missing, *remote), added=True),)
