"""Reads tool calls that a model wrote into its answer as text. Pure.

How it works. Small models, and servers without the right parser, write a call in the form that the model was trained
on, as part of the answer. Each such form is known exactly: an opener, the call as JSON or as tags, a closer. The text
is scanned for openers from its beginning; behind each one the whole form has to follow, or the opener is text. What
follows is a call only if it has the exact shape, names a tool that exists, and has arguments that this tool takes.

Why not search for JSON anywhere: an answer may well be about tool calls, and quote one. So a form of tags inside a code
block is text, an object with any other field is text, and an object that names no tool is text. And the user's rules
decide about a call that was read like about any other.

Several calls between prose are usual: a plan with three of them. They become the calls of the answer, in their order,
up to the first that does not fit, because the next ones may depend on it. The text before the first stays text; what
follows is dropped, because a model that reads its own plan without the calls writes the next one without them too.

Example: `I look. <tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>` is the text "I look." and a call.

Laws (`tests/tools/arguments/test_written_calls_laws.py`): every form is read, with any text before it; any text at all
is read in time, and without a form it gives nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import cast

import msgspec

from holdfast.tools.arguments.tolerant_tool import accepts_arguments, declared_type
from holdfast.tools.tool import Tool

LONGEST_PLAN = 256 * 1024
"""Characters of an answer that is looked at. A longer one is no plan of calls."""

MOST_FORMS = 256
"""Openers to look at in one answer."""

_MOST_LINES = 8
"""Lines that begin like JSON to look at: an answer with much of it is no call."""

_WRAPPERS = r"tool_calls?|tools|function_calls?|tool_use"
_PREFIX = r"(?:[a-z]+:|\uff5cDSML\uff5c)?"

_OPENER = re.compile(
    r"(?P<fence>```[\w.+-]*[ \t]*\n?)"
    rf"|(?P<tag><(?P<wrapper>{_WRAPPERS})>)"
    rf"|(?P<group><{_PREFIX}(?:function_calls|tool_calls?)>\s*(?=<{_PREFIX}invoke))"
    rf"|(?P<invoke><{_PREFIX}invoke name=\"(?P<invoked>[^\"<>\n]{{1,200}})\"[^<>\n]*>)"
    r"|(?P<function><function=[\"']?(?P<named>[^<>\"'\n]{1,200})[\"']?>)"
    r"|(?P<mistral>\[TOOL_CALLS\]\s*)"
    r"|(?P<token><\|(?:python_tag|tool_call|tool_call_start|START_ACTION)\|>\s*)"
    r"|(?P<kimi><\|tool_call_begin\|>\s*(?P<called>[\w.:-]{1,200}?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*)"
    r"|(?P<deepseek><\uff5ctool▁call▁begin\uff5c>(?:function<\uff5ctool▁sep\uff5c>)?(?P<asked>[\w.-]{1,200})(?:<\uff5ctool▁sep\uff5c>|\n)\s*"
    r"(?:```(?:json)?\s*)?)"
    r"|(?P<harmony>(?:<\|start\|>assistant)?(?:<\|channel\|>\w{1,40}\s{0,9})?to=(?P<addressed>[\w.-]{1,200})"
    r"[^<>{}\n]{0,80}(?:<\|\w{1,40}\|>[\w ]{0,40}){0,3}?<\|message\|>\s*)"
)

_MARKUP = re.compile(r"(?:<(?:/?[\w:\uff5c▁-]+|\|[\w▁/]+\||\uff5c[\w▁]+\uff5c)>|```|\s)*")
"""What may stand behind a form: its closers, and those of what is around it."""

_SECTION = re.compile(r"(?:<\|[\w▁]+\|>|<\uff5c[\w▁]+\uff5c>|\s)*\Z")
"""Marks of the section that the first form begins."""

_BROKEN = re.compile(r"\s*(?:[{\[]|<(?:function|parameter|arg_|[a-z:]*invoke|[a-z:]*parameter|\uff5c))")
"""What shows behind an opener that a call was begun."""

_CLOSER = re.compile(r"</|<\||<\uff5c|\Z")
_FUNCTION_END = re.compile(rf"\s*(?:</{_PREFIX}(?:invoke|function)>|\Z)")
_FENCE_END = re.compile(r"\s*```")
_NEXT_MISTRAL = re.compile(r"\s*(?:\[TOOL_CALLS\])?")
_BLANK = re.compile(r"\s*")
_SEPARATOR = re.compile(r"[\s,;]*")
_PARAMETER = re.compile(
    rf"\s*<{_PREFIX}parameter(?:=(?P<plain>[^<>\n]+)| name=\"(?P<quoted>[^\"<>\n]+)\"[^<>\n]*)>"
    rf"(?P<value>.*?)</{_PREFIX}parameter>\s*",
    re.DOTALL,
)
_PAIR = re.compile(r"\s*<arg_key>(?P<key>[^<>]{1,200})</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>\s*", re.DOTALL)
_PAIRED_NAME = re.compile(r"\s*(?P<name>[\w.:-]{1,200})\s*(?=<arg_key>|</)")
_NAMED_JSON = re.compile(r"\s*(?P<name>[\w.-]{1,200})(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*(?=\{)")

_NAMES = ("name", "tool_name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_BESIDE = frozenset({"id", "type", "tool_call_id", "index"})

_decoder = json.JSONDecoder(strict=False)


class WrittenCall(msgspec.Struct, frozen=True):
    """A call: the `name` as written, and its `arguments` as JSON."""

    name: str
    arguments: str


class WrittenCalls(msgspec.Struct, frozen=True):
    """What was read of an answer: the text `before` the first call, the `calls`, and all the rest, as `written`.

    Without `calls`, `unread` names the call that stands at the end of the answer and cannot be carried out.
    """

    before: str = ""
    calls: tuple[WrittenCall, ...] = ()
    written: str = ""
    unread: str = ""


class _Form(msgspec.Struct, frozen=True):
    """A form found in the text, and its calls. A `plain` one is JSON without any mark that it is a call."""

    start: int
    end: int
    calls: tuple[tuple[str, dict[str, object]], ...]
    plain: bool = False


def written_calls(text: str, tools: Mapping[str, Tool]) -> WrittenCalls:
    """Return the calls that the text has in an exact form, and that `tools` take; without them, what is unread."""
    forms = _forms(text) if len(text) <= LONGEST_PLAN else []
    calls: list[WrittenCall] = []
    unread = ""
    first = len(text)
    for form in forms:
        unread = "" if form.calls else "(broken)"
        for name, arguments in form.calls:
            tool = tools.get(name)
            if tool is None and form.plain:
                continue  # any object with these two fields
            typed = {} if tool is None else _typed(arguments, tool)
            raw = json.dumps(typed, ensure_ascii=False)
            if tool is None or not accepts_arguments(tool, raw):
                unread = name
                break
            first = min(first, form.start)
            calls.append(WrittenCall(name, raw))
        if unread:
            break
    if calls:
        section = _SECTION.search(text[:first])
        first = first if section is None else section.start()
        return WrittenCalls(text[:first], tuple(calls), text[first:])
    return WrittenCalls(text, unread=unread if unread and _ends_with(text, forms) else "")


def ends_with_call(text: str, tools: Mapping[str, Tool]) -> str:
    """Return the name of the call that an answer ends with, or that all of it is, "" if it is no call."""
    found = written_calls(text, tools)
    if found.unread or not found.calls:
        return found.unread
    return found.calls[-1].name if _ends_with(text, _forms(text)) else ""


def _ends_with(text: str, forms: list[_Form]) -> bool:
    last = forms[-1]
    alone = not text[: forms[0].start].strip()
    return _MARKUP.fullmatch(text, last.end) is not None and (alone or not last.plain)


def _forms(text: str) -> list[_Form]:
    """Return the forms of the text, in order."""
    bare = _bare(text)
    if bare is not None and not text[: bare.start].strip():
        return [bare]
    found: list[_Form] = []
    place = 0
    for _ in range(MOST_FORMS):
        opener = _OPENER.search(text, place)
        if opener is None:
            break
        form = _form(text, opener)
        if form is not None:
            found.append(form)
            place = form.end
        elif opener["fence"] is not None:
            closer = text.find("```", opener.end())
            place = len(text) if closer < 0 else closer + 3  # code: a form in it is quoted
        else:
            place = opener.end()
            if _begins_line(text, opener.start()) and _BROKEN.match(text, place):
                closer = _CLOSER.search(text, place + 1)
                found.append(_Form(opener.start(), len(text) if closer is None else closer.start(), ()))
    return found or ([bare] if bare is not None else [])


def _form(text: str, opener: re.Match[str]) -> _Form | None:
    at = opener.end()
    if opener["fence"] is not None:
        return _fenced(text, opener)
    if opener["tag"] is not None or opener["group"] is not None or opener["token"] is not None:
        read = _json_calls(text, at) or _paired(text, at)
    elif opener["mistral"] is not None:
        read = _json_calls(text, at) or _named_json(text, at)
    elif (name := opener["invoked"] or opener["named"]) is not None:
        read = _parameters(text, at, name) or _arguments(text, at, name)
    else:
        read = _arguments(text, at, opener["called"] or opener["asked"] or opener["addressed"])
        if read is not None and opener["asked"] is not None and (fence := _FENCE_END.match(text, read[1])):
            read = read[0], fence.end()
    return None if read is None else _Form(opener.start(), read[1], read[0])


_Read = tuple[tuple[tuple[str, dict[str, object]], ...], int]


def _fenced(text: str, opener: re.Match[str]) -> _Form | None:
    """Return a code block that is nothing but calls."""
    read, plain = _json_calls(text, opener.end()), True
    if read is None:
        inner = _OPENER.match(text, opener.end())
        form = _form(text, inner) if inner is not None and inner["fence"] is None else None
        if form is None:
            return None
        read, plain = (form.calls, form.end), False
    end = _MARKUP.match(text, read[1])
    closed = end is not None and ("```" in end[0] or end.end() == len(text))
    return _Form(opener.start(), end.end(), read[0], plain) if end is not None and closed else None


def _bare(text: str) -> _Form | None:
    """Return JSON that is all of the answer, or its last lines."""
    for line in islice(re.finditer(r"^[ \t]*(?=[{\[])", text, re.MULTILINE), _MOST_LINES):
        read = _json_calls(text, line.end())
        if read is not None and not text[read[1] :].strip():
            return _Form(line.start(), read[1], read[0], plain=True)
    return None


def _json_calls(text: str, at: int) -> _Read | None:
    """Return the calls of the JSON values that stand here, and where they end; None if any is something else."""
    calls: list[tuple[str, dict[str, object]]] = []
    end = at
    while True:
        separator = _SEPARATOR.match(text, end)
        begin = separator.end() if separator is not None else end
        if text[begin : begin + 1] not in ("{", "["):
            break
        value, after = _value(text, begin)
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        read = [_call_of(each) for each in values]
        found = [each for each in read if each is not None]
        if not found or len(found) != len(read):
            return None
        calls += found
        end = after
    return (tuple(calls), end) if calls else None


def _value(text: str, at: int) -> tuple[object, int]:
    """Return the JSON value that stands here and where it ends; None if there is none. `{{…}}` is `{…}`."""
    doubled = text.startswith("{{", at)
    try:
        value, end = cast("tuple[object, int]", _decoder.raw_decode(text, at + doubled))
    except (ValueError, RecursionError):
        return None, at
    if doubled:
        if not text.startswith("}", end):
            return None, at
        end += 1
    return value, end


def _call_of(value: object) -> tuple[str, dict[str, object]] | None:
    """Return the call that a JSON value is: a name, its arguments, and nothing else."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, object]", value)
    match fields:
        case {"function": dict()}:
            inner = cast("dict[str, object]", fields["function"])
            return _call_of(inner) if set(fields) <= {"function", *_BESIDE} and "function" not in inner else None
        case _:
            names = [name for name in _NAMES if isinstance(fields.get(name), str)]
            under = [name for name in _ARGUMENTS if name in fields]
            if len(names) != 1 or len(under) != 1 or not set(fields) <= {names[0], under[0], *_BESIDE}:
                return None
            arguments = _object(fields[under[0]])
            name = cast("str", fields[names[0]]).strip()
            return None if arguments is None or not name else (name, arguments)


