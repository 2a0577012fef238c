"""The system prompt: one text, journalled when a session opens and sent as journalled ever after.

One rule: what changes of it later is told in a note (`holdfast.agent.drift`), so that the prefix stays as it was sent.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from holdfast.tools.output import one_line
from holdfast.tools.repository import branch, repository
from holdfast.tools.tool import Instruction


def system_prompt(cwd: Path, *, today: str, instructions: Iterable[Instruction] = ()) -> str:
    """Return the system prompt of a new session that works in `cwd`; `today` is an ISO date."""
    text = files(__name__).joinpath("system.md").read_text("utf-8").strip()
    return "\n\n".join([text, _facts(cwd, today), *map(_block, instructions)])


def instructions_note(changed: Iterable[Instruction]) -> str:
    """Return what opens the next user message when these instructions are new or not as they were."""
    blocks = [_block(each) for each in changed]
    said = "[Note from holdfast: these instructions are new or changed. They hold from now on as they stand here.]"
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
    return f'<instructions from="{one_line(instruction.seen.path)}">\n{instruction.text}\n</instructions>'
