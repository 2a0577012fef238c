"""What the demo claims, as pure functions of what it saw: each can fail, and tests see each of them fail.

The two sides are independent: the journal on the disk, and what the provider was sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from holdfast.session.entries import CallEnded, CallPart, Entry, PromptAccepted, ResponseEnded
from holdfast.testing.exchange import admitted, wire_of
from holdfast.testing.provider import Captured
from holdfast.testing.wires.strict import is_array, is_object
from holdfast.testing.wires.wire import Incoming, Refusal
from holdfast.ui.demo.project import DEEDS

KEY = "scripted"
"""The key the demo's provider asks for."""

_SAYS = {"interrupted": "Effect unknown", "not_started": "It had no effect"}
_FINISHED = ("ok", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An agent process that ended with `code`, where `expected` was expected."""

    code: int
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen.

    `entries` is the journal at the end, `requests` what the provider was sent. `deeds` are what the project's programs
    logged. `lived` is the seconds each interrupted command lived on after its agent, None if it would not end;
    `tools_gone` is whether that is so of everything. `test_before` and `test_after` are whether the test passed.
    """

    entries: tuple[Entry, ...]
    requests: tuple[Captured, ...]
    runs: tuple[Run, ...]
    deeds: tuple[str, ...]
    lived: Mapping[str, float | None]
    tools_gone: bool
    test_before: bool
    test_after: bool


@dataclass(frozen=True, slots=True)
class Check:
    """A claim with its numbers, and whether it holds."""

    said: str
    passed: bool


class _Text(msgspec.Struct, frozen=True):
    text: str = ""


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_Text] | None = None
    tool_call_id: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        match self.content:
            case None:
                return ()
            case str(text):
                return (text,)
            case pieces:
                return tuple(piece.text for piece in pieces)


class _Sent(msgspec.Struct, frozen=True):
    messages: tuple[_Message, ...]


def kept(seen: Evidence) -> tuple[Check, ...]:
    """Return whether everything that was finished is in the last request."""
    last = _sent(seen)[-1].messages if seen.requests else ()
    prompts = [entry.text for entry in seen.entries if isinstance(entry, PromptAccepted)]
    arrived = {text for message in last if message.role == "user" for text in message.texts}
    kept = sum(prompt in arrived for prompt in prompts)
    results = [entry for entry in _ended(seen) if entry.outcome in _FINISHED]
    answered = sum(_answered(entry, last) for entry in results)
    return (
        Check(f"{kept} of {len(prompts)} prompts are in the last request, word for word", _all(kept, prompts)),
        Check(f"{answered} of {len(results)} finished results are in it, word for word", _all(answered, results)),
    )


def unknown(seen: Evidence) -> tuple[CallEnded, ...]:
    """Return the calls that did not finish, as they were settled."""
    return tuple(entry for entry in _ended(seen) if entry.outcome in _SAYS)


def told(seen: Evidence) -> tuple[Check, ...]:
    """Return whether the model was told of every call that did not finish what is known of it, and no more."""
    last = _sent(seen)[-1].messages if seen.requests else ()
    cut = unknown(seen)
    right = sum(_answered(entry, last) and _SAYS[entry.outcome] in entry.text for entry in cut)
    return (Check(f"{right} of {len(cut)} are in the last request, in these words", _all(right, cut)),)


def checked(seen: Evidence) -> tuple[Check, ...]:
    """Return everything else that must hold."""
    return (
        _accepted(seen),
        _control(seen),
        _one_system(seen),
        _past_is_stable(seen),
        _one_fate(seen),
        _once(seen),
        _nothing_left(seen),
        _mended(seen),
        _ended_as_meant(seen),
    )


def _accepted(seen: Evidence) -> Check:
    refused = sum(request.refusal is not None for request in seen.requests)
    completed = sum(request.ended == "completed" for request in seen.requests)
    said = f"{len(seen.requests)} requests, {refused} refused by the provider, which plays by OpenAI's rules"
    return Check(said, _all(completed, seen.requests) and not refused)


