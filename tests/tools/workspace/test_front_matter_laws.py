"""The front matter of files is read as YAML reads it, with the one exception that it names, and never with a crash."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.workspace.front_matter import (
    LONGEST_FRONT_MATTER,
    FrontMatter,
    FrontMatterFault,
    read_front_matter,
    split_words,
)
from laws import law

LINES = st.sampled_from([
    "name: pdf", "description: Reads PDF files", "description: Use when: a file is a PDF", "a: 'it''s'", 'b: "x\\ty"',
    "c: [one, \"two, three\", 'four']", "list:", "  - one", "- two", "map:", "  k: v", "  z: 'w'", "text: |", "  first",
    "    more", "", "folded: >-", "  one", "  two", "# a note", "d: plain # note", "e: {k: v, z: w}", "f:", "g: a",
    "  b", "hooks:", "  Pre:", "    - x: y", 'broken: "no end', "- stray", "\tx", "---", "...", "h: [a", "[", "{", "'",
    '"', ":", "i: *all", "j: !tag x", "k: 5", "l: true", "m: ~", "n: |2", 'o: "\\ud800"',
])  # fmt: skip


@law(200)
@given(lines=st.lists(LINES, max_size=12), body=st.text(max_size=40))
def test_any_text_gives_fields_and_a_body_or_one_fault(lines: list[str], body: str) -> None:
    text = "\n".join(("---", *lines, "---", body))
    try:
        front = read_front_matter(text)
    except FrontMatterFault:
        front = FrontMatter({}, "")
    assert text.replace("\r\n", "\n").endswith(front.body)
    values = [each.values() if isinstance(each, dict) else each for each in front.fields.values()]
    assert all(isinstance(each, str) for value in values for each in ([value] if isinstance(value, str) else value))


WORDS = st.text(st.sampled_from("abz09 -_.,()*'\"#/"), min_size=1, max_size=24).map(str.strip).filter(bool)
VALUES = st.one_of(
    WORDS,
    st.lists(WORDS, min_size=1, max_size=4),
    st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,6}", fullmatch=True), WORDS, min_size=1, max_size=3),
    st.text(st.sampled_from("ab \n:#'\"\\ü"), max_size=30),
)


@law(200)
@given(fields=st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), VALUES, min_size=1, max_size=4))
def test_what_yaml_writes_is_read_as_yaml_reads_it(fields: dict[str, object]) -> None:
    text = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=10_000)
    known = yaml.load(text, yaml.BaseLoader)
    front = read_front_matter(f"---\n{text}---\nbody")
    found = {name: list(value) if isinstance(value, tuple) else value for name, value in front.fields.items()}
    assert found == known
    assert front.body == "body"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: Use when: a file is a PDF", "Use when: a file is a PDF"),
        ("description: plain # a note", "plain"),
        ("description: >-\n  one\n  two\n\n  three", "one two\nthree"),
        ("description: |\n  one\n   two", "one\n two\n"),
        ('description: "a\n  b"', "a b"),
        ("description:\n  over the\n  lines", "over the lines"),
        ("description: [a, 'b, c', Bash(git *)]", ("a", "b, c", "Bash(git *)")),
        ("description:\n- a\n- 'b'", ("a", "b")),
        ("description:\n  k: v\n  z: w", {"k": "v", "z": "w"}),
        ("description:\n  Pre:\n    - matcher: x", "Pre:\n  - matcher: x"),
        ("description: !!python/object:os.system x", "!!python/object:os.system x"),
    ],
)
def test_a_value(line: str, value: object) -> None:
    assert read_front_matter(f"---\n{line}\n---\n").fields == {"description": value}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x\n", "has no end"),
        ('---\nname: "x\n---\n', "line 2: a quoted text has no end"),
        ("---\n\nname: a\nname: b\n---\n", "line 4: field 'name' stands there twice"),
        ("---\njust words\n---\n", "line 2: it is no field: 'just words'"),
        ("---\nname: [a\n---\n", "line 2: '[' has no end"),
        ('---\nname: "a\\q"\n---\n', "means nothing"),
        ("---\n" + "# note\n" * LONGEST_FRONT_MATTER, "has no end"),
    ],
)
def test_a_fault_names_its_line(text: str, why: str) -> None:
    with pytest.raises(FrontMatterFault) as fault:
        read_front_matter(text)
    assert why in str(fault.value)


def test_words_are_parted_outside_brackets() -> None:
    assert split_words("Bash(git add *), Read  Grep,Edit(src/**)") == [
        "Bash(git add *)",
        "Read",
        "Grep",
        "Edit(src/**)",
    ]


def test_a_text_without_front_matter_is_all_body() -> None:
    assert read_front_matter("# Title\n---\nx: y\n").body == "# Title\n---\nx: y\n"
    assert read_front_matter("\ufeff---\r\nname: a\r\n---\r\nb\r\n").fields == {"name": "a"}
