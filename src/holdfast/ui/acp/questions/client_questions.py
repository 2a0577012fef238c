"""Asks the user through the client: about a call, for the model, or for a server.

Nothing waits for the client after a stop: the wait ends with the turn, the question is withdrawn, and a late answer is
dropped. After an unusable answer the question is asked once more.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.questions import AnswerChoice, ApprovalAnswer, Question
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Mode, UserQuestion
from holdfast.tools.approval.question import question_of
from holdfast.tools.tool import Plan
from holdfast.ui.acp.display.call_cards import AcpFields, CallCard
from holdfast.ui.acp.protocol.client_abilities import ClientAbilities
from holdfast.ui.acp.protocol.connection import EditorConnection
from holdfast.ui.acp.questions.permission import chosen_option, permission_options
from holdfast.ui.acp.questions.question_form import FilledForm, filled_form, form_answer, question_form
from holdfast.ui.startup.debug_log_option import debug_log_note

_ATTEMPTS = 2
_UNUSABLE = "The editor gave no usable answer."


class ClientQuestions:
    """The questions of one session. `stop` stops its turn: the user has closed a question."""

    def __init__(
        self,
        session: str,
        connection: EditorConnection,
        abilities: ClientAbilities,
        *,
        mode: Callable[[], Mode],
        card: Callable[[CallPart], CallCard],
        stop: Callable[[], None],
    ) -> None:
        self._session = session
        self._connection = connection
        self._abilities = abilities
        self._mode = mode
        self._card = card
        self._stop = stop
        self._pages = 0

    async def ask(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Ask the user about a call. A question that the user closes stops the turn."""
        del why
        question = question_of(plan, mode=self._mode())
        if plan.question is not None and plan.question.url and self._abilities.addresses:
            return await self._ask_with_address(call, question, plan.question)
        if plan.question is not None and self._abilities.forms:
            by = f"{question.by} asks:\n\n" if question.by else ""
            return await self._ask_with_form(call, question, f"{by}{plan.question.text}")
        marked: list[str] = []
        while True:
            choice = await self._choose(call, plan, question, marked)
            if isinstance(choice, ApprovalAnswer):
                return choice
            if choice.name == "own":
                self._stop()
                return ApprovalAnswer(allowed=False)
            if not (question.several and choice.option):
                return choice.answer(marked=tuple(marked))
            if choice.option in marked:
                marked.remove(choice.option)
            else:
                marked.append(choice.option)

    async def _choose(
        self, call: CallPart, plan: Plan, question: Question, marked: list[str]
    ) -> AnswerChoice | ApprovalAnswer:
        """Return the user's choice, or a denial if the user made none."""
        params: AcpFields = {
            "sessionId": self._session,
            "toolCall": self._card(call).approval_update(plan, question.warnings),
            "options": permission_options(question, marked),
        }
        for _ in range(_ATTEMPTS):
            match chosen_option(await self._answer(call, "session/request_permission", params), question):
                case None:
                    continue
                case "cancelled":
                    self._stop()
                    return ApprovalAnswer(allowed=False)
                case choice:
                    return choice
        return ApprovalAnswer(allowed=False, reason=_UNUSABLE)

    async def _ask_with_address(
        self, call: CallPart, question: Question, user_question: UserQuestion
    ) -> ApprovalAnswer:
        """Have the client show the address of a page. The client opens it if the user agrees."""
        from holdfast.tools.mcp.form_fields import USER_OPENS

        self._pages += 1
        params: AcpFields = {
            "sessionId": self._session,
            "toolCallId": call.id,
            "mode": "url",
            "message": f"{question.by} asks:\n\n{user_question.text}",
            "elicitationId": f"{call.id}-{self._pages}",
            "url": user_question.url,
        }
        for _ in range(_ATTEMPTS):
            form = filled_form(await self._answer(call, "elicitation/create", params))
            if form is None:
                continue
            match form.action:
                case "accept":
                    return ApprovalAnswer(allowed=True, chosen=(USER_OPENS,))
                case "decline":
                    return ApprovalAnswer(allowed=False)
                case "cancel":
                    self._stop()
                    return ApprovalAnswer(allowed=False)
        return ApprovalAnswer(allowed=False, reason=_UNUSABLE)

    async def _ask_with_form(self, call: CallPart, question: Question, text: str) -> ApprovalAnswer:
        for _ in range(_ATTEMPTS):
            form = await self.form(text, question_form(question), call)
            match form:
                case FilledForm(action="decline"):
                    return ApprovalAnswer(allowed=False)
                case FilledForm(action="cancel"):
                    self._stop()
                    return ApprovalAnswer(allowed=False)
                case FilledForm() if (answer := form_answer(form, question)) is not None:
                    return answer
                case _:
                    continue
        return ApprovalAnswer(allowed=False, reason=_UNUSABLE)

    async def form(self, message: str, schema: AcpFields, call: CallPart) -> FilledForm | None:
        """Show a form for a call and return what the user did with it, None if the client gave no usable answer."""
        params = {"sessionId": self._session, "toolCallId": call.id, "mode": "form", "message": message}
        return filled_form(await self._answer(call, "elicitation/create", {**params, "requestedSchema": schema}))

    async def _answer(self, call: CallPart, method: str, params: AcpFields) -> object:
        """Return the client's answer, None if it refuses. If the wait is cancelled, the question is withdrawn."""
        request = self._connection.ask(method, params)
        try:
            answer = await request.answer
        finally:
            self._connection.withdraw(request)
        if answer.failed:
            debug_log_note(f"The editor gave no answer about call {call.id}: {answer.failed}")
        return None if answer.failed else answer.result
