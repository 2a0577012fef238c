"""Documents of every age and damage, as they are found in the wild."""

from __future__ import annotations

import json
from typing import cast

import pytest

from holdfast.errors import DamageError, UsageError
from holdfast.history.shape import NO_RESULT
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import (
    AssistantMessage,
    Conversation,
    ConversationMessage,
    Result,
    UserMessage,
)
from holdfast.session.conversation.fold import fold
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import (
    CallEnded,
    CallLate,
    CallStarted,
    Entry,
    PromptAccepted,
    Repaired,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Finding, MemoryStore, Reading
from holdfast.session.transfer.export import export
from holdfast.session.transfer.transfer import LIMIT, Imported, import_document

Json = dict[str, object]
OPENED = SessionOpened(session="new", cwd="/", model="anthropic:m", system="NOW", tools=(), version="0")


def request(*parts: Json) -> Json:
    return {"kind": "request", "parts": list(parts)}


def response(*parts: Json, **fields: object) -> Json:
    return {"kind": "response", "parts": list(parts), "model_id": "anthropic:m", **fields}


def user(content: object) -> Json:
    return {"part_kind": "user-prompt", "content": content}


def text(content: str) -> Json:
    return {"part_kind": "text", "content": content}


def call(id_: str | None, name: str = "read", **fields: object) -> Json:
    return {"part_kind": "tool-call", "tool_name": name, "args": "{}", "tool_call_id": id_, **fields}


def result(id_: str | None, content: object = "found", name: str = "read", **fields: object) -> Json:
    return {"part_kind": "tool-return", "tool_name": name, "content": content, "tool_call_id": id_, **fields}


def retry(id_: str, content: object = "no such file", name: str = "read") -> Json:
    return {"part_kind": "retry-prompt", "tool_name": name, "content": content, "tool_call_id": id_}


MADE_UP: Json = {"pydantic_ai_synthesized_tool_return": True}


def read(document: object) -> Imported:
    return import_document(json.dumps(document).encode())


def conversation(document: object, *, then: str = "") -> Conversation:
    entries: list[Entry] = list(read(document).entries(OPENED))
    return fold([*entries, PromptAccepted(turn=99, text=then)] if then else entries)


UNFINISHED = (
    "[Note from holdfast: this conversation was imported; its record ends here, before the previous turn had ended.]"
)


def plain(messages: tuple[ConversationMessage, ...]) -> list[object]:
    """Return messages without ids: texts, names and outcomes."""
    shown: list[object] = []
    for message in messages:
        match message:
            case UserMessage():
                shown.append(([(each.outcome, each.text) for each in message.results], list(message.texts)))
            case AssistantMessage():
                shown.append([part.name if isinstance(part, CallPart) else part.text for part in message.parts])
    return shown


def test_the_shape_that_stuck_sessions_is_taken_as_it_is() -> None:
    document = [
        request(user("go")),
        response(call("a"), call("b"), call("c")),
        request(retry("a"), retry("b"), retry("c"), user("and"), user("again")),
        request(user("hello?")),
    ]
    assert plain(conversation(document).messages) == [
        ([], ["go"]),
        ["read", "read", "read"],
        ([("failed", "no such file")] * 3, ["and", "again", "hello?"]),
    ]
    assert read(document).repairs == ()


def test_a_valid_history_with_a_retry_is_unchanged() -> None:
    document = [
        request(user("go")),
        response(call("a")),
        request(retry("a")),
        response(text("so not")),
        request(user("next")),
        response(text("done")),
    ]
    imported = read(document)
    assert imported.repairs == ()
    assert plain(fold(imported.entries(OPENED)).messages) == [
        ([], ["go"]),
        ["read"],
        ([("failed", "no such file")], []),
        ["so not"],
        ([], ["next"]),
        ["done"],
    ]
    assert fold(imported.entries(OPENED)).last_end == TurnEnded(turn=2, reason="end_turn", cause="finished")


def test_an_envelope_with_calls_held_twice() -> None:
    document = {
        "session_id": "s1",
        "project": "p",
        "model": "anthropic:m",
        "total_tokens": 3,
        "tool_ignore": [],
        "messages": [
            request(user("go")),
            response(call("a"), tool_calls=[call("a"), {"id": "b", "function": {"name": "bash", "arguments": "{}"}}]),
            request(result("a"), result("b", name="bash")),
        ],
    }
    imported = read(document)
    assert plain(fold(imported.entries(OPENED)).messages)[1] == ["read", "bash"]
    assert (imported.session, imported.model) == ("s1", "anthropic:m")
    assert imported.repairs == (
        "These parts of the file were left out: project, tool_ignore, total_tokens.",
        "Message 1: calls that were listed twice, in parts and in tool_calls, count once.",
        "Message 1: a call that was only in tool_calls was taken from there.",
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "response", "parts": [{"part_kind": "text", "content": ["KEPT"]}]},
        {"kind": "response", "parts": [{"part_kind": "text", "text": "KEPT"}]},
        {"kind": "respones", "parts": [{"part_kind": "text", "content": "KEPT"}]},
        {"parts": [{"part_kind": "text", "content": "KEPT"}]},
        {"kind": "request", "parts": {"content": "KEPT"}},
        {"kind": "response", "parts": {"content": "KEPT"}, "tool_calls": [{"id": "a"}]},
        {"kind": "request", "parts": [{"part_kind": "news", "content": "KEPT"}]},
        "KEPT",
    ],
)
def test_one_bad_message_among_good_ones(bad: object) -> None:
    document = [request(user("go")), response(text("yes")), bad, request(user("next")), response(text("done"))]
    messages = plain(conversation(document).messages)
    assert messages[:2] == [([], ["go"]), ["yes"]]
    assert messages[-1] == ["done"]
    assert "KEPT" in str(messages[2])
    assert "next" in str(messages[2])
    assert any("messages[2]" in change for change in read(document).repairs)


