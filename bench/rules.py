"""Checking and repairing conversations in this process: the cost of a message, and what it is measured by."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path

from pydantic_ai.messages import ModelMessagesTypeAdapter, repair_messages

from holdfast.history import check, repair
from holdfast.history.formats import find_format
from holdfast.history.formats.format import project_messages
from pairs import AtMost, Comparison, paired

Message = dict[str, object]

RESULT = "A line of a file that was read. " * 10

_AGAIN = 10  # times: a thousand messages alone are too quick for the clock


def rules(*, lengths: tuple[int, ...], rounds: int) -> list[Comparison]:
    """Return what checking and repairing cost at each length; per message it must not grow with the length."""
    each = (row for length in lengths for row in _each(length, rounds))
    longest = lengths[-1]
    flat = _flat(lengths[0], longest, rounds)
    return [*each, *flat, *_theirs(longest, rounds), *_few_open(longest, rounds), *_unknown(longest, rounds)]


def _each(length: int, rounds: int) -> Iterator[Comparison]:
    valid, broken = list(islice(chat(), length)), list(islice(chat(answers=1), length))
    form = find_format("openai-chat")
    one_pass = "one pass, a dictionary operation a part"
    projecting = "the format's projection"
    for what, work, against, floor, aim in (
        ("check, valid,", lambda: check(valid, format="openai-chat"), one_pass, lambda: _one_pass(valid), 60),
        (
            "check + repair, valid,",
            lambda: repair(valid, format="openai-chat"),
            projecting,
            lambda: project_messages(form, valid),
            4,
        ),
        (
            "check + repair, half of the results missing,",
            lambda: repair(broken, format="openai-chat"),
            projecting,
            lambda: project_messages(form, broken),
            15,
        ),
    ):
        ours, theirs = paired(lambda work=work: _cpu(work), lambda floor=floor: _cpu(floor), rounds=rounds)
        yield Comparison(
            what=f"{what} {length:,} messages", against=against, ours=ours, theirs=theirs, aim=AtMost(ratio=aim)
        )


def _flat(few: int, many: int, rounds: int) -> Iterator[Comparison]:
    """Yield the cost of a message in a long conversation against its cost in a short one, and against a second."""
    short, long = list(islice(chat(), few)), list(islice(chat(), many))
    ours, theirs = paired(
        lambda: _cpu(lambda: repair(long, format="openai-chat")) / many,
        lambda: _cpu(lambda: [repair(short, format="openai-chat") for _ in range(_AGAIN)]) / few / _AGAIN,
        rounds=rounds,
    )
    what, against = f"check + repair, a message of {many:,}", f"a message of {few:,}"
    yield Comparison(what=what, against=against, ours=ours, theirs=theirs, aim=AtMost(ratio=2))
    seconds = [each * many for each in ours]
    what = f"check + repair {many:,} messages"
    yield Comparison(what=what, against="a second", ours=seconds, theirs=[1.0] * len(seconds), aim=AtMost(ratio=1))


def _theirs(length: int, rounds: int) -> Iterator[Comparison]:
    """Yield ours against pydantic-ai's own repair of the same history; it does less: it drops and closes, by id."""
    messages = list(islice(_requests(), length))
    loaded = ModelMessagesTypeAdapter.validate_python(messages)
    ours, theirs = paired(
        lambda: _cpu(lambda: repair(messages, format="pydantic-ai")),
        lambda: _cpu(lambda: repair_messages(loaded)),
        rounds=rounds,
    )
    yield Comparison(
        what=f"check + repair {length:,} messages of pydantic-ai",
        against="its repair_messages",
        ours=ours,
        theirs=theirs,
        aim=AtMost(ratio=10),
    )


