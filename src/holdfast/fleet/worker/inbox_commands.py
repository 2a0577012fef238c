"""Turns the rows of one session's inbox into commands of its host, and marks each row by what became of its command.

A `prompt` waits here until nothing runs: another worker may take it. A `steer` or a `later` joins the running turn, or
is a prompt if none runs. A `stop` refuses the messages that wait before it; what the host has already, it stops. An
`answer` waits if its question is about to be asked again. A `model` or a `mode` behind a waiting prompt applies from
that prompt on. Everything else goes to the host as soon as it is read.

A row is marked by its entry. A row whose command has no entry is marked once the host has accepted or refused it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.errors import HoldfastError, LeaseLost, StorageFailed, UsageError
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.record import InboxRow
from holdfast.host import commands as c
from holdfast.host.session_host import SessionHost
from holdfast.tool_calls import Mode
from holdfast.typed_data import convert_value

_MESSAGES = ("prompt", "steer", "later")


class _ModeBody(msgspec.Struct, frozen=True):
    mode: Mode


def command_of(row: InboxRow, name: str) -> c.Command:  # noqa: PLR0911 - a line for each kind
    """Return the command of a row, whose message has the id `name`; raises `UsageError` if its body is invalid."""
    body = row.body
    try:
        match row.kind:
            case "prompt" | "later":
                return c.Prompt(str(body["text"]), "later", id=name)
            case "steer":
                return c.Prompt(str(body["text"]), "steer", id=name)
            case "stop":
                return c.Stop()
            case "answer":
                return convert_value({**body, "do": "answer"}, c.Answer)
            case "model":
                return c.UseModel(str(body["model"]))
            case "mode":
                return c.UseMode(convert_value(body, _ModeBody).mode)
            case "rename":
                return c.Rename(str(body["title"]))
            case "recall":
                return c.Recall(str(body["id"]))
    except msgspec.ValidationError as error:
        raise UsageError(f"Body of the {row.kind!r} is invalid: {error}. Correct it, and send it again.") from error


class InboxCommands:
    """The inbox rows of one held session as commands of its host; `changed` is called when one was served.

    `bug` gets an internal error, and returns why its row was refused.
    """

    def __init__(
        self, session: HeldSession, host: SessionHost, *, changed: Callable[[], None], bug: Callable[[Exception], str]
    ) -> None:
        self._session = session
        self._host = host
        self._changed = changed
        self._bug = bug
        self._submitted: dict[int, tuple[InboxRow, c.Submission]] = {}

    @property
    def is_served(self) -> bool:
        """Return whether the host has served every command that it got."""
        return all(submission.accepted.done() for _, submission in self._submitted.values())

    def serve(self, *, running: bool) -> InboxRow | None:
        """Submit what can be done, in order, and return the first prompt that waits for its turn."""
        self._mark()
        first: InboxRow | None = None
        rows = self._session.waiting_rows()
        stopped = max((row.id for row in rows if row.kind == "stop"), default=0)
        for row in rows:
            if row.id in self._submitted or (row.kind in _MESSAGES and row.id < stopped):
                continue  # the stop closes it
            if row.kind == "prompt" or (row.kind in _MESSAGES and not running):
                first = first or row
            elif not (first is not None and row.kind in ("model", "mode")):
                self._do(row, rows, running=running)
        return first

    def submit(self, row: InboxRow) -> c.Submission:
        """Submit the command of a row, whose entry marks it; raises `UsageError` for an invalid body."""
        command = command_of(row, self._session.name_of(row))
        if not (isinstance(command, c.Answer) and "#" in command.question):
            self._session.expect(row)  # one field of a form has no entry: only all of them together become one
        submission = self._host.submit(command)
        self._submitted[row.id] = row, submission
        submission.accepted.add_done_callback(lambda _: self._changed())
        return submission

    def _do(self, row: InboxRow, rows: tuple[InboxRow, ...], *, running: bool) -> None:
        session = self._session
        match row.kind:
            case "stop":
                for each in rows:
                    if each.kind in _MESSAGES and each.id < row.id and each.id not in self._submitted:
                        session.close_row(each, "Stopped before it began.")
                if not running:
                    session.close_row(row)
                    return
            case "recall":
                for each in rows:
                    waits = each.kind in _MESSAGES and each.id not in self._submitted
                    if waits and str(each.id) == str(row.body["id"]):
                        session.close_row(each, "Recalled.")
                        session.close_row(row)
                        return
            case "answer" if running and self._is_asked_again(row):
                return
            case _:
                pass
        try:
            self.submit(row)
        except UsageError as error:
            session.close_row(row, str(error))
            return
        self._mark()

    def _is_asked_again(self, row: InboxRow) -> bool:
        """Return whether the question of an answer is not open yet, but about to be."""
        question = str(row.body.get("question"))
        opened = self._host.open_question
        if opened is not None and opened.id == question:
            return False
        calls = self._host.agent.conversation.open_calls
        return any(each.part.id == question.partition("#")[0] and not each.approval_answer for each in calls)

    def _mark(self) -> None:
        """Mark the rows of commands that were served and have no entry. Raise what ends the drive."""
        waiting: set[int] | None = None
        for row, submission in tuple(self._submitted.values()):
            if not submission.accepted.done():
                continue
            error = submission.accepted.exception()
            if isinstance(error, (LeaseLost, StorageFailed)):
                raise error
            if error is None and row.kind in ("stop", "answer") and "#" not in str(row.body.get("question")):
                if not self._host.busy:
                    self._forget(row)  # a stop that came too late for its turn
                continue
            waiting = waiting if waiting is not None else {each.id for each in self._session.waiting_rows()}
            self._submitted.pop(row.id)
            if row.id in waiting:
                why = "" if error is None else str(error) if isinstance(error, HoldfastError) else self._why(error)
                self._session.close_row(row, why)

    def _forget(self, row: InboxRow) -> None:
        self._submitted.pop(row.id)
        self._session.forget(row)

    def _why(self, error: BaseException) -> str:
        return self._bug(error) if isinstance(error, Exception) else "It was cancelled. Send it again."
