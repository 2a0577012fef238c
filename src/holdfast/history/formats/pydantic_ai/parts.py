"""The parts of pydantic-ai's messages: their roles, and how sent parts are joined to requests again.

A part without content stays with the part before it. A request with unchanged parts stays the same object; a new part
joins the request next to it, unless that was sent before.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.history.formats.format import Json, as_object, as_text, cleaned, is_array, is_object
from holdfast.history.formats.pydantic_ai.fields import is_record, lacks_required, loadable
from holdfast.history.formats.sent_messages import Unit
from holdfast.history.media import pdf
from holdfast.history.media.images import STANDARD, inspect_base64
from holdfast.history.shape import Media, Role

SYNTHETIC = "pydantic_ai_synthesized_tool_return"
"""The key in the metadata of a result that marks it as made up, for pydantic-ai too."""

FILE_KEYS = {
    **dict.fromkeys(("image-url", "audio-url", "document-url", "video-url"), "url"),
    "binary": "data",
    "uploaded-file": "file_id",
}
"""The kinds of files in a content, each with the field that holds the file."""

TEXTS = frozenset({"text-content", "structured-content"})
"""The kinds of texts in a content that have other data too."""


def kind_of(part: object) -> str | None:
    """Return the kind of the part, None if it is not a part."""
    kind = part.get("part_kind") if is_object(part) else None
    return kind if isinstance(kind, str) and kind else None


def part_role(part: object) -> Role:
    """Return the role of a part of a request."""
    match kind_of(part):
        case "system-prompt":
            return "system"
        case "tool-return":
            return "tool"
        case "retry-prompt" if as_object(part).get("tool_name") is not None:
            return "tool"
        case _:
            return "user"


def fits_user_message(each: object) -> bool:
    """Return whether a user's content may hold it: a text, a file or a cache point."""
    raw = as_object(each)
    texts = raw.get("kind") in TEXTS and not lacks_required(raw)
    return isinstance(each, str) or texts or is_file_content(raw) or raw.get("kind") == "cache-point"


def is_file_content(raw: Json) -> bool:
    """Return whether it is a file with a source."""
    return as_text(raw.get("kind")) in FILE_KEYS and not lacks_required(raw)


def call_part(listed: Mapping[str, object]) -> Json:
    """Return an entry of a list `tool_calls` as a part."""
    function = as_object(listed.get("function")) or listed
    return {
        "part_kind": "tool-call",
        "tool_name": listed.get("tool_name") or function.get("name"),
        "args": listed.get("args", function.get("arguments")),
        "tool_call_id": listed.get("tool_call_id") or listed.get("id"),
    }


def media_of(file: Json) -> tuple[Media, ...]:
    """Return what is known about an image or a PDF; nothing for other files and for external sources."""
    declared, data = file.get("media_type"), file.get("data")
    if file.get("kind") == "image-url" and isinstance(url := file.get("url"), str) and url.startswith("data:"):
        head, _, data = url.partition(",")
        declared = head.removeprefix("data:").partition(";")[0]
    elif file.get("kind") != "binary":
        return ()
    if not isinstance(declared, str) or not isinstance(data, str):
        return ()
    if declared.startswith("image/"):
        return (inspect_base64(declared, data.translate(STANDARD)),)  # pydantic writes bytes in the alphabet for URLs
    if declared == pdf.TYPE and file.get("kind") == "binary":
        return (pdf.inspect_pdf(data.translate(STANDARD), name=as_text(file.get("identifier")) or ""),)
    return ()


# --- from messages to what is sent, and back -------------------------------------------------------------------------


class RewrittenMessage(msgspec.Struct, frozen=True):
    """A rewritten message, and the index of the sent message it comes from; None if it is new."""

    sources: tuple[int, ...]
    raw: object


