"""Calls that Anthropic runs itself: their ids and names, results of their kind, and what their programs call."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.history import Repair, check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from laws import law
from pdf_documents import paper

USER: Json = {"role": "user", "content": "x"}
DONE: Json = {"type": "text", "text": "done"}
HURRY: Json = {"type": "text", "text": "and hurry"}
RAN: Json = {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}
EXECUTED: Json = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": RAN}
EXECUTE: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "f()"}}
CALLER: Json = {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def search(call: str | None, name: str = "web_search") -> Json:
    return {"type": "server_tool_use", "id": call, "name": name, "input": {"query": "q"}}


def searched(call: str | None, kind: str = "web_search_tool_result") -> Json:
    failed: Json = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}
    return {"type": kind, "tool_use_id": call, "content": failed if kind.startswith("web_fetch") else []}


def use(call: str, caller: Json | None = CALLER) -> Json:
    return {"type": "tool_use", "id": call, "name": "f", "input": {}, **({"caller": caller} if caller else {})}


def result(call: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": "ok"}


def rules(messages: list[Json], profile: str = "anthropic") -> list[tuple[str, str]]:
    return [(each.rule, each.position) for each in check(messages, format="anthropic", profile=profile)]


def repaired(*messages: Json, profile: str = "anthropic") -> Repair:
    done = repair(list(messages), format="anthropic", profile=profile)
    assert done.remaining == ()
    assert repair(done.messages, format="anthropic", profile=profile).edits == ()
    return done


def kinds(message: object) -> list[object]:
    return [as_object(block).get("type") for block in as_array(as_object(message).get("content"))]


@pytest.mark.parametrize("profile", ["anthropic", "bedrock"])
@pytest.mark.parametrize("call", ["call_9f2", "srv_1", "srvtoolu_1-2", "srvtoolu_", "toolu_1"])
def test_an_id_that_the_provider_does_not_give_makes_a_pair_a_text(call: str, profile: str) -> None:
    messages = [USER, assistant(search(call), searched(call), DONE), USER]
    assert rules(messages, profile) == [
        ("server-call-id", "messages[1].content[0]"),
        ("server-call-id", "messages[1].content[1]"),
    ]
    done = repaired(*messages, profile=profile)
    assert kinds(done.messages[1]) == ["text", "text", "text"]
    assert call in json.dumps(done.messages)


@pytest.mark.parametrize("call", ["srvtoolu_1", "srvtoolu_bdrk_01AbC", "srvtoolu_01_2"])
def test_an_id_that_the_provider_gives_stays(call: str) -> None:
    messages = [USER, assistant(search(call), searched(call), DONE), USER]
    assert repaired(*messages).edits == ()


def test_the_tools_of_servers_have_other_ids_and_names() -> None:
    used: Json = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "my_search", "server_name": "s", "input": {}}
    answer: Json = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": [], "is_error": False}
    assert repaired(USER, assistant(used, answer, DONE), USER).edits == ()


OWN = {
    "web_search": "web_search_tool_result",
    "web_fetch": "web_fetch_tool_result",
    "code_execution": "code_execution_tool_result",
    "bash_code_execution": "bash_code_execution_tool_result",
    "text_editor_code_execution": "text_editor_code_execution_tool_result",
    "tool_search_tool_regex": "tool_search_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
    "advisor": "advisor_tool_result",
}


@pytest.mark.parametrize("name", OWN)
def test_each_tool_of_the_provider_has_its_kind_of_result(name: str) -> None:
    own = {"server-tool-unknown", "server-call-without-result", "server-result-without-call"}
    right = [USER, assistant(search("srvtoolu_1", name), searched("srvtoolu_1", OWN[name]), DONE), USER]
    assert not own & {rule for rule, _ in rules(right)}
    other = "code_execution_tool_result" if name != "code_execution" else "web_search_tool_result"
    wrong = [USER, assistant(search("srvtoolu_1", name), searched("srvtoolu_1", other), DONE), USER]
    assert [rule for rule, _ in rules(wrong) if rule in own] == [
        "server-call-without-result",
        "server-result-without-call",
    ]


def test_a_tool_that_the_provider_does_not_have_makes_a_pair_a_text() -> None:
    messages = [USER, assistant(search("srvtoolu_1", "my_search"), searched("srvtoolu_1"), DONE), USER]
    assert [rule for rule, _ in rules(messages)] == ["server-tool-unknown"] * 2
    done = repaired(*messages)
    assert kinds(done.messages[1]) == ["text", "text", "text"]
    assert "my_search" in json.dumps(done.messages)


def test_what_is_encrypted_does_not_become_words() -> None:
    hit: Json = {"type": "web_search_result", "url": "https://e.org", "title": "E", "encrypted_content": "QUJDsecret"}
    answer: Json = {"type": "web_search_tool_result", "tool_use_id": "c", "content": [hit]}
    done = repaired(USER, assistant(search("c"), answer, DONE), USER)
    assert "QUJDsecret" not in json.dumps(done.messages)
    assert "https://e.org" in json.dumps(done.messages)


# --- programs -------------------------------------------------------------------------------------------------------

ASKED = assistant(EXECUTE, use("toolu_2"))


def test_a_text_beside_the_results_of_a_program_moves_behind_the_program() -> None:
    messages = [
        USER,
        ASKED,
        user(result("toolu_2"), HURRY),
        assistant(EXECUTED, DONE),
        user({**DONE, "text": "thanks"}),
    ]
    assert rules(messages) == [("text-beside-program", "messages[2].content[1]")]
    done = repaired(*messages)
    assert done.messages[1] is messages[1]
    assert done.messages[2] == user(result("toolu_2"))
    assert done.messages[3] is messages[3]
    assert done.messages[4] == user(HURRY, {**DONE, "text": "thanks"})
    (edit,) = done.edits
    why = "beside the results of a program there may be nothing else until it ends"
    assert edit.sentence == f"messages[2].content[1] moves to the user's message behind: {why}."


def test_a_text_in_a_message_after_the_results_moves_too() -> None:
    messages = [USER, ASKED, user(result("toolu_2")), user(HURRY), assistant(EXECUTED, DONE), USER]
    assert rules(messages) == [("text-beside-program", "messages[3].content[0]")]
    done = repaired(*messages)
    assert done.messages[2:4] == [user(result("toolu_2")), assistant(EXECUTED, DONE)]
    assert "and hurry" in json.dumps(done.messages[4])


def test_it_moves_behind_all_rounds_of_the_program_and_behind_further_results() -> None:
    rounds = [assistant(use("toolu_3")), user(result("toolu_3"))]
    ended = assistant(EXECUTED, DONE, use("toolu_4", None))
    done = repaired(USER, ASKED, user(result("toolu_2"), HURRY), *rounds, ended, user(result("toolu_4")))
    assert done.messages[2] == user(result("toolu_2"))
    assert done.messages[-1] == user(result("toolu_4"), HURRY)


def test_it_gets_its_own_message_where_the_assistant_goes_on() -> None:
    done = repaired(USER, ASKED, user(result("toolu_2"), HURRY), assistant(EXECUTED, DONE))
    assert done.messages[4] == user(HURRY)


def test_a_program_that_never_ended_is_quoted_and_its_call_becomes_the_models() -> None:
    messages = [USER, ASKED, user(result("toolu_2"), HURRY)]
    assert {rule for rule, _ in rules(messages)} == {"server-call-without-result", "caller-unknown"}
    done = repaired(*messages)
    assert kinds(done.messages[1]) == ["text", "tool_use"]
    assert "caller" not in as_object(as_array(as_object(done.messages[1])["content"])[1])
    assert done.messages[2] is messages[2]


def test_a_call_whose_program_is_cut_away_loses_its_caller() -> None:
    messages = [USER, assistant(use("toolu_2")), user(result("toolu_2"))]
    assert rules(messages) == [("caller-unknown", "messages[1].content[0]")]
    assert repaired(*messages).messages == [USER, assistant(use("toolu_2", None)), user(result("toolu_2"))]


def test_a_call_of_the_model_itself_keeps_its_caller() -> None:
    messages = [USER, assistant(use("toolu_2", {"type": "direct"})), user(result("toolu_2"))]
    assert repaired(*messages).edits == ()


def test_a_caller_that_is_refused_with_its_call_goes_where_no_such_call_is_known() -> None:
    messages = [USER, ASKED, user(result("toolu_2")), assistant(EXECUTED, DONE), USER]
    done = repaired(*messages, profile="deepseek")
    assert as_array(as_object(done.messages[1])["content"])[-1] == use("toolu_2", None)


def test_what_was_sent_beside_results_stays() -> None:
    messages = [USER, ASKED, user(result("toolu_2"), HURRY), assistant(EXECUTED, DONE), USER]
    done = repair(messages, format="anthropic", frozen=3)
    assert done.messages[:3] == messages[:3]


@law()
@given(said=st.lists(st.sampled_from(["text", "none", "round"]), max_size=4), ends=st.booleans(), follows=st.booleans())
def test_no_text_of_the_user_is_lost_and_the_program_stays_whole(*, said: list[str], ends: bool, follows: bool) -> None:
    messages: list[Json] = [USER, ASKED]
    call = "toolu_2"
    for at, what in enumerate(said):
        if what != "none":
            messages.append(user(result(call), *([{**HURRY, "text": f"word{at}."}] if what == "text" else [])))
            call = f"toolu_{at + 10}"
            messages.append(assistant(use(call)))
    messages.append(user(result(call)))
    messages += [assistant(EXECUTED, DONE)] if ends else []
    messages += [USER] if follows or not ends else []
    done = repaired(*messages)
    written = json.dumps(done.messages)
    for at, what in enumerate(said):
        assert (f"word{at}." in written) is (what == "text")
    if ends:
        assert EXECUTE in as_array(as_object(done.messages[1])["content"])


def fetched(data: str) -> list[Json]:
    """Return a conversation in which Anthropic fetched a PDF."""
    file: Json = {"type": "base64", "media_type": "application/pdf", "data": data}
    page: Json = {"type": "web_fetch_result", "url": "https://e.org/a.pdf", "retrieved_at": None}
    document: Json = {"type": "document", "source": file, "title": "A"}
    call: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_fetch", "input": {"url": "x"}}
    found: Json = {
        "type": "web_fetch_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {**page, "content": document},
    }
    return [USER, assistant(call, found, DONE), user(HURRY)]


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"<html>no</html>", "pdf-unreadable"),
        (paper(3, trailer=b"/Encrypt 9 0 R "), "pdf-unreadable"),
        (paper(700), "pdf-too-large"),
    ],
)
def test_a_fetched_pdf_is_looked_at_and_its_call_keeps_a_result(raw: bytes, rule: str) -> None:
    bad = fetched(base64.b64encode(raw).decode())
    assert rule in [found for found, _ in rules(bad)]
    done = repaired(*bad)
    assert kinds(done.messages[1]) == ["server_tool_use", "web_fetch_tool_result", "text"]
    kept = as_object(as_object(as_object(as_array(as_object(done.messages[1])["content"])[1])["content"])["content"])
    assert as_object(kept["source"])["type"] == "text"
    assert "left out" in str(as_object(kept["source"])["data"])
    assert kept["title"] == "A"
    assert rules(fetched(base64.b64encode(paper(3)).decode())) == []
