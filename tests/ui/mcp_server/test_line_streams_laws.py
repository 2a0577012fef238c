"""Lines of a client of `holdfast mcp serve`: each is a message, or is answered with what is wrong with it."""

from __future__ import annotations

import asyncio
import json
import os

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from holdfast.tools.message_frame import MOST_VALUES
from holdfast.ui.mcp_server.line_streams import client_message, line_streams
from laws import law
from polling import HANGS

PIECES = [
    b'{"jsonrpc":"2.0",',
    b'"id":',
    b"7",
    b'"method":"ping"',
    b"\\ud800",
    b"\xff",
    b"[",
    b"}",
    b'"',
    b"1e400",
    b",",
]


def refusal(line: bytes) -> tuple[object, str]:
    """Return the id and the reason of the answer to a line that cannot be read."""
    found = client_message(line)
    assert isinstance(found, bytes)
    answer = json.loads(found)
    return answer["id"], answer["error"]["message"]


@law()
@given(st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_any_line_is_a_message_or_is_answered_or_needs_no_answer(line: bytes) -> None:
    found = client_message(line)
    if isinstance(found, bytes):
        answer = json.loads(found)
        assert answer["error"]["code"] == -32700
        assert found.count(b"\n") == 1


def test_half_of_a_surrogate_pair_costs_no_work() -> None:
    found = client_message(b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x \\ud800 y"}}')
    assert isinstance(found, SessionMessage)
    assert isinstance(found.message, JSONRPCRequest)
    assert found.message.params == {"name": "x \ufffd y"}


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"a","params":' + b"[" * 50_000, 3),
        (b'{"jsonrpc":"2.0","method":"a","params":"cut', None),
        (b'{"jsonrpc":"2.0","id":"x","method":5}', "x"),
        (b'{"id":4,"method":"a"}', 4),
        (b'{"jsonrpc":"2.0","id":3,"method":"a","params":[' + b"1," * MOST_VALUES + b"1]}", 3),
        (b"[" + b"1," * MOST_VALUES + b"1]", None),
        (b"[]", None),
        (b"hello", None),
    ],
)
def test_a_request_that_cannot_be_read_is_answered_with_its_id(line: bytes, request_id: object) -> None:
    assert refusal(line)[0] == request_id


def test_an_answer_and_a_blank_line_need_none() -> None:
    assert client_message(b'{"jsonrpc":"2.0","id":3,"result":') is None
    assert client_message(b" \r") is None


async def test_lines_go_in_and_out_and_the_end_of_the_client_is_the_end() -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    async with asyncio.timeout(HANGS), line_streams(read_in, write_out) as (incoming, outgoing):
        os.write(write_in, b'broken\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        message = await incoming.receive()
        assert isinstance(message, SessionMessage)
        await outgoing.send(message)
        os.close(write_in)
        with pytest.raises(anyio.EndOfStream):
            await incoming.receive()
    os.close(write_out)
    with os.fdopen(read_out, "rb") as lines:
        answers = [json.loads(line) for line in lines]
    os.close(read_in)
    assert [each.get("id") for each in answers] == [None, 1]
