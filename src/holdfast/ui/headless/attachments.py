"""Images that a prompt mentions, attached to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.tool_calls import Image
from holdfast.tools.workspace.images import named_images

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent


def attached_images(agent: Agent, text: str, notify: Callable[[str], object]) -> tuple[Image, ...]:
    """Return the images that `text` mentions with `@`, from the session's folder; `notify` reports unusable ones."""
    opened = agent.conversation.opened
    images, wrong = named_images(text, Path(opened.cwd if opened else "."))
    for why in wrong:
        notify(why)
    return images
