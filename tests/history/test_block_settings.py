"""Settings that must agree in a whole request: the order of cache markers, and citations that are on or off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import Repair, check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from laws import law

HOUR: Json = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
FIVE: Json = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
PLAIN: Json = {"cache_control": {"type": "ephemeral"}}
TOOL: Json = {"name": "f", "input_schema": {"type": "object"}}
USE: Json = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
ON: Json = {"citations": {"enabled": True}}
OFF: Json = {"citations": {"enabled": False}}


def text(words: str, mark: Json | None = None) -> Json:
    return {"type": "text", "text": words, **(mark or {})}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def result(content: object, mark: Json | None = None) -> Json:
    return {"type": "tool_result", "tool_use_id": "a", "content": content, **(mark or {})}


def paper(citing: Json | None = None) -> Json:
    source: Json = {"type": "text", "media_type": "text/plain", "data": "words"}
    return {"type": "document", "source": source, **(citing or {})}


def found(citing: Json | None = None) -> Json:
    return {"type": "search_result", "source": "s", "title": "t", "content": [text("words")], **(citing or {})}


def request(*messages: Json, **more: object) -> Json:
    return {"model": "m", "max_tokens": 1, "tools": [TOOL], "messages": list(messages), **more}


def places(document: object, rule: str, profile: str = "anthropic") -> list[str]:
    return [each.position for each in check(document, format="anthropic", profile=profile) if each.rule == rule]


def repaired(document: object, profile: str = "anthropic") -> Repair:
    done = repair(document, format="anthropic", profile=profile)
    assert done.remaining == ()
    assert check(done.document, format="anthropic", profile=profile) == []
    again = repair(done.document, format="anthropic", profile=profile)
    assert again.edits == ()
    return done


def ttls(raw: object) -> Iterator[str]:
    """Yield how long each marker holds, in the order in which Anthropic reads them."""
    block = as_object(raw)
    for key in ("tools", "system", "messages", "content"):
        for each in as_array(block.get(key)):
            yield from ttls(each)
    if mark := as_object(block.get("cache_control")):
        yield str(mark.get("ttl", "5m"))


LATE: dict[str, tuple[Json, list[str]]] = {
    "in a later message": (
        request(user(text("a", FIVE)), assistant(text("b")), user(text("c", HOUR))),
        ["messages[2].content[0]"],
    ),
    "behind a marker that names no time": (
        request(user(text("a", PLAIN), text("b", HOUR))),
        ["messages[0].content[1]"],
    ),
    "in the system prompt, behind a tool": (
        request(user(text("a")), tools=[TOOL | FIVE], system=[text("s", HOUR)]),
        ["system[0]"],
    ),
    "in a later tool": (request(user(text("a")), tools=[TOOL | FIVE, {**TOOL, "name": "g"} | HOUR]), ["tools[1]"]),
    "in the messages, behind the system prompt": (
        request(user(text("a", HOUR)), system=[text("s", FIVE)]),
        ["messages[0].content[0]"],
    ),
    "inside a result": (
        request(user(text("a", FIVE)), assistant(USE), user(result([text("b", HOUR)]))),
        ["messages[2].content[0]"],
    ),
    "on a result, behind one inside it": (
        request(user(text("a")), assistant(USE), user(result([text("b", FIVE)], HOUR))),
        ["messages[2].content[0]"],
    ),
    "on a call": (request(user(text("a", FIVE)), assistant(USE | HOUR), user(result("b"))), ["messages[1].content[0]"]),
    "on the whole request": (request(user(text("a", FIVE)), **HOUR), ["cache_control"]),
}


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
@pytest.mark.parametrize("where", LATE)
def test_a_marker_of_an_hour_does_not_come_after_one_of_five_minutes(where: str, profile: str) -> None:
    document, expected = LATE[where]
    assert places(document, "cache-mark-order", profile) == expected
    done = repaired(document, profile)
    lifetimes = list(ttls(done.document))
    assert len(lifetimes) == len(list(ttls(document)))  # a marker stays a marker
    assert "1h" not in lifetimes[lifetimes.index("5m") :]
    assert [each.sentence for each in done.edits] == [
        f"The cache marker at {place} holds for five minutes, as one before it does." for place in expected
    ]


def test_an_hour_first_is_left_as_it_is() -> None:
    document = request(user(text("a", HOUR), text("b", FIVE)), tools=[TOOL | HOUR], system=[text("s", HOUR)])
    assert repaired(document).document is document


def test_only_a_marker_that_was_not_sent_changes() -> None:
    messages = [user(text("a", FIVE)), assistant(text("b")), user(text("c", HOUR))]
    done = repair(messages, format="anthropic", frozen=2)
    assert done.messages[0] is messages[0]
    assert done.remaining == ()
    assert repair(messages, format="anthropic", frozen=3).messages == messages


@pytest.mark.parametrize("mark", [{"type": "ephemeral", "ttl": "10m"}, {"type": "forever"}])
def test_a_marker_is_as_the_provider_knows_it(mark: Json) -> None:
    document = request(user({**text("a"), "cache_control": mark}))
    assert [each.rule for each in check(document, format="anthropic")] == ["field-mistyped"]
    assert list(ttls(repaired(document).document)) == (["5m"] if "ttl" in mark else [])


FOUR = [text(word, PLAIN) for word in "abcd"]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (request(user(*FOUR), **PLAIN), ["messages[0].content[0]"]),
        (request(user(*FOUR[:3], text("e"))), []),
        (request(user(*FOUR[:3], text("e")), **PLAIN), []),
        (
            request(user(*FOUR[:2], text("e")), system=[text("s", PLAIN), text("t", PLAIN)], **PLAIN),
            ["messages[0].content[0]"],
        ),
        (request(user(text("e")), system=FOUR, **PLAIN), ["system[0]"]),
    ],
)
def test_the_marker_of_the_whole_request_is_one_of_the_four(document: Json, expected: list[str]) -> None:
    assert places(document, "too-many-cache-marks") == expected
    done = repaired(document)
    assert len(list(ttls(done.document))) == min(4, len(list(ttls(document))))
    assert as_object(done.document).get("cache_control") == document.get("cache_control")


MARKS = st.sampled_from([None, HOUR, FIVE, PLAIN])


@law()
@given(outside=st.lists(MARKS, max_size=3), inside=st.lists(MARKS, min_size=1, max_size=4), tools=st.booleans())
def test_no_order_of_markers_is_refused_after_a_repair(
    *, outside: list[Json | None], inside: list[Json | None], tools: bool
) -> None:
    blocks = [text(f"w{at}", mark) for at, mark in enumerate(inside)]
    if tools:
        more: Json = {"tools": [{**TOOL, "name": f"f{at}"} | (mark or {}) for at, mark in enumerate(outside)] or [TOOL]}
    else:
        more = {"system": [text(f"s{at}", mark) for at, mark in enumerate(outside)]}
    lifetimes = list(ttls(repaired(request(user(*blocks), **more)).document))
    assert "5m" not in lifetimes or "1h" not in lifetimes[lifetimes.index("5m") :]


MIXED: dict[str, tuple[list[Json], list[tuple[str, bool]]]] = {
    "the first has them": ([user(paper(ON), paper())], [("messages[0].content[1]", True)]),
    "the first says that it has none": ([user(paper(OFF), paper(ON))], [("messages[0].content[1]", False)]),
    "the first says nothing": ([user(paper(), paper(ON))], [("messages[0].content[1]", False)]),
    "in a later message": (
        [user(paper(ON)), assistant(text("a")), user(paper(OFF))],
        [("messages[2].content[0]", True)],
    ),
    "inside a result": (
        [user(paper(ON)), assistant(USE), user(result([text("a"), paper()]))],
        [("messages[2].content[0]", True)],
    ),
    "search results": ([user(found(ON), found())], [("messages[0].content[1]", True)]),
    "search results inside a result": (
        [user(text("a")), assistant(USE), user(result([found(), found(ON)]))],
        [("messages[2].content[0]", False)],
    ),
}


def cited(raw: object, kind: str) -> Iterator[bool]:
    block = as_object(raw)
    if block.get("type") == kind:
        yield as_object(block.get("citations")).get("enabled") is True
    for each in as_array(block.get("content")):
        yield from cited(each, kind)


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
@pytest.mark.parametrize("what", MIXED)
def test_citations_are_as_those_of_the_first_document(what: str, profile: str) -> None:
    messages, expected = MIXED[what]
    assert places(messages, "citations-mixed", profile) == [place for place, _ in expected]
    done = repaired(messages, profile)
    kind = "search_result" if "search" in what else "document"
    states = [state for message in done.messages for state in cited(message, kind)]
    assert set(states) == {expected[0][1]}
    assert len(states) >= 2
    state = "on" if expected[0][1] else "off"
    assert f"turned {state}" in done.edits[0].sentence


def test_documents_and_search_results_are_two_kinds() -> None:
    messages = [user(paper(ON), found(), paper(ON), found(OFF))]
    assert check(messages, format="anthropic") == []


def test_who_says_nothing_of_citations_is_not_asked() -> None:
    assert check([user(paper(ON), paper())], format="anthropic", profile="deepseek") == []
