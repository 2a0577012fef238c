"""The system prompt: one text, journalled when a session opens and sent as journalled ever after."""

from __future__ import annotations

import platform
from importlib.resources import files
from pathlib import Path


def system_prompt(cwd: Path, *, today: str) -> str:
    """Return the system prompt of a new session that works in `cwd`; `today` is an ISO date."""
    text = files(__name__).joinpath("system.md").read_text("utf-8")
    facts = f"Working directory: {cwd}\nPlatform: {platform.system()} {platform.machine()}\nSession began: {today}"
    return f"{text.strip()}\n\n{facts}"