def _object(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        value = _value(value.strip(), 0)[0] if value.strip() else {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _arguments(text: str, at: int, name: str) -> _Read | None:
    """Return the call of this name whose arguments stand here as JSON."""
    value, end = _value(text, _after_blanks(text, at))
    return (((name.strip(), cast("dict[str, object]", value)),), end) if isinstance(value, dict) else None


def _named_json(text: str, at: int) -> _Read | None:
    """Return the calls that stand here as a name and JSON, as Mistral's later models write them."""
    calls: list[tuple[str, dict[str, object]]] = []
    while found := _NAMED_JSON.match(text, at):
        read = _arguments(text, found.end(), found["name"])
        if read is None:
            return None
        calls += read[0]
        again = _NEXT_MISTRAL.match(text, read[1])
        at = read[1] if again is None else again.end()
    return (tuple(calls), at) if calls else None


def _parameters(text: str, at: int, name: str) -> _Read | None:
    """Return the call whose arguments stand here between tags. One without any has its closer here."""
    arguments: dict[str, object] = {}
    end = at
    while found := _PARAMETER.match(text, end):
        arguments[(found["plain"] or found["quoted"]).strip()] = _text_between(found["value"])
        end = found.end()
    closer = _FUNCTION_END.match(text, end)
    if closer is None:
        return None
    return ((name.strip(), arguments),), closer.end()


def _paired(text: str, at: int) -> _Read | None:
    """Return the calls that stand here in tags of their own, or as a name, and keys and values between tags (GLM)."""
    calls: list[tuple[str, dict[str, object]]] = []
    end = at
    while (inner := _OPENER.match(text, _after_blanks(text, end))) is not None:
        form = _form(text, inner) if inner["invoke"] is not None or inner["function"] is not None else None
        if form is None:
            break
        calls += form.calls
        end = form.end
    if calls:
        return tuple(calls), end
    named = _PAIRED_NAME.match(text, at)
    if named is None:
        return None
    arguments: dict[str, object] = {}
    end = named.end()
    while found := _PAIR.match(text, end):
        arguments[found["key"].strip()] = _text_between(found["value"])
        end = found.end()
    return (((named["name"], arguments),), end) if arguments else None


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    return at if blanks is None else blanks.end()


def _text_between(value: str) -> str:
    """Return the text between two tags, without the line ends that only set it apart from them."""
    return value.removeprefix("\n").removesuffix("\n")


def _typed(arguments: dict[str, object], tool: Tool) -> dict[str, object]:
    """Return arguments that were written as text with the types that the tool declares."""
    typed: dict[str, object] = {}
    for name, value in arguments.items():
        typed[name] = value
        if isinstance(value, str) and value.strip() and declared_type(tool.schema, name) not in ("", "string"):
            decoded, end = _value(value.strip(), 0)
            if decoded is not None and end == len(value.strip()):
                typed[name] = decoded
    return typed
