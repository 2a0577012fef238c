"""The messages of a session by their ids: what became of one that is sent twice.

A client that got no answer sends its message again, also to the next process. The id says that it is the same one. So
a message with an id runs once, and a repeat of it ends as the first one did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from holdfast.agent.seam import without_context
from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.session.journal import entries as e
from holdfast.text import valid_unicode


class SentMessage:
    """A message with an id: its `text`, whether it was `sent` or `recalled`, and how its turn `ended`."""

    __slots__ = ("ended", "recalled", "sent", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.sent = False
        self.recalled = False
        self.ended: e.TurnEnded | None = None

    def was_sent_as(self, prompt: c.Prompt, written: str) -> bool:
        """Return whether it was sent; `written` is what the prompt expands to. Raises `UsageError` for another text."""
        if without_context(self.text) not in (valid_unicode(prompt.text), valid_unicode(written)):
            raise other_text(prompt.id)
        return self.sent


class SentMessages:
    """The messages with ids in a journal, by id: a fold of its entries."""

    def __init__(self, entries: Iterable[e.Entry]) -> None:
        self._messages: dict[str, SentMessage] = {}
        self._in_turn: list[SentMessage] = []
        for entry in entries:
            self.add(entry)

    def get(self, message: str) -> SentMessage | None:
        """Return the message of this id, None if there was none."""
        return self._messages.get(message)

    def add(self, entry: e.Entry) -> None:
        """Take in the next entry of the journal."""
        match entry:
            case e.Queued(id=name, text=text):
                self._messages.setdefault(name, SentMessage(text))
            case e.Recalled(queued=name):
                self._messages[name].recalled = True
            case e.PromptAccepted(queued=name, text=text) | e.Steered(queued=name, text=text) if name:
                message = self._messages.setdefault(name, SentMessage(text))
                message.sent = True
                self._in_turn.append(message)
            case e.TurnEnded():
                for message in self._in_turn:
                    message.ended = entry
                self._in_turn.clear()
            case _:
                pass


class RepeatedMessages:
    """The messages of a host's session with the ids of clients, and the submissions that repeat one of them."""

    def __init__(self, entries: Callable[[], Iterable[e.Entry]]) -> None:
        """Create it; `entries` are read for the first id."""
        self._entries = entries
        self._messages: SentMessages | None = None
        self._first: dict[str, c.Submission] = {}  # by id, those whose work has not ended
        self._repeats: set[c.Submission] = set()

    def hear(self, entry: e.Entry) -> None:
        """Take in the next entry of the journal."""
        if self._messages is not None:
            self._messages.add(entry)

    def __contains__(self, submission: c.Submission) -> bool:
        """Return whether the submission ends when another one does."""
        return submission in self._repeats

    def earlier(self, message: str) -> SentMessage | None:
        """Return the message that was sent with this id, None if it is new, or has no id."""
        if not message:
            return None
        if self._messages is None:
            self._messages = SentMessages(self._entries())
        return self._messages.get(message)

    def begin(self, submission: c.Submission, message: str) -> None:
        """Note whose work sends the message."""
        if message:
            self._first[message] = submission
            submission.ended.add_done_callback(lambda _: self._first.pop(message, None))

    def follow(self, submission: c.Submission, prompt: c.Prompt, earlier: SentMessage) -> bool:
        """Let a repeat end as its first one, if that has not ended in this process. Return whether it will.

        Raises `UsageError` for another text, and for a message that was recalled.
        """
        first = self._first.get(prompt.id)
        if first is not None and isinstance(first.command, c.Prompt) and first.command.text != prompt.text:
            raise other_text(prompt.id)
        if earlier.recalled:
            raise UsageError(
                f"Message {prompt.id!r} was recalled before it was sent. Nothing was sent. Give it another id."
            )
        if first is None:
            return False
        self._repeats.add(submission)

        def end(ended: asyncio.Future[c.CommandResult]) -> None:
            self._repeats.discard(submission)
            error = None if ended.cancelled() else ended.exception()
            if error is not None:
                submission.fail(error)
            else:
                submission.end(None if ended.cancelled() else ended.result())

        first.ended.add_done_callback(end)
        return True


def last_prompt(entries: Iterable[e.Entry]) -> str | None:
    """Return the text of the last prompt in a journal."""
    prompt = None
    for entry in entries:
        if isinstance(entry, e.PromptAccepted):
            prompt = entry.text
    return prompt


def other_text(message: str) -> UsageError:
    """Return the error for another text under an id that was used."""
    return UsageError(
        f"Message {message!r} was sent before with another text. Nothing was sent. Give this one another id."
    )
