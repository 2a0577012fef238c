"""Laws of the frame of a message: any bytes have one or none, in time, and that of valid JSON is the true one."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.message_frame import MOST_VALUES, MessageFrame, is_too_complex, message_frame
from laws import law

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
IDS = st.integers(-(2**60), 2**60) | st.text(max_size=8)
MESSAGES = st.dictionaries(st.sampled_from(["result", "params", "error", "jsonrpc", "i", "ids"]), VALUES, max_size=4)
BROKEN = [
    b'{"id":3,"result":"\\ud83d"}',
    b'{"id":3,"result":"\xff"}',
    b'{"id":3,"result":1e400}',
    b'{"id":3,"result":' + b"[" * 100_000,
    b'{"id":3,"result":{"id":4},"error":"str"}',
    b'{"result":{"id":4,"a":["\\"id\\":5,"]},"id":3}',
    b' {"id" : 3 , "result" : }',
    b'{"id":3,"result":"without an end',
]


@law()
@given(MESSAGES, IDS, st.booleans(), st.booleans())
def test_a_valid_message_has_the_frame_of_its_decoded_form(
    fields: dict[str, object],
    message_id: str | int,
    asks: bool,  # noqa: FBT001 - drawn
    first: bool,  # noqa: FBT001 - drawn
) -> None:
    named: dict[str, object] = {"id": message_id, **({"method": "x"} if asks else {})}
    message = {**named, **fields} if first else {**fields, **named}
    assert message_frame(json.dumps(message).encode()) == MessageFrame(message_id, asks)
    assert message_frame(json.dumps(message, ensure_ascii=False, indent=1).encode()) == MessageFrame(message_id, asks)


@law()
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b'{"id":', b"{", b"]", b'"', b"\\", b":", b"3", b","])).map(b"".join)
)
def test_any_bytes_have_a_frame_or_none(raw: bytes) -> None:
    found = message_frame(raw)
    assert found is None or raw.lstrip()[:1] == b"{"


@pytest.mark.parametrize("raw", BROKEN)
def test_the_id_of_a_broken_message_is_found(raw: bytes) -> None:
    assert message_frame(raw) == MessageFrame(3, has_method=False)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"hello", b'"id"', b"{" + b'"\\' * 1_000_000, b'{"' + b'\\"' * 1_000_000, b"{" * 3_000_000]
)
def test_nothing_hostile_takes_long(raw: bytes) -> None:
    began = time.process_time()
    found = message_frame(raw)
    assert found is None or found == MessageFrame(None, has_method=False)
    assert time.process_time() - began < 2


def test_of_a_message_of_many_values_the_beginning_is_read() -> None:
    values = b"[" + b"0," * MOST_VALUES + b"0]"
    assert message_frame(b'{"id":3,"method":"a","params":' + values + b"}") == MessageFrame(3, has_method=True)
    assert message_frame(b'{"params":' + values + b',"id":3,"method":"a"}') == MessageFrame(None, has_method=False)


def test_a_message_of_many_values_is_too_complex_and_a_long_text_is_not() -> None:
    assert is_too_complex(b"[" + b"0," * MOST_VALUES + b"0]")
    assert is_too_complex(b"[" * (MOST_VALUES + 2))
    assert not is_too_complex(b'{"result":"' + b"{,:}" * MOST_VALUES + b'"}')
    assert not is_too_complex(b"[" + b"0," * 1000 + b"0]")
