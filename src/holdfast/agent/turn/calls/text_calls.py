"""Makes calls of what a model wrote as text, or says that it did, before the response is journalled.

The entry of the response has both: its parts are the calls, and `written` is the text that they were read from. A
process that dies before it leaves a text that was cut off, and one that dies after it calls that did not start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from holdfast.providers.model import StreamFinished
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.tools.tool import Tool

_MARKS = ("{", "<", "[TOOL_CALLS]")
"""Characters of which each form of a call has one."""


class CheckedResponse(msgspec.Struct, frozen=True):
    """A complete response. `written` is the text that its calls were read from, "" if they came as calls.

    `unread` names a call that it ends with as text and that is none.
    """

    finished: StreamFinished
    written: str = ""
    unread: str = ""


def check_response(
    finished: StreamFinished, tools: Callable[[], Mapping[str, Tool]], *, reads: bool
) -> CheckedResponse:
    """Return the response with the calls that it has as text; `reads` is whether these are calls for this model.

    `tools` is asked only about such a text: tools that cannot be named must not cost any other response.
    """
    text = "".join(part.text for part in finished.parts if isinstance(part, TextPart))
    has_calls = any(isinstance(part, CallPart) for part in finished.parts)
    if has_calls or finished.finish not in ("stop", "calls") or not any(mark in text for mark in _MARKS):
        return CheckedResponse(finished)
    from holdfast.tools.arguments.written_calls import ends_with_call, written_calls

    if not reads:
        return CheckedResponse(finished, unread=ends_with_call(text, tools()))
    found = written_calls(text, tools())
    if not found.calls:
        return CheckedResponse(finished, unread=found.unread)
    before = (TextPart(found.before),) if found.before.strip() else ()
    parts = (
        *(part for part in finished.parts if not isinstance(part, TextPart)),
        *before,
        *(CallPart(id="", name=call.name, arguments=call.arguments) for call in found.calls),
    )
    return CheckedResponse(msgspec.structs.replace(finished, parts=parts, finish="calls"), written=found.written)


def unread_detail(model: str, call: str, *, reads: bool) -> str:
    """Return what was not run and what to do, for the user."""
    provider = model.partition(":")[0]
    why = "it is not in the form of a call that a tool here takes" if reads else "holdfast does not read them as calls"
    advice = (
        "try a larger model"
        if reads
        else f'choose a model that makes calls, or set compat = {{ text_calls = "auto" }} in [providers.{provider}]'
    )
    return f"{model} wrote a call of {call} as text, and {why}: {advice}"


def read_notice(model: str) -> str:
    """Return the sentence for the user that calls are read from text."""
    return (
        f"{model} writes its calls as text, and holdfast reads them as calls. They are asked about like any other "
        '(compat = { text_calls = "off" } turns this off).'
    )
