"""What a client can ask of a session's host: one immutable value for each command.

Text is never code by accident. Only `Typed` reads `!` and `/`, and only surfaces with a keyboard send it; a `Prompt` is
text, whatever it says. `submit` numbers the commands: a stop reaches those with a smaller number and no other.

A command is checked where it comes in (`checked_command`): one with a field of the wrong type is refused, whatever sent
it. A program in the same process builds its commands itself, and no type checker may have seen them; what a wrong value
would do comes later and elsewhere: in the journal, in the agent, at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Annotated, Literal, cast

import msgspec

from holdfast.errors import UsageError
from holdfast.questions import ChoiceName
from holdfast.session.journal.entries import Cause, Compacted, RewindScope, ShellEnded, TurnEnded, When
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.text import valid_unicode
from holdfast.tool_calls import Image, Mode, Pattern
from holdfast.typed_data import exact_value

LONGEST_MESSAGE_ID = 200
"""Characters of the id that a client gives a message."""

MessageId = Annotated[str, msgspec.Meta(max_length=LONGEST_MESSAGE_ID)]


class _Tagged(msgspec.Struct, frozen=True, tag_field="do", omit_defaults=True):
    """A command; `do` names it where commands are stored or sent."""


class Prompt(_Tagged, frozen=True, tag="prompt"):
    """Begin a turn, or queue the text for the one that runs; `id` is the message's, "" for a new one.

    A message with an id runs once: sent again, also to the next process, it ends as the first one did. Another text
    under its id is refused. The prompt of a server is asked for first. Images that the text mentions are attached
    unless `mentions` is False.
    """

    text: str
    when: When = "steer"
    images: tuple[Image, ...] = ()
    id: MessageId = ""
    mentions: bool = True


class Typed(_Tagged, frozen=True, tag="typed"):
    """A line that the user typed: a shell command after `!` or `!!`, a slash command, or else a prompt."""

    text: str
    when: When = "steer"


class Shell(_Tagged, frozen=True, tag="shell"):
    """Run the user's own command, beside a turn too; the model reads its output only with `share`."""

    command: str
    share: bool = False


class Slash(_Tagged, frozen=True, tag="slash"):
    """Run the slash command `name`, without its slash, with the `rest` of its line."""

    name: str
    rest: str = ""


class Answer(_Tagged, frozen=True, tag="answer"):
    """Answer the open question of this id with one of its choices; "" closes it and allows nothing."""

    question: str
    choice: ChoiceName | Literal[""]
    words: str = ""
    marked: tuple[ChoiceName, ...] = ()


class Continue(_Tagged, frozen=True, tag="continue"):
    """Ask the question again that an earlier process left open, and continue its turn; else settle what is open.

    Without `ask_again`, an open question stays open: only the rest is settled.
    """

    ask_again: bool = True


class Stop(_Tagged, frozen=True, tag="stop"):
    """Stop everything that was submitted before; what has not begun begins, and is stopped at once."""

    cause: Cause = "user"
    detail: str = ""


class Recall(_Tagged, frozen=True, tag="recall"):
    """Take a queued message back, or all of them without an id; the text is returned to the clients."""

    message: str = ""


class Rewind(_Tagged, frozen=True, tag="rewind"):
    """Rewind to before the prompt of `turn`, whose text is returned to the clients: the conversation, files or both."""

    turn: int
    what: RewindScope = "conversation"


class Redo(_Tagged, frozen=True, tag="redo"):
    """Do again to files what the last undo took back."""


class Compact(_Tagged, frozen=True, tag="compact"):
    """Summarize the older part of the conversation; `wish` is what the summary should keep."""

    wish: str = ""


class Uncompact(_Tagged, frozen=True, tag="uncompact"):
    """Undo the last compaction."""


class UseModel(_Tagged, frozen=True, tag="use-model"):
    """Send later requests to this model."""

    model: str


class UseSettings(_Tagged, frozen=True, tag="use-settings"):
    """Send later requests with these settings."""

    settings: ModelSettings


class UseMode(_Tagged, frozen=True, tag="use-mode"):
    """Use this approval mode from the next decision on."""

    mode: Mode


class Rename(_Tagged, frozen=True, tag="rename"):
    """Set the session's title; "" is the first line of its first prompt."""

    title: str


class Forbid(_Tagged, frozen=True, tag="forbid"):
    """Remove a pattern that is always allowed in this folder."""

    pattern: Pattern


class MoveCommand(_Tagged, frozen=True, tag="move-command"):
    """Move the command that the turn waits for to the background."""


