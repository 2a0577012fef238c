"""The spans of a turn, its requests and its calls, from the entries of a journal. Pure.

They follow the GenAI conventions of OpenTelemetry: `invoke_agent` for a turn, `chat` for each attempt at a request,
`execute_tool` for a call. Times are those of the entries. No span contains messages or tool output.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.session.journal.store import StoredEntry

Attributes = dict[str, str | int | float | list[str]]

_PROVIDERS = {"google": "gcp.gemini", "openai-chat": "openai", "bedrock": "aws.bedrock", "mistral": "mistral_ai"}
"""Provider names of the conventions, where they differ from holdfast's."""


class TurnSpan(msgspec.Struct, frozen=True, kw_only=True):
    """One span with its children; `error` is the kind of failure, "" if there was none."""

    name: str
    kind: Literal["internal", "client"] = "internal"
    begin: float
    end: float
    attributes: Attributes
    error: str = ""
    children: tuple[TurnSpan, ...] = ()


class TurnSpans:
    """Collects the entries of one session."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._reset()

    def _reset(self) -> None:
        self._prompt: tuple[float, int] | None = None
        self._model = ""
        self._usage = Usage(cost="0")
        self._request: tuple[float, e.RequestStarted] | None = None
        self._parts: dict[str, CallPart] = {}
        self._calls: dict[str, tuple[float, e.CallStarted]] = {}
        self._children: list[TurnSpan] = []

    def take(self, record: StoredEntry) -> TurnSpan | None:
        """Take the next entry. Return the span of a turn if the entry ends one, None otherwise."""
        at = record.at
        match record.entry:
            case e.PromptAccepted(turn=turn):
                self._reset()
                self._prompt = at, turn
            case e.RequestStarted() as request:
                self._cut_request(at, "interrupted")
                self._request, self._model = (at, request), request.model
            case e.RequestFailed(fault=fault, usage=usage):
                self._usage += usage or Usage(cost="0")
                self._cut_request(at, fault)
            case e.ResponseEnded() as response:
                self._end_request(at, response)
            case e.CallStarted() as started:
                self._calls[started.call] = at, started
            case e.CallEnded() as ended:
                self._end_call(at, ended)
            case e.TurnEnded() as ended:
                return self._end_turn(at, ended)
            case _:
                pass
        return None

    def _cut_request(self, at: float, why: str) -> None:
        """End the request that has no response."""
        if self._request is not None:
            begin, started = self._request
            self._request = None
            self._children.append(_request_span(begin, at, started, {}, why))

    def _end_request(self, at: float, response: e.ResponseEnded) -> None:
        self._parts |= {part.id: part for part in response.parts if isinstance(part, CallPart)}
        self._usage += response.usage
        if self._request is None:
            return
        begin, started = self._request
        self._request = None
        more: Attributes = {"gen_ai.response.model": response.model.partition(":")[2] or response.model}
        if response.finish is not None:
            more["gen_ai.response.finish_reasons"] = [response.finish]
        self._children.append(_request_span(begin, at, started, more | _tokens(response.usage), response.cut or ""))

    def _end_call(self, at: float, ended: e.CallEnded) -> None:
        begin = self._calls.pop(ended.call, (at,))[0]
        part = self._parts.get(ended.call)
        name = part.name if part is not None else "unknown"
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": ended.call,
            "gen_ai.tool.type": "function",
            "holdfast.outcome": ended.outcome,
        }
        error = "" if ended.outcome == "ok" else ended.outcome
        span = TurnSpan(name=f"execute_tool {name}", begin=begin, end=at, attributes=attributes, error=error)
        self._children.append(span)

    def _end_turn(self, at: float, ended: e.TurnEnded) -> TurnSpan | None:
        self._cut_request(at, ended.cause)
        prompt, children, usage, model = self._prompt, tuple(self._children), self._usage, self._model
        self._reset()
        if prompt is None:  # the entry of its prompt is lost
            return None
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "holdfast",
            "gen_ai.conversation.id": self._session,
            "holdfast.turn": ended.turn,
            "holdfast.stop_reason": ended.reason,
            "holdfast.cause": ended.cause,
        }
        if model:
            attributes |= _model(model) | _tokens(usage)
        error = "" if ended.reason in {"end_turn", "cancelled"} else ended.cause
        return TurnSpan(
            name="invoke_agent holdfast", begin=prompt[0], end=at, attributes=attributes, error=error, children=children
        )


def _request_span(begin: float, end: float, started: e.RequestStarted, more: Attributes, error: str) -> TurnSpan:
    named = _model(started.model)
    attributes: Attributes = {"gen_ai.operation.name": "chat", **named, **more, "holdfast.attempt": started.attempt}
    name = f"chat {named['gen_ai.request.model']}"
    return TurnSpan(name=name, kind="client", begin=begin, end=end, attributes=attributes, error=error)


def _model(name: str) -> Attributes:
    provider, _, model = name.partition(":")
    return {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": model or name}


def _tokens(usage: Usage) -> Attributes:
    found: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cost is not None:
        found["holdfast.cost_usd"] = float(usage.cost)
    return found
