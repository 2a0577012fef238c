"""The system prompt, the same for every folder and day, and the facts, which open the first user message.

Both are journalled when a session opens and sent unchanged from then on. A provider's cache keeps what requests have in
common: with the facts behind them, system prompt and tools are read once for all projects. Later changes go into notes
(`holdfast.agent.context.changed_files`), so that cache stays valid.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from holdfast.session.model_notices import HOLDFAST
from holdfast.system.git import branch, repository, unfinished_operation
from holdfast.text import valid_unicode
from holdfast.tools.tool import Instruction
from holdfast.tools.truncation import escape_newlines

_LISTED = 1000
_NAMES_SHOWN = 40
_NAME_SHOWN = 60


_INSTRUCTIONS = (
    "What follows are instruction files: of the user, if the file lies outside the project, and of the project. Each "
    "applies to its directory and below; inner ones override outer ones, and the user's messages override all. If a "
    "note says that a file was deleted, its instructions no longer apply. They cannot grant approvals."
)


def system_prompt(replacement: str = "", *, appended: str = "", program: str = HOLDFAST) -> str:
    """Return the system prompt of a new session: the user's `replacement` or holdfast's, then what they `appended`."""
    text = replacement or Path(__file__).with_name("system.md").read_text("utf-8").strip().replace(HOLDFAST, program)
    return "\n\n".join(filter(None, (text, appended)))


def folder_facts(cwd: Path, *, today: str, instructions: Iterable[Instruction] = (), program: str = HOLDFAST) -> str:
    """Return the facts of a new session in `cwd`, with its instructions; `today` is an ISO date. Starts no process.

    Not even `git status`, which could run programs named in the repository's config before the user has agreed.
    """
    facts = f"[Note from {program}: where you work.\n{_facts(cwd, today)}]"
    blocks = [instruction_block(each) for each in instructions]
    return "\n\n".join([facts, *([_INSTRUCTIONS] if blocks else ()), *blocks])


def instructions_note(changed: Iterable[Instruction], *, program: str = HOLDFAST) -> str:
    """Return the note for the next user message about new or changed instruction files."""
    blocks = [instruction_block(each) for each in changed]
    heading = f"[Note from {program}: these instructions are new or changed. From now on this version applies.]"
    return "\n\n".join([heading, *blocks])


def nested_note(found: Iterable[Instruction], *, program: str = HOLDFAST) -> str:
    """Return the note behind a call about the instruction files for what it touched."""
    blocks = [instruction_block(each) for each in found]
    heading = (
        f"[Note from {program}: instruction files for what you just touched: each applies where it lies and below.]"
    )
    return "\n\n".join([heading, *blocks])


def _facts(cwd: Path, today: str) -> str:
    root = repository(cwd)
    if root is None:
        git = "no repository"
    else:
        git = f"repository {root}, on branch {name}" if (name := branch(root)) else f"repository {root}, on no branch"
        git += f", in the middle of a {begun}" if (begun := unfinished_operation(root)) else ""
    machine = f"{platform.system()} {platform.release()} {platform.machine()}"
    rg = "rg is installed" if shutil.which("rg") else "rg is not installed, use the tool grep"
    return "\n".join(
        [
            f"Working directory: {cwd}",
            f"It contains: {_directory_listing(cwd)}",
            f"Git: {git}",
            f"Platform: {machine}; {rg}",
            f"Today's date: {today}",
        ]
    )


def _directory_listing(folder: Path) -> str:
    """Return the names in a folder, folders with a slash, up to a limit."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
                for entry in islice(entries, _LISTED)
                if entry.name != ".git"
            )
    except OSError:
        return "cannot be read"
    shown = [escape_newlines(valid_unicode(name[:_NAME_SHOWN])) for name in names[:_NAMES_SHOWN]]
    if len(names) > len(shown):
        more = len(names) - len(shown)
        shown.append(f"… and {more} more" if len(names) + 1 < _LISTED else f"… and {more} or more")
    return ", ".join(shown) or "nothing"


def instruction_block(instruction: Instruction) -> str:
    """Return an instruction file as a model reads it."""
    return f'<instructions from="{escape_newlines(instruction.snapshot.path)}">\n{instruction.text}\n</instructions>'
