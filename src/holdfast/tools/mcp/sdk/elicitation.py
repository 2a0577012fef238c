"""Converts the questions of servers between the SDK's types and holdfast's."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)

from holdfast.errors import ToolFailed
from holdfast.tool_calls import InputRequest, ServerAnswer, ServerQuestion


def question_of_params(params: ElicitRequestParams, key: str = "") -> ServerQuestion:
    """Return a question of a server."""
    if isinstance(params, ElicitRequestFormParams):
        return ServerQuestion(message=params.message, key=key, schema=dict(params.requested_schema))
    return ServerQuestion(message=params.message, key=key, url=params.url)


def input_request(server: str, number: int, result: InputRequiredResult) -> InputRequest:
    """Return the questions for which a server ended its request; raises `ToolFailed` if a user cannot answer."""
    questions: list[ServerQuestion] = []
    for key, each in (result.input_requests or {}).items():
        if not isinstance(each, ElicitRequest):
            raise ToolFailed(
                f"MCP server {server!r} asked for {each.method!r}, which holdfast does not offer, and ended the call. "
                "What it had done before it asked is unknown."
            )
        questions.append(question_of_params(each.params, key))
    return InputRequest(server=server, round=number, questions=tuple(questions), again=True, state=result.request_state)


def result_of_answer(answer: ServerAnswer) -> ElicitResult:
    """Return an answer as the SDK sends it."""
    return ElicitResult(action=answer.action, content=answer.content)  # pyright: ignore[reportArgumentType] - checked by the form


def input_responses(answers: Iterable[ServerAnswer]) -> InputResponses:
    """Return the answers as the SDK sends them with the repeated call."""
    return {each.key: result_of_answer(each) for each in answers}
