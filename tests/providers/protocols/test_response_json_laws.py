"""JSON of responses is decoded as the standard library decodes it, by msgspec or not; other bytes are refused."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.errors import ProviderFailed
from holdfast.providers.protocols.response_parts import ResponseJson, token_count
from laws import law

READER = ResponseJson("a:m")
STRICT = (
    *(
        b"null",
        b"true",
        b'""',
        b'"caf\xc3\xa9"',
        b'"\\ud83d\\ude00"',
        b'"\\u0000"',
        b'"a\\/b"',
        b'"a\x7f\xe2\x80\xa8b"',
    ),
    *(b"0", b"-0", b"-0.0", b"1e5", b"1E-400", b"0.1", b"2.2250738585072011e-308", b"9007199254740993"),
    *(b"18446744073709551615", b"18446744073709551616", b"-9223372036854775809", b"1" * 400, b"1" * 40 + b".5"),
)
"""What both decode."""
LENIENT = (
    *(b'"\\ud83d"', b'"\\udc00\\ud83d"', b'"\\ud83d\\u0041"'),
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"1.7976931348623159e308"),
)
"""What only the standard library decodes: half surrogates, and numbers that are none."""
REFUSED = (
    *(b'"a\x01b"', b'"a\nb"', b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\\x"', b'"\\u12g4"', b'"open', b"'a'"),
    *(b"01", b"1.", b".5", b"+1", b"0x1", b"nul", b"nan", b"-NaN", b"", b"\xef\xbb\xbf1", b"\x0c1", b"1 2"),
    *(b"1" * 5_000, b"[" * 100_000),
)
"""What neither decodes: control characters in strings, what is not UTF-8, numbers of more than 4,300 digits."""

_keys = st.sampled_from([b'"a"', b'"b"', b'""', b'"\\u0061"', b'"\\ud83d"', b'"a\x00"', b"a"])


def _grown(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    pairs = st.tuples(_keys, inner).map(b": ".join)
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda each: b"[" + b",".join(each) + b"]"),
        st.lists(pairs, max_size=3).map(lambda each: b"{" + b" ,".join(each) + b"}"),
    )


DOCUMENTS = st.recursive(st.sampled_from([*STRICT, *LENIENT, *REFUSED[:-2]]), _grown, max_leaves=6)


def decoded(data: bytes) -> str:
    """Return the value with its types, "" if it is refused."""
    try:
        return repr(READER.value(data))
    except ProviderFailed:
        return ""


def as_the_standard_library(data: bytes) -> str:
    try:
        return repr(json.loads(data.decode()))
    except (ValueError, RecursionError):
        return ""


@law(300)
@given(document=DOCUMENTS, at=st.integers(0, 60), put=st.sampled_from([b"", b"", b"\x00", b'"', b"\\", b",", b"\xed"]))
@example(document=b'{"a": 1, "a": 2, "\\u0061": 3}', at=0, put=b"")
@example(document=b'[18446744073709551616, 1e400, NaN, "\\ud83d"]', at=0, put=b"")
def test_whatever_comes_is_decoded_as_the_standard_library_decodes_it(document: bytes, at: int, put: bytes) -> None:
    data = document[:at] + put + document[at:]
    assert decoded(data) == as_the_standard_library(data)


@pytest.mark.parametrize("data", [*STRICT, *LENIENT, *REFUSED], ids=lambda data: repr(data[:30]))
def test_each_kind_of_value_is_of_the_kind_that_it_is_said_to_be(data: bytes) -> None:
    try:
        msgspec.json.decode(data)
        fast = True
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        fast = False
    assert fast == (data in STRICT)
    assert bool(decoded(data)) == (data not in REFUSED)
    assert decoded(data) == as_the_standard_library(data)


@pytest.mark.parametrize("counted", [math.nan, math.inf, 1e400, 2**64, -1, 1.0, True, "1", None])
def test_a_count_that_is_no_sensible_number_is_none(counted: object) -> None:
    assert token_count(counted) == 0