def test_a_call_without_a_name_gets_one_and_keeps_its_arguments() -> None:
    document = [request(user("go")), response({"part_kind": "tool-call", "args": "KEPT"}), request(user("next"))]
    _, answer, after = conversation(document).messages
    assert isinstance(answer, AssistantMessage)
    (part,) = answer.parts
    assert isinstance(part, CallPart)
    assert part.name.startswith("tool_")
    assert part.arguments == "KEPT"
    assert plain((after,)) == [([("interrupted", NO_RESULT)], ["next"])]
    assert "The tool name '' at messages[1].parts[0] becomes" in " ".join(read(document).repairs)


def test_a_damaged_field_beside_the_parts_costs_only_that_field() -> None:
    document = [request(user("go")), response(text("yes"), model_name=7, usage={"input_tokens": "x"})]
    assert plain(conversation(document).messages) == [([], ["go"]), ["yes"]]
    expected = "Fields of messages[1] have the wrong type; they are removed, or quoted as text."
    assert read(document).repairs[0] == expected


def test_dangling_calls_are_answered_where_they_are() -> None:
    document = [request(user("go")), response(call("a"), call("b")), request(result("b")), request(user("next"))]
    assert plain(conversation(document).messages)[2] == ([("interrupted", NO_RESULT), ("ok", "found")], ["next"])
    document = [request(user("go")), response(call("a"))]
    assert plain(conversation(document, then="next").messages)[2] == (
        [("interrupted", NO_RESULT)],
        [UNFINISHED, "next"],
    )


