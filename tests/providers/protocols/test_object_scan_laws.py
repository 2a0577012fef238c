"""The JSON text of an object is found complete after each piece, as parsing all of it again would find it."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.history.formats.format import is_arguments
from holdfast.providers.protocols.chat_content import ObjectScan
from laws import law

values = st.recursive(
    st.sampled_from([None, 1, "", "a", '"', "\\", "{", "}", "]", '\\"}', "{[\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", '"', "}"]), inner, max_size=3),
    max_leaves=8,
)
texts = st.one_of(
    st.dictionaries(st.sampled_from(["a", '"', "}"]), values, max_size=3).map(json.dumps),
    values.map(json.dumps),
    st.text(st.sampled_from('{}[]"\\ab,: \n'), max_size=20),
)


@law(400)
@given(texts, st.sampled_from(["", " ", "\n", "x", "{}", '{"a":', "}"]), st.lists(st.integers(0, 60), max_size=8))
@example("{}", "x", [2])
@example('{"a": "\\\\"}', "", [8])
@example('{"a": "\\""}', "", [8])
def test_it_is_complete_exactly_when_it_parses(text: str, more: str, cuts: list[int]) -> None:
    text += more
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    scan = ObjectScan()
    for begin, end in pairwise(places):
        scan.add(text[begin:end])
        assert scan.complete == is_arguments(text[:end])
