"""The laws of the tolerant reader: nothing breaks it, what fits is left alone, and reading twice is reading once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trained_slips import MEANT

from holdfast.errors import ToolFailed
from holdfast.tool_calls import ToolSchema
from holdfast.tools.arguments.name_aliases import FIELD_NAMES, MEANINGFUL_FIELDS
from holdfast.tools.arguments.tolerant_reader import read_arguments
from holdfast.tools.builtin.declarations import SCHEMAS as READ_AS
from laws import law

_names = sorted(
    {alias for names in FIELD_NAMES.values() for alias in names} | {"path", "items", "text", "state", "arguments"}
)
_plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["3", "true"]),
)
_values = st.recursive(
    _plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(_names), st.text(max_size=5)), inner, max_size=4),
        inner.map(json.dumps),
    ),
    max_leaves=8,
)
_objects = st.dictionaries(st.one_of(st.sampled_from(_names), st.text(max_size=5)), _values, max_size=6)
_written = st.one_of(_objects, _values).map(json.dumps)


def _read(raw: str, schema: ToolSchema) -> str | None:
    """Return what is read, None if the call is refused."""
    try:
        return read_arguments(raw, schema).raw
    except ToolFailed:
        return None


@law(200)
@given(schema=st.sampled_from(READ_AS), raw=st.one_of(_objects.map(json.dumps), _values.map(json.dumps), st.text()))
def test_whatever_a_model_writes_is_read_or_left_alone_and_reading_it_again_changes_nothing(
    schema: ToolSchema, raw: str
) -> None:
    read = _read(raw, schema)
    if read is not None:
        assert _read(read, schema) == read


@law(100)
@given(data=st.data(), tool=st.sampled_from(sorted(MEANT)))
def test_only_fields_of_the_schema_are_left(data: st.DataObject, tool: str) -> None:
    schema = next(each for each in READ_AS if each.name == tool)
    extra = data.draw(_objects.filter(lambda fields: not {*fields} & MEANINGFUL_FIELDS.get(tool, frozenset())))
    read = _read(json.dumps({**extra, **MEANT[tool]}), schema)
    properties = schema.parameters["properties"]
    if read is not None:
        assert set(json.loads(read)) <= {str(name) for name in cast("dict[str, object]", properties)}
        assert {name: json.loads(read)[name] for name in MEANT[tool]} == MEANT[tool]


def _unknown(many: int) -> object:
    return {f"x{i}": 1 for i in range(many)}


def _listed(many: int) -> object:
    return {"todos": [{"task": "a"}] * many}


@pytest.mark.parametrize("make", [_unknown, _listed])
def test_the_work_grows_with_the_size_of_the_arguments(make: Callable[[int], object]) -> None:
    todo = next(each for each in READ_AS if each.name == "todo")

    def spent(many: int) -> float:
        raw = json.dumps(make(many))
        begun = time.process_time()
        read_arguments(raw, todo)
        return time.process_time() - begun

    assert min(spent(40_000) for _ in range(3)) < 20 * max(0.01, min(spent(10_000) for _ in range(3)))
