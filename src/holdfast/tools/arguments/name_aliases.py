"""The names that models were trained on, and holdfast's names for the same things. Data only.

Sources: the tools of Claude Code, Codex, Gemini CLI, Qwen Code, Kimi CLI, opencode and pi, and what weaker models make
of them. A name is written in lower case with underscores; `folded_name` brings the model's spelling to that form.
"""

from __future__ import annotations

from collections.abc import Mapping

TOOL_NAMES: Mapping[str, str] = {
    "read_file": "read",
    "readfile": "read",
    "view": "read",
    "view_file": "read",
    "open_file": "read",
    "cat": "read",
    "read_text_file": "read",
    "write_file": "write",
    "writefile": "write",
    "create_file": "write",
    "write_to_file": "write",
    "save_file": "write",
    "edit_file": "edit",
    "multi_edit": "edit",
    "multiedit": "edit",
    "replace": "edit",
    "str_replace": "edit",
    "str_replace_file": "edit",
    "search_replace": "edit",
    "search_and_replace": "edit",
    "replace_in_file": "edit",
    "modify_file": "edit",
    "applypatch": "apply_patch",
    "patch": "apply_patch",
    "shell": "bash",
    "shell_command": "bash",
    "exec_command": "bash",
    "run_shell_command": "bash",
    "run_command": "bash",
    "execute_command": "bash",
    "terminal": "bash",
    "run_terminal_cmd": "bash",
    "run_terminal_command": "bash",
    "run_in_terminal": "bash",
    "execute_bash": "bash",
    "run_bash": "bash",
    "bash_tool": "bash",
    "local_shell": "bash",
    "exec": "bash",
    "sh": "bash",
    "search_file_content": "grep",
    "grep_files": "grep",
    "grep_search": "grep",
    "ripgrep": "grep",
    "rg": "grep",
    "codebase_search": "grep",
    "search_files": "grep",
    "search_code": "grep",
    "code_search": "grep",
    "glob_files": "glob",
    "find_files": "glob",
    "list_files": "glob",
    "file_search": "glob",
    "find": "glob",
    "ls": "glob",
    "list_dir": "glob",
    "list_directory": "glob",
    "list": "glob",
    "web_fetch": "fetch",
    "webfetch": "fetch",
    "fetch_url": "fetch",
    "fetchurl": "fetch",
    "web_search": "search",
    "websearch": "search",
    "search_web": "search",
    "searchweb": "search",
    "google_web_search": "search",
    "todo_write": "todo",
    "todowrite": "todo",
    "write_todos": "todo",
    "update_plan": "todo",
    "set_todo_list": "todo",
    "settodolist": "todo",
    "ask_user_question": "ask_user",
    "askuserquestion": "ask_user",
    "askuser": "ask_user",
    "question": "ask_user",
    "exit_plan_mode": "present_plan",
    "exitplanmode": "present_plan",
    "task_output": "task",
    "bash_output": "task",
    "bashoutput": "task",
    "task_stop": "stop_task",
    "kill_shell": "stop_task",
    "kill_bash": "stop_task",
    "killbash": "stop_task",
    "killshell": "stop_task",
}
"""Names of tools, folded, and the tool that does the same."""

NAMESPACES = frozenset(
    {"functions", "function", "tools", "tool", "default_api", "container", "repo_browser", "builtin"}
)
"""Prefixes that models write before the name of a tool, with a dot in between."""

FIELD_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    name: {"pattern": "*"} for name in ("ls", "list_dir", "list_directory", "list_files", "list")
}
"""Values for fields that a tool of another name does not have, by that name, folded."""

REPLACEMENT_HINTS: Mapping[str, str] = {
    **dict.fromkeys(
        ("read_many_files", "read_multiple_files", "read_files"), "call read with 'path' once for each file"
    ),
    **dict.fromkeys(("delete_file", "remove_file", "move_file", "rename_file", "copy_file"), "use bash: rm, mv or cp"),
    **dict.fromkeys(("create_directory", "make_directory", "mkdir"), "write creates folders; or use bash: mkdir -p"),
    **dict.fromkeys(
        ("python", "run_python", "execute_python", "code_interpreter", "run_code"), "use bash: python3 FILE"
    ),
    **dict.fromkeys(("write_stdin", "send_input", "bash_input"), "commands have no input; task shows what one printed"),
    **dict.fromkeys(("notebook_edit", "edit_notebook"), "a notebook is a text file in JSON: use read and edit"),
    **dict.fromkeys(("multi_tool_use_parallel", "parallel", "batch"), "call the tools one by one, as many as you like"),
    **dict.fromkeys(("insert", "insert_line", "insert_at_line", "append_file"), "edit a line near, with old and new"),
    **dict.fromkeys(("agent", "dispatch_agent", "subagent", "spawn_agent"), "do it yourself; there are no subagents"),
    **dict.fromkeys(
        ("save_memory", "memory", "remember"), "write what must be kept into a file, if the user wants that"
    ),
}
"""What to do instead of calling a tool that has no counterpart here, by its folded name."""


