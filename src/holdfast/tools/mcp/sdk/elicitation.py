"""The questions of servers in the SDK's words, and in holdfast's."""

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
    """Return what a server that has ended its request wants to know; raises `ToolFailed` if a user cannot say it."""
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
    """Return an answer as it is sent."""
    return ElicitResult(action=answer.action, content=answer.content)  # pyright: ignore[reportArgumentType] - checked by the form


def input_responses(answers: Iterable[ServerAnswer]) -> InputResponses:
    """Return answers as they are sent with the call that is asked once more."""
    return {each.key: result_of_answer(each) for each in answers}
