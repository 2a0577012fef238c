"""The arguments of a call for protocols that send them as a JSON object instead of a string."""

from __future__ import annotations

import json

import msgspec


class _RepeatedKey(Exception):
    """A key occurs twice in one object."""


def arguments_object(arguments: str) -> msgspec.Raw:
    """Return the arguments as the model wrote them; they must be the JSON text of an object.

    If a key occurs twice in one object, the last value is sent, which is the one that was run: Anthropic and Google
    refuse a whole request for a repeated key.
    """
    try:
        json.loads(arguments, object_pairs_hook=_refuse_repeated_keys, parse_int=str, parse_float=str)
    except _RepeatedKey:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(arguments)))
    except (ValueError, RecursionError):  # deeper than the standard library reads: sent as it is
        pass
    return msgspec.Raw(arguments.encode())


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _RepeatedKey
