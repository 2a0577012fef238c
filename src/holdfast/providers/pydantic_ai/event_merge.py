"""Merge stream events that only continue the same text: an SDK needs as long for a word as for a page.

Two rules. Events are merged only if they differ in nothing but that text, a sequence number and padding, and if no
other field could be one that the SDK adds up. All others stay unchanged, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from holdfast.history.formats.format import Json, is_array, is_object

BLANK_LINE = re.compile(rb"\n\r?\n|\r\r")
"""The end of an event, for every kind of line ending."""

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
"""Where the text is, by event type; Chat Completions events have no type."""

_RUNNING = frozenset({"sequence_number", "obfuscation"})
_NAMES = _RUNNING | {
    *("type", "object", "id", "item_id", "model", "provider", "role", "service_tier", "system_fingerprint")
}
"""Keys whose text identifies something; text under any other key may be content that continues."""

_EVENT = re.compile(rb"((?:event: ?[^\r\n]*(?:\r\n|\n|\r))?data: ?)(\{[^\r\n]*\})([\r\n]+)")


def merge_deltas(data: bytes, *, begun: bool) -> bytes:
    """Return the events of `data`, merged where possible. `begun`: the first event started before `data`.

    Laws (`tests/providers/test_sdk_event_merge_laws.py`): the SDK builds the same response; events that cannot be
    merged are unchanged.
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
    """Return whether `data` ends at the end of an event."""
    return data.endswith((b"\n\n", b"\n\r\n", b"\r\r"))


@dataclass(frozen=True, slots=True)
class _Growth:
    """An event that adds `text` under `key` of `holder`; events merge if `frame`, everything else, is equal."""

    raw: bytes
    before: bytes
    event: Json
    after: bytes
    holder: Json
    key: str
    text: str
    frame: tuple[bytes, _Path, Json]


def _events(data: bytes) -> Iterator[bytes]:
    """Yield each event with the empty line that ends it; the last may be incomplete."""
    at = 0
    for blank in BLANK_LINE.finditer(data):
        yield data[at : blank.end()]
        at = blank.end()
    if at < len(data):
        yield data[at:]


def _one(run: list[_Growth]) -> bytes:
    """Return one event with the text of all of these."""
    last = run[-1]
    if len(run) == 1:
        return last.raw
    last.holder[last.key] = "".join(growth.text for growth in run)
    return last.before + msgspec.json.encode(last.event) + last.after


def _growth(raw: bytes) -> _Growth | None:
    """Return what an event adds, None if it might do anything else."""
    found = _EVENT.fullmatch(raw)
    if found is None or not at_an_end(raw):
        return None
    before, data, after = found.groups()
    try:
        event: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the SDK reports what is wrong with it
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
    """Return the object that holds the text at the end of the path, None if it has other fields that add up."""
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
