"""What is right at a glance is right: the short way of a field's judgement agrees with the long one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from holdfast.history.field_types import Objects, faults, is_plain, suspects
from holdfast.history.formats.pydantic_ai.field_table import (
    PYDANTIC_AI_CONTENTS,
    PYDANTIC_AI_MESSAGES,
    PYDANTIC_AI_PARTS,
)

NOTHING: Mapping[str, object] = {}
VALUES: tuple[object, ...] = (
    list(NOTHING),
    dict(NOTHING),
    [dict(NOTHING)],
    *(None, True, False, 0, 1, -1, 2**80, 0.0, 0.5, 1.0, float("nan"), float("inf"), [1], ["a"]),
    *("", "a", "1", "+2026", " 1", "1.5", "1e3", "-", "ä", "\u0661", "\ud800", "\x00", "2026-01-01T00:00:00Z"),
    *({"a": 1}, {"kind": "binary"}, {"input_tokens": 1}, {"input_tokens": "x"}, {"details": {"a": "b"}}),
)
TABLES = {"messages": PYDANTIC_AI_MESSAGES, "parts": PYDANTIC_AI_PARTS, "contents": PYDANTIC_AI_CONTENTS}


def objects(types: Objects) -> Iterator[dict[str, object]]:
    """Yield an object of each kind with each value in each of its fields, and with all fields left out."""
    for kind, fields in types.kinds.items():
        named: dict[str, object] = {types.by: kind}
        needed = {field.rstrip("!"): "a" for field in fields if field.endswith("!")}
        yield named
        yield {**named, **needed}
        yield {**named, **needed, "unknown": 1}
        for field in fields:
            for value in VALUES:
                yield {**named, **needed, field.rstrip("!?"): value}


@pytest.mark.parametrize("types", TABLES.values(), ids=TABLES)
def test_nothing_that_is_wrong_is_right_at_a_glance(types: Objects) -> None:
    every = list(objects(types))
    plain = [raw for raw in every if is_plain(raw, types)]
    assert [raw for raw in plain if list(suspects((raw,), types)) or faults(raw, types, ())] == []
    assert len(plain) > len(types.kinds)


def test_of_another_kind_nothing_is_known() -> None:
    assert not is_plain({"part_kind": "of-tomorrow"}, PYDANTIC_AI_PARTS)
    assert not is_plain({"part_kind": 5}, PYDANTIC_AI_PARTS)
    assert not is_plain({}, PYDANTIC_AI_PARTS)
