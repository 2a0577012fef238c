"""The images that a person's words name, for whoever gives the words to a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.agent.driver import Driver
from holdfast.calls import Image
from holdfast.tools.images import named


def attached(driver: Driver, text: str, tell: Callable[[str], object]) -> tuple[Image, ...]:
    """Return the images that `text` names by `@` in the session's folder; `tell` what of them cannot be shown."""
    opened = driver.conversation.opened
    images, wrong = named(text, Path(opened.cwd if opened else "."))
    for why in wrong:
        tell(why)
    return images
