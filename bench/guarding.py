"""What the guard costs before a request is sent: CPU time for conversations of some lengths, compared with a limit."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from holdfast.guard import mended
from pairs import AtMost, Comparison

LIMITS: Mapping[int, float] = {1: 0.001, 100: 0.003, 2_000: 0.040}
"""Seconds of CPU time, by messages."""

_URL = "https://api.openai.com/v1/chat/completions"


def guarding(*, rounds: int) -> list[Comparison]:
    """Compare what judging a request takes with the limits: valid ones, and one in which a result is missing."""
    cases = {f"a valid request of {count:,} messages": (count, request_of(count)) for count in LIMITS}
    cases |= {
        f"a request of {count:,} messages, repaired": (count, request_of(count, lacks_result=True))
        for count in LIMITS
        if count > 1
    }
    return [
        Comparison(
            what=f"CPU time to guard {name}",
            against=f"{LIMITS[count] * 1e3:g} ms",
            ours=[_judged(body) for _ in range(rounds + 1)][1:],
            theirs=[LIMITS[count]] * rounds,
            aim=AtMost(ratio=1),
        )
        for name, (count, body) in cases.items()
    ]


def request_of(count: int, *, lacks_result: bool = False) -> bytes:
    """Return a request with so many messages, of which two thirds are calls and their results."""
    messages: list[object] = [{"role": "user", "content": "Find out why the test fails. " * 8}]
    for number in range((count - 1) // 2):
        call = {"name": "bash", "arguments": json.dumps({"command": f"ls -la /tmp/{number:080d}"})}
        called = {"id": f"call_{number:08d}", "type": "function", "function": call}
        messages += [
            {"role": "assistant", "content": "I look at it now. " * 12, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"call_{number:08d}", "content": "a line of output\n" * 40},
        ]
    messages += [{"role": "user", "content": "Go on."}] * (count - len(messages))
    if lacks_result:
        del messages[2]
    return json.dumps({"model": "gpt-4.1", "messages": messages}).encode()


def _judged(body: bytes) -> float:
    begun = time.process_time()
    mended(_URL, {}, body)
    return time.process_time() - begun
