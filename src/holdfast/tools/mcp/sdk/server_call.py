"""One call of a tool of a server: its rounds, its time limits, its stop, and what is known at its end.

Before the request of a call was written, nothing was sent. After that, only an answer says what happened: if the server
ends, does not answer or is asked to stop, the effect is unknown (`interrupted`). No request is ever sent twice, except
when the server ended it to ask the user.

A stop first answers an open question with `cancel`, then tells the server, then waits a little: an answer that comes in
time is the outcome. One that comes later is passed to `ToolContext.report_late`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import cast

import anyio
import httpx2
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    CancelledNotification,
    CancelledNotificationParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from pydantic import ValidationError

from holdfast.errors import ToolFailed
from holdfast.tool_calls import InputRequest, ServerAnswer, ServerQuestion
from holdfast.tools.mcp.call_result import result_output
from holdfast.tools.mcp.sdk.traffic import UNREADABLE, Traffic, invalid_message_reason
from holdfast.tools.tool import ToolContext, ToolOutput

_TOO_LONG = "Receive buffer too long"
"""What the HTTP library says of a head of more than 100 KB."""


def transport_reason(error: httpx2.TransportError) -> str:
    """Return a phrase about a connection that was not made, broke or did not answer in time."""
    url = error.request.url
    place = f"{url.host}:{url.port or (443 if url.scheme == 'https' else 80)}"
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
            return f"cannot connect to {place}: {_cause(error)}"
        case httpx2.TimeoutException():
            return f"{place} did not answer in time"
        case httpx2.RemoteProtocolError() if str(error) == _TOO_LONG:
            return f"{place} sent headers that do not end"
        case _:
            return f"the connection to {place} broke: {_cause(error)}"


def _cause(error: BaseException) -> str:
    for each in _chain(error):
        match each:
            case ssl.SSLCertVerificationError():
                return f"its certificate is not valid ({each.verify_message})"
            case ConnectionRefusedError():
                return "connection refused"
            case socket.gaierror():
                return "the host name was not found"
            case httpx2.ConnectTimeout():
                return "no answer within the time limit for connecting"
            case _:
                continue
    return str(error).rstrip(".") or type(error).__name__


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, and the first of each group."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        else:
            error = error.__cause__ or error.__context__


# --- Converts the questions of servers between the SDK's types and holdfast's ---


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


# --- server call ---

ServerResult = Mapping[str, object]
"""The result of a call, as decoded JSON."""

MOST_SILENCE = 300.0
"""Seconds without an answer or progress after which a call is given up."""

LONGEST_CALL = 3600.0
"""Seconds after which a call is given up despite progress; time spent asking the user does not count."""

MOST_ROUNDS = 10
"""Times that a server may end a call to ask the user."""

GRACE = 0.4
"""Seconds in which an answer after a stop request still counts as the outcome."""

LETS_GO = 0.3
"""Seconds that the SDK may take to tell the server of a stop."""

_ASKS_AGAIN = 0.05, 0.25  # seconds before a call with nothing but a state is asked once more, at first and at most
_LONGEST_REASON = 300
_UNKNOWN = "Whether it acted is unknown: look before you repeat it."


class ServerCall:
    """A call on the connection of `session`; `over` is set when the connection ends, `end` returns why."""

    def __init__(  # noqa: PLR0913 - what a call has of its connection
        self,
        session: ClientSession,
        *,
        server: str,
        timeout: float | None,
        idle_timeout: float | None,
        context: ToolContext,
        traffic: Traffic,
        over: asyncio.Event,
        end: Callable[[], Awaitable[str]],
    ) -> None:
        self._session = session
        self._server = server
        self._timeout = LONGEST_CALL if timeout is None else timeout
        self._silence = max(MOST_SILENCE, timeout or 0) if idle_timeout is None else idle_timeout
        self._context = context
        self._traffic = traffic
        self._over = over
        self._end = end
        self._round = 0 if context.pending_request is None else context.pending_request.round - 1
        self._open_questions: set[asyncio.Future[tuple[ServerAnswer, ...]]] = set()
        self._last_heard = asyncio.get_running_loop().time()
        self._declined: list[str] = []

    async def run(self, tool: str, arguments: Mapping[str, object]) -> ToolOutput:
        """Call the tool once and return its output, `interrupted` if what it did is unknown; raises `ToolFailed`."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._rounds(tool, dict(arguments)), name=f"mcp call {self._context.call}")
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        stopped = asyncio.ensure_future(self._context.stop.wait())
        over = asyncio.ensure_future(self._over.wait())
        since = loop.time()
        try:
            while not task.done():
                if self._open_questions:  # there is no time limit for the user
                    since += loop.time() - self._last_heard
                    self._last_heard = loop.time()
                left = min(since + self._timeout, self._last_heard + self._silence) - loop.time()
                if stopped.done():
                    return await self._give_up(task, "was asked to stop.")
                if left <= 0:
                    seconds = round(loop.time() - since)
                    return await self._give_up(task, f"gave no answer within {seconds} s and was asked to stop.")
                if over.done():
                    await asyncio.wait({task}, timeout=LETS_GO)
                    break
                wait = min(left, 0.5) if self._open_questions else left
                await asyncio.wait({task, stopped, over}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            return await self._outcome(task)
        finally:
            stopped.cancel()
            over.cancel()
            if not task.done():
                self._await_late(task)

    async def _rounds(self, tool: str, arguments: dict[str, object]) -> ServerResult:
        """Ask until the server answers with a result, and return that, decoded."""
        responses: InputResponses | None = None
        state: str | None = None
        if (waits := self._context.pending_request) is not None:
            self._round = waits.round
            responses, state = input_responses(await self._ask_user(waits)), waits.state
        pause, longest = _ASKS_AGAIN
        while True:
            result = await self._session.call_tool(
                tool,
                arguments,
                None,
                self._progress,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )
            self._last_heard = asyncio.get_running_loop().time()
            if not isinstance(result, InputRequiredResult):
                return result.model_dump(by_alias=True)
            self._round += 1
            if self._round > MOST_ROUNDS:
                raise ToolFailed(f"MCP server {self._server!r} asked more than {MOST_ROUNDS} times and was given up.")
            responses, state = None, result.request_state
            if result.input_requests:
                request = input_request(self._server, self._round, result)
                responses = input_responses(await self._ask_user(request))
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)

    async def elicit(self, params: ElicitRequestParams) -> ElicitResult:
        """Return the answer to a question that the server asks within the call; `cancel` on a stop."""
        self._round += 1
        request = InputRequest(server=self._server, round=self._round, questions=(question_of_params(params),))
        stopped = asyncio.ensure_future(self._context.stop.wait())
        over = asyncio.ensure_future(self._over.wait())
        answers = asyncio.ensure_future(self._ask_user(request))
        self._open_questions.add(answers)  # before the first wait, so that a stop finds it
        try:
            await asyncio.wait({answers, stopped, over}, return_when=asyncio.FIRST_COMPLETED)
            if answers.done():
                return result_of_answer(answers.result()[0])
            answers.cancel()
            await asyncio.wait({answers}, timeout=LETS_GO)
            return ElicitResult(action="cancel")
        finally:
            self._open_questions.discard(answers)
            stopped.cancel()
            over.cancel()

    async def _ask_user(self, request: InputRequest) -> tuple[ServerAnswer, ...]:
        if self._context.consult is None:
            self._declined += [each.message for each in request.questions]
            return tuple(ServerAnswer(each.key, "decline") for each in request.questions)
        if not self._context.has_user:
            self._declined += [each.message for each in request.questions]
        self._last_heard = asyncio.get_running_loop().time()
        answers = asyncio.ensure_future(self._context.consult(request))
        self._open_questions.add(answers)
        try:
            return await answers
        finally:
            answers.cancel()
            self._open_questions.discard(answers)

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._last_heard = asyncio.get_running_loop().time()
        how = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
        self._context.emit(f"{how}{f': {message}' if message else ''}\n")

    async def _outcome(self, task: asyncio.Task[ServerResult]) -> ToolOutput:
        if not task.done() or task.cancelled():
            return self._lost_output(await self._end())
        error = task.exception()
        if error is None:
            return self._output_of(task.result())
        if isinstance(error, ToolFailed):
            raise error
        if isinstance(error, MCPError):
            if is_end(error):
                return self._lost_output(
                    await self._end() if self._over.is_set() else self._traffic.broken or reason_of(error)
                )
            if why := _unreadable(error):
                return self._unreadable_output(why)
            if error.error.message == _STATUS and (status := self._traffic.status):
                return self._status_output(status)
            raise ToolFailed(f"MCP server {self._server!r} answered with an error: {reason_of(error)}.")
        if isinstance(error, RuntimeError | ValidationError):  # the SDK compares it with the tool's own schema
            raise ToolFailed(
                f"MCP server {self._server!r} gave an answer that cannot be read: {reason_of(error)}. "
                "The call was carried out."
            )
        if isinstance(error, Exception):
            return self._lost_output(await self._end() if self._over.is_set() else reason_of(error))
        raise error

    def _output_of(self, answer: ServerResult) -> ToolOutput:
        """Return the output of an answer, with a note about questions that no user could be asked."""
        output = result_output(answer)
        if not self._declined:
            return output
        questions = "; ".join(" ".join(each.split()) for each in self._declined)
        note = f"[It asked the user, and was declined because no user can be asked in this run: {questions}]"
        return ToolOutput(text=f"{output.text}\n{note}", ok=output.ok, images=output.images)

    async def _give_up(self, task: asyncio.Task[ServerResult], why: str) -> ToolOutput:
        """Tell the server to stop. An answer that comes at once still counts; a later one is reported as late."""
        if self._open_questions:
            await asyncio.wait(self._open_questions, timeout=LETS_GO)
        if self._traffic.cancels_by_closing or self._traffic.call is None:
            task.cancel()  # closing its stream tells the server
            await asyncio.wait({task}, timeout=LETS_GO)
        else:
            params = CancelledNotificationParams(request_id=self._traffic.call, reason="stopped by the user")
            notification = asyncio.ensure_future(self._session.send_notification(CancelledNotification(params=params)))
            notification.add_done_callback(lambda done: done.cancelled() or done.exception())  # errors are ignored
            await asyncio.wait({notification, task}, timeout=LETS_GO, return_when=asyncio.FIRST_COMPLETED)
            over = asyncio.ensure_future(self._over.wait())
            await asyncio.wait({task, over}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is None:
                return self._output_of(task.result())
            if isinstance(error, MCPError) and not is_end(error) and not _unreadable(error):
                why = f"{why} It answered: {reason_of(error)}."
        return ToolOutput(text=f"MCP server {self._server!r} {why} {_UNKNOWN}", interrupted=True)

    def _await_late(self, task: asyncio.Task[ServerResult]) -> None:
        """Report the answer that the server sends after the call was given up, until the connection ends."""
        late = self._context.report_late
        if late is None:
            task.cancel()
            return

        def done(ended: asyncio.Task[ServerResult]) -> None:
            if not ended.cancelled() and ended.exception() is None:
                try:
                    late(self._output_of(ended.result()))
                except ToolFailed as failed:
                    late(ToolOutput(text=str(failed), ok=False))

        task.add_done_callback(done)

    def _lost_output(self, why: str) -> ToolOutput:
        text = f"The connection to MCP server {self._server!r} ended during this call: {why.rstrip('.')}. {_UNKNOWN}"
        return ToolOutput(text=text, interrupted=True)

    def _unreadable_output(self, why: str) -> ToolOutput:
        text = f"MCP server {self._server!r} gave an answer that cannot be read: {why.rstrip('.')}. {_UNKNOWN}"
        return ToolOutput(text=text, interrupted=True)

    def _status_output(self, status: int) -> ToolOutput:
        """Return the output for an HTTP status alone. A gateway that fails does not know what its server did."""
        if status < _FAILED and status != _TIMED_OUT:
            raise ToolFailed(f"MCP server {self._server!r} refused the call (HTTP {status}).")
        return ToolOutput(text=f"MCP server {self._server!r} failed (HTTP {status}). {_UNKNOWN}", interrupted=True)


_FAILED, _TIMED_OUT = 500, 408

_ENDS = ("Connection closed", "SSE stream ", "server answered a request with 202 ")
"""How the SDK's own errors about a connection begin. Servers use the same code for errors of theirs."""

_UNPARSED = ("Failed to parse JSON response: ", "Failed to parse SSE message: ")
_OTHER_KIND = "Unexpected content type: "
"""How the SDK's own errors about an answer that cannot be read begin."""

_STATUS = "Server returned an error response"
"""The SDK's own error about an HTTP status without an answer."""


def is_end(error: BaseException) -> bool:
    """Return whether the error is the end of the connection, not an answer of the server."""
    if isinstance(error, BaseExceptionGroup):
        return is_end(error.exceptions[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - narrowed without its type
    if not isinstance(error, MCPError):
        return isinstance(error, anyio.BrokenResourceError | anyio.ClosedResourceError | ConnectionError)
    return error.error.code in (CONNECTION_CLOSED, INVALID_REQUEST) and error.error.message.startswith(_ENDS)


def _unreadable(error: MCPError) -> str:
    """Return why an answer cannot be read, "" if it is an answer."""
    code, message = error.error.code, error.error.message
    if code == PARSE_ERROR and message.startswith(UNREADABLE):
        return message.removeprefix(UNREADABLE)
    if code == PARSE_ERROR and message.startswith(_UNPARSED):
        return invalid_message_reason(message)
    if code == INVALID_REQUEST and message.startswith(_OTHER_KIND):
        return f"it is {message.removeprefix(_OTHER_KIND)[:_LONGEST_REASON] or 'of no content type'} (expected JSON)"
    return ""


def reason_of(error: BaseException) -> str:
    """Return what went wrong, as a phrase that continues a sentence."""
    if isinstance(error, BaseExceptionGroup):
        return reason_of(error.exceptions[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - narrowed without its type
    if isinstance(error, MCPError):
        pages = _pages(error)
        return f"{error.error.message} (code {error.error.code}){pages}".rstrip()
    if isinstance(error, ValidationError):
        first, *others = error.errors(include_url=False, include_input=False)
        place = ".".join(str(each) for each in first["loc"])
        return f"{place}: {first['msg']}{f' (and {len(others)} more)' if others else ''}"
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    if isinstance(error, httpx2.TransportError):
        return transport_reason(error)
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _pages(error: MCPError) -> str:
    """Return a sentence with the pages that the user must open first, "" if the error names none."""
    data: object = error.error.data
    items = data.get("elicitations") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    urls = [str(each.get("url")) for each in items if isinstance(each, dict)] if isinstance(items, list) else []  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return f". The user has to open first: {', '.join(urls)}" if urls else ""