def _control(seen: Evidence) -> Check:
    """Return whether the provider's strictness is real: without one result it must refuse what it accepted."""
    accepted = [request for request in seen.requests if request.body is not None]
    messages = _messages(accepted[-1]) if accepted else []
    results = [message for message in messages if is_object(message) and message.get("role") == "tool"]
    if not results or _refusal(accepted[-1], messages) is not None:
        return Check("the provider accepts the last request again, to try it without a result", passed=False)
    refusal = _refusal(accepted[-1], [message for message in messages if message != results[0]])
    if refusal is None:
        return Check("without one of its results it is accepted too: the provider proves nothing", passed=False)
    return Check(f"without one of its results the same request is refused: “{refusal}.”", passed=True)


def _refusal(request: Captured, messages: Sequence[object]) -> str | None:
    """Return the first sentence of what the provider says to the request with these messages, None if it accepts."""
    body = msgspec.json.encode({**(request.body or {}), "messages": messages})
    incoming = Incoming(method=request.method, path=request.path, headers=request.headers, body=body)
    try:
        admitted(wire_of(incoming), incoming, key=KEY)
    except Refusal as refusal:
        return refusal.message.partition(". ")[0]
    return None


def _one_system(seen: Evidence) -> Check:
    systems = [[message.texts for message in sent.messages if message.role == "system"] for sent in _sent(seen)]
    alike = sum(len(system) == 1 and system == systems[0] for system in systems)
    return Check(f"{alike} of {len(systems)} requests carry one system prompt, always the same", _all(alike, systems))


def _past_is_stable(seen: Evidence) -> Check:
    sent = [_messages(request) for request in seen.requests]
    pairs = list(pairwise(sent))
    stable = sum(later[: len(earlier)] == earlier for earlier, later in pairs)
    said = f"{stable} of {len(pairs)} times a request begins with all of the one before, unchanged"
    return Check(said, _all(stable, pairs))


def _one_fate(seen: Evidence) -> Check:
    calls = [
        part.id
        for entry in seen.entries
        if isinstance(entry, ResponseEnded) and entry.cut is None
        for part in entry.parts
        if isinstance(part, CallPart)
    ]
    outcomes = [entry.call for entry in _ended(seen)]
    said = f"{len(calls)} calls, {len(outcomes)} outcomes: one each"
    return Check(said, bool(calls) and sorted(calls) == sorted(outcomes))


def _once(seen: Evidence) -> Check:
    counts = Counter(seen.deeds)
    said = ", ".join(f"{deed} {counts[deed]}" for deed in sorted({*DEEDS, *counts}))
    return Check(f"each program did its work exactly once: {said}", counts == Counter(DEEDS))


def _nothing_left(seen: Evidence) -> Check:
    times = ", ".join(f"{name} {'LIVES ON' if t is None else f'{t * 1000:.0f} ms'}" for name, t in seen.lived.items())
    ended = bool(seen.lived) and None not in seen.lived.values()
    return Check(f"no process is left: {times} after its agent", ended and seen.tools_gone)


def _mended(seen: Evidence) -> Check:
    words = {True: "passed", False: "failed"}
    said = f"the project's test {words[seen.test_before]} before and {words[seen.test_after]} after, run by the demo"
    return Check(said, not seen.test_before and seen.test_after)


def _ended_as_meant(seen: Evidence) -> Check:
    codes = ", ".join(str(run.code) for run in seen.runs)
    said = f"the {len(seen.runs)} agents ended as they should, with exit codes {codes}"
    return Check(said, bool(seen.runs) and all(run.code == run.expected for run in seen.runs))


def _all(count: int, of: Sequence[object]) -> bool:
    return 0 < count == len(of)


def _ended(seen: Evidence) -> list[CallEnded]:
    return [entry for entry in seen.entries if isinstance(entry, CallEnded)]


def _answered(entry: CallEnded, messages: tuple[_Message, ...]) -> bool:
    """Return whether the call has this very result in `messages`, and no other."""
    return [message.texts for message in messages if message.tool_call_id == entry.call] == [(entry.text,)]


def _messages(request: Captured) -> list[object]:
    """Return the messages of an accepted request as they were sent."""
    messages = (request.body or {}).get("messages")
    return messages if is_array(messages) else []


def _sent(seen: Evidence) -> list[_Sent]:
    return [msgspec.json.decode(request.raw, type=_Sent) for request in seen.requests]
