"""What is read of responses of Chat Completions: thinking in every form, calls in every disorder, and how they end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.model import StreamFinished, TextDelta, ThinkingDelta
from holdfast.providers.protocols.openai_chat import WIRE
from holdfast.providers.protocols.protocol import Delta, ResponseReader
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

Json = dict[str, Any]
KEYS = {each.key_variable: "k" for each in PROVIDERS.values() if each.key_variable}


def chunk(delta: Json | None, finish: object = None, **more: object) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(name: str | None, arguments: object, **more: object) -> Json:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"function": {key: each for key, each in function.items() if each is not None}, **more}]}


def read(name: str, *chunks: object) -> tuple[ResponseReader, list[Delta]]:
    reader = WIRE.reader(resolve_endpoint(name, KEYS))
    raw = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in chunks]
    return reader, [delta for each in raw for delta in reader.event("", each)]


def finished(name: str, *chunks: object, reason: str = "stop") -> StreamFinished:
    reader, _ = read(name, *chunks, chunk({}, reason), b"[DONE]")
    assert reader.complete
    assert reader.closed
    return reader.finished()


def thought(text: str, way: str, provider: str = "ollama") -> ThinkingPart:
    return ThinkingPart(text, id=way, provider=provider)


def calls(*chunks: Json) -> list[tuple[str, str, str | None]]:
    parts = finished("ollama:m", *map(chunk, chunks), reason="tool_calls").parts
    return [(part.name, part.arguments, part.wire_id) for part in parts if isinstance(part, CallPart)]


# --- thinking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "parts"),
    [
        (["<think>", "hm", "</think>", "\n\nhello"], (thought("hm", "content"), TextPart("\n\nhello"))),
        (["<th", "ink>h", "m</thi", "nk>hello"], (thought("hm", "content"), TextPart("hello"))),
        (list("<think>a < b</think>c"), (thought("a < b", "content"), TextPart("c"))),
        (["\n <think>hm</think>"], (thought("hm", "content"),)),
        (["<think></think>hello"], (TextPart("hello"),)),
        (["<think>never closed </thin"], (thought("never closed </thin", "content"),)),
        (["<thin", " air"], (TextPart("<thin air"),)),
        (["<thi"], (TextPart("<thi"),)),
        (["see ", "<think>", "hm", "</think>"], (TextPart("see <think>hm</think>"),)),
        (["<think>a</think>b<think>c</think>"], (thought("a", "content"), TextPart("b<think>c</think>"))),
        ([" " * 70, "<think>a</think>"], (TextPart(" " * 70 + "<think>a</think>"),)),
    ],
)
def test_thinking_between_tags_at_the_beginning_is_thinking(pieces: list[str], parts: tuple[Part, ...]) -> None:
    streamed = [chunk({"content": each}) for each in pieces]
    assert finished("ollama:m", *streamed).parts == parts
    reader = WIRE.reader(resolve_endpoint("ollama:m", {}))
    body = {"choices": [{"message": {"content": "".join(pieces)}, "finish_reason": "stop"}]}
    deltas = list(reader.document(json.dumps(body).encode()))
    assert reader.finished().parts == parts
    assert thinking_and_text(deltas) == thinking_and_text(read("ollama:m", *streamed, chunk({}, "stop"))[1])
    assert finished("openai-chat:m", *streamed).parts == (TextPart("".join(pieces)),)


def thinking_and_text(deltas: list[Delta]) -> tuple[str, str]:
    thinking = "".join(each.text for each in deltas if isinstance(each, ThinkingDelta))
    return thinking, "".join(each.text for each in deltas if isinstance(each, TextDelta))


def test_mistrals_thinking_is_kept_and_shown() -> None:
    def part(text: str) -> Json:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}, {"type": "reference", "ids": [1]}]}

    chunks = [chunk({"content": [part("h")]}), chunk({"content": [part("m")]}), chunk({"content": "hello"})]
    assert thinking_and_text(read("mistral:m", *chunks)[1]) == ("hm", "hello")
    assert finished("mistral:m", *chunks).parts == (thought("hm", "thinking", "mistral"), TextPart("hello"))
    mixed = chunk({"content": [part("hm"), {"type": "text", "text": "he"}, {"type": "reference"}, "llo"]})
    assert finished("mistral:m", mixed).parts == (thought("hm", "thinking", "mistral"), TextPart("hello"))


def test_openrouters_details_are_kept_as_they_are_and_their_pieces_joined() -> None:
    def detail(**fields: object) -> Json:
        return chunk({"reasoning": fields.get("text"), "reasoning_details": [{"type": "reasoning.text", **fields}]})

    sealed = {"type": "reasoning.encrypted", "data": "c2Vh", "id": "rs_1", "index": 1, "format": "f"}
    chunks = (
        detail(text="h", index=0, format="anthropic-claude-v1", signature=None),
        detail(text="m", index=0),
        detail(index=0, signature="c2ln"),
        chunk({"reasoning_details": [sealed]}),
        chunk({"content": "hello"}),
    )
    (thinking, text) = finished("openrouter:m", *chunks).parts
    assert isinstance(thinking, ThinkingPart)
    assert (thinking.text, thinking.id, text) == ("hm", "reasoning", TextPart("hello"))
    joined = {"type": "reasoning.text", "text": "hm", "index": 0, "format": "anthropic-claude-v1", "signature": "c2ln"}
    assert thinking.details == {"reasoning_details": [joined, sealed]}
    assert finished("ollama:m", *chunks).parts[0] == thought("hm", "reasoning")


def test_details_alone_are_thinking_too() -> None:
    sealed = {"type": "reasoning.encrypted", "data": "c2Vh"}
    (thinking, _) = finished("openrouter:m", chunk({"reasoning_details": [sealed]}), chunk({"content": "a"})).parts
    assert thinking == ThinkingPart("", id="reasoning", provider="openrouter", details={"reasoning_details": [sealed]})
    told_in = {"type": "reasoning.summary", "summary": "in short"}
    (thinking, _) = finished("openrouter:m", chunk({"reasoning_details": [told_in]}), chunk({"content": "a"})).parts
    assert isinstance(thinking, ThinkingPart)
    assert thinking.text == "in short"


def test_parts_are_in_the_order_in_which_each_began() -> None:
    chunks = (
        chunk({"reasoning": "a"}),
        chunk({"content": "b"}),
        chunk(call("read", "{", index=0, id="x")),
        chunk({"content": "c"}),
        chunk(call(None, "}", index=0)),
        chunk({"content": "d"}),
        chunk({"reasoning": "e"}),
    )
    parts = finished("ollama:m", *chunks).parts
    called = CallPart(id="", name="read", arguments="{}", wire_id="x")
    first, last = thought("a", "reasoning"), thought("e", "reasoning")
    assert parts == (first, TextPart("b"), called, TextPart("cd"), last)


# --- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (  # side by side
            [
                call("a", "{", index=0, id="1"),
                call("b", "{", index=1, id="2"),
                call(None, "}", index=0),
                call(None, "}", index=1),
            ],
            [("a", "{}", "1"), ("b", "{}", "2")],
        ),
        # a name in pieces
        ([call("re", "", index=0, id="1"), call("ad", "{}", index=0)], [("read", "{}", "1")]),
        # a name with each piece
        (
            [call("read", '{"a"', index=0, id="1"), call("read", ": 1}", index=0, id="1"), call("read", "", index=0)],
            [("read", '{"a": 1}', "1")],
        ),
        # the same index for all
        ([call("a", "{}", index=0, id="1"), call("b", "{}", index=0, id="2")], [("a", "{}", "1"), ("b", "{}", "2")]),
        ([call("a", "{}", index=0), call("a", '{"n": 2}', index=0)], [("a", "{}", None), ("a", '{"n": 2}', None)]),
        # the same ID for all
        ([call("a", "{}", index=0, id="1"), call("b", "{}", index=1, id="1")], [("a", "{}", "1"), ("b", "{}", "1")]),
        # no index
        (
            [call("a", "{", id="1"), call(None, "}"), call("b", "{", id="2"), call(None, "}", id="2")],
            [("a", "{}", "1"), ("b", "{}", "2")],
        ),
        # neither
        ([call("a", "{"), call(None, "}"), call("a", "{}")], [("a", "{}", None), ("a", "{}", None)]),
        # an ID that comes late
        ([call("a", "{", index=0), call(None, "}", index=0, id="1")], [("a", "{}", "1")]),
        # arguments as an object
        ([call("a", {"p": "ä"}, index=0, id="1")], [("a", '{"p": "ä"}', "1")]),
    ],
)
def test_calls_are_distinguished(chunks: list[Json], expected: list[tuple[str, str, str | None]]) -> None:
    assert calls(*chunks) == expected


def test_calls_of_a_whole_response_are_as_many_as_it_lists() -> None:
    reader = WIRE.reader(resolve_endpoint("ollama:m", {}))
    listed = [{"id": "1", "function": {"name": "a", "arguments": "{}"}}] * 2
    body = {"choices": [{"message": {"content": None, "tool_calls": listed}, "finish_reason": "stop"}]}
    assert len(list(reader.document(json.dumps(body).encode()))) == 2
    found = reader.finished()
    assert (len(found.parts), found.finish) == (2, "calls")


def test_a_signature_of_geminis_stays_with_its_call() -> None:
    extra = {"google": {"thought_signature": "s"}}
    (part,) = finished("ollama:m", chunk(call("a", "{}", id="1", extra_content=extra))).parts
    assert isinstance(part, CallPart)
    assert (part.details, part.provider) == ({"extra_content": extra}, "ollama")


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "max_tokens"),
        ("model_length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "calls"),
        ("function_call", "calls"),
    ],
)
def test_reasons_are_known(reason: str, finish: str) -> None:
    assert finished("ollama:m", chunk({"content": "a"}), reason=reason).finish == finish


@pytest.mark.parametrize("reason", ["error", "network_error", "", None])
def test_any_other_reason_is_no_end(reason: str | None) -> None:
    reader, _ = read("ollama:m", chunk({"content": "a"}), chunk({}, reason))
    assert reader.complete == bool(reason)
    if reason:
        with pytest.raises(ProviderFailed, match=f"ended its response with '{reason}'") as failed:
            reader.finished()
        assert failed.value.fault == "cut"


def test_a_refusal_is_shown_and_is_the_end_once_its_reason_came() -> None:
    reader, deltas = read("openai-chat:m", chunk({"refusal": "I can"}), chunk({"refusal": "not."}))
    assert thinking_and_text(deltas) == ("", "I cannot.")
    assert not reader.complete
    found = finished("openai-chat:m", chunk({"refusal": "I cannot."}))
    assert (found.finish, found.parts) == ("refusal", (TextPart("I cannot."),))


def test_a_reason_without_a_delta_counts() -> None:
    reader, _ = read("ollama:m", chunk({"content": "a"}), chunk(None, "stop"))
    assert reader.finished().finish == "stop"


@pytest.mark.parametrize(
    ("name", "usage", "counted"),
    [
        ("ollama:m", {"prompt_tokens": 9, "completion_tokens": 2}, (9, 2, 0, 0, None)),
        ("openai-chat:m", {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}}, (9, 0, 7, 0, None)),
        ("deepseek:m", {"prompt_tokens": 9, "prompt_cache_hit_tokens": 7}, (9, 0, 7, 0, None)),
        ("openrouter:m", {"prompt_tokens": 9, "cost": 0.00014}, (9, 0, 0, 0, "0.00014")),
        ("openrouter:m", {"prompt_tokens": 9, "cost": 0}, (9, 0, 0, 0, "0")),
        ("openrouter:m", {"prompt_tokens": 9, "cost": "much"}, (9, 0, 0, 0, None)),
        ("ollama:m", {"prompt_tokens": 9, "cost": 5}, (9, 0, 0, 0, None)),
        ("ollama:m", {"prompt_tokens": "9", "completion_tokens": -1, "prompt_tokens_details": []}, (0, 0, 0, 0, None)),
    ],
)
def test_tokens_are_counted(name: str, usage: Json, counted: tuple[object, ...]) -> None:
    used = finished(name, chunk({"content": "a"}, usage={"prompt_tokens": 1}), chunk({}, usage=usage)).usage
    assert (
        used.input_tokens,
        used.output_tokens,
        used.cache_read_tokens,
        used.cache_write_tokens,
        used.cost,
    ) == counted


# --- what is not the protocol ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b"3",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        {"choices": {}},
        {"choices": [3]},
        {"choices": ["x"]},
        chunk({"content": 3}),
        chunk({"content": {"text": "a"}}),
        chunk({"content": [{"type": "text", "text": 3}]}),
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": 3}]}]}),
        chunk({"tool_calls": "x"}),
        chunk({"tool_calls": [3]}),
        chunk(call("a", [], index=0)),
        chunk({"tool_calls": [{"function": {"name": 3}}]}),
        chunk({"tool_calls": [{"id": 3, "function": {"name": "a"}}]}),
        chunk({"refusal": 3}),
        chunk({}, 3),
    ],
)
def test_what_is_not_the_protocol_is_refused_in_words(wrong: object) -> None:
    with pytest.raises(ProviderFailed, match="Model 'ollama:m' sent an invalid response: ") as failed:
        read("ollama:m", wrong)
    assert failed.value.fault == "malformed"


@pytest.mark.parametrize(
    "harmless",
    [
        b"{}",
        {"choices": []},
        {"choices": None},
        chunk(None),
        chunk({"reasoning": 3}),
        chunk({"content": [{"type": "audio"}]}),
        chunk({"tool_calls": None, "surprise": [1]}),
        {"object": "surprise"},
        chunk({}, usage=[1]),
        b'{"choices": [{"delta": {}}], "created": NaN}',
    ],
)
def test_what_is_odd_and_harmless_is_passed_over(harmless: object) -> None:
    assert finished("ollama:m", harmless, chunk({"content": "a"})).parts == (TextPart("a"),)


def test_half_a_character_waits_for_its_other_half() -> None:
    parts = finished("ollama:m", chunk({"content": "\ud83d"}), chunk({"content": "\ude00"})).parts
    assert parts == (TextPart("\ud83d\ude00"),)


def test_an_error_in_the_stream_is_what_its_code_says() -> None:
    for error, fault in (
        ({"message": "Slow down.", "code": "rate_limit_exceeded"}, "rate_limited"),
        ({"message": "No.", "code": 502}, "overloaded"),
        ({"message": "It fell over."}, "cut"),
        ("It fell over.", "cut"),
    ):
        with pytest.raises(ProviderFailed) as failed:
            read("openrouter:m", chunk({"content": "half"}), {"error": error})
        assert failed.value.fault == fault


@pytest.mark.parametrize(
    ("error", "fault", "words"),
    [
        ({"object": "error", "message": "It says no.", "type": "BadRequestError", "code": 400}, "rejected", "says no"),
        ({"object": "error", "message": "prompt is too long", "code": 400}, "too_long", "prompt is too long"),
        ({"detail": "The queue is full."}, "cut", "The queue is full"),
        ({"message": "It fell."}, "cut", "It fell"),
        ({"error": "prompt is too long", "error_type": "validation"}, "too_long", "prompt is too long"),
    ],
)
def test_an_error_that_is_a_whole_chunk_keeps_its_reason(error: Json, fault: str, words: str) -> None:
    for before in ((), (chunk({"content": "half"}),)):
        with pytest.raises(ProviderFailed, match=words) as caught:
            read("ollama:m", *before, error)
        assert caught.value.fault == fault


def test_a_chunk_of_an_answer_that_has_a_message_is_no_error() -> None:
    assert finished("ollama:m", {**chunk({"content": "ok"}), "message": "all well"}).parts == (TextPart("ok"),)
