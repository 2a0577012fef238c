"""The tools as a model sees them: names, descriptions, arguments. What they do is imported when one is called."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from holdfast.tools.schema import schema_of


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `read`."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace or absolute.")]
    offset: Annotated[int, msgspec.Meta(ge=1, description="The first line to read, from 1.")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="How many lines to read at most.")] = 2000


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `write`."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace or absolute.")]
    content: Annotated[str, msgspec.Meta(description="The whole new content of the file.")]


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement of an `edit`."""

    old: Annotated[str, msgspec.Meta(description="The exact text to replace, like `old` of the call.")]
    new: Annotated[str, msgspec.Meta(description="The new text.")]
    all: Annotated[bool, msgspec.Meta(description="Replace all occurrences.")] = False


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `edit`."""

    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace or absolute.")]
    old: Annotated[
        str, msgspec.Meta(description="The exact text to replace, with its indentation, without line numbers.")
    ] = ""
    new: Annotated[str, msgspec.Meta(description="The new text.")] = ""
    all: Annotated[bool, msgspec.Meta(description="Replace all occurrences.")] = False
    edits: Annotated[
        tuple[Replacement, ...],
        msgspec.Meta(
            max_length=100,
            description="Several replacements in this file, instead of `old` and `new`. Each applies to the result of "
            "the one before. All are made or none.",
        ),
    ] = ()


class PatchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `apply_patch`."""

    input: Annotated[str, msgspec.Meta(min_length=1, description="The whole patch.")]


class BashArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `bash`."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="The command, as for `bash -c`.")]
    timeout: (
        Annotated[
            float,
            msgspec.Meta(
                ge=1, le=3600, description="Seconds after which it is ended; 120 if not given, none in the background."
            ),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    cwd: Annotated[
        str, msgspec.Meta(min_length=1, description="The folder to run in, relative to the workspace or absolute.")
    ] = "."
    background: Annotated[
        bool, msgspec.Meta(description="Run it as a background task: the call ends at once, the command runs on.")
    ] = False
    network: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=253)], ...],
        msgspec.Meta(
            max_length=20,
            description="Hosts that it must reach over HTTP(S), such as pypi.org. "
            "Without them a confined command has no network.",
        ),
    ] = ()
    outside: Annotated[
        str,
        msgspec.Meta(
            max_length=500,
            description="Why it must run without the sandbox. The user is asked. Leave it out if it need not.",
        ),
    ] = ""


class TaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `task`."""

    id: Annotated[str, msgspec.Meta(min_length=1, description="The task, as bash named it.")]
    wait_seconds: Annotated[
        float, msgspec.Meta(ge=0, le=30, description="Seconds to wait at most for its end; 0: only look.")
    ] = 0.0


class StopTaskArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `stop_task`."""

    id: Annotated[str, msgspec.Meta(min_length=1, description="The task, as bash named it.")]


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `grep`."""

    pattern: Annotated[str, msgspec.Meta(min_length=1, description="A regular expression, matched line by line.")]
    path: Annotated[str, msgspec.Meta(description="The folder or file to search.")] = "."
    glob: Annotated[
        str, msgspec.Meta(description="Search only matching files: '*.py' in any folder, 'src/**/*.py'.")
    ] = "*"
    ignore_case: Annotated[bool, msgspec.Meta(description="Match upper and lower case alike.")] = False
    context: Annotated[int, msgspec.Meta(ge=0, le=20, description="Lines to show around each match.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000, description="How many matching lines to show at most.")] = 100


class GlobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `glob`."""

    pattern: Annotated[
        str, msgspec.Meta(description="Like 'src/**/*.py', '*.{ts,tsx}' or 'docs/*'; ** is any number of folders.")
    ]
    path: Annotated[str, msgspec.Meta(description="The folder to look in.")] = "."


class FetchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `fetch`."""

    url: Annotated[str, msgspec.Meta(description="The address, with http:// or https://.")]
    offset: Annotated[int, msgspec.Meta(ge=0, description="The first character of the text to show, from 0.")] = 0


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `search`."""

    query: Annotated[str, msgspec.Meta(max_length=400, description="The words to search for.")]
    count: Annotated[int, msgspec.Meta(ge=1, le=10, description="How many results at most.")] = 5


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="The task, in one line.")]
    state: Annotated[Literal["open", "doing", "done"], msgspec.Meta(description="Status.")] = "open"


class TodoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `todo`."""

    items: Annotated[list[TodoItem], msgspec.Meta(max_length=50, description="The whole list, in order.")]


class PresentPlanArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `present_plan`."""

    plan: Annotated[
        str,
        msgspec.Meta(
            max_length=20_000,
            description="The whole plan in Markdown: what changes where, how it is checked, what is risky.",
        ),
    ]


class AskedOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One option of a question."""

    label: Annotated[str, msgspec.Meta(max_length=100, description="The answer, in a few words.")]
    description: Annotated[str, msgspec.Meta(max_length=300, description="What follows from it.")] = ""


class AskUserArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `ask_user`."""

    question: Annotated[
        str, msgspec.Meta(max_length=4_000, description="One question, with what the user must know to answer it.")
    ]
    options: Annotated[
        tuple[AskedOption, ...], msgspec.Meta(description="2 to 4 answers, the one that you recommend first.")
    ]
    several: Annotated[bool, msgspec.Meta(description="Several options may be chosen.")] = False


READ_SCHEMA = schema_of(
    "read",
    "Read a text file, or look at an image. Lines are prefixed with their number and a tab. Long files are "
    "paginated: the last line gives the next offset. Other binary files are refused.",
    ReadArguments,
)

WRITE_SCHEMA = schema_of(
    "write",
    "Create a file, or replace all of its content. Missing folders are created. "
    "To change part of a file that exists, use edit.",
    WriteArguments,
)

EDIT_SCHEMA = schema_of(
    "edit",
    "Replace an exact piece of text in a file, or several with `edits`. Each `old` must occur exactly once, unless "
    "`all` is true: include enough surrounding lines to make it unique.",
    EditArguments,
)

_PATCH = """Change files with a patch:
*** Begin Patch
*** Update File: src/app.py
@@ def main():
     context = 3
-    old = 1
+    new = 1
*** Add File: src/new.py
+every line begins with +
*** Delete File: src/gone.py
*** End Patch
Give about 3 lines of context around each change; after @@ a line of the class or function that it is in, if they are \
not unique. `*** Move to: PATH` after Update File renames it. Paths are relative to the workspace. Either every hunk \
fits or nothing is written."""

PATCH_SCHEMA = schema_of("apply_patch", _PATCH, PatchArguments)

_BASH = """Run a shell command and return its output, stdout and stderr together.
Every command starts in a new shell in the workspace folder, or in `cwd`. It has no terminal and no input, so nothing \
can be answered: use flags such as --yes. When the command ends, the processes it left behind are ended too. What must \
run on, such as a server or a watcher, is a background task: set `background`. Commands may run in a sandbox, where \
they write only in the workspace and reach only the hosts in `network`; a result says if that stood in the way. Of a \
long output you see the beginning \
and the end, and the name of a file with all of it."""

BASH_SCHEMA = schema_of("bash", _BASH, BashArguments)

TASK_SCHEMA = schema_of(
    "task",
    "Look at a background task: what it has printed since your last look, and whether it still runs. "
    "Its end is reported to you without asking.",
    TaskArguments,
)

STOP_TASK_SCHEMA = schema_of(
    "stop_task", "End a background task that you no longer need, with every process of it.", StopTaskArguments
)

GREP_SCHEMA = schema_of(
    "grep",
    "Search text files line by line for a regular expression; results are path:line:text. "
    "Binary files and files that .gitignore leaves out are not searched.",
    GrepArguments,
)

GLOB_SCHEMA = schema_of(
    "glob",
    "List files whose path matches a pattern, the newest first. Files that .gitignore leaves out are not listed. "
    "Folders end with / and are listed only by patterns without **.",
    GlobArguments,
)

FETCH_SCHEMA = schema_of(
    "fetch",
    "Fetch a page by HTTP GET and read it as text; HTML becomes Markdown. Only public addresses can be asked, "
    "without cookies or passwords. A redirect to another host is reported, not followed. "
    "Long pages are paginated: the last line gives the next offset.",
    FetchArguments,
)

SEARCH_SCHEMA = schema_of(
    "search",
    "Search the web. Results are numbered, each with its title, address and first words; read the pages with fetch. "
    "For files of the workspace use grep and glob.",
    SearchArguments,
)

TODO_SCHEMA = schema_of(
    "todo",
    "Keep a task list, for work of three steps or more. Each call replaces the whole list: give "
    "every item that still matters, with its state. Mark an item done once you have seen that it is.",
    TodoArguments,
)

PRESENT_PLAN_SCHEMA = schema_of(
    "present_plan",
    "Show the user your plan and ask whether to carry it out. In plan mode, call this once you know what has to be "
    "done; outside it, only if the user asked for a plan. The user approves it, has it changed, or leaves plan mode "
    "without it; the result says which. Call nothing else together with it.",
    PresentPlanArguments,
)

ASK_USER_SCHEMA = schema_of(
    "ask_user",
    "Ask the user one question that only they can answer and that decides how you continue. They choose one of your "
    "options, or answer in their own words; the result has their answer. Do not ask what you can find out yourself, "
    "and not for approval: calls that need it ask by themselves. Call nothing else together with it.",
    AskUserArguments,
)

DECLARATIONS = (
    READ_SCHEMA,
    WRITE_SCHEMA,
    EDIT_SCHEMA,
    PATCH_SCHEMA,
    BASH_SCHEMA,
    TASK_SCHEMA,
    STOP_TASK_SCHEMA,
    GREP_SCHEMA,
    GLOB_SCHEMA,
    FETCH_SCHEMA,
    TODO_SCHEMA,
    PRESENT_PLAN_SCHEMA,
    ASK_USER_SCHEMA,
    SEARCH_SCHEMA,
)
"""All of them, in the order in which a session declares those that it has."""
