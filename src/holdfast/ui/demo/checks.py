"""The demo's checks, as pure functions of its recorded evidence. Each can fail, and a test sees each of them fail.

The two records are independent: the journal on disk, and the requests that the provider received.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from holdfast.session.journal.entries import CallEnded, Entry, PromptAccepted, ResponseEnded
from holdfast.session.journal.parts import CallPart
from holdfast.testing.http_exchange import admit_request, wire_for_path
from holdfast.testing.protocols.protocol import Incoming, Refusal
from holdfast.testing.scripted_provider import CapturedRequest
from holdfast.typed_data import decode_json

KEY = "scripted"  # the API key of the demo's provider

DEEDS = ("check", "tag", "upload")
"""The steps that the project's program must have done at the end, each exactly once."""

_EFFECT_TEXTS = {
    "interrupted": ("Effect unknown", "It created ", "It changed ", "Since it began, "),
    "not_started": ("It had no effect",),
}


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """An agent process that ended with `code`; `expected` is the exit code of a correct run."""

    code: int
    expected: int


class DemoEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that the demo recorded.

    `entries` is the journal at the end, `requests` what the provider received, `deeds` the log of the release.
    `lifetimes` is how many seconds each interrupted command survived its agent, None if it did not end; `tools_ended`
    is whether all tool processes ended. `test_before` and `test_after` are whether the test passed.
    """

    entries: tuple[Entry, ...]
    requests: tuple[CapturedRequest, ...]
    runs: tuple[AgentRun, ...]
    deeds: tuple[str, ...]
    lifetimes: Mapping[str, float | None]
    tools_ended: bool
    test_before: bool
    test_after: bool


class Check(msgspec.Struct, frozen=True):
    """A claim with its numbers, and whether it is true."""

    claim: str
    passed: bool


class _Text(msgspec.Struct, frozen=True):
    text: str = ""


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_Text] | None = None
    tool_call_id: str = ""

    @property
    def texts(self) -> list[str]:
        return [piece.text for piece in self.content] if isinstance(self.content, list) else [self.content or ""]


class _Sent(msgspec.Struct, frozen=True):
    messages: list[msgspec.Raw]

    @property
    def read(self) -> list[_Message]:
        return [decode_json(message, _Message) for message in self.messages]


def check_evidence(evidence: DemoEvidence) -> tuple[Check, ...]:
    """Check every claim of the demo against the journal, the requests and the processes."""
    sent = [decode_json(request.raw, _Sent) for request in evidence.requests]
    return (
        *_last_request(evidence.entries, sent[-1].read if sent else []),
        *_requests(evidence.requests, sent),
        *_processes(evidence),
    )


def _last_request(entries: Sequence[Entry], last: Sequence[_Message]) -> tuple[Check, ...]:
    """Check that the last request has every prompt, every result, and the known effect of each unfinished call."""

    def has(entry: CallEnded) -> bool:
        return [message.texts for message in last if message.tool_call_id == entry.call] == [[entry.text]]

    prompts = [entry.text for entry in entries if isinstance(entry, PromptAccepted)]
    arrived = {text for message in last if message.role == "user" for text in message.texts}
    ended = [entry for entry in entries if isinstance(entry, CallEnded)]
    finished = [has(entry) for entry in ended if entry.outcome in ("ok", "failed")]
    cut = [
        has(entry) and any(text in entry.text for text in _EFFECT_TEXTS[entry.outcome])
        for entry in ended
        if entry.outcome in _EFFECT_TEXTS
    ]
    responses = [entry for entry in entries if isinstance(entry, ResponseEnded) and entry.cut is None]
    calls = sorted(part.id for entry in responses for part in entry.parts if isinstance(part, CallPart))
    one_each = bool(calls) and calls == sorted(entry.call for entry in ended)
    return (
        _all([prompt in arrived for prompt in prompts], "prompts are in the last request, word for word"),
        _all(finished, "finished results are in it, word for word"),
        _all(cut, "unfinished calls are in it, each with its known effect"),
        Check(f"{len(calls)} calls, {len(ended)} outcomes: one for each call", one_each),
    )


def _requests(requests: Sequence[CapturedRequest], sent: Sequence[_Sent]) -> tuple[Check, ...]:
    """Check that the provider accepted every request, and that no request changed the past."""
    refused = sum(request.refusal is not None for request in requests)
    accepted = bool(requests) and not refused and all(request.ended == "completed" for request in requests)
    systems = [[message.texts for message in each.read if message.role == "system"] for each in sent]
    alike = [len(system) == 1 and system == systems[0] for system in systems]
    stable = [later.messages[: len(earlier.messages)] == earlier.messages for earlier, later in pairwise(sent)]
    return (
        Check(f"{len(requests)} requests, {refused} refused by the provider, which checks OpenAI's rules", accepted),
        _control(requests[-1], sent[-1]) if requests else _all([], "requests can be tried without a result"),
        _all(alike, "requests have one system prompt, always the same"),
        _all(stable, "requests begin with the whole previous request, unchanged"),
    )


def _control(last: CapturedRequest, sent: _Sent) -> Check:
    """Check that the provider really checks: without one result it must refuse the request that it accepted."""
    results = [at for at, message in enumerate(sent.read) if message.role == "tool"]
    if not results or _refusal(last, sent.messages) is not None:
        return Check("the provider accepts the last request again, to try it without a result", passed=False)
    refusal = _refusal(last, [message for at, message in enumerate(sent.messages) if at != results[0]])
    if refusal is None:
        return Check("without one of its results it is accepted too: the provider proves nothing", passed=False)
    return Check(f"without one of its results, the same request is refused: “{refusal}.”", passed=True)


def _refusal(request: CapturedRequest, messages: Sequence[msgspec.Raw]) -> str | None:
    """Return the first sentence of the provider's refusal of these messages, None if it accepts them."""
    body = msgspec.json.encode({**(request.body or {}), "messages": messages})
    incoming = Incoming(method=request.method, path=request.path, headers=request.headers, body=body)
    try:
        admit_request(wire_for_path(incoming), incoming, key=KEY)
    except Refusal as refusal:
        return refusal.message.partition(". ")[0]
    return None


def _processes(evidence: DemoEvidence) -> tuple[Check, ...]:
    """Check the deeds of the programs, and how the agents ended."""
    counts = Counter(evidence.deeds)
    done = ", ".join(f"{deed} {counts[deed]}" for deed in sorted({*DEEDS, *counts}))
    times = ", ".join(
        f"{deed} {'LIVES ON' if t is None else f'{t * 1000:.0f} ms'}" for deed, t in evidence.lifetimes.items()
    )
    ended = bool(evidence.lifetimes) and None not in evidence.lifetimes.values() and evidence.tools_ended
    before, after = ("passed" if passed else "failed" for passed in (evidence.test_before, evidence.test_after))
    fixed = evidence.test_after and not evidence.test_before
    codes = ", ".join(str(run.code) for run in evidence.runs)
    as_expected = bool(evidence.runs) and all(run.code == run.expected for run in evidence.runs)
    return (
        Check(f"each step of the release was done exactly once: {done}", counts == Counter(DEEDS)),
        Check(f"no process is left: {times} after its agent", ended),
        Check(f"the project's test {before} before and {after} after, run by the demo", fixed),
        Check(f"the {len(evidence.runs)} agents ended as they should, with exit codes {codes}", as_expected),
    )


def _all(good: Sequence[bool], claim: str) -> Check:
    return Check(f"{sum(good)} of {len(good)} {claim}", bool(good) and all(good))
