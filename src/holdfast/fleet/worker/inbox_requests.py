"""Carries out the rows of one session's inbox, in order, by the rules of each kind.

One turn runs at a time: a `prompt` waits for the turn before it. A `steer` or a `later` joins the running turn, or
becomes a prompt if none runs. A `stop` ends the running turn and refuses the messages that waited before it; with
nothing running it is done at once. An `answer` reaches only the question of its call, and waits if that question is
about to be asked again. A `model` or a `mode` behind a waiting prompt applies from that prompt on. All other rows are
done as soon as they are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, LeaseLost, StorageFailed, UsageError
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.record import InboxRow
from holdfast.fleet.worker.driven_agent import DrivenAgent
from holdfast.fleet.worker.inbox_approvals import InboxApprovals, answer_body
from holdfast.session.journal.entries import TurnEnded
from holdfast.tool_calls import Mode

_MESSAGES = ("prompt", "steer", "later")
_TURN_BEGINS = 0.02
"""Seconds until a turn that is about to begin is checked again."""


class InboxRequests:
    """The inbox rows of one held session, carried out on its event loop. Call `changed` to have them read again."""

    def __init__(
        self, session: HeldSession, driven: DrivenAgent, approvals: InboxApprovals, *, changed: Callable[[], None]
    ) -> None:
        self._session = session
        self._driven = driven
        self._agent = driven.agent
        self._approvals = approvals
        self._changed = changed
        self._seen: set[int] = set()
        self._begun = 0  # the row of the last prompt that was begun

    def serve(self, *, running: bool) -> InboxRow | None:
        """Carry out the rows in order, and return the first prompt that waits for its turn."""
        first: InboxRow | None = None
        rows = self._session.waiting_rows()
        stopped = max((row.id for row in rows if row.kind == "stop"), default=0)
        for row in rows:
            if row.kind in _MESSAGES and self._begun < row.id < stopped:
                continue  # the stop closes it
            if row.kind in ("steer", "later") and self._agent.turn is None and not running:
                first = first or row  # without a turn to join it is a prompt
            elif row.kind == "prompt":
                first = first or row
            elif row.id not in self._seen and not (first is not None and row.kind in ("model", "mode")):
                try:
                    self._do(row, rows, running=running)
                except (LeaseLost, StorageFailed):
                    raise
                except HoldfastError as error:
                    self._session.close_row(row, str(error))
        return first

    def begin(self, row: InboxRow) -> Coroutine[object, object, TurnEnded]:
        """Return a coroutine that runs the turn of a waiting prompt."""
        text = str(row.body["text"])
        self._session.expect(row)
        self._begun = row.id
        images = self._driven.find_images(self._agent, text)
        return self._agent.run(text, images=images, queued=self._session.name_of(row))

    def refuse_begun(self, why: str) -> None:
        """Refuse the prompt that was begun last, if it was not journalled."""
        for row in self._session.waiting_rows():
            if row.id == self._begun:
                self._session.close_row(row, why)

    def turn_ended(self) -> None:
        """Read all rows again: some were carried out only for the turn that has ended."""
        self._seen.clear()

    def _do(self, row: InboxRow, rows: tuple[InboxRow, ...], *, running: bool) -> None:
        agent, session, body = self._agent, self._session, row.body
        match row.kind:
            case "stop":
                for each in rows:
                    if each.kind in _MESSAGES and self._begun < each.id < row.id:
                        session.close_row(each, "Stopped before it began.")
                if running:
                    session.expect(row)
                    self._seen.add(row.id)
                    agent.stop(StopCause("user"))
                else:
                    session.close_row(row)
            case "answer":
                self._answer(row, running=running)
            case "steer" | "later" if agent.turn is not None:
                text = str(body["text"])
                session.expect(row)
                images = self._driven.find_images(agent, text)
                agent.queue(text, row.kind, images=images, message_id=session.name_of(row))
            case "model":
                name = str(body["model"])
                self._driven.check_model(name)
                session.expect(row)
                agent.use_model(name)
                self._close_if_waiting(row)
            case "mode":
                mode = self._offered_mode(body["mode"])
                session.expect(row)
                agent.mode = mode
                self._close_if_waiting(row)
            case "rename":
                session.expect(row)
                agent.rename(str(body["title"]))
            case "recall":
                self._recall(row, rows)
            case _:  # a steer for a turn that is about to begin: read again once it has
                asyncio.get_running_loop().call_later(_TURN_BEGINS, self._changed)

    def _answer(self, row: InboxRow, *, running: bool) -> None:
        question = answer_body(row).question
        call, of_server, _ = question.partition("#")
        if self._approvals.answer(row):
            self._seen.add(row.id)
            if of_server:  # one field of a form: only all of them together become an entry
                self._session.close_row(row)
            else:
                self._session.expect(row)
            return
        calls = self._agent.conversation.open_calls if running else ()
        if not any(each.part.id == call and not each.approval_answer for each in calls):
            raise UsageError(
                f"There is no open question {question!r}: it was answered, or its turn has ended. Look at the session."
            )

    def _offered_mode(self, mode: object) -> Mode:
        for each in self._driven.modes:
            if mode == each:
                return each
        raise UsageError(f"Mode {mode!r} is not offered (expected one of {', '.join(self._driven.modes)}).")

    def _recall(self, row: InboxRow, rows: tuple[InboxRow, ...]) -> None:
        message = str(row.body["id"])
        for each in rows:
            if str(each.id) == message and each.kind in _MESSAGES and each.id > self._begun:
                self._session.close_row(each, "Recalled.")
                self._session.close_row(row)
                return
        self._session.expect(row)
        self._agent.recall(message)

    def _close_if_waiting(self, row: InboxRow) -> None:
        """Close a row that changed nothing and therefore became no entry."""
        if any(each.id == row.id for each in self._session.waiting_rows()):
            self._session.close_row(row)
