"""pydantic-ai's own adapter as the judge of what loads: fields of a wrong type are reported, and load once repaired."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import check, repair
from holdfast.history.field_types import value_at
from holdfast.history.formats.format import as_array, as_object, is_object
from holdfast.history.profiles import PAIRS
from laws import law
from pydantic_ai_documents import every_part
from sdk_types import pydantic_ai_refusal
from wire_documents import paths

Json = dict[str, object]
WRONG: list[object] = [None, 1, True, [], {}]
CALL: Json = {"part_kind": "tool-call", "tool_name": "ls", "args": "{}", "tool_call_id": "abcdefgh1"}
RETURN: Json = {"part_kind": "tool-return", "tool_name": "ls", "content": "a.txt", "tool_call_id": "abcdefgh1"}


def history(returned: Json) -> list[object]:
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Which files?"}]},
        {"kind": "response", "parts": [CALL]},
        {"kind": "request", "parts": [returned]},
    ]


def loads(messages: list[object]) -> bool:
    return pydantic_ai_refusal("pydantic-ai", messages) == ""


@pytest.mark.parametrize("profile", PAIRS["pydantic-ai"])
@pytest.mark.parametrize("name", [None, 1, "lost"])
def test_a_result_without_the_name_of_its_tool_gets_its_calls(profile: str, name: object) -> None:
    returned = {**RETURN, "tool_name": name}
    if name == "lost":
        del returned["tool_name"]
    assert not loads(history(returned))
    assert "field-mistyped" in {each.rule for each in check(history(returned), format="pydantic-ai", profile=profile)}
    repaired = repair(history(returned), format="pydantic-ai", profile=profile)
    assert repaired.remaining == ()
    assert loads(repaired.messages)
    assert [part for part in parts(repaired.messages) if part.get("part_kind") == "tool-return"] == [RETURN]


def test_a_field_beside_goes_and_everything_else_stays() -> None:
    messages = history({**RETURN, "timestamp": None, "metadata": {"x": 1}})
    messages[1] = {**as_object(messages[1]), "usage": None, "run_id": "r"}
    repaired = repair(messages, format="pydantic-ai")
    expected = history({**RETURN, "metadata": {"x": 1}})
    expected[1] = {**as_object(expected[1]), "run_id": "r"}
    assert repaired.messages == expected
    assert repaired.messages[0] is messages[0]
    assert [edit.sentence for edit in repaired.edits] == [
        "Fields of messages[1] have the wrong type; they are removed, or quoted as text.",
        "Fields of messages[2].parts[0] have the wrong type; they are removed, or quoted as text.",
    ]


def parts(messages: list[object]) -> list[Json]:
    return [as_object(part) for message in messages for part in as_array(as_object(message).get("parts"))]


PLACES = [path for path in paths(every_part()) if isinstance(path[-1], str)]


@law()
@given(data=st.data())
def test_a_field_that_does_not_load_is_reported_and_loads_once_repaired(data: st.DataObject) -> None:
    messages = copy.deepcopy(every_part())
    for path in data.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        holder = value_at(messages, path[:-1])
        if is_object(holder):
            holder[str(path[-1])] = copy.deepcopy(data.draw(st.sampled_from(WRONG)))
    profile = data.draw(st.sampled_from(PAIRS["pydantic-ai"]))
    if not loads(messages):
        assert check(messages, format="pydantic-ai", profile=profile) != []
        repaired = repair(messages, format="pydantic-ai", profile=profile)
        assert repaired.remaining == ()
        assert loads(repaired.messages)
        assert repair(repaired.messages, format="pydantic-ai", profile=profile).edits == ()


def test_every_field_of_what_the_library_writes_is_known_by_its_type() -> None:
    untold: list[str] = []
    for path in PLACES:
        messages = every_part()
        holder = as_object(value_at(messages, path[:-1]))
        for value in (*WRONG, 1.5, "zebra", "lost"):
            holder[str(path[-1])] = value
            if value == "lost":
                del holder[str(path[-1])]
            if not loads([messages[int(path[0])]]) and check(messages, format="pydantic-ai") == BEFORE:
                untold.append(f"{path[-1]}: {value}")
    assert set(untold) == WORDS


BEFORE = check(every_part(), format="pydantic-ai")
WORDS = {
    f"{name}: zebra" for name in ("scope", "force_download", "ttl", "state", "outcome", "finish_reason", "cause")
} | {"provider_name: zebra"}
"""Words that the library does not know, of which a later version may: only the types of fields are judged."""


FILE: Json = {"kind": "binary", "data": "AAAA", "media_type": "image/png", "identifier": "wFILE1."}
SPEECH: Json = {"part_kind": "speech", "speaker": "assistant", "transcript": "wSAID1."}
USAGE: Json = {"input_tokens": 5, "output_tokens": None, "details": {"a": 1}, "cost": "much"}
SEARCHED: Json = {**CALL, "tool_name": "search_tools", "tool_kind": "tool-search", "tool_call_id": "a"}


@pytest.mark.parametrize(
    ("part", "now"),
    [
        ({"part_kind": "file", "content": FILE, "id": 5}, {"part_kind": "file", "content": FILE}),
        ({**SPEECH, "speaker": "user", "audio": "x"}, SPEECH),
        ({**SPEECH, "timestamps": [{"text": "x"}]}, SPEECH),
        ({"part_kind": "text", "content": "x", "citations": [5]}, {"part_kind": "text", "content": "x"}),
    ],
)
def test_a_part_of_the_answer_loses_only_what_is_wrong(part: Json, now: Json) -> None:
    messages: list[object] = [USER, {"kind": "response", "parts": [part]}, USER]
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai")
    assert repaired.messages == [USER, {"kind": "response", "parts": [now]}, USER]
    assert loads(repaired.messages)


USER: Json = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "x"}]}


@pytest.mark.parametrize("file", [5, None, {}, {**FILE, "data": "zebra"}, {"kind": "binary", "data": "AAAA"}])
def test_a_file_of_the_answer_that_is_none_becomes_text(file: object) -> None:
    part: Json = {"part_kind": "file", "content": file}
    messages: list[object] = [USER, {"kind": "response", "parts": [part]}, USER]
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai")
    assert [part["part_kind"] for part in parts(repaired.messages)] == ["user-prompt", "text", "user-prompt"]
    assert loads(repaired.messages)


def test_a_model_that_takes_text_only_gets_a_note_of_a_file_of_the_answer() -> None:
    messages: list[object] = [USER, {"kind": "response", "parts": [{"part_kind": "file", "content": FILE}]}, USER]
    repaired = repair(messages, format="pydantic-ai", text_only=True)
    assert repaired.remaining == ()
    assert [part["part_kind"] for part in parts(repaired.messages)] == ["user-prompt", "text", "user-prompt"]


def test_of_a_usage_only_what_is_wrong_goes() -> None:
    messages: list[object] = [USER, {"kind": "response", "parts": [CALL], "usage": USAGE}, history(RETURN)[2]]
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai").messages
    assert as_object(repaired[1])["usage"] == {"input_tokens": 5, "details": {"a": 1}}
    assert loads(repaired)


@pytest.mark.parametrize("args", [{"queries": "x"}, {"a": 1}])
def test_a_call_of_a_tool_of_the_library_s_that_is_none_of_its_is_one_of_any(args: Json) -> None:
    messages: list[object] = [USER, {"kind": "response", "parts": [{**SEARCHED, "args": args}]}]
    messages.append(history({**RETURN, "tool_call_id": "a", "tool_name": "search_tools"})[2])
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai").messages
    call = {key: value for key, value in SEARCHED.items() if key != "tool_kind"}
    assert as_object(repaired[1])["parts"] == [{**call, "args": args}]
    assert loads(repaired)


@pytest.mark.parametrize(
    ("part", "now"),
    [
        (
            {"part_kind": "compaction", "content": "x", "id": "a", "provider_name": "openai"},
            {"part_kind": "compaction", "content": "x"},
        ),
        ({**SPEECH, "id": "a"}, {**SPEECH, "speaker": "user", "id": "a"}),
    ],
)
def test_a_part_that_only_the_assistant_says_is_the_user_s_in_a_request(part: Json, now: Json) -> None:
    messages: list[object] = [{"kind": "request", "parts": [part]}]
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai").messages
    assert repaired == [{"kind": "request", "parts": [now]}]
    assert loads(repaired)


def test_records_and_cache_points_that_do_not_load_are_repaired_beside_what_is_said() -> None:
    prompt: Json = {"part_kind": "user-prompt", "content": ["x", {"kind": "cache-point", "ttl": 5}]}
    record: Json = {"part_kind": "tool-availability-delta", "tools_added": ["a"], "tool_call_id": 5}
    messages: list[object] = [{"kind": "request", "parts": [prompt, record]}]
    assert not loads(messages)
    repaired = repair(messages, format="pydantic-ai")
    assert parts(repaired.messages) == [
        {"part_kind": "user-prompt", "content": ["x", {"kind": "cache-point"}]},
        {"part_kind": "tool-availability-delta", "tools_added": ["a"]},
    ]
    assert loads(repaired.messages)


def test_a_message_that_says_it_is_a_part_is_a_message() -> None:
    messages: list[object] = [{**USER, "part_kind": "tool-return", "run_id": 5}]
    repaired = repair(messages, format="pydantic-ai")
    assert repaired.remaining == ()
    assert repaired.messages == [{**USER, "part_kind": "tool-return"}]


def test_a_part_that_is_quoted_keeps_what_its_other_fields_say() -> None:
    returned: Json = {"part_kind": "builtin-tool-return", "tool_name": "f", "tool_call_id": "s", "content": "x"}
    messages: list[object] = [USER, {"kind": "response", "parts": [{**returned, "parts": ["wKEPT1."]}]}, USER]
    assert "wKEPT1." in json.dumps(repair(messages, format="pydantic-ai", profile="anthropic").messages)


@pytest.mark.parametrize("profile", PAIRS["pydantic-ai"])
@pytest.mark.parametrize(
    "content",
    [
        [[]],
        [None],
        [{}],
        [{"type": "text", "text": ""}],
        [{"type": "missing", "loc": ["a"], "msg": "x"}],
        [{"type": "missing", "loc": "a", "msg": "x", "input": None}],
        [{"type": "missing", "loc": [None], "msg": "x", "input": None}],
        [{"type": "missing", "loc": [], "msg": "x", "input": None, "ctx": 5}],
    ],
)
def test_feedback_that_is_none_becomes_text(profile: str, content: list[object]) -> None:
    feedback: Json = {"part_kind": "retry-prompt", "tool_name": "ls", "tool_call_id": "abcdefgh1", "content": content}
    assert not loads(history(feedback))
    done = repair(history(feedback), format="pydantic-ai", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="pydantic-ai", profile=profile).edits == ()
    assert loads(done.messages)


def test_feedback_of_pydantic_s_errors_stays() -> None:
    error: Json = {"type": "missing", "loc": ["a", 0], "msg": "x", "input": None, "ctx": {}, "url": "u"}
    feedback: Json = {"part_kind": "retry-prompt", "tool_name": "ls", "tool_call_id": "abcdefgh1", "content": [error]}
    log = history(feedback)
    assert loads(log)
    assert repair(log, format="pydantic-ai", profile="openai-chat").messages is log
