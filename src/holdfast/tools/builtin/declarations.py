"""The tools as a model sees them: names, descriptions, arguments. What they do is imported when one is called.

Every request carries them, so their size is bounded (`tests/contract/test_prompt_size.py`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from holdfast.tools.schema import as_declared, schema_of


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `read`."""

    path: Annotated[str, msgspec.Meta(description="Relative to the workspace, or absolute.")]
    offset: Annotated[int, msgspec.Meta(ge=1, description="The first line, from 1.")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="Most lines (2000).")] = 2000


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `write`."""

    path: Annotated[str, msgspec.Meta(description="Relative to the workspace, or absolute.")]
    content: Annotated[str, msgspec.Meta(description="The whole content.")]


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One replacement of an `edit`."""

    old: Annotated[str, msgspec.Meta(description="The exact text to replace, like `old` of the call.")]
    new: Annotated[str, msgspec.Meta(description="The new text.")]
    all: Annotated[bool, msgspec.Meta(description="Replace all occurrences.")] = False


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `edit`."""

    path: Annotated[str, msgspec.Meta(description="Relative to the workspace, or absolute.")]
    old: Annotated[str, msgspec.Meta(description="The exact text, with its indentation, without line numbers.")] = ""
    new: Annotated[str, msgspec.Meta(description="")] = ""
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

    command: Annotated[str, msgspec.Meta(min_length=1, description="As for `bash -c`.")]
    timeout: (
        Annotated[
            float,
            msgspec.Meta(ge=1, le=3600, description="Most seconds (120; in the background none)."),
        ]
        | msgspec.UnsetType
    ) = msgspec.UNSET
    cwd: Annotated[str, msgspec.Meta(min_length=1, description="The folder to run in.")] = "."
    background: Annotated[bool, msgspec.Meta(description="Run it as a background task: the call ends at once.")] = False
    network: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=253)], ...],
        msgspec.Meta(
            max_length=20,
            description="Hosts that it must reach, such as pypi.org.",
        ),
    ] = ()
    outside: Annotated[
        str,
        msgspec.Meta(
            max_length=500,
            description="Why it must run without the sandbox, if it must. The user is asked.",
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

    pattern: Annotated[str, msgspec.Meta(min_length=1, description="A regular expression.")]
    path: Annotated[str, msgspec.Meta(description="A folder or file.")] = "."
    glob: Annotated[str, msgspec.Meta(description="Only these files: '*.py' in any folder, 'src/**/*.py'.")] = "*"
    ignore_case: Annotated[bool, msgspec.Meta(description="")] = False
    context: Annotated[int, msgspec.Meta(ge=0, le=20, description="Lines around each match.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000, description="Most matches (100).")] = 100


class GlobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `glob`."""

    pattern: Annotated[str, msgspec.Meta(description="Like 'src/**/*.py', '*.{ts,tsx}' or 'docs/*'.")]
    path: Annotated[str, msgspec.Meta(description="The folder to look in.")] = "."


class FetchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `fetch`."""

    url: Annotated[str, msgspec.Meta(description="With http:// or https://.")]
    offset: Annotated[int, msgspec.Meta(ge=0, description="The first character, from 0.")] = 0


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `search`."""

    query: Annotated[str, msgspec.Meta(max_length=400, description="The words to search for.")]
    count: Annotated[int, msgspec.Meta(ge=1, le=10, description="How many results at most.")] = 5


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="In one line.")]
    state: Annotated[Literal["open", "doing", "done"], msgspec.Meta(description="")] = "open"


class TodoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `todo`."""

    items: Annotated[list[TodoItem], msgspec.Meta(max_length=50, description="The whole list.")]


class PresentPlanArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `present_plan`."""

    plan: Annotated[
        str,
        msgspec.Meta(
            max_length=20_000,
            description="In Markdown: what changes where, how it is checked, what is risky.",
        ),
    ]


class AskedOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One option of a question."""

    label: Annotated[str, msgspec.Meta(max_length=100, description="In a few words.")]
    description: Annotated[str, msgspec.Meta(max_length=300, description="What follows from it.")] = ""


class AskUserArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `ask_user`."""

    question: Annotated[str, msgspec.Meta(max_length=4_000, description="With what the user must know to answer it.")]
    options: Annotated[tuple[AskedOption, ...], msgspec.Meta(description="2 to 4, the one that you recommend first.")]
    several: Annotated[bool, msgspec.Meta(description="Several may be chosen.")] = False


READ_SCHEMA = schema_of(
    "read",
    "Read a text file, or look at an image. Each line begins with its number and a tab. If a file goes on, the last "
    "line gives the next offset.",
    ReadArguments,
)

WRITE_SCHEMA = schema_of(
    "write",
    "Create a file, or replace all of its content. Missing folders are created. To change a part, edit it instead.",
    WriteArguments,
)

EDIT_SCHEMA = schema_of(
    "edit",
    "Replace an exact piece of text in a file. It must occur exactly once, unless `all` is true: include enough lines "
    "around it.",
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
Each starts in a new shell in the workspace. It has no terminal and no input: use flags such as --yes. What it leaves \
running is ended with it; for a server or a watcher set `background`. A sandbox may let it write only in the workspace \
and reach only the hosts in `network`; the result says if that stood in the way. Of a long output you see the \
beginning, the end, and the name of a file with all of it."""

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
    "Skips binary files and what .gitignore leaves out.",
    GrepArguments,
)

GLOB_SCHEMA = schema_of(
    "glob",
    "List files whose path matches a pattern, the newest first, without what .gitignore leaves out. "
    "Folders end with /; a pattern with ** lists none.",
    GlobArguments,
)

FETCH_SCHEMA = schema_of(
    "fetch",
    "Read a public page by HTTP GET, as Markdown, without cookies or passwords. A redirect to another host is "
    "reported, not followed. If a page goes on, the last line gives the next offset.",
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
    "Keep a task list, for work of three steps or more. Each call replaces the whole list: give every item that still "
    "matters. An item is done once you have seen that it is.",
    TodoArguments,
)

PRESENT_PLAN_SCHEMA = schema_of(
    "present_plan",
    "Show the user your plan and ask whether to carry it out. In plan mode only reading is allowed: look until you "
    "know what has to be done, then call this. Outside it, only if they asked for a plan. The result has their "
    "decision; a plan that was not approved is not carried out. Call nothing else together with it.",
    PresentPlanArguments,
)

ASK_USER_SCHEMA = schema_of(
    "ask_user",
    "Ask the user one question that only they can answer and that decides how you continue. Do not ask what you can "
    "find out, nor for approval: calls that need it ask by themselves. Call nothing else together with it.",
    AskUserArguments,
)

SCHEMAS = (
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
"""All of them with every argument that is understood, as calls are read."""

_ONE_WAY = {"edit": ("path", "old", "new", "all")}
"""The arguments that are declared. Others are understood if a model gives them, but one way is enough."""
_REQUIRED = {"edit": ("path", "old", "new")}
"""The arguments that a model must give, where one way is declared."""

DECLARATIONS = tuple(
    as_declared(schema, only=_ONE_WAY.get(schema.name), required=_REQUIRED.get(schema.name, ())) for schema in SCHEMAS
)
"""All of them as models read them, in the order in which a session declares those that it has."""