def _few_open(length: int, rounds: int) -> Iterator[Comparison]:
    """Yield the cost of a repair where one call in fifty is open against a check, and that of `any` against others.

    `any` and Mistral give every call another id, so that this is what it costs to please all and not one; OpenAI leaves
    the ids as they are.
    """
    results = count()
    messages = islice(chat(), length * 51 // 50)
    broken = [each for each in messages if each["role"] != "tool" or next(results) % 50][:length]
    what = f"{length:,} messages, one call in fifty open"
    ours, theirs = paired(
        lambda: _cpu(lambda: repair(broken, format="openai-chat")),
        lambda: _cpu(lambda: check(broken, format="openai-chat")),
        rounds=rounds,
    )
    yield Comparison(what=f"check + repair, {what}", against="its check", ours=ours, theirs=theirs, aim=AtMost(ratio=2))
    for name, work in (("check", check), ("check + repair", repair)):
        ours, theirs = paired(
            lambda work=work: _cpu(lambda: work(broken, format="openai-chat", profile="any")),
            lambda work=work: _cpu(lambda: work(broken, format="openai-chat", profile="mistral")),
            rounds=rounds,
        )
        yield Comparison(
            what=f"{name} for any, {what}", against="for mistral", ours=ours, theirs=theirs, aim=AtMost(ratio=2)
        )
    ours, theirs = paired(
        lambda: _cpu(lambda: repair(broken, format="openai-chat", profile="any")),
        lambda: _cpu(lambda: repair(broken, format="openai-chat")),
        rounds=rounds,
    )
    what = f"check + repair for any, {what}"
    yield Comparison(what=what, against="for openai-chat", ours=ours, theirs=theirs, aim=AtMost(ratio=2))


def _unknown(length: int, rounds: int) -> Iterator[Comparison]:
    """Yield the cost of a repair where each answer has fields that no provider knows, as programs store it."""
    stored = {"id": "chatcmpl-1", "model": "m", "usage": {"total_tokens": 1}, "finish_reason": "stop"}
    messages = [each | stored if each["role"] == "assistant" else each for each in islice(chat(), length)]
    ours, theirs = paired(
        lambda: _cpu(lambda: repair(messages, format="openai-chat", profile="openai-compatible")),
        lambda: _cpu(lambda: check(messages, format="openai-chat", profile="openai-compatible")),
        rounds=rounds,
    )
    what = f"check + repair, {length:,} messages, unknown fields in every answer"
    yield Comparison(what=what, against="its check", ours=ours, theirs=theirs, aim=AtMost(ratio=3))


def memory(folder: Path, *, size: int) -> list[Comparison]:
    """Return the most memory that a check of a file of about `size` bytes takes, against the size of the file."""
    path = folder / "long.json"
    turns = size // (len(RESULT) * _LONGER)
    with path.open("w", encoding="utf-8") as file:  # piece by piece: a process counts what its parent had, too
        for number, each in enumerate(islice(chat(answers=1), turns * 4)):
            message = {**each, "content": RESULT * _LONGER} if each["role"] == "tool" else each
            file.write(f"{',' if number else '['}{json.dumps(message)}")
        file.write("]")
    report = f"import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * {_UNIT})"
    checks = (
        f"import sys; from holdfast.ui.main import main; main(['check', {str(path)!r}]); sys.stdout.flush(); {report}"
    )
    done = subprocess.run((sys.executable, "-c", checks), capture_output=True, text=True, check=True)
    peak = float(done.stdout.splitlines()[-1])
    return [
        Comparison(
            what="memory of holdfast check, a long document",
            against="the size of the document",
            ours=[peak],
            theirs=[float(path.stat().st_size)],
            aim=AtMost(ratio=3),
            unit="bytes",
        )
    ]


_LONGER = 10
_UNIT = 1 if sys.platform == "darwin" else 1024


def _cpu(work: Callable[[], object]) -> float:
    gc.collect()  # exclude what an earlier round left
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _one_pass(messages: list[Message]) -> int:
    count = 0
    for message in messages:
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:  # pyright: ignore[reportUnknownVariableType] - made below
                count += call["id"] is not None
        else:
            count += message["content"] is not None
    return count


# --- the same history in two formats ---------------------------------------------------------------------------------


def chat(*, answers: int = 2) -> Iterator[Message]:
    """Yield turns of a prompt, two calls of which `answers` are answered, and an answer."""
    for turn, calls in _turns():
        tool_calls = [
            {"id": call, "type": "function", "function": {"name": "read", "arguments": '{"path": "notes.txt"}'}}
            for call in calls
        ]
        yield {"role": "user", "content": f"What is in file {turn}?"}
        yield {"role": "assistant", "content": None, "tool_calls": tool_calls}
        for call in calls[:answers]:
            yield {"role": "tool", "tool_call_id": call, "content": RESULT}
        yield {"role": "assistant", "content": "It is a list."}


def _requests() -> Iterator[Message]:
    for turn, calls in _turns():
        prompt = {"part_kind": "user-prompt", "content": f"What is in file {turn}?", "timestamp": _AT}
        parts = [
            {"part_kind": "tool-call", "tool_name": "read", "args": '{"path": "notes.txt"}', "tool_call_id": call}
            for call in calls
        ]
        returned = [
            {
                "part_kind": "tool-return",
                "tool_name": "read",
                "content": RESULT,
                "tool_call_id": call,
                "timestamp": _AT,
            }
            for call in calls
        ]
        yield {"kind": "request", "parts": [prompt]}
        yield {"kind": "response", "parts": parts, "timestamp": _AT}
        yield {"kind": "request", "parts": returned}
        yield {"kind": "response", "parts": [{"part_kind": "text", "content": "It is a list."}], "timestamp": _AT}


_AT = "2026-01-01T00:00:00Z"


def _turns() -> Iterator[tuple[int, tuple[str, str]]]:
    turn = 0
    while True:
        turn += 1
        yield turn, (f"call_{turn}_1", f"call_{turn}_2")
