"""Gemini's contents: what their parts mean, and that Google, by the reference, accepts what was repaired."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Piece, conversations
from holdfast.history import NO_RESULT, Repair, check, repair
from holdfast.history.formats.format import as_array, as_object, is_object
from holdfast.history.formats.gemini import UNSIGNED
from holdfast.history.profiles import PAIRS
from holdfast.history.repairs.content import EMPTY_TEXT
from holdfast.history.shape import NO_USER
from renderings import gemini

Json = dict[str, object]

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + b"\0\0\0\1\0\0\0\1").decode()
SIGNED = {"thoughtSignature": "c2lnbmVk"}
IMAGE: Json = {"inlineData": {"mimeType": "image/png", "data": PNG}}
GIF: Json = {"inlineData": {"mimeType": "image/gif", "data": "R0lGODlhAQABAAAAACw="}}
RUN: Json = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RAN: Json = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}


def text(words: str, **more: object) -> Json:
    return {"text": words, **more}


def call(name: str = "read", /, args: object = None, **more: object) -> Json:
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}, **SIGNED}


def result(name: str = "read", /, output: object = "ok", **more: object) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": output}, **more}}


def user(*parts: object) -> Json:
    return {"role": "user", "parts": list(parts)}


def model(*parts: object) -> Json:
    return {"role": "model", "parts": list(parts)}


USER = user(text("hi"))
MADE_UP = result("read", NO_RESULT)


def repaired(*contents: object, profile: str = "gemini") -> Repair:
    """Return the repair: nothing is left to repair, and the reference accepts the contents."""
    done = repair(list(contents), format="gemini", profile=profile)
    assert done.remaining == ()
    assert list(refused(done.messages)) == []
    return done


# --- what the reference says Google refuses, read without the rules of holdfast --------------------------------------

_DATA = {
    "text",
    *("functionCall", "functionResponse", "inlineData", "fileData", "executableCode", "codeExecutionResult"),
    *("function_call", "function_response", "inline_data", "file_data", "executable_code", "code_execution_result"),
}


def fields_of(content: object, *names: str) -> list[Json]:
    """Return the calls, or the responses, that a content holds."""
    parts = [as_object(part) for part in as_array(as_object(content)["parts"])]
    return [as_object(part[name]) for part in parts for name in names if name in part]


def calls_of(content: object) -> list[Json]:
    return fields_of(content, "functionCall", "function_call")


def responses_of(content: object) -> list[Json]:
    return fields_of(content, "functionResponse", "function_response")


def refused(contents: list[object]) -> Iterator[str]:
    """Yield what Google would answer, with the number of its rule in the reference."""
    json.dumps(contents, ensure_ascii=False).encode()  # or the body is no JSON
    if not contents:
        yield "contents is not specified"
        return
    for index, content in enumerate(contents):
        assert is_object(content), f"contents[{index}] is no object"
        yield from _refused_parts(index, content)
    for index, content in enumerate(contents):
        before, after = contents[index - 1] if index else None, [*contents, None][index + 1]
        calls, responses = calls_of(content), responses_of(content)
        speaker = as_object(content)["role"]
        if (calls and speaker != "model") or (responses and speaker == "model"):
            yield f"contents[{index}] has calls or responses of the other side"
        if calls and (before is None or as_object(before)["role"] == "model"):
            yield f"GM-1 contents[{index}]: a call turn comes after a user turn or a function response turn"
        if responses and (before is None or not calls_of(before)):
            yield f"GM-2 contents[{index}]: a function response turn comes immediately after a function call turn"
        if calls and len(calls) != len([] if after is None else responses_of(after)):
            yield f"GM-3 contents[{index}]: as many function response parts as function call parts"
        if responses and before is not None:
            call_ids = [one["id"] for one in calls_of(before) if one.get("id")]
            response_ids = [one["id"] for one in responses if one.get("id")]
            if len(call_ids) == len(responses) == len(response_ids) and sorted(map(str, call_ids)) != sorted(
                map(str, response_ids)
            ):
                yield f"contents[{index}] has responses of other calls"
    yield from _refused_signatures(contents)


def _refused_parts(index: int, content: Json) -> Iterator[str]:
    if content.get("role") not in ("user", "model", "function"):
        yield f"contents[{index}]: Please use a valid role: user, model."
    if not content.get("parts"):
        yield f"GM-7 contents[{index}].parts must not be empty"
    for number, part in enumerate(as_array(content.get("parts"))):
        where, raw = f"contents[{index}].parts[{number}]", as_object(part)
        data = [key for key in raw if key in _DATA and raw[key] is not None]
        signature = raw.get("thoughtSignature", raw.get("thought_signature"))
        if not data or (data == ["text"] and not raw["text"] and not signature):
            yield f"GM-6 {where}.data: required oneof field 'data' must have one initialized field"
        if isinstance(signature, str):
            base64.urlsafe_b64decode(signature.rstrip("=") + "=" * (-len(signature.rstrip("=")) % 4))
            if "=" in signature.rstrip("="):
                yield f"GM-5 {where}.thought_signature: Base64 decoding failed"
    for one in (*calls_of(content), *responses_of(content)):
        if not one.get("name"):
            yield f"GM-8 contents[{index}]: Name cannot be empty."
    if not all(isinstance(one.get("args") or {}, dict) for one in calls_of(content)):
        yield f"contents[{index}]: args is a Struct"
    if not all(isinstance(one.get("response"), dict) for one in responses_of(content)):
        yield f"contents[{index}]: response is a Struct"


def _refused_signatures(contents: list[object]) -> Iterator[str]:
    """Yield the steps of the current turn (all behind the last text of the user) whose first call has no signature."""
    last = as_object(contents[-1])
    if last["role"] == "model" and not calls_of(last):
        return  # a turn that is over: what the user says next begins another
    spoken = [
        index
        for index, content in enumerate(contents)
        if as_object(content)["role"] != "model"
        and len(responses_of(content)) < len(as_array(as_object(content)["parts"]))
    ]
    for index, content in enumerate(contents[spoken[-1] :] if spoken else contents):
        for part in as_array(as_object(content)["parts"]):
            raw = as_object(part)
            if "functionCall" in raw or "function_call" in raw:
                if not (raw.get("thoughtSignature") or raw.get("thought_signature")):
                    yield f"GM-4 step {index}: Function call is missing a thought_signature in functionCall parts."
                break


@given(pieces=conversations(), profile=st.sampled_from(PAIRS["gemini"]))
def test_the_reference_accepts_what_was_repaired(pieces: tuple[Piece, ...], profile: str) -> None:
    done = repair(gemini(pieces), format="gemini", profile=profile)
    if not done.remaining:
        assert list(refused(done.messages)) == []


@given(pieces=conversations(), at=st.integers(0, 20))
def test_what_the_reference_refuses_is_reported(pieces: tuple[Piece, ...], at: int) -> None:
    contents = gemini(pieces)
    valid = repair(contents, format="gemini").messages
    for each in (contents, valid, [*valid[:at], *valid[at + 1 :]], [*valid[: at + 1], *valid[at:]]):
        if not check(each, format="gemini"):
            assert list(refused(each)) == []


_PARTS: list[object] = [
    *(text("said"), text(" "), text(""), text("", **SIGNED), text("\ud83d", thought=True), text("so", **SIGNED)),
    *(call(), call(id="a"), call("no name", '{"x'), call("", id="b"), {"function_call": {"name": "read"}}),
    {"functionCall": {"name": "read", "args": []}, "thoughtSignature": "c2ln=bmVk"},
    *(result(), result(id="a"), result("bash", id="b"), {"function_response": {"name": "read"}}),
    {"functionResponse": {"response": "ok"}},
    {"functionResponse": {"name": "read", "response": {}, "parts": [GIF, IMAGE]}},
    *(RUN, RAN, IMAGE, GIF, {"inlineData": {}}, {"fileData": {"fileUri": "gs://x"}}),
    *({}, {"text": None, "thought": True}, {"x-unknown": 1}, text("so", thought=True, thoughtSignature="x"), None),
]
_parts = st.sampled_from(_PARTS)
_contents: st.SearchStrategy[object] = st.one_of(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "model", "user", "model", "function", "assistant", "tool", "system", 7]),
            "parts": st.lists(_parts, max_size=4),
        }
    ),
    st.fixed_dictionaries({"parts": st.lists(_parts, max_size=2)}),
    st.fixed_dictionaries({"role": st.just("model"), "parts": _parts}),
    st.sampled_from([{"role": "user"}, {"role": "user", "content": "x"}, "x", None]),
)


@given(st.lists(_contents, max_size=6), st.sampled_from(PAIRS["gemini"]), st.integers(0, 3))
def test_any_parts_at_all_can_be_repaired(contents: list[object], profile: str, frozen: int) -> None:
    done = repair(contents, format="gemini", profile=profile)
    assert {each.rule for each in done.remaining} <= {"no-messages"}
    assert repair(done.messages, format="gemini", profile=profile).edits == ()
    if not done.remaining and all(_is_plain(content) for content in done.messages):
        assert list(refused(done.messages)) == []
    sent = repair(contents, format="gemini", profile=profile, frozen=frozen).messages
    assert all(is_now is was for is_now, was in zip(sent, contents[:frozen], strict=False))


def _is_plain(content: object) -> bool:
    """Return whether the content is written in full: what Google reads into another is not what the reference tells."""
    raw = as_object(content)
    return isinstance(raw.get("parts"), list) and "role" in raw


# --- what is valid ---------------------------------------------------------------------------------------------------

VALID: dict[str, list[object]] = {
    "texts": [USER, model(text("a")), user(text("b"), IMAGE)],
    "parallel calls, with and without ids": [
        USER,
        model(text("both"), call(id="x"), call("bash")),
        user(result("bash"), result(id="x"), text("and")),
        model(call("bash")),
        {"role": "function", "parts": [result("bash")]},
    ],
    "equal roles in a row": [USER, user(text("and")), model(text("a")), model(text("b")), USER],
    "a turn that is over": [USER, model({"functionCall": {"name": "read"}}), user(result()), model(text("a"))],
    "an earlier turn": [USER, model({"functionCall": {"name": "read"}}), user(result()), USER],
    "thoughts": [USER, model(text("so", thought=True), call()), user(result()), model(text("a"), text("", **SIGNED))],
    "only a thought": [USER, model(text("so", thought=True)), USER],
    "a tool of the provider": [USER, model(RUN, RAN, text("1")), USER],
    "no role, a single part": [{"parts": text("hi")}],
    "the fields of an SDK": [
        user({"text": "hi", "function_call": None, "inline_data": None, "thought": None}),
        model({"text": None, "function_call": {"id": None, "name": "read", "args": None}, "thought_signature": "c2ln"}),
        user({"function_response": {"name": "read", "response": {"result": 1}}, "text": None}),
    ],
    "files": [
        user(
            {"inlineData": {"mimeType": "image/png", "data": PNG.replace("+", "-").replace("/", "_").rstrip("=")}},
            {"inline_data": {"mime_type": "application/pdf", "data": "JVBERi0xLjc="}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.org/x"}},
        )
    ],
    "a name with all that a name can have": [USER, model(call("a.b:c-d_1")), user(result("a.b:c-d_1"))],
}


@pytest.mark.parametrize("contents", VALID.values(), ids=VALID)
def test_what_is_valid_is_left_alone(contents: list[object]) -> None:
    assert check(contents, format="gemini") == []
    done = repair(contents, format="gemini")
    assert done.edits == ()
    assert done.messages is contents


# --- calls and results -----------------------------------------------------------------------------------------------


def test_a_missing_result_stands_before_what_the_user_said_and_unknown_fields_go() -> None:
    answer = model(call("bash"), call(id="x"))
    done = repaired(USER, answer, {**user(result("bash", x=1), text("stop", x=1)), "x-unknown": [2]})
    added = {"functionResponse": {"id": "x", "name": "read", "response": {"output": NO_RESULT}}}
    assert done.messages == [
        USER,
        answer,
        user(result("bash"), added, text("stop")),
    ]
    assert done.messages[1] is answer


def test_a_result_that_is_made_up_is_spelled_as_its_call() -> None:
    answer = model({"function_call": {"name": "read", "args": {}}, "thought_signature": "c2ln"})
    assert repaired(USER, answer).messages[2] == user({"function_response": MADE_UP["functionResponse"]})


def test_results_go_together_and_keep_the_order_of_their_calls() -> None:
    first, second = result("read", "1"), result("read", "2")
    assert repaired(USER, model(call(), call()), user(first), user(second)).messages[2:] == [user(first, second)]
    steered = repaired(USER, model(call(), call()), user(first), user(text("steer")), user(second))
    assert steered.messages[2:] == [user(first, second), user(text("steer"))]


def test_a_late_result_without_an_id_goes_back_to_the_call_of_its_name() -> None:
    done = repaired(USER, model(call()), model(text("so")), user(result("read", "late")), USER)
    assert done.messages == [USER, model(call()), user(result("read", "late")), model(text("so")), USER]


def test_the_same_result_twice_is_one_and_another_is_quoted() -> None:
    assert repaired(USER, model(call()), user(result(), result())).messages[2:] == [user(result())]
    done = repaired(USER, model(call()), user(result(), result("read", "other")))
    assert done.messages[2] == user(result(), text("[A further result of a call that has one (read)]\nother"))


def test_a_result_whose_call_was_cut_off_is_quoted_with_all_it_says() -> None:
    orphan = result("read", parts=[IMAGE])
    orphan["functionResponse"] = {**as_object(orphan["functionResponse"]), "response": {"stdout": "a\n", "code": 0}}
    quoted = text("[A result whose call is not part of this conversation (read)]\nstdout: a\n\ncode: 0")
    assert repaired(user(orphan), model(text("a"))).messages[0] == user(quoted, IMAGE)


def test_a_call_follows_the_user_or_results() -> None:
    assert repaired(model(call()), user(result())).messages[0] == user(text(NO_USER))
    joined = repaired(USER, model(text("let me see")), model(call()), user(result()))
    assert joined.messages[1:2] == [model(text("let me see"), call())]
    several = repaired(USER, model(text("a")), model(text("b")), model(call()), user(result()))
    assert several.messages[1:4] == [model(text("a")), model(text("b")), user(text(NO_USER))]


def test_calls_and_results_of_the_other_side() -> None:
    assert repaired(USER, model(call(), result())).messages[1:] == [model(call()), user(result())]
    (part,) = as_array(as_object(repaired(user(call())).messages[0])["parts"])
    assert str(as_object(part)["text"]).startswith("[A call]\n")


def test_a_result_without_a_name_gets_that_of_its_call() -> None:
    nameless: Json = {"functionResponse": {"response": {"output": "ok"}}}
    assert repaired(USER, model(call()), user(nameless)).messages[2] == user(result())
    violations = check([USER, model(call()), user(nameless)], format="gemini")
    assert ["Name cannot be empty" in each.error for each in violations] == [True]


def test_a_name_that_no_tool_can_have_is_another_in_both() -> None:
    done = repaired(USER, model(call("open url", id="x")), user(result("open url", id="x")))
    (called,), (response,) = calls_of(done.messages[1]), responses_of(done.messages[2])
    assert called["name"] == response["name"]
    assert str(called["name"]).startswith("tool_open_url_")
    assert called["id"] == response["id"] == "x"


def test_ids_are_repaired_for_any_and_absent_ones_stay_absent() -> None:
    done = repaired(
        USER, model(call(id="a"), call(id="a"), call()), user(result(id="a"), result(), result()), profile="any"
    )
    calls, responses = calls_of(done.messages[1]), responses_of(done.messages[2])
    assert [len(str(one["id"])) if "id" in one else 0 for one in calls] == [9, 9, 0]
    assert {one.get("id") for one in calls} == {one.get("id") for one in responses}


@pytest.mark.parametrize(
    ("written", "expected"),
    [('{"x": 1}', {"x": 1}), ('{"x', {"_unreadable_arguments": '{"x'}), ([1], {"_unreadable_arguments": "[1]"})],
)
def test_arguments_are_an_object(written: object, expected: object) -> None:
    done = repaired(USER, model(call("read", written)), user(result()))
    assert done.messages[1] == model(call("read", expected))


@pytest.mark.parametrize(
    ("response", "expected"),
    [("said", {"output": "said"}), (["a", "b"], {"output": "a\nb"}), (3, {"output": "3"})],
)
def test_a_response_is_an_object(response: object, expected: object) -> None:
    part: Json = {"functionResponse": {"name": "read", "response": response, "scheduling": "SILENT"}}
    done = repaired(USER, model(call()), user(part))
    assert done.messages[2] == user(
        {"functionResponse": {"name": "read", "response": expected, "scheduling": "SILENT"}}
    )


@pytest.mark.parametrize(("more", "expected"), [({}, EMPTY_TEXT), ({"x": 1}, '{"x": 1}')])
def test_a_response_that_is_missing_is_what_stands_beside_it_or_empty(more: Json, expected: str) -> None:
    part: Json = {"functionResponse": {"name": "read", "response": None, **more}}
    done = repaired(USER, model(call()), user(part))
    assert done.messages[2] == user({"functionResponse": {"name": "read", "response": {"output": expected}}})


# --- what holds nothing, what is not known ---------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [{}, text(""), {"text": None}, {"thought": True}])
def test_a_part_that_holds_nothing_goes(nothing: Json) -> None:
    assert [each.rule for each in check([user(nothing, text("a"))], format="gemini")] == ["empty-content"]
    assert repaired(user(nothing, text("a")), model(nothing), USER).messages == [user(text("a")), USER]


def test_a_message_without_parts_goes_but_not_the_words_it_has_in_another_field() -> None:
    assert repaired(USER, user(), {"role": "model"}, {"role": "model", "parts": None}).messages == [USER]
    done = repaired(USER, {"role": "user", "content": "kept"}, "kept too")
    assert [as_object(as_array(as_object(each)["parts"])[0])["text"] for each in done.messages[1:]] == [
        "[Something that is not a message]\nkept",
        "[Something that is not a message]\nkept too",
    ]


def test_roles_of_others_are_written_as_google_does() -> None:
    done = repaired(
        USER,
        {"role": "assistant", "parts": [call()]},
        {"role": "tool", "parts": [result()]},
        {"parts": [text("so", thought=True), text("a")]},
        {"role": "system", "parts": [text("brief")]},
        {"role": "bogus", "parts": [text("a"), text("b")]},
    )
    assert done.messages == [
        USER,
        model(call()),
        user(result()),
        model(text("so", thought=True), text("a")),
        user(text("[System message]\nbrief")),
        user(text("[Message of bogus]\na\nb")),
    ]


def test_content_of_no_known_kind_is_quoted() -> None:
    (part,) = as_array(as_object(repaired(user({"hologram": {"x": "kept"}})).messages[0])["parts"])
    assert str(as_object(part)["text"]).endswith('\n{"hologram": {"x": "kept"}}')


def test_code_that_the_provider_ran_becomes_text_for_the_profile_any() -> None:
    (code, outcome) = as_array(as_object(repaired(USER, model(RUN, RAN), USER, profile="any").messages[1])["parts"])
    assert "print(1)" in str(as_object(code)["text"])
    assert "OUTCOME_OK" in str(as_object(outcome)["text"])


# --- thinking and signatures -----------------------------------------------------------------------------------------


def bare(name: str = "read") -> Json:
    return {"functionCall": {"name": name, "args": {}}}


def test_the_first_call_of_each_step_of_the_current_turn_gets_what_stands_for_a_signature() -> None:
    old = [USER, model(bare()), user(result()), model(text("done"))]
    now = [USER, model(bare(), bare("bash")), user(result(), result("bash")), model(text("so"), bare()), user(result())]
    done = repaired(*old, *now)
    assert [each.position for each in check([*old, *now], format="gemini")] == [
        "messages[5].parts[0]",
        "messages[7].parts[1]",
    ]
    assert done.messages[5] == model({**bare(), "thoughtSignature": UNSIGNED}, bare("bash"))
    assert done.messages[7] == model(text("so"), {**bare(), "thoughtSignature": UNSIGNED})
    assert all(is_now is was for is_now, was in zip(done.messages[:5], [*old, *now], strict=False))


def test_it_is_spelled_as_the_call_is() -> None:
    part: Json = {"function_call": {"name": "read"}}
    assert repaired(USER, model(part), user(result())).messages[1] == model({**part, "thought_signature": UNSIGNED})


@pytest.mark.parametrize("broken", ["c2ln=bmVk", "c2lnb", "claude#c2ln", "c2ln…"])
def test_a_signature_that_is_no_base64_goes(broken: str) -> None:
    spoiled = {"thoughtSignature": broken}
    contents = [
        USER,
        model(text("a", thought=True, **spoiled), text("b", **spoiled), {**bare(), **spoiled}),
        user(result()),
    ]
    assert {each.rule for each in check(contents, format="gemini")} == {"thinking-altered", "signature-required"}
    assert repaired(*contents).messages[1] == model(text("b"), {**bare(), "thoughtSignature": UNSIGNED})


def test_thoughts_go_where_all_are_to_be_pleased_and_an_answer_of_nothing_else_with_them() -> None:
    thought = text("so", thought=True)
    done = repaired(USER, model(thought), USER, model(thought, text("a"), text("", **SIGNED)), USER, profile="any")
    assert done.messages == [user(text("hi"), text("hi")), model(text("a")), USER]


# --- images, bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "blob",
    [
        {"mimeType": "image/gif", "data": "R0lGODlhAQABAAAAACw="},
        {"mimeType": "image/png", "data": "no base64!"},
        {"mimeType": "application/octet-stream", "data": "AAAA"},
    ],
)
def test_an_image_that_cannot_be_sent_is_left_out_with_a_note(blob: Json) -> None:
    (note,) = as_array(as_object(repaired(user({"inlineData": blob})).messages[0])["parts"])
    assert str(as_object(note)["text"]).endswith("and was left out.]")
    held_by_a_result = result("read", parts=[IMAGE, {"inlineData": blob}])
    (response,) = responses_of(repaired(USER, model(call()), user(held_by_a_result)).messages[2])
    assert response["parts"] == [IMAGE]
    assert str(as_object(response["response"])["left_out"]).endswith("and was left out.]")


@pytest.mark.parametrize("blob", [{"mimeType": "image/jpeg", "data": PNG}, {"data": PNG}])
def test_an_image_is_declared_as_what_it_is(blob: Json) -> None:
    declared = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    assert repaired(user({"inlineData": blob})).messages == [user(declared)]
    done = repaired(USER, model(call()), user(result("read", parts=[{"inlineData": blob}])))
    assert done.messages[2] == user(result("read", parts=[declared]))


def test_text_is_cleaned() -> None:
    done = repaired(user(text("a\ud83d", partMetadata={"x": "\udc00"})))
    assert done.messages == [user(text("a\ufffd", partMetadata={"x": "\ufffd"}))]


@pytest.mark.parametrize(
    ("instruction", "declarations"),
    [("systemInstruction", "functionDeclarations"), ("system_instruction", "function_declarations")],
)
def test_a_body_says_its_tools_and_comes_back_with_what_stands_beside(instruction: str, declarations: str) -> None:
    body: Json = {
        instruction: {"parts": [text("be brief")]},
        "contents": [USER, model(call())],
        "tools": [{declarations: [{"name": "bash"}]}, {"googleSearch": {}}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}},
    }
    rules = {each.rule for each in check(body, format="gemini", hearsay=True)}
    assert {"tool-not-declared", "call-without-result"} <= rules
    assert repair(body, format="gemini").document == {**body, "contents": [USER, model(call()), user(MADE_UP)]}


@pytest.mark.parametrize("contents", ["hi", USER, [USER]])
def test_a_single_text_or_content_is_a_conversation(contents: object) -> None:
    body: Json = {"contents": contents, "config": {"thinking_config": {"thinking_level": "low"}}}
    assert check(body, format="gemini") == []
    assert repair(body, format="gemini").document is body


# --- two kinds in one part -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "I look.", **call()}, [text("I look."), call()]),
        (
            {**call(), "text": "I look.", "thoughtSignature": "c2ln"},
            [text("I look."), {**call(), "thoughtSignature": "c2ln"}],
        ),
        ({**call(), "text": "hm", "thought": True}, [{"text": "hm", "thought": True}, call()]),
        ({**call(), "text": ""}, [call()]),
    ],
)
def test_a_text_in_the_part_of_a_call_gets_a_part_before_it(part: Json, expected: list[object]) -> None:
    log: list[object] = [USER, model(part), user(result())]
    assert "second-kind" in {each.rule for each in check(log, format="gemini")}
    done = repaired(*log)
    assert as_object(done.messages[1])["parts"] == expected
    assert done.messages[2] is log[2]


def test_the_second_of_two_calls_loses_its_text_too() -> None:
    done = repaired(USER, model(call(), {**call("two"), "text": "so"}), user(result(), result("two")))
    assert as_object(done.messages[1])["parts"] == [call(), text("so"), call("two")]


def test_a_text_in_the_part_of_a_result_stands_behind_it() -> None:
    done = repaired(USER, model(call()), user({"text": "go on", **result()}))
    assert done.messages[2] == user(result(), text("go on"))


def test_a_file_that_is_left_out_leaves_the_text_of_its_part() -> None:
    part: Json = {"text": "see", "inlineData": {"mimeType": "image/png", "data": "x"}}
    parts = as_array(as_object(repaired(user(part)).messages[0])["parts"])
    assert parts[0] == text("see")
    assert "left out" in str(parts[1])
