"""Asks the user through the client: about a call, for the model, or for a server.

Nothing waits for the client after a stop: the wait ends with the turn, the question is withdrawn, and a late answer is
dropped. After an unusable answer the question is asked once more.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.questions import AnswerChoice, ApprovalAnswer, ChoiceName, Question
from holdfast.tool_calls import UserQuestion
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
    """The questions of one session."""

    def __init__(
        self,
        session: str,
        connection: EditorConnection,
        abilities: ClientAbilities,
        *,
        card: Callable[[str], CallCard],
    ) -> None:
        self._session = session
        self._connection = connection
        self._abilities = abilities
        self._card = card
        self._pages = 0

    async def ask(self, question: Question, plan: Plan) -> ApprovalAnswer | None:
        """Ask the user. Return None if the user closed the question."""
        if plan.question is not None and plan.question.url and self._abilities.addresses:
            return await self._ask_with_address(question, plan.question)
        if plan.question is not None and self._abilities.forms:
            by = f"{question.by} asks:\n\n" if question.by else ""
            return await self._ask_with_form(question, f"{by}{plan.question.text}")
        marked: list[ChoiceName] = []
        while True:
            choice = await self._choose(plan, question, marked)
            if not isinstance(choice, AnswerChoice):
                return choice
            if choice.name == "own":
                return None
            if not (question.several and choice.option):
                return choice.answer(marked=tuple(marked))
            if choice.name in marked:
                marked.remove(choice.name)
            else:
                marked.append(choice.name)

    async def _choose(
        self, plan: Plan, question: Question, marked: list[ChoiceName]
    ) -> AnswerChoice | ApprovalAnswer | None:
        """Return the user's choice, a denial if it is not usable, None if the user closed the question."""
        params: AcpFields = {
            "sessionId": self._session,
            "toolCall": self._card(question.call).approval_update(plan, question.warnings),
            "options": permission_options(question, marked),
        }
        for _ in range(_ATTEMPTS):
            match chosen_option(await self._answer(question.call, "session/request_permission", params), question):
                case None:
                    continue
                case "cancelled":
                    return None
                case choice:
                    return choice
        return ApprovalAnswer(words=_UNUSABLE)

    async def _ask_with_address(self, question: Question, user_question: UserQuestion) -> ApprovalAnswer | None:
        """Have the client show the address of a page. The client opens it if the user agrees."""
        from holdfast.tools.mcp.form_fields import USER_OPENS

        self._pages += 1
        params: AcpFields = {
            "sessionId": self._session,
            "toolCallId": question.call,
            "mode": "url",
            "message": f"{question.by} asks:\n\n{user_question.text}",
            "elicitationId": f"{question.call}-{self._pages}",
            "url": user_question.url,
        }
        for _ in range(_ATTEMPTS):
            form = filled_form(await self._answer(question.call, "elicitation/create", params))
            if form is None:
                continue
            match form.action:
                case "accept":
                    return next(each.answer() for each in question.choices if each.option == USER_OPENS)
                case "decline":
                    return ApprovalAnswer()
                case "cancel":
                    return None
        return ApprovalAnswer(words=_UNUSABLE)

    async def _ask_with_form(self, question: Question, text: str) -> ApprovalAnswer | None:
        for _ in range(_ATTEMPTS):
            form = await self._form(text, question_form(question), question.call)
            match form:
                case FilledForm(action="decline"):
                    return ApprovalAnswer()
                case FilledForm(action="cancel"):
                    return None
                case FilledForm() if (answer := form_answer(form, question)) is not None:
                    return answer
                case _:
                    continue
        return ApprovalAnswer(words=_UNUSABLE)

    async def _form(self, message: str, schema: AcpFields, call: str) -> FilledForm | None:
        """Show a form for a call and return what the user did with it, None if the client gave no usable answer."""
        params = {"sessionId": self._session, "toolCallId": call, "mode": "form", "message": message}
        return filled_form(await self._answer(call, "elicitation/create", {**params, "requestedSchema": schema}))

    async def _answer(self, call: str, method: str, params: AcpFields) -> object:
        """Return the client's answer, None if it refuses. If the wait is cancelled, the question is withdrawn."""
        request = self._connection.ask(method, params)
        try:
            answer = await request.answer
        finally:
            self._connection.withdraw(request)
        if answer.failed:
            debug_log_note(f"The editor gave no answer about call {call}: {answer.failed}")
        return None if answer.failed else answer.result
