"""Says of the beginning of a text whether a call written as text begins there, while the text still arrives. Pure.

The forms are those of `written_calls.py`. Text is shown while it streams, but a call is no text: what may be one is
held back until it is known. So each answer here is about a beginning that may be cut anywhere: "maybe" means that the
next characters decide.
"""

from __future__ import annotations

import re
from typing import Literal

Begun = Literal["no", "maybe", "yes"]
"""Whether a call begins with a text; "maybe" if it is too short to say."""

_LONGEST_HEAD = 400
"""Characters within which a form has to show that it is one."""

_NAME_KEYS = frozenset({"name", "tool_name", "tool", "function"})
_VALUE_KEYS = frozenset({"arguments", "parameters", "args", "input", "tool_input"})
_KEYS = _NAME_KEYS | _VALUE_KEYS | {"id", "type", "tool_call_id", "index"}

_FENCE = re.compile(r"```[\w.+-]*[ \t]*\n?\s*")
_OBJECT = re.compile(r"\[?\s*(\{?\{?)\s*")
_FIELD = re.compile(
    r"\"(?P<key>[^\"\\]*)(?:(?P<closed>\")\s*(?:(?P<colon>:)\s*(?P<value>\"[^\"\\]*\"?|[\w.+-]+)?\s*(?P<comma>,)?\s*)?)?"
)
"""A field of an object, as far as it has arrived, with a text or a number as its value."""

_TAG_HEAD = re.compile(r"<[\w:/=|\uff5c▁-]*")
_TAG = re.compile(
    r"<(?:tool_calls?|tools|function_calls?|tool_use)>"
    r"|<(?:[a-z]+:|\uff5cDSML\uff5c)?(?:function_calls|tool_calls?)>"
    r"|<(?:[a-z]+:|\uff5cDSML\uff5c)?invoke(?: |\Z)"
    r"|<function="
    r"|<\|(?:python_tag|tool_calls?\w*|START_ACTION)\|>"
    r"|<\uff5ctool▁"
)
_CHANNEL = re.compile(r"<\|(?:channel|start)\|>")
_MISTRAL = "[TOOL_CALLS]"


def begun_call(text: str) -> Begun:
    """Return whether a written call begins with this text."""
    if not text.startswith("```"):
        return "maybe" if text and "```".startswith(text) else _begun_form(text)
    head = _FENCE.match(text)
    inner = text[3:] if head is None else text[head.end() :]
    return _undecided(text) if not inner else _begun_form(inner)


def _begun_form(text: str) -> Begun:
    if text.startswith("<"):
        return _begun_tag(text)
    if text.startswith("[") and (text.startswith(_MISTRAL) or _MISTRAL.startswith(text)):
        return "yes" if text.startswith(_MISTRAL) else "maybe"
    return _begun_object(text) if text.startswith(("{", "[")) else "no"


def _begun_tag(text: str) -> Begun:
    head = _TAG_HEAD.match(text)
    if head is not None and head.end() == len(text):
        return _undecided(text)
    if (channel := _CHANNEL.match(text)) is not None:
        head_end = text.find("<|message|>")
        if "to=" in text[channel.end() : head_end if head_end >= 0 else _LONGEST_HEAD]:
            return "yes"
        return _undecided(text) if head_end < 0 else "no"
    return "no" if _TAG.match(text) is None else "yes"


def _begun_object(text: str) -> Begun:
    """Return whether an object with the fields of a call, or a list of them, begins here."""
    opened = _OBJECT.match(text)
    at = 0 if opened is None else opened.end()
    if at < len(text) and (opened is None or not opened[1]):
        return "no"
    while at < len(text):
        found = _begun_field(text, at)
        if not isinstance(found, int):
            return found
        at = found
    return _undecided(text)


def _begun_field(text: str, at: int) -> Begun | int:
    """Return whether the field that stands here makes a call of the object; where the next one begins if it may."""
    field = _FIELD.match(text, at)
    if field is None or (field["closed"] and field["key"] not in _KEYS):
        return "no"
    key = field["key"]
    if not field["closed"]:
        return "maybe" if field.end() == len(text) and any(each.startswith(key) for each in _KEYS) else "no"
    if field["colon"] and (key in _VALUE_KEYS or (key == "function" and text.startswith("{", field.end()))):
        return "yes"
    if field.end() == len(text):
        return _undecided(text)
    named = key not in _NAME_KEYS or (field["value"] or "").startswith('"')
    return field.end() if field["comma"] and named else "no"


def _undecided(text: str) -> Begun:
    return "maybe" if len(text) <= _LONGEST_HEAD else "no"
