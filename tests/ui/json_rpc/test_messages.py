"""Lines as messages: whatever a line is, there is an answer or a reason, and never an exception."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.message_frame import MOST_VALUES
from holdfast.ui.json_rpc.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    RpcAnswer,
    RpcError,
    RpcFault,
    RpcNotification,
    RpcRequest,
    error_line,
    message_of,
    notification_line,
)
from laws import law


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1}}', RpcRequest(1, "a", {"b": 1})),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', RpcRequest(None, "a", None)),
        (b'{"jsonrpc":"2.0","method":"a"}', RpcNotification("a", None)),
        (b'{"jsonrpc":"2.0","id":"x","result":null}', RpcAnswer("x")),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', RpcAnswer(1, failed="no")),
        (b"  \r", None),
    ],
)
def test_a_line_is_a_message(line: bytes, message: object) -> None:
    assert message_of(line) == message


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{", PARSE_ERROR, None),
        (b"\xff", PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'{"id":3,"method":"a"}', INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":3}', INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"a","params":"\xff"}', PARSE_ERROR, 3),
        (b'{"jsonrpc":"2.0","method":"a","params":' + b"[" * 100_000 + b',"id":3}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"a","params":' + b"[" * 100_000, PARSE_ERROR, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"a","params":[' + b"1," * MOST_VALUES + b"1]}", PARSE_ERROR, 3),
        (b"[" + b"1," * MOST_VALUES + b"1]", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"a"}', INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_is_a_fault_with_its_id(line: bytes, code: int, request_id: object) -> None:
    found = message_of(line)
    assert isinstance(found, RpcFault)
    assert (found.code, found.id) == (code, request_id)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":3,"error":"str"}',
        b'{"jsonrpc":"2.0","id":3,"result":{"outcome":"\xff"}}',
        b'{"jsonrpc":"2.0","id":3,"result":' + b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":3,"result":[' + b"1," * MOST_VALUES + b"1]}",
    ],
)
def test_a_broken_answer_ends_the_question_that_waits_for_it(line: bytes) -> None:
    found = message_of(line)
    assert isinstance(found, RpcAnswer)
    assert found.id == 3
    assert "the answer cannot be read" in found.failed


@law()
@given(
    st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_no_line_raises(line: bytes) -> None:
    message_of(line)


def test_half_of_a_surrogate_pair_costs_no_prompt() -> None:
    found = message_of(b'{"jsonrpc":"2.0","method":"a","params":"x \\ud83d y"}')
    assert found == RpcNotification("a", "x \ufffd y")


def test_a_line_out_is_one_line() -> None:
    for line in (notification_line("a", {"text": "one\ntwo\u2028"}), error_line(1, RpcError(1, "one\ntwo\ud800"))):
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        json.loads(line)
