"""A clean-up of a list of messages before each prompt, written from its description: what the harness must find wrong.

Two rules. It deletes until nothing is left that it objects to, as it was described (docs/from-the-reference.md). It is
used for nothing but being found out.
"""

from __future__ import annotations

from holdfast.history.formats.format import Json, as_array, as_object

PASSES = 10
"""How often it goes over the list at most; what is left then is sent as it is."""


def clean(messages: list[object]) -> list[object]:
    """Return what is kept of a history of pydantic-ai's messages to which a prompt is about to be added."""
    cleaned = [as_object(message) for message in messages]
    for _ in range(PASSES):
        before = cleaned
        cleaned = _last_of_requests_in_a_row(_without_empty_responses(_without_open_calls(cleaned)))
        if cleaned == before:
            break
    # A prompt does not follow a request.
    return [*(cleaned[:-1] if cleaned and cleaned[-1]["kind"] == "request" else cleaned)]


def _without_open_calls(messages: list[Json]) -> list[Json]:
    """Return the messages without calls whose id is no result's, wherever that is; a retry-prompt is no result here."""
    open_calls = _ids(messages, "tool-call") - _ids(messages, "tool-return")
    return [
        {**message, "parts": [part for part in _parts(message) if not _is_call_of(part, open_calls)]}
        if message["kind"] == "response"
        else message
        for message in messages
    ]


def _without_empty_responses(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message["kind"] == "request" or _parts(message)]


def _last_of_requests_in_a_row(messages: list[Json]) -> list[Json]:
    return [
        message
        for message, following in zip(messages, [*messages[1:], {"kind": "end"}], strict=False)
        if not message["kind"] == following["kind"] == "request"
    ]


def _parts(message: Json) -> list[Json]:
    return [as_object(part) for part in as_array(message["parts"])]


def _ids(messages: list[Json], kind: str) -> set[object]:
    return {part["tool_call_id"] for message in messages for part in _parts(message) if part["part_kind"] == kind}


def _is_call_of(part: Json, calls: set[object]) -> bool:
    return part["part_kind"] == "tool-call" and part["tool_call_id"] in calls
