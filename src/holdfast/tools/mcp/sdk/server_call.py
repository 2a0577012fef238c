"""One call of a tool of a server: its rounds, its time limits, its stop, and what is known at its end.

What is known of a call is what was sent. Before its request was written, nothing was sent. After that, only an answer
says what happened: a server that ends, does not answer or is asked to stop leaves an unknown effect, `interrupted`. No
request is ever sent twice, except one that the server ended in order to ask the user.

A stop first answers an open question with `cancel`, then tells the server, then waits a little: an answer that comes in
time is the outcome. One that comes later is passed to `ToolContext.late`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import httpx2
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    CancelledNotification,
    CancelledNotificationParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from pydantic import ValidationError

from holdfast.errors import ToolFailed
from holdfast.tool_calls import InputRequest, ServerAnswer
from holdfast.tools.mcp.call_result import result_output
from holdfast.tools.mcp.sdk.elicitation import input_request, input_responses, question_of_params, result_of_answer
from holdfast.tools.mcp.sdk.line_transport import LineTraffic
from holdfast.tools.tool import ToolContext, ToolOutput

MOST_SILENCE = 300.0
"""Seconds without an answer or progress after which a call is given up."""

LONGEST_CALL = 3600.0
"""Seconds after which a call is given up whatever progress it makes, without those in which the user is asked."""

MOST_ROUNDS = 10
"""Times that a server may end a call to ask the user."""

GRACE = 0.4
"""Seconds that a server which was told of a stop has for an answer that is the outcome."""

LETS_GO = 0.3
"""Seconds that the SDK may take to tell the server of a stop."""

_ASKS_AGAIN = 0.05, 0.25  # seconds before a call with nothing but a state is asked once more, at first and at most
_UNKNOWN = "Whether it acted is unknown: look before you repeat it."


class ServerCall:
    """A call that runs on the connection of `session`; `over` is set when that ends, `end` says why it did."""

    def __init__(  # noqa: PLR0913 - what a call has of its connection
        self,
        session: ClientSession,
        *,
        server: str,
        timeout: float | None,
        idle_timeout: float | None,
        context: ToolContext,
        traffic: LineTraffic,
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
        self._round = 0 if context.waits is None else context.waits.round - 1
        self._asking: set[asyncio.Future[tuple[ServerAnswer, ...]]] = set()
        self._heard = asyncio.get_running_loop().time()
        self._unasked: list[str] = []

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
                if self._asking:  # only the user is waited for without a limit
                    since += loop.time() - self._heard
                    self._heard = loop.time()
                left = min(since + self._timeout, self._heard + self._silence) - loop.time()
                if stopped.done():
                    return await self._given_up(task, "was asked to stop.")
                if left <= 0:
                    seconds = round(loop.time() - since)
                    return await self._given_up(task, f"gave no answer within {seconds} s and was asked to stop.")
                if over.done():
                    await asyncio.wait({task}, timeout=LETS_GO)
                    break
                wait = min(left, 0.5) if self._asking else left
                await asyncio.wait({task, stopped, over}, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            return await self._outcome(task)
        finally:
            stopped.cancel()
            over.cancel()
            if not task.done():
                self._await_late(task)

    async def _rounds(self, tool: str, arguments: dict[str, object]) -> bytes:
        """Ask until the server answers with a result, and return that as JSON."""
        responses: InputResponses | None = None
        state: str | None = None
        if (waits := self._context.waits) is not None:
            self._round = waits.round
            responses, state = input_responses(await self._consulted(waits)), waits.state
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
            self._heard = asyncio.get_running_loop().time()
            if not isinstance(result, InputRequiredResult):
                return result.model_dump_json(by_alias=True).encode()
            self._round += 1
            if self._round > MOST_ROUNDS:
                raise ToolFailed(f"MCP server {self._server!r} asked more than {MOST_ROUNDS} times and was given up.")
            responses, state = None, result.request_state
            if result.input_requests:
                request = input_request(self._server, self._round, result)
                responses = input_responses(await self._consulted(request))
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)

    async def elicited(self, params: ElicitRequestParams) -> ElicitResult:
        """Return the answer to a question that the server asks within the call; `cancel` on a stop."""
        self._round += 1
        request = InputRequest(server=self._server, round=self._round, questions=(question_of_params(params),))
        stopped = asyncio.ensure_future(self._context.stop.wait())
        over = asyncio.ensure_future(self._over.wait())
        asked = asyncio.ensure_future(self._consulted(request))
        self._asking.add(asked)  # before the first wait, so that a stop finds it
        try:
            await asyncio.wait({asked, stopped, over}, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return result_of_answer(asked.result()[0])
            asked.cancel()
            await asyncio.wait({asked}, timeout=LETS_GO)
            return ElicitResult(action="cancel")
        finally:
            self._asking.discard(asked)
            stopped.cancel()
            over.cancel()

    async def _consulted(self, request: InputRequest) -> tuple[ServerAnswer, ...]:
        if self._context.consult is None:
            self._unasked += [each.message for each in request.questions]
            return tuple(ServerAnswer(each.key, "decline") for each in request.questions)
        if not self._context.has_user:
            self._unasked += [each.message for each in request.questions]
        self._heard = asyncio.get_running_loop().time()
        answers = asyncio.ensure_future(self._context.consult(request))
        self._asking.add(answers)
        try:
            return await answers
        finally:
            answers.cancel()
            self._asking.discard(answers)

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._heard = asyncio.get_running_loop().time()
        how = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
        self._context.emit(f"{how}{f': {message}' if message else ''}\n")

    async def _outcome(self, task: asyncio.Task[bytes]) -> ToolOutput:
        if not task.done() or task.cancelled():
            return self._lost(await self._end())
        error = task.exception()
        if error is None:
            return self._answered(task.result())
        if isinstance(error, ToolFailed):
            raise error
        if isinstance(error, MCPError):
            if self._over.is_set() or is_end(error):
                return self._lost(await self._end() if self._over.is_set() else reason_of(error))
            raise ToolFailed(f"MCP server {self._server!r} answered with an error: {reason_of(error)}.")
        if isinstance(error, RuntimeError | ValidationError):  # the SDK compares it with the tool's own schema
            raise ToolFailed(
                f"MCP server {self._server!r} gave an answer that cannot be read: {reason_of(error)}. "
                "The call was carried out."
            )
        if isinstance(error, Exception):
            return self._lost(await self._end() if self._over.is_set() else reason_of(error))
        raise error

    def _answered(self, answer: bytes) -> ToolOutput:
        """Return the output; of questions that no user could be asked, it says so."""
        output = result_output(answer)
        if not self._unasked:
            return output
        said = "; ".join(" ".join(each.split()) for each in self._unasked)
        note = f"[It asked the user, and was declined because no user can be asked in this run: {said}]"
        return ToolOutput(text=f"{output.text}\n{note}", ok=output.ok, images=output.images)

    async def _given_up(self, task: asyncio.Task[bytes], why: str) -> ToolOutput:
        """Tell the server to stop; an answer that comes at once still counts, one that comes later is passed on."""
        if self._asking:
            await asyncio.wait(self._asking, timeout=LETS_GO)
        if self._traffic.cancels_by_closing or self._traffic.call is None:
            task.cancel()  # closing its stream tells the server
            await asyncio.wait({task}, timeout=LETS_GO)
        else:
            params = CancelledNotificationParams(request_id=self._traffic.call, reason="stopped by the user")
            told = asyncio.ensure_future(self._session.send_notification(CancelledNotification(params=params)))
            told.add_done_callback(lambda done: done.cancelled() or done.exception())  # it has ended
            await asyncio.wait({told, task}, timeout=LETS_GO, return_when=asyncio.FIRST_COMPLETED)
            over = asyncio.ensure_future(self._over.wait())
            await asyncio.wait({task, over}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
            over.cancel()
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is None:
                return self._answered(task.result())
            if isinstance(error, MCPError) and not is_end(error):
                why = f"{why} It answered: {reason_of(error)}."
        return ToolOutput(text=f"MCP server {self._server!r} {why} {_UNKNOWN}", interrupted=True)

    def _await_late(self, task: asyncio.Task[bytes]) -> None:
        """Pass on what the server answers after the call was given up, until the connection ends."""
        late = self._context.late
        if late is None:
            task.cancel()
            return

        def done(ended: asyncio.Task[bytes]) -> None:
            if not ended.cancelled() and ended.exception() is None:
                try:
                    late(self._answered(ended.result()))
                except ToolFailed as failed:
                    late(ToolOutput(text=str(failed), ok=False))

        task.add_done_callback(done)

    def _lost(self, why: str) -> ToolOutput:
        text = f"The connection to MCP server {self._server!r} ended during this call: {why.rstrip('.')}. {_UNKNOWN}"
        return ToolOutput(text=text, interrupted=True)


def is_end(error: MCPError) -> bool:
    """Return whether the SDK says that the connection ended, and not the server something else."""
    return error.error.code == CONNECTION_CLOSED


def reason_of(error: BaseException) -> str:
    """Return what went wrong, in words that continue a sentence."""
    if isinstance(error, BaseExceptionGroup):
        return reason_of(error.exceptions[0])  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - narrowed without its type
    if isinstance(error, MCPError):
        pages = _pages(error)
        return f"{error.error.message} (code {error.error.code}){pages}".rstrip()
    if isinstance(error, httpx2.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _pages(error: MCPError) -> str:
    """Return the pages that the server wants to be opened first, for an error that says so."""
    data: object = error.error.data
    wanted = data.get("elicitations") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    urls = [str(each.get("url")) for each in wanted if isinstance(each, dict)] if isinstance(wanted, list) else []  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType] - JSON
    return f". The user has to open first: {', '.join(urls)}" if urls else ""
