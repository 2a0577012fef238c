"""The fields of entries as earlier versions wrote them, given the names and the form they have today.

Entries are never rewritten: a journal keeps its bytes, and its checksums hold. So what was renamed is renamed each time
such an entry is read. Whether an entry is an older one is seen from its bytes: a name followed by a colon is never part
of a text, because JSON escapes the quotes in one.

Older journals fold to the same conversation, send the same bytes, and mean the same once they are written again
(`tests/session/conversation/test_journals_before_fields.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import msgspec

from holdfast.questions import older_question
from holdfast.tool_calls import Leaving, Pattern
from holdfast.typed_data import convert_value

EntryFields = dict[str, object]
"""The fields of an entry, as parsed from JSON."""


class _OldQuestion(msgspec.Struct, frozen=True):
    """What an older `approval-asked` says of its question."""

    call: str
    why: str
    pattern: Pattern | None = None
    patterns: tuple[Pattern, ...] = ()
    level: Leaving = ""
    hosts: tuple[str, ...] = ()


def _question_field(fields: EntryFields) -> None:
    """Replace `why`, `pattern` and `patterns` by the question that they stand for."""
    if "question" in fields:
        return
    old = convert_value(fields, _OldQuestion)
    patterns = (*filter(None, (old.pattern,)), *old.patterns)
    question = older_question(old.call, old.why, patterns, level=old.level, hosts=old.hosts)
    fields["question"] = msgspec.to_builtins(question)


def _answered_fields(fields: EntryFields) -> None:
    """Give `words` its present name, and put `pattern` among the `patterns`."""
    _rename(fields, "words", "reason")
    if (pattern := fields.pop("pattern", None)) is not None:
        fields["patterns"] = [pattern, *convert_value(fields.get("patterns", []), list[object])]


def _rename(fields: EntryFields, older: str, present: str) -> None:
    if older in fields:
        fields.setdefault(present, fields.pop(older))


def _failed_fields(fields: EntryFields) -> None:
    _rename(fields, "retry_whole", "retry_unstreamed")


def _compacted_fields(fields: EntryFields) -> None:
    _rename(fields, "said", "user_texts")


def _ended_fields(fields: EntryFields) -> None:
    """Put `seen` and `seen_also` into `snapshots`."""
    first, further = fields.pop("seen", None), convert_value(fields.pop("seen_also", []), list[object])
    if first is not None or further:
        fields["snapshots"] = [*([] if first is None else [first]), *further]


def _started_fields(fields: EntryFields) -> None:
    """Put `change` before the `changes`."""
    if (change := fields.pop("change", None)) is not None:
        fields["changes"] = [change, *convert_value(fields.get("changes", []), list[object])]


_RENAMED: dict[str, tuple[tuple[str, ...], Callable[[EntryFields], None]]] = {
    "approval-asked": (("why",), _question_field),
    "approval-answered": (("words", "pattern"), _answered_fields),
    "call-ended": (("seen", "seen_also"), _ended_fields),
    "call-started": (("change",), _started_fields),
    "compacted": (("said",), _compacted_fields),
    "request-failed": (("retry_whole",), _failed_fields),
}
"""By kind: the older names, and the function that gives the fields their present names."""

_KIND = re.compile(rb'\s*\{\s*"kind"\s*:\s*"([a-z-]+)"')
_NAMES = {
    kind.encode(): re.compile(b'"(?:%s)"\\s*:' % "|".join(names).encode()) for kind, (names, _) in _RENAMED.items()
}


def is_older(body: bytes) -> bool:
    """Return whether the body of an entry may have older names; True if its kind does not come first."""
    found = _KIND.match(body)
    if found is None:
        return True
    names = _NAMES.get(found[1])
    return names is not None and names.search(body) is not None


def with_present_names(body: bytes) -> bytes:
    """Return the body with its present names; raises `msgspec.DecodeError` or `UnicodeDecodeError` if it is none."""
    fields: object = msgspec.json.decode(body)
    return msgspec.json.encode(present_fields(cast("EntryFields", fields))) if isinstance(fields, dict) else body


def present_fields(fields: EntryFields) -> EntryFields:
    """Return the fields of an entry with their present names; raises `msgspec.ValidationError` if they are invalid."""
    renamed = _RENAMED.get(str(fields.get("kind")))
    if renamed is None:
        return fields
    present = dict(fields)
    renamed[1](present)
    return present
