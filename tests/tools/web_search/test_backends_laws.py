"""Laws of reading what a search service sends: whatever it is, it becomes bounded lines or a reason."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tool_calls import SearchName
from holdfast.tools.web_search.backends import LONGEST_SNIPPET, search_results
from laws import law

NAMES: tuple[SearchName, ...] = ("searxng", "brave", "tavily", "exa")
FIELDS = ["url", "title", "content", "web", "results"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
)


@law()
@given(st.sampled_from(NAMES), _JSON)
@example("searxng", {"results": [{"url": "http://a.b/\x1b", "title": "a\nb", "content": "c\n" * 9_999}]})
@example("searxng", {"results": [{"url": "http://a.b/", "title": "a\nb", "content": "c\n" * 9_999}]})
def test_whatever_is_sent_becomes_results_or_a_reason(name: SearchName, value: object) -> None:
    try:
        found = search_results(name, json.dumps(value).encode(), count=10)
    except ValueError:
        return
    for each in found:
        assert each.address.isprintable()
        assert "\n" not in each.title + each.snippet
        assert len(each.snippet) <= LONGEST_SNIPPET
