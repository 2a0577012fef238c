"""The approval mode of a session, as an entry of its journal."""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.tool_calls import Mode

ModeCause = Literal["", "plan"]
"""What changed the mode: the user did; `plan`: the user's answer to a plan did."""


class ModeChanged(msgspec.Struct, frozen=True, tag_field="kind", tag="mode-changed", omit_defaults=True):
    """The session has this approval mode from now on. Valid anywhere; it survives a rewind, as the model does.

    A resumed session continues in it, except in `yolo`, which lasts only as long as the run in which it was chosen.
    """

    mode: Mode
    why: ModeCause = ""


def resumed_mode(journalled: Mode | None, run: Mode, *, chosen: bool) -> Mode:
    """Return the mode of a session that is opened: the journalled one unless the run's was `chosen` by the user.

    Without a journalled mode, or if that is `yolo`, it is the run's.
    """
    return run if chosen or journalled is None or journalled == "yolo" else journalled