def unfolded(messages: Sequence[object]) -> Iterator[Unit]:
    """Yield the units that are sent: each part of a request with content, any other message whole.

    A message that is one unit is not copied, unless the same object was sent before: `folded` finds units by identity.
    """
    seen: set[int] = set()
    for index, raw in enumerate(messages):
        message = as_object(raw)
        parts = message.get("parts")
        if message.get("kind") != "request" or not is_array(parts):
            yield Unit(dict(raw) if is_object(raw) and id(raw) in seen else raw, index)
        elif len(parts) == 1 and not is_record(parts[0]):
            yield Unit(dict(message) if id(raw) in seen else raw, index, 0)
        else:
            starts = [number for number, part in enumerate(parts) if not is_record(part)]
            for begin, end in zip([0, *starts[1:]], [*starts[1:], len(parts)], strict=True) if starts else ():
                head = {"kind": "request"} if begin else message
                yield Unit({**head, "parts": parts[begin:end]}, index, begin)
        seen.add(id(raw))


class _Run(msgspec.Struct):
    """The units that form one message: the `parts` of a request, or anything else as `raw`."""

    message: int | None  # the original message, None for a new one
    raw: object
    parts: list[object]
    sent_parts: int = 0  # how many units are in it
    touched: bool = False


def folded(built: Sequence[object], units: Sequence[Unit], messages: Sequence[object], frozen: int) -> list[object]:
    """Return the messages made from what was built; the first `frozen` are unchanged."""
    sizes = Counter(unit.message for unit in units)
    result: list[object] = []
    passed = 0
    for run in _runs(built, units, frozen):
        upto = passed if run.message is None else max(passed, run.message)
        while upto < len(messages) and sizes[upto] == 0:
            upto += 1
        result += [messages[index] for index in range(passed, upto) if sizes[index] == 0]  # requests without content
        if (at := run.message) is not None and (at < frozen or _is_unchanged(run, sizes[at])):
            result.append(messages[at])
        else:
            result.append(_message(run, messages))
        passed = upto if run.message is None else max(upto, run.message + 1)
    return result + [messages[index] for index in range(passed, len(messages)) if sizes[index] == 0]


def _runs(built: Sequence[object], units: Sequence[Unit], frozen: int) -> list[_Run]:
    runs: list[_Run] = []
    for message, each in zip(_places(built, units), built, strict=True):
        touched = isinstance(each, RewrittenMessage)
        raw = each.raw if isinstance(each, RewrittenMessage) else each
        parts = as_object(raw).get("parts")
        if as_object(raw).get("kind") != "request" or not is_array(parts):
            runs.append(_Run(message, raw, [], touched=touched))
            continue
        run = runs[-1] if runs and runs[-1].raw is None else None
        if run is None or not _belongs(message, parts, run, frozen):
            runs.append(run := _Run(message, None, []))
        run.touched = run.touched or touched or message is None or message != run.message
        run.message = message if run.message is None else run.message
        run.parts += parts
        run.sent_parts += 1
    return runs


def _belongs(message: int | None, parts: Sequence[object], run: _Run, frozen: int) -> bool:
    """Return whether the parts belong to one request: parts of the same request, and results without one."""
    if message is not None:
        return message == run.message or (run.message is None and part_role(run.parts[-1]) == "tool")
    return part_role(parts[0]) == "tool" and (run.message is None or run.message >= frozen)


def _places(built: Sequence[object], units: Sequence[Unit]) -> list[int | None]:
    """Return the original message of each; None for new and moved ones."""
    known: dict[int, deque[int]] = {}  # several, for what is no JSON object
    for index, unit in enumerate(units):
        known.setdefault(id(unit.raw), deque()).append(index)
    firsts = [
        (each.sources[0] if each.sources else None) if isinstance(each, RewrittenMessage) else known[id(each)].popleft()
        for each in built
    ]
    places: list[int | None] = []
    following = len(units)
    for first in reversed(firsts):
        in_place = first is not None and first < following
        places.append(units[first].message if first is not None and in_place else None)
        following = first if first is not None and in_place else following
    return places[::-1]


def _is_unchanged(run: _Run, size: int) -> bool:
    return not run.touched and (run.raw is not None or run.sent_parts == size)


def _message(run: _Run, messages: Sequence[object]) -> object:
    if run.raw is not None:
        return run.raw
    original = messages[run.message] if run.message is not None else None
    head = as_object(cleaned(original)) if as_object(original).get("kind") == "request" else {"kind": "request"}
    return {**loadable(head), "parts": run.parts}
