"""Tables of facts are data files beside the module that reads them, each with a form that is checked to the last field.

`models.json` and the vendors' schemas are generated; `make models` and the tests of their readers check those.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import cast

import msgspec
import pytest
from source_tree import ROOT, expect_none, files

from holdfast.providers.catalog import ProviderRow
from holdfast.providers.refusals import ROWS, RefusalTable
from holdfast.tools.arguments.name_aliases import AliasTable
from holdfast.tools.known_programs.readers import GIT_READERS, READERS, GitTable, ReaderRow
from holdfast.tools.known_programs.widened_programs import WidenedRow
from holdfast.tools.test_runs.runner_table import RunnerTable
from holdfast.tools.workspace.autorun_files import AutorunGroup
from holdfast.typed_data import decode_json

TABLES: dict[str, object] = {
    "providers/builtin_providers.json": list[ProviderRow],
    "providers/refusals.toml": RefusalTable,
    "tools/arguments/name_aliases.json": AliasTable,
    "tools/known_programs/widened_programs.json": list[WidenedRow],
    "tools/known_programs/git_readers.json": GitTable,
    "tools/known_programs/readers.json": list[ReaderRow],
    "tools/test_runs/runners.json": RunnerTable,
    "tools/workspace/autorun_files.json": tuple[AutorunGroup, ...],
}
"""The tables that are written by hand, and their form."""

GENERATED = ("providers/models.json", "testing/protocols/schemas/")

_PLACE = "src/holdfast/"
_ENDS = (".json", ".toml")


def parsed(table: str) -> object:
    """Return a table as plain values."""
    text = (ROOT / _PLACE / table).read_text("utf-8")
    return tomllib.loads(text) if table.endswith(".toml") else json.loads(text)


def twice(text: str) -> Iterator[str]:
    """Yield each key that stands twice in one object, of which JSON readers keep the last."""
    found: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        return dict(items)

    json.loads(text, object_pairs_hook=pairs)
    yield from found


def with_unknown_fields(value: object) -> Iterator[object]:
    """Yield the table with a field that no form has, in its object, or in each row of its lists."""
    if isinstance(value, dict):
        yield {**value, "no such field": 1}
        for key, below in cast("dict[str, object]", value).items():
            if isinstance(below, list):
                yield from ({**value, key: broken} for broken in with_unknown_fields(cast("object", below)))
    elif isinstance(value, list):
        rows = cast("list[object]", value)
        for at, row in enumerate(rows):
            for broken in with_unknown_fields(row):
                yield [*rows[:at], broken, *rows[at + 1 :]]


def test_every_data_file_has_a_form() -> None:
    tables = {path.removeprefix(_PLACE) for path in files() if path.startswith(_PLACE) and path.endswith(_ENDS)}
    assert {each for each in tables if not each.startswith(GENERATED)} == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_form_and_no_key_twice(table: str) -> None:
    assert decode_json(json.dumps(parsed(table)), TABLES[table])
    if table.endswith(".json"):  # TOML refuses a key that stands twice
        assert list(twice((ROOT / _PLACE / table).read_text("utf-8"))) == []


@pytest.mark.parametrize("table", TABLES)
def test_a_field_that_no_form_has_is_refused(table: str) -> None:
    broken = list(with_unknown_fields(parsed(table)))
    assert broken
    for each in broken:
        with pytest.raises(msgspec.ValidationError, match="no such field"):
            decode_json(json.dumps(each), TABLES[table])


def test_names_of_providers_and_programs_stand_once() -> None:
    providers = decode_json((ROOT / _PLACE / "providers/builtin_providers.json").read_text("utf-8"), list[ProviderRow])
    programs = decode_json(
        (ROOT / _PLACE / "tools/known_programs/widened_programs.json").read_text("utf-8"), list[WidenedRow]
    )
    readers = [name for row in READERS for name in row.names]
    git = [name for row in GIT_READERS for name in row.names.split()]
    programs_names = [" ".join(words) for row in programs for words, _ in row.entries()]
    for names in ([each.name for each in providers], programs_names, readers, git, [row.id for row in ROWS]):
        expect_none(f"{name} stands {count} times" for name, count in Counter(names).items() if count > 1)


def test_a_key_that_stands_twice_is_found() -> None:
    assert list(twice('{"a": {"b": 1, "b": 2}, "c": 3}')) == ["b"]
