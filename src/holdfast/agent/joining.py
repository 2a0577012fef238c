"""Events of a stream that only go on with the same text, joined to one: an SDK takes as long for a word as for a page.

Two rules. Events are joined only if nothing but that text, a running number and padding tells them apart, and nothing
else in them could be something that is added up. All others stay as they came, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from holdfast.history.formats.format import Json, is_array, is_object

BLANK = re.compile(rb"\n\r?\n|\r\r")
"""What ends an event, whatever its lines end with."""

_Path = tuple[str | int, ...]

_CHAT: tuple[_Path, ...] = (
    ("choices", 0, "delta", "content"),
    ("choices", 0, "delta", "reasoning_content"),
    ("choices", 0, "delta", "reasoning"),
    ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
)
_TEXTS: dict[str, tuple[_Path, ...]] = {
    "": _CHAT,
    "content_block_delta": (("delta", "text"), ("delta", "thinking"), ("delta", "partial_json")),
    "response.output_text.delta": (("delta",),),
    "response.reasoning_text.delta": (("delta",),),
    "response.reasoning_summary_text.delta": (("delta",),),
    "response.function_call_arguments.delta": (("delta",),),
}
"""By the type of an event, which those of Chat Completions have not: where it may have a text that goes on."""

_RUNNING = frozenset({"sequence_number", "obfuscation"})
_NAMES = _RUNNING | {
    *("type", "object", "id", "item_id", "model", "provider", "role", "service_tier", "system_fingerprint")
}
"""Keys whose words say what something is; words under another key may be a text that goes on too."""

_EVENT = re.compile(rb"((?:event: ?[^\r\n]*(?:\r\n|\n|\r))?data: ?)(\{[^\r\n]*\})([\r\n]+)")


def joined(data: bytes, *, begun: bool) -> bytes:
    """Return the events of `data`, as fewer ones if some can be joined; with `begun` the first began before it.

    Laws (`tests/agent/test_joining_laws.py`): what is made of a stream is the same; what cannot be joined is not
    touched.
    """
    out: list[bytes] = []
    run: list[_Growth] = []
    for number, raw in enumerate(_events(data)):
        growth = None if begun and not number else _growth(raw)
        if run and (growth is None or growth.frame != run[0].frame):
            out.append(_one(run))
            run = []
        if growth is None:
            out.append(raw)
        else:
            run.append(growth)
    if run:
        out.append(_one(run))
    return b"".join(out)


def at_an_end(data: bytes) -> bool:
    """Return whether an event ends where `data` does."""
    return data.endswith((b"\n\n", b"\n\r\n", b"\r\r"))


@dataclass(frozen=True, slots=True)
class _Growth:
    """An event that adds `text`, which `holder` had under `key`; `frame` is all that must be the same to join it."""

    raw: bytes
    before: bytes
    event: Json
    after: bytes
    holder: Json
    key: str
    text: str
    frame: tuple[bytes, _Path, Json]


def _events(data: bytes) -> Iterator[bytes]:
    """Yield the events with the empty lines that end them; the last may have none yet."""
    at = 0
    for blank in BLANK.finditer(data):
        yield data[at : blank.end()]
        at = blank.end()
    if at < len(data):
        yield data[at:]


def _one(run: list[_Growth]) -> bytes:
    """Return one event that says what these do."""
    last = run[-1]
    if len(run) == 1:
        return last.raw
    last.holder[last.key] = "".join(growth.text for growth in run)
    return last.before + msgspec.json.encode(last.event) + last.after


def _growth(raw: bytes) -> _Growth | None:
    """Return what an event adds, None if it may do anything else."""
    found = _EVENT.fullmatch(raw)
    if found is None or not at_an_end(raw):
        return None
    before, data, after = found.groups()
    try:
        event: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # for the SDK to say what is wrong with it
        return None
    if not is_object(event):
        return None
    for path in _TEXTS.get(str(event.get("type", "")), ()):
        holder, key = _holder(event, path), str(path[-1])
        text = holder.get(key) if holder is not None else None
        if holder is not None and isinstance(text, str):
            holder[key] = ""
            frame = {name: value for name, value in event.items() if name not in _RUNNING}
            return _Growth(raw, before, event, after, holder, key, text, (before, path, frame))
    return None


def _holder(event: Json, path: _Path) -> Json | None:
    """Return the object that has the text at the end of the path, None if there is anything to add up beside it."""
    here: object = event
    for step, below in zip(path, (*path[1:], None), strict=True):
        if is_array(here):
            here = here[0] if len(here) == 1 else None
        elif not is_object(here) or not all(_says_what(name, here[name]) for name in here if name != step):
            return None
        elif below is None:
            return here
        else:
            here = here.get(str(step))
    return None


def _says_what(name: str, value: object) -> bool:
    return not value or isinstance(value, int | float) or (isinstance(value, str) and name in _NAMES)
