"""One event of a provider holds at most so many values: decoded, they take many times their bytes."""

from __future__ import annotations

import pytest

from holdfast.errors import ProviderFailed
from holdfast.providers.protocols.response_parts import ResponseJson


@pytest.mark.parametrize("piece", [b"{},", b"[],", b"1,"])
def test_an_event_of_many_values_is_refused_and_a_long_text_is_not(piece: bytes) -> None:
    read = ResponseJson("m")
    with pytest.raises(ProviderFailed, match="more than 200,000 values in one event"):
        read.value(b"[" + piece * 300_000 + b"0]")
    assert read.value(b"[" + piece * 30_000 + b"0]") == [*[{b"{},": {}, b"[],": [], b"1,": 1}[piece]] * 30_000, 0]
    assert read.value(b'"' + piece * 300_000 + b'"') == (piece * 300_000).decode()