class StopTask(_Tagged, frozen=True, tag="stop-task"):
    """End a background task."""

    task: str


class ShowTask(_Tagged, frozen=True, tag="show-task"):
    """Show the last output of a background task."""

    task: str


class ShowServers(_Tagged, frozen=True, tag="show-servers"):
    """Show the states of the MCP servers, or of `server` alone, after a restart of it with `restart`."""

    server: str = ""
    restart: bool = False


Command = (
    Prompt
    | Typed
    | Shell
    | Slash
    | Answer
    | Continue
    | Stop
    | Recall
    | Rewind
    | Redo
    | Compact
    | Uncompact
    | UseModel
    | UseSettings
    | UseMode
    | Rename
    | Forbid
    | MoveCommand
    | StopTask
    | ShowTask
    | ShowServers
)
"""Every command of an open session. Opening and closing one are not commands of it."""


def interpreted(typed: Typed, *, with_shell: bool = True, with_space: bool = True) -> Prompt | Shell | Slash:
    """Return the command in a typed line; unless `with_shell`, `!` is text. Pure.

    A path, several lines and the prompt of a server are prompts, and unless `with_space`, all that begins with a space.
    """
    text = typed.text
    if with_shell and text.startswith("!") and (command := text.lstrip("!").strip()):
        return Shell(command, share=text.startswith("!!"))
    line = text.strip() if with_space else text.rstrip()
    name, _, rest = line[1:].partition(" ")
    if line.startswith("/") and "\n" not in line and "/" not in name and not name.startswith("mcp__"):
        return Slash(name, rest.strip())
    return Prompt(text, typed.when)


def checked_command(command: object) -> Command:
    """Return the command with the types that it declares; raises `UsageError` if it has others."""
    name = type(command).__name__
    if not isinstance(command, Command):
        raise UsageError(
            f"Value of type {name} is no command (expected Prompt, Stop or another one). Nothing was done."
        )
    try:
        checked: Command = exact_value(command, Command)
    except msgspec.ValidationError as error:
        raise UsageError(f"Command {name} has a wrong field: {error}. Nothing was done. Correct it.") from error
    match checked:
        case Prompt(id=message) if message != valid_unicode(message):
            raise UsageError(f"Command {name} has a wrong id: {message!r} is not valid Unicode. Nothing was done.")
        case Stop(detail=detail):
            return msgspec.structs.replace(checked, detail=valid_unicode(detail))
        case _:
            return checked


def typed_text(command: object) -> str:
    """Return the text of a prompt or a typed line, which returns to the user if it is refused, else ""."""
    text = cast("object", command.text) if isinstance(command, Prompt | Typed) else ""
    return text if isinstance(text, str) else ""


CommandResult = TurnEnded | ShellEnded | Compacted | tuple[str, ...] | str | None
"""What an ended command has to say: how a turn or a shell command ended, lines, a text that returns, or nothing."""


class Submission:
    """A submitted command. `number` counts from 1; `by_host` are wake-ups, of which no client hears.

    `accepted` is done once the command has an effect, with the id of the message if it was queued, "" otherwise; it
    raises why the command was refused. `served` is done when the next one may be served. `ended` is done when all of
    its work has ended.
    """

    __slots__ = ("accepted", "by_host", "command", "ended", "number", "served")

    def __init__(self, number: int, command: Command, *, by_host: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.number = number
        self.command = command
        self.by_host = by_host
        self.accepted: asyncio.Future[str] = loop.create_future()
        self.served: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[CommandResult] = loop.create_future()

    def __await__(self) -> Generator[object, None, CommandResult]:
        """Wait for the end of its work, and return what it has to say. A cancelled wait does not end the work."""
        return asyncio.shield(self.ended).__await__()

    def accept(self, message: str = "") -> bool:
        """Note that the command has an effect. Return whether that was news."""
        self.serve()
        if self.accepted.done():
            return False
        self.accepted.set_result(message)
        return True

    def serve(self) -> None:
        """Note that the next command may be served."""
        if not self.served.done():
            self.served.set_result(None)

    def end(self, result: CommandResult = None) -> None:
        """Note that its work has ended."""
        if not self.ended.done():
            self.ended.set_result(result)

    def fail(self, error: BaseException) -> bool:
        """Note that it failed. Return whether it was refused: it had no effect before."""
        self.serve()
        refused = not self.accepted.done()
        for future in (self.accepted, self.ended):
            if not future.done():
                future.set_exception(error)
                future.exception()  # no client has to look: it is an event too
        return refused
