from __future__ import annotations

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.builtin.regular_expressions import LARGEST, compile_pattern, expanded_size

TOO_LARGE = [
    "(ab){1000000}",
    "a{50001}",
    "((((a{50}){50}){50}){50}){50}",
    "(?:(?:[ab]{100,}){100}){100,200}",
    "(" * 10 + "a" + "){9}" * 10,
    "[]{]{60000}",
    "a" * 60_000,
    "a{99999999999999999999999}",
]


@pytest.mark.parametrize("pattern", TOO_LARGE, ids=lambda pattern: pattern[:20])
def test_what_would_take_all_memory_is_refused_before_it_is_compiled(pattern: str) -> None:
    with pytest.raises(ToolFailed, match="is too large"):
        compile_pattern(pattern, ignore_case=False)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("abc", 3),
        ("a{3}b", 5),
        ("(ab){3}c", 8),
        (r"\{9999\}", 8),
        (r"[{9}]", 5),
        ("(a(bc){2}){3}", 15),
        ("a{0}", 4),
        ("(ab){3}{4}", 24),
        ("a)b{2}", 6),
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", 41),
    ],
)
def test_the_pieces_of_an_expression(pattern: str, pieces: int) -> None:
    assert expanded_size(pattern) == pieces


def test_what_people_write_is_compiled() -> None:
    assert compile_pattern(r"\b(\w{1,64}\.){1,8}com\b", ignore_case=False).search("a.b.com")
    assert compile_pattern("X{2,5000}", ignore_case=True).search("xx")
    assert expanded_size("a" * LARGEST) == LARGEST
