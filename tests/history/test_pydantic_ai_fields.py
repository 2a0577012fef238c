"""pydantic-ai's own adapter as the judge of what loads: fields of a wrong type are told, and what is mended loads."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import check, repair
from holdfast.history.formats.format import as_array, as_object
from holdfast.history.profiles import PAIRS
from laws import law
from pydantic_ai_documents import every_part
from sdk_types import pydantic_ai_refusal

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
    mended = repair(history(returned), format="pydantic-ai", profile=profile)
    assert mended.remaining == ()
    assert loads(mended.messages)
    assert [part for part in parts(mended.messages) if part.get("part_kind") == "tool-return"] == [RETURN]


def test_a_field_beside_goes_and_everything_else_stays() -> None:
    messages = history({**RETURN, "timestamp": None, "metadata": {"x": 1}})
    messages[1] = {**as_object(messages[1]), "usage": None, "run_id": "r"}
    mended = repair(messages, format="pydantic-ai")
    kept = history({**RETURN, "metadata": {"x": 1}})
    kept[1] = {**as_object(kept[1]), "run_id": "r"}
    assert mended.messages == kept
    assert mended.messages[0] is messages[0]
    assert [edit.sentence for edit in mended.edits] == [
        "Fields of messages[1] are of a wrong type; they go, or become text.",
        "Fields of messages[2].parts[0] are of a wrong type; they go, or become text.",
    ]


def parts(messages: list[object]) -> list[Json]:
    return [as_object(part) for message in messages for part in as_array(as_object(message).get("parts"))]


def beside() -> Iterator[tuple[str | int, ...]]:
    """Yield every field beside what is said that a document may have: of a message, and of a part."""
    told = {"kind", "parts", "part_kind", "content", "args", "tool_call_id", "tool_name", "transcript"}
    for index, message in enumerate(every_part()):
        yield from ((index, key) for key in as_object(message) if key not in told and key in JUDGED)
        for number, part in enumerate(as_array(as_object(message).get("parts"))):
            if as_object(part).get("part_kind") in PARTS:
                yield from (
                    (index, "parts", number, key) for key in as_object(part) if key not in told and key in JUDGED
                )


PARTS = {
    "system-prompt",
    "user-prompt",
    "tool-return",
    "text",
    "thinking",
    "tool-call",
    "builtin-tool-call",
    "builtin-tool-return",
}
JUDGED = {
    *("timestamp", "outcome", "provider_name", "provider_details", "id", "signature", "citations", "tool_kind"),
    *("run_id", "conversation_id", "metadata", "state", "usage", "model_name", "provider_url", "finish_reason"),
    "provider_response_id",
}
PLACES = sorted(beside(), key=repr)


@law()
@given(data=st.data())
def test_what_does_not_load_for_a_field_is_told_and_what_is_mended_loads(data: st.DataObject) -> None:
    messages = copy.deepcopy(every_part())
    for path in data.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        holder = as_object(messages[int(path[0])])
        if len(path) > 2:
            holder = as_object(as_array(holder["parts"])[int(path[2])])
        holder[str(path[len(path) - 1])] = data.draw(st.sampled_from(WRONG))
    profile = data.draw(st.sampled_from(PAIRS["pydantic-ai"]))
    if not loads(messages):
        assert "field-mistyped" in {each.rule for each in check(messages, format="pydantic-ai", profile=profile)}
        mended = repair(messages, format="pydantic-ai", profile=profile)
        assert [each for each in mended.remaining if each.rule == "field-mistyped"] == []
        assert loads(mended.messages)
        assert repair(mended.messages, format="pydantic-ai", profile=profile).edits == ()


def test_the_fields_are_there_to_be_spoiled() -> None:
    assert len(PLACES) > 20


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
