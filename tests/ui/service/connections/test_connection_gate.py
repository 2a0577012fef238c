"""The gate of connections: its counts, at their edges."""

from __future__ import annotations

import resource

from holdfast.ui.service.connections import ConnectionGate, ConnectionLimits

LIMITS = ConnectionLimits(per_address=2, unknown=3)


def test_an_address_and_all_addresses_have_a_limit() -> None:
    gate = ConnectionGate(LIMITS)
    assert [gate.refusal("a", 5), gate.refusal("a", 6)] == ["", ""]
    assert "from a (at most 2)" in gate.refusal("a", 7)
    assert gate.refusal("b", 7) == ""
    assert "without a token (at most 3)" in gate.refusal("c", 8)
    gate.release("a")
    assert gate.refusal("c", 8) == ""
    assert "at most 3" in gate.refusal("a", 9)


def test_a_refused_connection_is_not_counted() -> None:
    gate = ConnectionGate(LIMITS)
    for _ in range(5):
        gate.refusal("a", 5)
    gate.release("a")
    gate.release("a")
    assert [gate.refusal("a", 5) == "" for _ in range(3)] == [True, True, False]


def test_the_last_descriptors_are_reserved() -> None:
    most_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    gate = ConnectionGate(ConnectionLimits(reserved=32, backlog=8))
    assert gate.refusal("a", most_open - 57) == ""
    assert "limit of open files" in gate.refusal("a", most_open - 56)
