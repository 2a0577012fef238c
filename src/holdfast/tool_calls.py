"""Values about a tool call that every layer uses: its effect, the file it changes, its outcome.

They are stored in journals, so their fields and spellings are part of FORMAT (see docs/reference/journal.md).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Effect = Literal["read", "write", "execute", "remote"]
"""What a call may do: only read, write the files it names, run anything, or ask a server that may do anything."""

Outcome = Literal["ok", "failed", "denied", "not_started", "interrupted"]
"""How a call ended. `interrupted`: it started, and its effect is unknown unless the text says it was checked."""

Observed = Literal["no_effect", "all", "part", "unknown"]
"""How much of the effect of an interrupted call was seen afterwards."""

Mode = Literal["ask", "accept-edits", "plan", "yolo"]
"""The approval mode of a run."""

OnApproval = Literal["deny", "stop"]
"""What happens to a call that needs approval if no user can be asked: it is denied, or the turn ends."""

EditDialect = Literal["auto", "edit", "patch"]
"""How files are edited: by `edit`, by `apply_patch`, or by the one the model family was trained on."""

SearchName = Literal["searxng", "brave", "tavily", "exa"]
"""A service that searches the web."""

FileCheck = Literal["after", "before", "other", "unreadable"]
"""The content of a changed file now: as intended, as before, something else, or unreadable."""

FileChecks = tuple[tuple[str, FileCheck], ...]
"""The paths that a call changes, each with what was found there afterwards."""


Confined = Literal["", "read", "workspace", "network"]
"""The wall around a command: none, or what it may do inside: only read, write the workspace, also reach addresses."""

SandboxMode = Literal["off", "auto", "require"]
"""Whether commands run in a sandbox: never, if one works here, or not at all without one."""

Leaving = Literal["", "workspace", "network", "outside"]
"""What an answer to a question about a command grants: what the question names (""), or one of these."""

Remember = Literal["", "session", "project"]
"""How long an approval lasts: this call, this session, or every session of this project."""


SKILL_TOOL = "skill"
"""The tool that reads a skill, in sessions that have some."""


class Pattern(msgspec.Struct, frozen=True):
    """Calls that run without asking: a command (` *` at the end allows more arguments), a file, or `FOLDER/**`.

    With effect `read` it is a host that `fetch` may access, with `remote` a tool of an MCP server, by its full name.
    """

    effect: Effect
    text: str


class FileChange(msgspec.Struct, frozen=True):
    """A planned file edit: `before` and `after` are SHA-256 hex of the full content, None where there is no file."""

    path: str
    before: str | None
    after: str | None


class ProcessId(msgspec.Struct, frozen=True):
    """A process, identified without doubt: `pid`, start time in clock ticks, and the ID of the boot they belong to."""

    pid: int
    start: int
    boot: str


class FileSeen(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file as it was at one moment; `size` is None if it did not exist.

    `modified` is in nanoseconds, `sha256` the hex hash of the content ("" if the file is too large to hash each time).
    """

    path: str
    size: int | None = None
    modified: int = 0
    sha256: str = ""

    def same(self, other: FileSeen) -> bool:
        """Return whether both have the same content, by hash if known, else by size and time."""
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return (self.size, self.modified) == (other.size, other.modified)


class Image(msgspec.Struct, frozen=True, omit_defaults=True):
    """An image for the model: `data` is the full file (base64 in a journal), `name` its file name.

    `width` and `height` are in pixels, 0 if unknown.
    """

    media_type: str
    data: bytes
    name: str
    width: int = 0
    height: int = 0

    @property
    def described(self) -> str:
        """Return its name, type and size, for people."""
        kind = self.media_type.removeprefix("image/").upper()
        pixels = f", {self.width} x {self.height} pixels" if self.width else ""
        return f"{self.name} ({kind}{pixels}, {len(self.data)} bytes)"


class QuestionOption(msgspec.Struct, frozen=True):
    """An answer that the model proposes: `label` is one line, `description` explains it, "" if nothing."""

    label: str
    description: str = ""


class UserQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question with options, of which the user chooses one, or with `several` any number.

    `by` is the server that asks, "" for the model; the last option of a server's question refuses to answer.
    `free_text` is whether the user may answer in their own words. `url` is the page to open, "" if none.
    """

    text: str
    options: tuple[QuestionOption, ...]
    several: bool = False
    by: str = ""
    free_text: bool = True
    url: str = ""


class RemoteCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """The MCP server's tool that is called, by the server's own name; `protocol` is "" if unknown."""

    server: str
    tool: str
    protocol: str = ""


class ServerQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question of an MCP server to the user: a form with the fields of `schema`, or a `url` to open.

    `key` is the server's name for it; the answer repeats it.
    """

    message: str
    key: str = ""
    url: str = ""
    schema: dict[str, object] = msgspec.field(default_factory=dict[str, object])


class ServerAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's answer: `content` are the fields of an accepted form."""

    key: str
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, object] | None = None


class InputRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The questions of a server to the user during a call, for the `round`th time.

    With `again` the server has ended its request, and expects another call with the answers and its `state`.
    Without, it waits within the call.
    """

    server: str
    round: int
    questions: tuple[ServerQuestion, ...]
    again: bool = False
    state: str | None = None


class ToolSchema(msgspec.Struct, frozen=True):
    """A tool as declared to the model; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, object]


def is_stale(change: FileChange, seen: FileSeen | None) -> bool:
    """Return whether the change would overwrite content of a known file that the model has not seen.

    False for a file the model never read, for one too large to hash, and where no file exists.
    """
    if change.before is None or seen is None or not seen.sha256:
        return False
    return seen.sha256 != change.before
