"""What a model reads about a recorded call, and how its result is kept. It names no program and claims no guess.

"Had no effect" is said only of a call that was not begun, that only reads, or that was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from holdfast.ledger.call_row import CallFate, CallRow
from holdfast.text import error_text, valid_unicode

_UNKNOWN = "Effect unknown: it may have done all, part or none of its work. Check before you run it again."
_FOUND = {
    "happened": "It was looked at afterwards: it had taken effect. Its result is lost.",
    "not-happened": "It was looked at afterwards: it had not taken effect.",
}
CALL_NOT_BEGUN = "Not started: it was cancelled before it began. It had no effect."
LOST_OUTCOME = f"Outcome lost: the record of this call is damaged. {_UNKNOWN}"
_DEEPEST = 100
_LARGEST = 1 << 63


def interrupted_text(row: CallRow) -> str:
    """Return what is known of a call that began and whose end was not seen."""
    stop = "this call was cancelled while it was" if row.outcome else "the process ended while this call was"
    known = _FOUND.get(row.found) or ("It only reads, so it had no effect." if row.effect == "read" else _UNKNOWN)
    return f"Interrupted: {stop} running. {known}"


def running_text(pid: int) -> str:
    """Return what is known of a call whose process lives."""
    return f"No result yet: this call was still running (in process {pid}) when this was written."


def fate_of(row: CallRow, *, alive: bool) -> CallFate:
    """Return how a call ended; `alive` if its process may live."""
    if row.outcome:
        return row.outcome
    return "running" if alive else "interrupted"


def encoded_result(value: object) -> tuple[str, str]:
    """Return the form of a result and its text: a string as it is, JSON data as JSON, anything else as `str()` has it.

    Only what JSON gives back as it was counts as JSON data: not a tuple, not a number that is none.
    """
    if type(value) is str:
        return "text", valid_unicode(value)
    if is_json(value):
        return "json", msgspec.json.encode(_valid(value)).decode()
    try:
        return "text", valid_unicode(str(value))
    except Exception as error:  # noqa: BLE001 - the call has run: its end is recorded, whatever its result is
        return "text", f"(The result, of the class {type(value).__name__!r}, has no text: {error_text(error)})"


def is_json(value: object, depth: int = 0) -> bool:
    """Return whether JSON gives the value back as it was."""
    if depth > _DEEPEST:
        return False
    if type(value) is int or type(value) is float:
        return -_LARGEST <= value < _LARGEST  # neither infinite nor "not a number"
    if type(value) is list:
        return all(is_json(each, depth + 1) for each in cast("list[object]", value))
    if type(value) is dict:
        items = cast("dict[object, object]", value).items()
        return all(type(key) is str and is_json(each, depth + 1) for key, each in items)
    return value is None or type(value) in (str, bool)


def _valid(value: object) -> object:
    """Return JSON data with texts that can be encoded."""
    if isinstance(value, str):
        return valid_unicode(value)
    if isinstance(value, list):
        return [_valid(each) for each in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {valid_unicode(key): _valid(each) for key, each in cast("Mapping[str, object]", value).items()}
    return value


def call_arguments_text(arguments: object) -> str | None:
    """Return arguments as JSON with sorted keys, so that equal ones have equal texts; None if they are no JSON data."""
    if isinstance(arguments, Mapping):
        arguments = dict(cast("Mapping[object, object]", arguments))
    if isinstance(arguments, tuple):
        arguments = list(cast("tuple[object, ...]", arguments))
    if not is_json(arguments):
        return None
    return msgspec.json.encode(_valid(arguments), order="deterministic").decode()