def test_a_result_without_its_call_is_quoted() -> None:
    document = [request(retry("gone", "Input should be x")), response(text("hm")), request(user("next"))]
    messages = conversation(document).messages
    assert isinstance(messages[0], UserMessage)
    assert messages[0].texts == (model_notices.MISSING_START,)
    assert "Input should be x" in str(messages[2])
    assert "A result whose call is not part of this conversation (read)" in str(messages[2])
    assert [entry.text for entry in read(document).body if isinstance(entry, PromptAccepted)] == ["next"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_real_result_wins_over_a_made_up_one(order: tuple[int, int]) -> None:
    both = (result("a", "interrupted", outcome="interrupted", metadata=MADE_UP), result("a", "real"))
    document = [
        request(user("go")),
        response(call("a")),
        request(*(both[index] for index in order)),
        response(text("!")),
    ]
    assert plain(conversation(document).messages)[2] == ([("ok", "real")], [])


def test_of_two_real_results_the_first_counts_and_the_other_is_quoted() -> None:
    document = [request(user("go")), response(call("a")), request(result("a", "one"), result("a", "two"), user("so?"))]
    assert plain(conversation(document).messages)[2] == (
        [("ok", "one")],
        ["[A further result of a call that has one (read)]\ntwo", "so?"],
    )
    same = [request(user("go")), response(call("a")), request(result("a"), result("a")), response(text("x"))]
    assert plain(conversation(same).messages)[2] == ([("ok", "found")], [])


def test_the_model_reads_a_late_result_as_late() -> None:
    document = [
        request(user("go")),
        response(call("a")),
        request(user("hello?")),
        response(text("yes")),
        request(result("a", "42"), user("so?")),
    ]
    messages = plain(conversation(document).messages)
    assert messages[2] == ([("interrupted", NO_RESULT)], ["hello?"])
    assert messages[4] == ([], [model_notices.late("read", "ok", "42"), "so?"])
    entries = [entry for entry in read(document).body if isinstance(entry, CallEnded | CallLate)]
    assert [type(entry) for entry in entries] == [CallEnded, CallLate]


def test_ids_that_are_used_again_are_distinguished_by_position() -> None:
    document = [
        request(user("go")),
        response(call("a"), call("a", "bash")),
        request(result("a", "1"), result("a", "2", "bash")),
        response(call("a")),
        request(result("a", "3")),
        response(call(None), call(None, "bash")),
        request(result(None, "5", "bash"), result(None, "4")),
    ]
    messages = conversation(document).messages
    assert [each.text for message in messages if isinstance(message, UserMessage) for each in message.results] == [
        *"12345"
    ]
    ids = [part.id for message in messages if isinstance(message, AssistantMessage) for part in message.parts
           if isinstance(part, CallPart)]  # fmt: skip
    assert len(set(ids)) == 5
    assert all(len(each) == 9 for each in ids)


@pytest.mark.parametrize(
    ("calls", "results"),
    [
        ((call("a"), call("a", "bash")), (result("a", "2", "bash"), result("a", "1"))),  # one id, told apart by name
        ((call("a"), call(None)), (result(None, "2"), result("a", "1"))),  # no id goes to no id
        ((call("a"), call("b", "bash")), (result(None, "2", "bash"), result(None, "1"))),  # only the calls have ids
        ((call(None), call(None, "bash")), (result("b", "2", "bash"), result("a", "1"))),  # only the results have ids
    ],
)
def test_results_find_their_calls_by_name_where_ids_do_not_tell(
    calls: tuple[Json, ...], results: tuple[Json, ...]
) -> None:
    document = [request(user("go")), response(*calls), request(*results), response(text("!"))]
    assert plain(conversation(document).messages)[2] == ([("ok", "1"), ("ok", "2")], [])


def test_a_repair_of_many_calls_is_reported_in_a_few_sentences() -> None:
    document = [request(user("go")), response(*(call(f"c{number}") for number in range(9))), request(user("next"))]
    repairs = read(document).repairs
    assert len(repairs) == 5
    assert repairs[0].startswith("The call at messages[1].parts[0] has no result; ")
    assert repairs[4].endswith(f"{NO_RESULT} The same 4 times more.")


def test_an_empty_response_does_not_part_a_call_from_its_result() -> None:
    document = [
        request(user("go")),
        response(call("a")),
        response(text(" ")),
        request(result("a")),
        response(text("!")),
    ]
    assert plain(conversation(document).messages) == [([], ["go"]), ["read"], ([("ok", "found")], []), ["!"]]
    assert read(document).repairs == ("Message 2: the response had neither text nor calls and was left out.",)


def test_prompts_stand_after_results_wherever_they_were() -> None:
    document = [request(user("go")), response(call("a")), request(user("wait"), result("a"))]
    assert plain(conversation(document).messages)[2] == ([("ok", "found")], ["wait"])
    assert "a prompt was before a result" in read(document).repairs[0]


def test_what_is_not_text_is_named() -> None:
    image: Json = {"kind": "binary", "data": "AAAA", "media_type": "image/png"}
    document = [
        request(user(["look", image, {"kind": "cache-point"}, {"kind": "text-content", "content": "at this"}])),
        response(
            {"part_kind": "file", "content": image},
            {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"q": "x"}, "tool_call_id": "w"},
            {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [{"t": 1}], "tool_call_id": "w"},
            call("a"),
        ),
        request(result("a", {"rows": [1], "plot": image})),
    ]
    shown = plain(conversation(document).messages)
    assert shown[0] == ([], ["look\n[binary, image/png: not kept by the import]\nat this"])
    assert shown[1] == [
        "[binary, image/png: not kept by the import]",
        '[The provider\'s own tool web_search was called:\n{"q": "x"}]',
        '[The provider\'s own tool web_search gave:\n[{"t": 1}]]',
        "read",
    ]
    assert shown[2] == ([("ok", '{"rows": [1], "plot": "[binary, image/png: not kept by the import]"}')], [])
    assert "AAAA" not in str(shown)


def test_the_system_prompt_of_then_is_not_sent() -> None:
    system: Json = {"part_kind": "system-prompt", "content": "THEN"}
    document = [request(system, user("go")) | {"instructions": "THEN"}, response(text("yes"))]
    imported = read(document)
    assert "THEN" not in str(imported.entries(OPENED))
    assert imported.system == "THEN"
    assert "system prompt" in imported.changes(OPENED)[0]


@pytest.mark.parametrize("state", ["interrupted", "incomplete"])
def test_a_response_that_was_cut_keeps_its_text_and_says_so(state: str) -> None:
    thinking: Json = {"part_kind": "thinking", "content": "Assume the contr", "signature": ""}
    document = [request(user("go")), response(thinking, text("half an"), state=state), request(user("next"))]
    assert plain(conversation(document).messages) == [
        ([], ["go"]),
        ["half an"],
        ([], ["[Note from holdfast: your response above was cut off where it ends.]", "next"]),
    ]


