"""The system prompt: one text, journalled when a session opens and sent unchanged from then on.

Later changes go into notes (`holdfast.agent.context.changed_files`), so the prompt cache stays valid.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from holdfast.system.git import branch, repository
from holdfast.tools.tool import Instruction
from holdfast.tools.truncation import escape_newlines


def system_prompt(cwd: Path, *, today: str, instructions: Iterable[Instruction] = ()) -> str:
    """Return the system prompt of a new session in `cwd`; `today` is an ISO date."""
    text = Path(__file__).with_name("system.md").read_text("utf-8").strip()
    return "\n\n".join([text, _facts(cwd, today), *map(_block, instructions)])


def instructions_note(changed: Iterable[Instruction]) -> str:
    """Return the note for the next user message about new or changed instruction files."""
    blocks = [_block(each) for each in changed]
    said = "[Note from holdfast: these instructions are new or changed. From now on this version applies.]"
    return "\n\n".join([said, *blocks])


def _facts(cwd: Path, today: str) -> str:
    root = repository(cwd)
    if root is None:
        git = "no repository"
    else:
        git = f"repository {root}, on branch {name}" if (name := branch(root)) else f"repository {root}, on no branch"
    return "\n".join(
        [
            f"Working directory: {cwd}",
            f"Git: {git}",
            f"Platform: {platform.system()} {platform.machine()}; commands run in bash without a terminal",
            f"Session began: {today}",
        ]
    )


def _block(instruction: Instruction) -> str:
    return f'<instructions from="{escape_newlines(instruction.seen.path)}">\n{instruction.text}\n</instructions>'
