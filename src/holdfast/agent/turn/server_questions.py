"""Asks the user the questions of an MCP server during a call. Question and answer are journalled first.

How it works. A server's form is shown to the user field by field, in the form of the model's questions, which every
surface can show. `call-waits` is written before the first question, `call-answered` before any answer reaches the
server. If no user can be asked, both are written at once, and the server reads that its questions were declined.

After a crash. Without `call-answered`, a server that ended its request (`InputRequest.again`) has done nothing more:
the questions are asked again, and the call continues. A server that waited within the call was lost with it, so the
call is interrupted like any other. With `call-answered`, the answers may have been sent: the call is interrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.journal_writer import JournalWriter
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.agent.turn.states import Signal
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.system.browser import open_page
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import InputRequest, ServerAnswer, ServerQuestion, UserQuestion
from holdfast.tools.approval.question import question_of
from holdfast.tools.mcp.form_fields import DECLINE, OPEN_PAGE, FormField, field_question, form_fields, url_question
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


class ServerQuestions:
    """The questions of one turn's calls, one at a time."""

    def __init__(
        self, journal: JournalWriter, stop: StopSignal, to: Callable[[Signal], None], ask: ApprovalPrompt | None
    ) -> None:
        """Create it; `ask` is None if no user can be asked."""
        self._journal = journal
        self._stop = stop
        self._to = to
        self._ask = ask
        self._lock = asyncio.Lock()
        self._question_count = 0  # so that each question of the turn has another id

    async def consult(self, call: CallPart, request: InputRequest) -> tuple[ServerAnswer, ...]:
        """Return the user's answers, which are journalled; no request is journalled twice."""
        async with self._lock:
            previous = next(
                (each.input_request for each in self._journal.conversation.open_calls if each.part.id == call.id), None
            )
            waits = () if previous == request else (e.CallWaits(call=call.id, request=request),)
            if self._ask is None:
                answers = tuple(ServerAnswer(each.key, "decline") for each in request.questions)
                self._journal.append(*waits, e.CallAnswered(call=call.id, round=request.round, answers=answers))
                return answers
            self._journal.append(*waits)
            self._to(Signal.CONSULT)
            try:
                answers = tuple(
                    [await self._ask_question(call, request, each, self._ask) for each in request.questions]
                )
                if self._journal.fold.is_open(call.id):
                    self._journal.append(e.CallAnswered(call=call.id, round=request.round, answers=answers))
                return answers
            finally:
                if self._stop.cause is None:  # else the turn is at its exit
                    self._to(Signal.RUN)

    async def _ask_question(
        self, call: CallPart, request: InputRequest, question: ServerQuestion, ask: ApprovalPrompt
    ) -> ServerAnswer:
        if question.url:
            chosen, _ = await self._ask_user(ask, call, request, url_question(request.server, question))
            if chosen == DECLINE:
                return ServerAnswer(question.key, "decline")
            if chosen == OPEN_PAGE:
                await in_daemon(lambda: open_page(question.url))
            return ServerAnswer(question.key, "accept")
        content: dict[str, object] = {}
        for field in form_fields(question):
            field_content = await self._ask_field(call, request, question, field, ask)
            if field_content is None:
                return ServerAnswer(question.key, "decline")
            content |= field_content
        return ServerAnswer(question.key, "accept", content)

    async def _ask_field(
        self, call: CallPart, request: InputRequest, question: ServerQuestion, field: FormField, ask: ApprovalPrompt
    ) -> dict[str, object] | None:
        """Ask for a field until its answer is valid. Return it by its name, None if the user declines."""
        wrong = ""
        while True:
            user_question = field_question(request.server, question, field, wrong=wrong)
            chosen, text = await self._ask_user(ask, call, request, user_question)
            if chosen == DECLINE:
                return None
            value = field.read(chosen, text)
            if isinstance(value, dict):
                return value
            wrong = value

    async def _ask_user(
        self, ask: ApprovalPrompt, call: CallPart, request: InputRequest, user_question: UserQuestion
    ) -> tuple[str, str]:
        """Return the chosen labels, one per line, and the user's own words. Closing the question declines it."""
        plan = Plan(
            effect="read",
            title=f"{request.server} asks",
            detail=user_question.text,
            question=user_question,
            run=_run,
            tool=call.name,
        )
        self._question_count += 1
        question = question_of(plan, mode="ask", call=call.id)
        question = msgspec.structs.replace(question, id=f"{call.id}#{self._question_count}")
        answer = await ask(question, plan)
        if not question.chosen(answer).allows:
            return DECLINE, ""
        return "\n".join(question.options_of(answer)), answer.words


async def _run(context: ToolContext) -> ToolOutput:
    raise AssertionError(f"A question of a server is answered, not run: {context.call}")