def test_signed_thinking_is_kept_only_behind_what_it_was_made_behind() -> None:
    journal: list[Entry] = [
        OPENED,
        PromptAccepted(turn=1, text="go"),
        ResponseEnded(
            step=1,
            model="anthropic:m",
            parts=(
                ThinkingPart("hm", signature="SIGNATURE", provider="anthropic"),
                ThinkingPart("open"),
                TextPart("yes"),
            ),
            usage=Usage(),
        ),
    ]
    document = export(fold(journal))
    imported = read(document)
    assert fold(imported.entries(OPENED)).messages == fold(journal).messages
    other = SessionOpened(session="x", cwd="/", model="anthropic:m", system="ELSE", tools=(), version="0")
    assert plain(fold(imported.entries(other)).messages) == [([], ["go"]), ["open", "yes"]]
    assert "thinking" in imported.changes(other)[-1]
    cast("list[Json]", document["messages"]).insert(1, request(result("gone")))
    assert "SIGNATURE" not in str(read(document).entries(OPENED))


def test_an_export_says_what_an_unfinished_turn_has() -> None:
    journal: list[Entry] = [
        OPENED,
        PromptAccepted(turn=1, text="go"),
        ResponseEnded(
            step=1,
            model="anthropic:m",
            parts=(CallPart("A" * 9, "bash", "{", wire_id="toolu_1"), CallPart("B" * 9, "bash", "{}")),
            usage=Usage(),
        ),
        CallStarted(call="A" * 9, effect="execute"),
    ]
    document = export(fold(journal))
    back = fold(read(document).entries(OPENED))
    assert back.messages == fold(journal).messages
    outcomes = [each.outcome for each in _results(back)]
    assert outcomes == ["interrupted", "not_started"]
    journal += [
        CallEnded(call="A" * 9, outcome="ok", text="x"),
        CallEnded(call="B" * 9, outcome="denied", text="no"),
        RequestStarted(step=2, attempt=1, model="anthropic:m"),
        ResponseCheckpoint(step=2, text="half an"),
    ]
    back = fold(read(export(fold(journal))).entries(OPENED))
    assert plain(back.messages)[-1] == ["half an"]


def _results(back: Conversation) -> list[Result]:
    return [each for message in back.messages if isinstance(message, UserMessage) for each in message.results]


def test_how_the_last_turn_ended_comes_along() -> None:
    ended = TurnEnded(turn=3, reason="cancelled", cause="user", note="[Note from holdfast: stopped.]")
    document = export(fold([OPENED, PromptAccepted(turn=3, text="go"), ended]))
    assert conversation(document, then="next").messages == (
        UserMessage((), ("go", "[Note from holdfast: stopped.]", "next")),
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"[\n  {\n", "not JSON at line 3, column 1"),
        (b'[\n "\xff"]', "not UTF-8 at line 2, byte 3"),
        (b"", "not JSON at line 1"),
        (b"[]", "The list of messages is empty."),
        (b"7", "not a conversation"),
        (b"{}", "not a conversation"),
        (b'{"messages": {}}', "not a conversation"),
        (b'{"format": "openai-chat", "messages": []}', "not a conversation"),
        (b'[{"role": "user", "content": "go"}]', "no readable pydantic-ai messages"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "a number that is too long"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(document: bytes, message: str) -> None:
    with pytest.raises(DamageError, match=message):
        import_document(document)


def test_a_document_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(UsageError, match="longer than 50 MB"):
        import_document(bytes(LIMIT + 1))


def test_half_characters_and_nuls_do_not_reach_the_journal() -> None:
    imported = import_document(
        b'[{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a\\ud83d\\u0000"}]}]'
    )
    assert fold(imported.body).messages == (UserMessage((), ("a\ufffd\ufffd",)),)


def test_a_fork_is_the_same_journal_under_another_id() -> None:
    store = MemoryStore()
    journal = [OPENED, PromptAccepted(turn=1, text="go")]
    store.append(journal, expected=0)
    entries = fork_entries(store.read(), "copy")
    assert isinstance(entries[0], SessionOpened)
    assert (entries[0].session, entries[0].forked_from, entries[0].system) == ("copy", "new", "NOW")
    assert fold(entries).messages == fold(journal).messages
    damaged = Reading(store.read().records, (Finding(3, "entry 3 is damaged"),))
    assert fork_entries(damaged, "copy")[-1] == Repaired(findings=("entry 3 is damaged",))
    with pytest.raises(DamageError, match="its first entry, which names its directory and tools, is lost"):
        fork_entries(Reading(store.read().records[1:]), "copy")
