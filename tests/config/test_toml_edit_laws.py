"""Laws of a change in a TOML text: it is made, nothing else is touched, and it can be undone."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.config.toml_edit import key_path, key_text, value_text, with_setting, without_setting
from holdfast.errors import ConfigInvalid
from laws import law

KEYS = st.sampled_from(["a", "b", "c-1", "d.e", "ü", 'q"', " "])
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-9, 10**6),
    st.sampled_from([0.5, 1e9]),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    st.sampled_from(['"""', "'''", "# no comment", "a]b}c,d", "\n[x]\n", "\\", "\x7f"]),
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(KEYS, SCALARS, max_size=2), st.lists(st.lists(SCALARS))
)
COMMENTS = st.sampled_from(["", "  # why", "\t#", "# model = 3"])
WRITTEN = {
    "long": '"""\nfirst # line\n\\"""  ]\n"""',
    "literal": "'C:\\x'",
    "long literal": "'''\n'a' = 3\n[no]\n'''",
    "lists": "[\n  1, # one\n  [2, { x = 3 }], # two\n]",
    "date": "1979-05-27 07:32:00",
    "table": "{ x = 1, y.z = 'a' }",
    "nothing": "{}",
}


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return a TOML text, with comments and blank lines, as people write them."""
    ending = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines: list[str] = []

    def body(used: set[str]) -> None:
        for key in draw(st.lists(KEYS, max_size=3, unique=True)):
            if key in used:
                continue
            used.add(key)
            dotted = draw(st.sampled_from(["", "", ".x", " . 'y z'"]))
            value = draw(st.one_of(VALUES.map(value_text), st.sampled_from(sorted(WRITTEN.values()))))
            lines.append(f"{draw(st.sampled_from(['', '  ']))}{key_text((key,))}{dotted} = {value}{draw(COMMENTS)}")
            lines.extend(draw(st.lists(st.sampled_from(["", "# a remark", "   "]), max_size=1)))

    top: set[str] = set()
    body(top)
    for table in draw(st.lists(st.sampled_from(["t", "u.v", "u", "w", "'l l'"]), max_size=3, unique=True)):
        lines.append(f"[ {table} ]{draw(COMMENTS)}" if draw(st.booleans()) else f"[{table}]")
        body(set())
    if draw(st.booleans()):
        lines += ["[[many]]", "a = 1", "[[many]]", "a = 2"]
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", ending)


PATHS = st.one_of(
    st.tuples(KEYS),
    st.tuples(st.sampled_from(["t", "u", "w", "l l", "new"]), KEYS),
    st.tuples(st.just("u"), st.just("v"), KEYS),
    st.tuples(KEYS, st.sampled_from(["x", "y z", "z"])),
)


def at(settings: Mapping[str, object], path: tuple[str, ...]) -> object:
    below = settings.get(path[0])
    if len(path) == 1 or not isinstance(below, dict):
        return below if len(path) == 1 else None
    return at(cast("Mapping[str, object]", below), path[1:])


@law()
@given(documents(), PATHS, VALUES)
@example("a = 1", ("b",), 2)
@example("[t]\na = 1", ("b",), 2)
@example("a.x = 1\n", ("a", "z"), 2)
@example("a = {}\n", ("a", "z"), 2)
@example("# only a remark", ("a",), "b")
@example("a.x = 1", ("a",), 2)
@example("[t]\n", ("t",), 2)
@example("a = 1", ("a", "b"), 2)
@example("a = 1", ("a",), 2)
def test_a_change_is_made_and_undone_and_touches_nothing_else(text: str, path: tuple[str, ...], value: object) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # a key of the draw is there twice
    try:
        new = with_setting(text, path, value)
    except ConfigInvalid:
        # a value stands where a table must be, or a table where a value must be
        assert len(path) > 1 or "[[" in text or isinstance(at(before, path), dict)
        return
    assert at(tomllib.loads(new), path) == value
    changed = set(text.splitlines()) - set(new.splitlines())
    if at(before, path) is None:
        assert len([line for line in changed if line.strip()]) <= 1  # only an inline table may have changed
        assert without_empty(tomllib.loads(without_setting(new, path))) == without_empty(before)
    else:
        assert tomllib.loads(with_setting(new, path, at(before, path))) == before


def without_empty(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings without empty tables, which a removal may leave behind."""
    tables = {
        key: without_empty(cast("dict[str, object]", value)) if isinstance(value, dict) else value
        for key, value in settings.items()
    }
    return {key: value for key, value in tables.items() if value != {}}


@law()
@given(documents(), PATHS)
def test_what_is_removed_is_gone_and_nothing_else(text: str, path: tuple[str, ...]) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    there = at(before, path) is not None
    try:
        new = without_setting(text, path)
    except ConfigInvalid:
        assert there
        return
    assert at(tomllib.loads(new), path) is None
    if not there:
        assert new == text


@pytest.mark.parametrize(
    ("text", "path", "value", "new"),
    [
        ("", "a", 1, "a = 1\n"),
        ("a = 1 # why\n", "a", 2, "a = 2 # why\n"),
        ("# top\n\n[t]\nb = 1\n", "t.c", 2, "# top\n\n[t]\nb = 1\nc = 2\n"),
        ("[t]\n# below\n[u]\n", "t.c", 2, "[t]\nc = 2\n# below\n[u]\n"),
        ("a = 1\n[t]\n", "b", True, "a = 1\nb = true\n[t]\n"),
        ("t = { b = 1 } # x\n", "t.c", "y", 't = { b = 1, c = "y" } # x\n'),
        ("a = [\n 1, # one\n]\nb = 2\n", "a", [3], "a = [3]\nb = 2\n"),
        ("[models.'a:b']\neffort = 'low'\n", 'models."a:b".effort', "high", "[models.'a:b']\neffort = \"high\"\n"),
        ("a = 1\r\n", "t.b", 1, "a = 1\r\n\r\n[t]\r\nb = 1\r\n"),
        ("limits.max_steps = 4\n", "limits.timeout", 9, "limits.max_steps = 4\nlimits.timeout = 9\n"),
    ],
)
def test_the_place_of_a_change(text: str, path: str, value: object, new: str) -> None:
    assert with_setting(text, key_path(path), value) == new


@pytest.mark.parametrize(
    ("text", "path", "new"),
    [
        ("a = 1 # why\nb = 2\n", "a", "b = 2\n"),
        ("a = 1\n", "b", "a = 1\n"),
        ("t = { a = 1, b = 2 }\n", "t.a", "t = { b = 2 }\n"),
        ("t = { a = 1, b = 2 }\n", "t.b", "t = { a = 1 }\n"),
        ("t = { a = 1 }\n", "t.a", "t = { }\n"),
        ("a = '''\nx\n'''\nb = 1\n", "a", "b = 1\n"),
    ],
)
def test_the_place_of_a_removal(text: str, path: str, new: str) -> None:
    assert without_setting(text, key_path(path)) == new


@pytest.mark.parametrize("name", ["", " ", "a b", "a..b", "a = 1\nb", "[t]"])
def test_what_is_no_name_of_a_setting(name: str) -> None:
    with pytest.raises(ConfigInvalid, match="is not the name of a setting"):
        key_path(name)
