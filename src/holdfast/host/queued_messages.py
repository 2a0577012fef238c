"""The messages that wait for a turn, with the submissions of this host that sent them."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.agent.agent import Agent
from holdfast.errors import HoldfastError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.session.journal import entries as e
from holdfast.tool_calls import Image


class QueuedMessages:
    """Queues messages for the turn that runs, takes them back, and ends their submissions."""

    def __init__(self, agent: Agent, send: Callable[[h.HostEvent], None]) -> None:
        self._agent = agent
        self._send = send
        self._submissions: dict[str, c.Submission] = {}  # by message, those that this host queued

    def __contains__(self, submission: c.Submission) -> bool:
        return submission in self._submissions.values()

    def queue(self, submission: c.Submission, prompt: c.Prompt, text: str, images: tuple[Image, ...]) -> str:
        """Queue the prompt, and return the id of its message."""
        message = self._agent.queue(text, prompt.when, images=images, message_id=prompt.id)
        self._submissions[message] = submission
        return message

    def next_own(self) -> e.Queued | None:
        """Return the first message that waits and that this host queued, None if there is none."""
        waiting = (each.message for each in self._agent.conversation.queued)
        return next((each for each in waiting if each.id in self._submissions), None)

    def end_others(self, result: c.CommandResult, *, sent_later: bool) -> None:
        """End the submissions whose messages do not wait any more, or will not be sent, `sent_later` or not."""
        waiting = () if sent_later else self._agent.conversation.queued
        still_queued = {each.message.id for each in waiting if not each.on_hold}
        for message in [each for each in self._submissions if each not in still_queued]:
            self._submissions.pop(message).end(result)

    def end_all(self) -> None:
        """End every submission: the session closes."""
        for submission in self._submissions.values():
            submission.end()

    def recall(self, message: str = "", when_first: Callable[[], object] = tuple) -> None:
        """Take one message back, or all; what was recalled returns to the clients, also if the next cannot be."""
        queued = tuple(each.message.id for each in self._agent.conversation.queued)
        texts: list[str] = []
        try:
            for each in (message,) if message else queued:
                texts.append(self._agent.recall(each))
                if (submission := self._submissions.pop(each, None)) is not None:
                    submission.end()
                when_first()
        finally:
            if texts:
                self._send(h.Returned("\n\n".join(texts)))

    def recall_held(self) -> None:
        """Take back the messages that a turn did not reach."""
        try:
            self.recall()
        except HoldfastError as error:
            self._send(h.Warned(str(error), error.fault))
