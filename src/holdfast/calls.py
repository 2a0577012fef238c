"""What every layer says about a tool call: its effect, the file it changes, how it ended.

These values are stored in journals, so their fields and spellings are part of FORMAT (see docs/journal.md).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Effect = Literal["read", "write", "execute"]
"""What a call may do: look, change files it names, or anything at all."""

Outcome = Literal["ok", "failed", "denied", "not_started", "interrupted"]
"""The one fate of a call. `interrupted` means it started and its effect is unknown unless the text says we looked."""

Mode = Literal["ask", "accept-edits", "plan", "yolo"]
"""The approval mode of a run."""

Looked = Literal["after", "before", "other", "unreadable"]
"""What is at the path of a file change now: the intended content, the earlier one, another, nothing readable."""


Remember = Literal["", "session", "project"]
"""For how long a person's answer counts: this once, this session, or always in this project."""


class Pattern(msgspec.Struct, frozen=True):
    """What is allowed without asking: a command, with ` *` behind it also with more words; a file, or `FOLDER/**`.

    One of effect `read` is the name of a host that may be asked over the network.
    """

    effect: Effect
    text: str


class FileChange(msgspec.Struct, frozen=True):
    """A file edit as intended: `before` and `after` are SHA-256 hex of the whole content, `before` None if absent."""

    path: str
    before: str | None
    after: str


class ProcessId(msgspec.Struct, frozen=True):
    """A process, beyond doubt: its `pid`, when it started in clock ticks, and the id of the boot those belong to."""

    pid: int
    start: int
    boot: str


class FileSeen(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file as it was when somebody looked; `size` is None if there was none.

    `modified` is its time in nanoseconds, `sha256` the hash of the whole in hex, "" of one too large to hash at a look.
    """

    path: str
    size: int | None = None
    modified: int = 0
    sha256: str = ""

    def same(self, other: FileSeen) -> bool:
        """Return whether both are of the same content, as far as can be told."""
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return (self.size, self.modified) == (other.size, other.modified)


class Image(msgspec.Struct, frozen=True, omit_defaults=True):
    """An image that a model is shown: `data` is the whole file (base64 in a journal), `name` what it is called.

    `width` and `height` are pixels, 0 if they could not be told.
    """

    media_type: str
    data: bytes
    name: str
    width: int = 0
    height: int = 0

    @property
    def described(self) -> str:
        """Return it in a few words: name, kind and size."""
        kind = self.media_type.removeprefix("image/").upper()
        pixels = f", {self.width} x {self.height} pixels" if self.width else ""
        return f"{self.name} ({kind}{pixels}, {len(self.data)} bytes)"


class ToolSchema(msgspec.Struct, frozen=True):
    """A tool as declared to the model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, object]
