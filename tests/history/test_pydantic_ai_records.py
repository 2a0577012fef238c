"""Records of pydantic-ai's in requests: settings and instructions that changed, and no words of the conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from holdfast.history import check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.formats.pydantic_ai.field_table import PYDANTIC_AI_CONTENTS, PYDANTIC_AI_PARTS
from holdfast.history.formats.pydantic_ai.fields import RECORD_KINDS
from holdfast.history.profiles import PAIRS
from sdk_types import pydantic_ai_refusal
from tiers import sampled

USER: Json = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]}
CALL: Json = {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "abcdefgh1"}
RETURN: Json = {"part_kind": "tool-return", "tool_name": "f", "content": "r", "tool_call_id": "abcdefgh1"}
ASKED: Json = {"kind": "response", "parts": [CALL]}
INSTRUCTION: Json = {"part_kind": "instruction", "content": "wTOLD1.", "dynamic": False, "on_change": "append"}
RECORDS: Mapping[str, Json] = {
    "model-settings-delta": {"settings": {"thinking": "high"}, "top_level": True},
    "instruction-delta": {"id": "agent", "content": "wTOLD2.", "base_hash": "a"},
    "instruction-baseline": {
        "instructions": [INSTRUCTION, {"part_kind": "instruction-digest", "content_hash": "h", "dynamic": "true"}]
    },
    "tool-availability-delta": {"tools_added": ["a"], "tool_call_id": "abcdefgh1"},
    "capability-load-delta": {"loaded": ["a"], "tool_call_id": None},
}
NONE: list[object] = []
NOTHING: Json = {}
WRONG: tuple[object, ...] = (
    *(
        None,
        5,
        0.5,
        True,
        "x",
        NONE,
        NOTHING,
        [5],
        [NOTHING],
        {"thinking": 5},
        {"thinking": ["high"]},
        [{"content": 5}],
    ),
    *([{**INSTRUCTION, key: value}] for key in ("content", "dynamic", "on_change", "name", "id") for value in (5, "x")),
    [{**INSTRUCTION, "part_kind": "of-tomorrow"}],
)


def loads(messages: list[object]) -> bool:
    return pydantic_ai_refusal("pydantic-ai", messages) == ""


def request(*parts: Json, **fields: object) -> Json:
    return {"kind": "request", "parts": list(parts), **fields}


def places(record: Json) -> Iterator[list[object]]:
    """Yield conversations with the record alone in a request, beside what is said, and in a response."""
    yield [USER, ASKED, request(record), request(RETURN)]
    yield [USER, ASKED, request(RETURN), request(record)]
    yield [USER, ASKED, request(RETURN, record)]
    yield [USER, ASKED, request(record, RETURN)]
    yield [USER, {"kind": "response", "parts": [record, CALL]}, request(RETURN)]


def faulty(kind: str) -> Iterator[Json]:
    """Yield the record with each of its fields missing, or of another type."""
    record: Json = {"part_kind": kind, **RECORDS[kind]}
    for key in RECORDS[kind]:
        yield {name: value for name, value in record.items() if name != key}
        yield from ({**record, key: value} for value in WRONG)


def test_every_kind_that_the_library_declares_is_known() -> None:
    declared: dict[str, set[str]] = {"part_kind": set(), "kind": set()}
    for each in ModelMessagesTypeAdapter.json_schema()["$defs"].values():
        for by, kinds in declared.items():
            if "const" in (schema := as_object(as_object(each.get("properties")).get(by))):
                kinds.add(str(schema["const"]))
    within = {"instruction", "instruction-digest"}  # of a baseline
    of_sources = {"web", "document", "content", "marker"}  # of a citation
    assert declared["part_kind"] - within == set(PYDANTIC_AI_PARTS.kinds)
    assert declared["kind"] - {"request", "response"} - of_sources <= set(PYDANTIC_AI_CONTENTS.kinds)
    assert set(RECORDS) == RECORD_KINDS


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_in_a_request_stays_as_it_is(kind: str) -> None:
    for messages in list(places({"part_kind": kind, **RECORDS[kind]}))[:4]:
        assert loads(messages)
        assert check(messages, format="pydantic-ai") == []
        assert repair(messages, format="pydantic-ai").messages is messages


@pytest.mark.parametrize(("kind", "profile"), sampled(product(RECORDS, PAIRS["pydantic-ai"]), 8))
def test_a_record_that_does_not_load_is_reported_and_loads_once_repaired(kind: str, profile: str) -> None:
    seen = 0
    for record in faulty(kind):
        for messages in places(record):
            violations = check(messages, format="pydantic-ai", profile=profile)
            repaired = repair(messages, format="pydantic-ai", profile=profile)
            assert loads(messages) or violations, messages
            assert repaired.remaining == ()
            assert loads(repaired.messages), repaired.messages
            assert repair(repaired.messages, format="pydantic-ai", profile=profile).edits == ()
            assert ("wTOLD2." in json.dumps(repaired.messages)) == ("wTOLD2." in json.dumps(messages))
            seen += bool(violations)
    assert seen > 20


def test_a_request_of_records_alone_loses_what_does_not_load_in_its_place() -> None:
    record: Json = {"part_kind": "model-settings-delta", **RECORDS["model-settings-delta"]}
    silent = request({**record, "top_level": []}, record, timestamp=[], run_id="r")
    messages: list[object] = [USER, silent, ASKED, request(RETURN)]
    violations = check(messages, format="pydantic-ai")
    assert [(each.rule, each.position, each.message) for each in violations] == [("field-mistyped", "messages[1]", 1)]
    repaired = repair(messages, format="pydantic-ai")
    without = {key: value for key, value in record.items() if key != "top_level"}
    assert repaired.messages == [USER, request(without, record, run_id="r"), ASKED, request(RETURN)]
    assert [each.sentence for each in repaired.edits] == [
        "Fields of messages[1] have the wrong type; they are removed, or quoted as text."
    ]
    assert all(repaired.messages[at] is messages[at] for at in (0, 2, 3))


def test_a_request_of_records_alone_that_was_sent_stays() -> None:
    silent = request({"part_kind": "capability-load-delta", "loaded": 5})
    messages: list[object] = [USER, silent, ASKED]
    repaired = repair(messages, format="pydantic-ai", frozen=2)
    assert repaired.messages[1] is silent
    assert [(each.rule, each.position) for each in repaired.remaining] == [("field-mistyped", "messages[1]")]
    assert len(as_array(as_object(repaired.messages[3])["parts"])) == 1


def test_a_record_that_is_nothing_is_quoted() -> None:
    messages: list[object] = [request({"part_kind": "instruction-delta", "id": "agent", "content": ["wTOLD3."]})]
    violations = check(messages, format="pydantic-ai")
    assert [(each.rule, each.position) for each in violations] == [("foreign-content", "messages[0].parts[0]")]
    [part] = as_array(as_object(repair(messages, format="pydantic-ai").messages[0])["parts"])
    assert as_object(part)["part_kind"] == "user-prompt"
    assert "wTOLD3." in str(as_object(part)["content"])


def test_a_file_of_a_result_that_is_quoted_loads_where_it_then_stands() -> None:
    file: Json = {"kind": "image-url", "url": "https://example.org/x.png", "force_download": None}
    messages: list[object] = [request({**RETURN, "content": ["x", file]})]
    repaired = repair(messages, format="pydantic-ai")
    assert repaired.remaining == ()
    assert loads(repaired.messages)
    assert "https://example.org/x.png" in json.dumps(repaired.messages)
