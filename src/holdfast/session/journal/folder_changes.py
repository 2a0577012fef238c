"""What happens to the folder that a session works in, as entries of its journal."""

from __future__ import annotations

from typing import Literal

import msgspec

MovedBy = Literal["resume", "picker", "command", "editor"]
"""Who said where the session continues: `-r ID -C DIR`, the list of sessions, `sessions move`, or an editor."""


class Moved(msgspec.Struct, frozen=True, tag_field="kind", tag="moved", omit_defaults=True):
    """The session works in the folder `to` from here on, and no longer in `from`. `note` opens the next user message.

    Valid anywhere, also with an open turn, and it survives a rewind. What the user allowed in the session ends with it.
    """

    from_: str = msgspec.field(name="from")
    to: str
    by: MovedBy
    note: str = ""


class FolderGone(msgspec.Struct, frozen=True, tag_field="kind", tag="folder-gone", omit_defaults=True):
    """The session's `folder` does not exist any more. `note` opens the next user message."""

    folder: str
    note: str = ""