def _names(**fields: str) -> dict[str, str]:
    return {alias: field for field, aliases in fields.items() for alias in aliases.split()}


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_FILE = "file_path filepath filename file file_name target_file absolute_path abs_path"
_FOLDER = "directory dir dir_path folder root search_path file_path base_path cwd"
_CONTENT = "contents text file_text file_content data body code"
_OLD = "old_string old_str old_text oldtext oldstring search find original before search_text from"
_NEW = "new_string new_str new_text newtext newstring replace replacement updated after replace_text to"
_ALL = "replace_all replaceall all_occurrences allow_multiple global multiple"
_PATTERN = "query regex regexp search q text"
_GLOB = "include includes glob_pattern file_pattern include_pattern file_glob files"
_LIMIT = "head_limit max_results max_count max_matches max_lines count num_results n_lines num_lines lines line_count"

FIELD_NAMES: Mapping[str, Mapping[str, str]] = {
    "read": _names(path=_FILE, offset="start_line line_offset start line_start from_line", limit=_LIMIT),
    "write": _names(path=_FILE, content=_CONTENT),
    "edit": _names(path=_FILE, old=_OLD, new=_NEW, all=_ALL, edits="edit replacements changes operations"),
    "edit.edits": _names(old=_OLD, new=_NEW, all=_ALL),
    "apply_patch": _names(input="patch patch_text patchtext diff content text command"),
    "bash": _names(
        command="cmd script code shell_command bash_command commands",
        timeout="timeout_ms timeoutms timeout_seconds timeout_secs timeout_sec yield_time_ms",
        cwd="workdir working_directory working_dir directory dir dir_path workspace",
        background="run_in_background is_background in_background detach",
    ),
    "grep": _names(
        pattern=_PATTERN,
        path=_FOLDER,
        glob=_GLOB,
        ignore_case="i case_insensitive ignorecase case_sensitive",
        context="c a b context_lines after_context before_context",
        limit=_LIMIT,
    ),
    "glob": _names(pattern="glob query glob_pattern include file_pattern search name", path=_FOLDER),
    "fetch": _names(url="uri link address href page urls", offset="start start_index"),
    "todo": _names(items="todos tasks plan list todo_list"),
    "todo.items": _names(text="content task title step description name item", state="status"),
    "search": _names(
        query="q queries search_query search_term search text", count=f"limit max_num_results top_k {_LIMIT}"
    ),
    "ask_user": _names(
        question="questions prompt message text query",
        options="choices answers suggestions",
        several="multi_select multiselect multiple allow_multiple",
    ),
    "ask_user.options": _names(
        label="text value name title option answer", description="detail details explanation hint"
    ),
    "present_plan": _names(plan="text content proposal summary"),
    "task": _names(id="task_id task bash_id shell_id session_id process_id", wait_seconds="timeout wait yield_seconds"),
    "stop_task": _names(id="task_id task bash_id shell_id session_id process_id"),
}
"""The fields of a tool, and of the objects in its lists (`edit.edits`), by the folded names that models use."""

VALUES: Mapping[str, str] = {
    "pending": "open",
    "todo": "open",
    "not_started": "open",
    "in_progress": "doing",
    "active": "doing",
    "started": "doing",
    "complete": "done",
    "completed": "done",
    "finished": "done",
}
"""The values of fields with fixed choices, by the folded values that models use."""

MILLISECONDS = frozenset({"timeout_ms", "timeoutms", "yield_time_ms"})
"""Names that say the value is in milliseconds."""

OPPOSITES = frozenset({"case_sensitive"})
"""Names whose value means the opposite of the field they stand for."""

LABELS = _set(
    "description explanation justification reason reasoning thought thoughts intent "
    "instruction active_form activeform id priority display_name title header"
)
"""Unknown fields that only describe the call. They are left out without a word: every call would repeat it."""

MEANINGFUL_FIELDS: Mapping[str, frozenset[str]] = {
    "bash": _set(
        "cwd workdir working_directory working_dir directory dir dir_path "
        "workspace stdin input env environment background run_in_background is_background"
    ),
    "write": _set("mode append offset insert_line line start_line end_line position"),
    "edit": _set(
        "regex use_regex is_regex insert_line line start_line end_line mode insert_text diff content code_edit"
    ),
    "fetch": _set("method body data headers"),
}
"""Unknown fields that would make the call do something else: without them it must not run."""

HARMLESS: Mapping[str, frozenset[object]] = {
    "mode": frozenset(["", "overwrite", "write", "w", "replace"]),
    "method": frozenset(["", "get", "GET"]),
}
"""Values with which a field of `MEANINGFUL_FIELDS` changes nothing; false, null and empty ones never do."""


def folded_name(name: str) -> str:
    """Return a name in lower case with underscores: `filePath`, `file-path` and ` FilePath` are `file_path`."""
    text = name.strip().replace("-", "_").replace(" ", "_").replace(".", "_")
    pieces = [
        f"_{c.lower()}" if c.isupper() and i and not text[i - 1].isupper() else c.lower() for i, c in enumerate(text)
    ]
    return "_".join(piece for piece in "".join(pieces).split("_") if piece)
