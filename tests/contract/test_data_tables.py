"""Tables of facts are data files beside the module that reads them, each with a form that is checked to the last field.

`models.json` and the vendors' schemas are generated; `make models` and the tests of their readers check those.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import cast

import msgspec
import pytest
from source_tree import ROOT, expect_none, files

from holdfast.providers.catalog import ProviderRow
from holdfast.tools.arguments.name_aliases import AliasTable
from holdfast.tools.known_programs.program import ProgramRow
from holdfast.tools.workspace.autorun_files import AutorunGroup
from holdfast.typed_data import decode_json

TABLES: dict[str, object] = {
    "providers/builtin_providers.json": list[ProviderRow],
    "tools/arguments/name_aliases.json": AliasTable,
    "tools/known_programs/programs.json": list[ProgramRow],
    "tools/workspace/autorun_files.json": tuple[AutorunGroup, ...],
}
"""The tables that are written by hand, and their form."""

GENERATED = ("providers/models.json", "testing/protocols/schemas/")

_PLACE = "src/holdfast/"


def twice(text: str) -> Iterator[str]:
    """Yield each key that stands twice in one object, of which JSON readers keep the last."""
    found: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        return dict(items)

    json.loads(text, object_pairs_hook=pairs)
    yield from found


def with_unknown_fields(value: object) -> Iterator[object]:
    """Yield the table with a field that no form has, in its first object and in that of each of its rows."""
    if isinstance(value, dict):
        yield {**value, "no such field": 1}
    elif isinstance(value, list):
        rows = cast("list[object]", value)
        for at, row in enumerate(rows):
            for broken in with_unknown_fields(row):
                yield [*rows[:at], broken, *rows[at + 1 :]]


def test_every_data_file_has_a_form() -> None:
    tables = {path.removeprefix(_PLACE) for path in files() if path.startswith(_PLACE) and path.endswith(".json")}
    assert {each for each in tables if not each.startswith(GENERATED)} == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_form_and_no_key_twice(table: str) -> None:
    text = (ROOT / _PLACE / table).read_text("utf-8")
    assert decode_json(text, TABLES[table])
    assert list(twice(text)) == []


@pytest.mark.parametrize("table", TABLES)
def test_a_field_that_no_form_has_is_refused(table: str) -> None:
    broken = list(with_unknown_fields(json.loads((ROOT / _PLACE / table).read_text("utf-8"))))
    assert broken
    for each in broken:
        with pytest.raises(msgspec.ValidationError, match="no such field"):
            decode_json(json.dumps(each), TABLES[table])


def test_names_of_providers_and_programs_stand_once() -> None:
    providers = decode_json((ROOT / _PLACE / "providers/builtin_providers.json").read_text("utf-8"), list[ProviderRow])
    programs = decode_json((ROOT / _PLACE / "tools/known_programs/programs.json").read_text("utf-8"), list[ProgramRow])
    names = Counter(each.name for each in providers) + Counter(name for row in programs for name in row.names.split())
    expect_none(f"{name} stands {count} times" for name, count in names.items() if count > 1)


def test_a_key_that_stands_twice_is_found() -> None:
    assert list(twice('{"a": {"b": 1, "b": 2}, "c": 3}')) == ["b"]
