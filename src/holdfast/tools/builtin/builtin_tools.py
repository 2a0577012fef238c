"""Makes the tools of a session. They all come with this module, so it is imported when the first is called."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.tools.background.task_tools import StopTaskTool, TaskTool
from holdfast.tools.builtin.ask_user import AskUserTool
from holdfast.tools.builtin.bash import BashTool
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.fetch import FetchTool
from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.builtin.present_plan import PresentPlanTool
from holdfast.tools.builtin.read_write import ReadTool, WriteTool
from holdfast.tools.builtin.todo import TodoTool
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.sandbox import Sandbox
from holdfast.tools.tool import Tool, Workspace
from holdfast.tools.web_search.backends import SearchBackend
from holdfast.tools.web_search.search import SearchTool
from holdfast.tools.workspace.file_list import RunProgram


def builtin_tools(
    workspace: Workspace,
    supervisors: Supervisors,
    *,
    search: RunProgram,
    networks: tuple[str, ...],
    backend: SearchBackend | None = None,
    sandbox: Sandbox | None = None,
) -> Mapping[str, Tool]:
    """Return the tools by name.

    `search` runs programs that list and search files; `networks` may be fetched from; `backend` searches the web, if
    one does. Commands run in the wall of `sandbox`, None for none.
    """
    fetch = FetchTool()
    fetch.networks = networks
    tools: tuple[Tool, ...] = (
        ReadTool(workspace),
        WriteTool(workspace),
        EditTool(workspace),
        ApplyPatchTool(workspace),
        BashTool(workspace, supervisors, sandbox),
        TaskTool(),
        StopTaskTool(),
        GrepTool(workspace, run=search),
        GlobTool(workspace, search),
        fetch,
        TodoTool(),
        PresentPlanTool(),
        AskUserTool(),
        SearchTool(backend),
    )
    return {tool.schema.name: tool for tool in tools}
