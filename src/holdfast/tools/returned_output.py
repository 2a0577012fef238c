"""What comes back from a tool, checked where it comes in: the types of its output and of its plan, and its size.

A tool may be code of others that no type checker has seen. A wrong field would be journalled and could never be read
again. So the wrong type is the call's failure, and the journal refuses what gets past here (`entries.encode`).
"""

from __future__ import annotations

import msgspec

from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tool_calls import Confined, Effect, FileChange, Image, RemoteCall, UserQuestion
from holdfast.tools.tool import Plan, ToolOutput
from holdfast.tools.truncation import cap
from holdfast.typed_data import exact_value

LONGEST_OUTPUT = 100_000
"""Bytes of a call's text that the model reads: the beginning and the end of a longer one. Most tools have less."""

MOST_OUTPUT_IMAGES = 8
"""Images of one call that the model sees."""

LARGEST_OUTPUT_IMAGE = 10_000_000
"""Bytes of an image in a call's output; what a provider takes is less, and is said there."""


class _PlanFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a plan that decide about a call, or are journalled."""

    effect: Effect
    title: str
    detail: str
    outside: str | None
    changes: tuple[FileChange, ...]
    spool: str | None
    output_file: str
    command: str
    folder: str
    background: bool
    host: str
    reads: tuple[str, ...]
    presents: bool
    question: UserQuestion | None
    tool: str
    remote: RemoteCall | None
    levels: tuple[Confined, ...]
    network: tuple[str, ...]
    leaves: str
    sandbox_notice: str


def tool_output(returned: object) -> ToolOutput:
    """Return what a tool returned as its output: a text stands for one, and None for one without a text.

    Too much of it is cut, and that is said. Raises `ToolFailed` for anything else, and for an output with a field of
    the wrong type. The tool has run: its effect is not undone.
    """
    match returned:
        case ToolOutput():
            try:
                output = exact_value(returned, ToolOutput)
            except msgspec.ValidationError as error:
                raise ToolFailed(
                    f"The tool ran and returned a ToolOutput with a wrong field: {error}. Its effect is done, its "
                    "result cannot be shown. Its author has to return the types of ToolOutput."
                ) from error
            names = (
                *(each.path + each.sha256 for each in output.snapshots),
                *(each.name + each.media_type for each in output.images),
            )
            if any(valid_unicode(name) != name for name in names):
                raise ToolFailed(
                    "The tool ran and returned a ToolOutput with a name that is not valid Unicode. Its effect is done, "
                    "its result cannot be shown."
                )
            return bounded_output(output)
        case str():
            return bounded_output(ToolOutput(text=str.__getitem__(returned, slice(None))))
        case None:
            return ToolOutput(text="")
        case _:
            raise ToolFailed(
                f"The tool ran and returned {type(returned).__name__} (expected ToolOutput, str or None). "
                "Its result cannot be shown."
            )


def bounded_output(output: ToolOutput) -> ToolOutput:
    """Return the output without what is too much of it; the text says what is left out."""
    text = bounded_text(output.text, LONGEST_OUTPUT)
    if not output.images:
        return output if text is output.text else msgspec.structs.replace(output, text=text)
    images: list[Image] = []
    for each in output.images:
        if len(images) >= MOST_OUTPUT_IMAGES:
            text += f"\n[image left out: at most {MOST_OUTPUT_IMAGES} are shown]"
        elif len(each.data) > LARGEST_OUTPUT_IMAGE:
            text += f"\n[image left out: it has {len(each.data)} bytes (at most {LARGEST_OUTPUT_IMAGE})]"
        else:
            images.append(each)
    return msgspec.structs.replace(output, text=bounded_text(text, LONGEST_OUTPUT), images=tuple(images))


def bounded_text(text: str, limit: int) -> str:
    """Return the text, or if it has more than `limit` bytes its beginning and its end."""
    return text if 4 * len(text) <= limit else cap(valid_unicode(text), limit)


def checked_plan(plan: object, name: str) -> Plan:
    """Return what a tool returned as its plan; raises `ToolFailed` if it is none, or has a field of the wrong type."""
    if not isinstance(plan, Plan):
        raise ToolFailed(f"Tool {name!r} returned {type(plan).__name__} (expected Plan). Nothing was done.")
    fields = _PlanFields(**{each: getattr(plan, each) for each in _PlanFields.__struct_fields__})  # the same names
    try:
        exact = exact_value(fields, _PlanFields)
    except msgspec.ValidationError as error:
        raise ToolFailed(
            f"Tool {name!r} returned a Plan with a wrong field: {error}. Nothing was done. Its author has to return "
            "the types of Plan."
        ) from error
    return msgspec.structs.replace(plan, **{each: getattr(exact, each) for each in exact.__struct_fields__})
