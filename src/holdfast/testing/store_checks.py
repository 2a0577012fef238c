"""A conformance suite for any `Store`: it tries everything that the agent relies on.

Each law is tried on a new journal, so that one failure hides no other. A failure is an AssertionError that begins with
the law's name, whatever the store raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from holdfast.errors import AppendConflict, StateError
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import CallPart, RequestPrefix, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Store
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.testing.named_law import NamedLaw
from holdfast.tool_calls import (
    FileChange,
    FileSeen,
    Image,
    InputRequest,
    Pattern,
    ProcessId,
    RemoteCall,
    ServerAnswer,
    ServerQuestion,
    ToolSchema,
)

_IMAGE = Image(media_type="image/png", data=b"\x89PNG", name="a.png", width=2, height=3)

EXAMPLES: tuple[e.Entry, ...] = (
    e.SessionOpened(
        session="20261121-2318-k3f9",
        cwd="/srv/engine",
        model="anthropic:m",
        system="Be brief.",
        tools=(ToolSchema(name="read", description="Read a file.", parameters={"type": "object", "properties": {}}),),
        version="0.1.0",
        forked_from="20261120-0900-abcd",
        imported_from="chat.json",
        instructions=(FileSeen(path="AGENTS.md", size=9, modified=1763852345678901234, sha256="a" * 64),),
    ),
    e.ModelChanged(model="openai-chat:n", why="fallback"),
    e.ModelSettingsChanged(
        settings=ModelSettings(effort="high", temperature=0.5, max_output=4_096, service_tier="flex")
    ),
    e.ModeChanged(mode="accept-edits", why="plan"),
    e.Titled(title="The engine, grüßend", model="openai-chat:n", usage=Usage(output_tokens=9, cost="0.001")),
    e.PromptAccepted(turn=1, text="Grüße, 世界 \N{WATER WAVE}\nsecond line", queued="q7", images=(_IMAGE,)),
    e.Queued(id="q7", text="And the tests too.", when="steer", images=(_IMAGE,)),
    e.Recalled(queued="q7"),
    e.Steered(queued="q7", text="And the tests too.", images=(_IMAGE,)),
    e.Rewound(turn=1, note="[Note: its effects stay.]"),
    e.Pruned(outputs={"c1": "[Note: it is left out.]"}, saved=20480),
    e.Compacted(
        step=1,
        note="[Note: this stands for what is older.]",
        why="overflow",
        summary="It was long.",
        model="openai-chat:n",
        messages=2,
        before=90000,
        after=9000,
        usage=Usage(input_tokens=9, output_tokens=8, cache_read_tokens=7, cache_write_tokens=6, cost="0.01"),
        said=1,
    ),
    e.Uncompacted(),
    e.RequestStarted(
        step=1,
        attempt=1,
        model="openai-chat:n",
        prefix=RequestPrefix(head="0123456789abcdef", messages=3, bytes=900, digest="00112233445566778899aabbccddeeff"),
    ),
    e.RequestFailed(
        step=1,
        attempt=1,
        fault="overloaded",
        message="Try later.",
        status=529,
        retry_in=1.5,
        attempts=4,
        retry_whole=True,
    ),
    e.ResponseCheckpoint(step=1, text="I will", thinking="Let me see"),
    e.ResponseEnded(
        step=1,
        model="openai-chat:n",
        parts=(
            ThinkingPart(text="Let me see.", signature="c2ln", id="t1", provider="anthropic", details={"n": 1}),
            TextPart(text="I will look."),
            CallPart(
                id="c1",
                name="read",
                arguments='{"path": "a.py"',
                wire_id="call_1",
                item_id="fc_1",
                provider="openai",
                details={"nested": {"list": [1, None, True]}},
            ),
        ),
        usage=Usage(input_tokens=10, output_tokens=5, cache_read_tokens=3, cache_write_tokens=2, cost="0.0001"),
        finish="tool_calls",
        cut="user",
        written="<tool_call>…</tool_call>",
    ),
    e.ApprovalAsked(
        call="c1",
        why="It is outside the workspace.",
        pattern=Pattern(effect="execute", text="make test *"),
        patterns=(Pattern(effect="execute", text="make test *"), Pattern(effect="execute", text="git commit *")),
        level="network",
        hosts=("api.example.org",),
        notice="Commands are not confined: bubblewrap is not installed.",
        repeats=9,
    ),
    e.ApprovalAnswered(
        call="c1",
        allowed=False,
        words="Not that one.",
        remember="session",
        pattern=Pattern(effect="write", text="src/**"),
        patterns=(Pattern(effect="write", text="src/**"), Pattern(effect="write", text="README.md")),
        mode="accept-edits",
        chosen=("SQLite", "Postgres"),
        level="workspace",
    ),
    e.CallStarted(
        call="c1",
        effect="write",
        change=FileChange(path="a.py", before="0" * 64, after="f" * 64),
        spool="c1.out",
        changes=(FileChange(path="b.py", before="0" * 64, after=None),),
        remote=RemoteCall(server="trip", tool="book", protocol="2026-07-28"),
        confined="read",
    ),
    e.ProcessStarted(call="c1", process=ProcessId(pid=4711, start=987654, boot="0b0c33d2-1f6e-4f0a-9d0e-8a4f1c2b3d4e")),
    e.CallWaits(
        call="c1",
        request=InputRequest(
            server="trip",
            round=2,
            questions=(
                ServerQuestion(message="Who?", key="who", schema={"type": "object"}),
                ServerQuestion(message="Pay.", key="pay", url="https://pay.example.com/1"),
            ),
            again=True,
            state="opaque-1",
        ),
    ),
    e.CallAnswered(
        call="c1",
        round=2,
        answers=(ServerAnswer("who", "accept", {"name": "ann"}), ServerAnswer("pay", "decline")),
    ),
    e.CallEnded(
        call="c1",
        outcome="ok",
        text="done",
        seconds=0.25,
        seen=FileSeen(path="a.py", size=12, modified=1763852345678901234, sha256="f" * 64),
        images=(_IMAGE,),
        seen_also=(FileSeen(path="b.py", size=7),),
        repeats=3,
        same_as="c0",
    ),
    e.CallLate(call="c1", outcome="failed", text="It ended with exit status 1."),
    e.ShellStarted(id="s13", command="git status", shared=True, spool="s13.out"),
    e.ShellEnded(id="s13", outcome="ok", text="clean\n(exit code 0, 0.1 s)", seconds=0.125, note="[The user ran it.]"),
    e.TurnEnded(turn=1, reason="cancelled", cause="user", detail="ESC", note="[Note: stopped.]"),
    e.FilesChanged(files=(FileSeen(path="a.py"),), note="[Note: it is gone.]"),
    e.Repaired(findings=("Entry 3 is missing.",), note="[Note: an entry was lost.]"),
    TaskStarted(id="t21", call="c7f2", command="npm run dev", spool="c7f2.out", moved=True),
    TaskEnded(id="t21", outcome="failed", text="(exit code 1, 0.1 s)", seconds=0.125, note="[Note: t21 has ended.]"),
    TaskEndSent(task="t21"),
    e.ToolsChanged(
        tools=(ToolSchema(name="mcp__trip__book", description="Book.", parameters={"type": "object"}),),
        note="[Note: book is new.]",
    ),
    e.ServerFailed(
        server="trip", reason="it exited with status 3", tools=("mcp__trip__book",), note="[Note: trip has failed.]"
    ),
)
"""One entry of each kind, with every field set."""

_TEXTS = (
    "",
    "\N{WATER WAVE} \U0010ffff \N{COMBINING ACUTE ACCENT}",
    "\u2028\u2029\ufeff\ufffd",
    "\x01\x1b[31m\r\n\t\"'\\",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
)
_SIZES = (32 * 1024 - 200, 32 * 1024, 32 * 1024 + 1, 1_000_000)


class Harness(Protocol):
    """A journal that can be closed and opened again."""

    def open(self) -> Store:
        """Open the journal: empty the first time, later with what it held when it was last closed."""
        ...


def check_store(make: Callable[[], Harness]) -> None:
    """Raise `AssertionError` with the law's name if a store breaks one; `make` returns a new, empty journal."""
    for law in (
        _starts_empty,
        _keeps_order,
        _keeps_every_kind,
        _keeps_any_text,
        _keeps_any_size,
        _appends_nothing,
        _appends_all_or_none,
        _refuses_a_conflict,
        _goes_on_after_a_failure,
        _reopens_the_same,
        _refuses_once_closed,
    ):
        harness = make()
        with NamedLaw(f"a store {law.__name__.strip('_').replace('_', ' ')}"):
            law(harness)


def _prompt(text: str) -> e.PromptAccepted:
    return e.PromptAccepted(turn=1, text=text)


def _append(store: Store, *entries: e.Entry) -> None:
    before = store.length
    length = store.append(entries, expected=before)
    assert length == before + len(entries), f"append returned {length} (expected {before + len(entries)})"
    assert store.length == length, f"its length is {store.length} after append returned {length}"


def _expect(store: Store, *entries: e.Entry) -> None:
    """Assert that the store holds exactly these entries, numbered from 1, without a finding."""
    reading = store.read()
    assert not reading.findings, f"it reported {reading.findings[0].what!r} in an undamaged journal"
    found = [record.entry for record in reading.records]
    assert len(found) == len(entries), f"{len(found)} entries were read (expected {len(entries)})"
    for seq, (record, entry) in enumerate(zip(reading.records, entries, strict=True), start=1):
        assert record.seq == seq, f"entry {seq} has the number {record.seq}"
        assert record.entry == entry, f"entry {seq} was read as {str(record.entry)[:200]}, not {str(entry)[:200]}"
    assert store.length == len(entries), f"its length is {store.length} (expected {len(entries)})"


def _conflict(store: Store, *, expected: int) -> AppendConflict | None:
    """Return the error of an append with a wrong length, None if the append succeeded."""
    try:
        store.append([_prompt("never")], expected=expected)
    except AppendConflict as conflict:
        return conflict
    return None


def _starts_empty(harness: Harness) -> None:
    store = harness.open()
    _expect(store)
    store.close()


def _keeps_order(harness: Harness) -> None:
    store = harness.open()
    entries = [_prompt(str(number)) for number in range(30)]
    for entry in entries[:10]:
        _append(store, entry)
    _append(store, *entries[10:])
    _expect(store, *entries)
    times = [record.at for record in store.read().records]
    assert times == sorted(times), "later entries have earlier times"
    store.close()


def _keeps_every_kind(harness: Harness) -> None:
    store = harness.open()
    _append(store, *EXAMPLES)
    _expect(store, *EXAMPLES)
    store.close()


def _keeps_any_text(harness: Harness) -> None:
    store = harness.open()
    entries = [_prompt(text) for text in _TEXTS]
    _append(store, *entries)
    _expect(store, *entries)
    store.close()


def _keeps_any_size(harness: Harness) -> None:
    store = harness.open()
    large = [_prompt("x" * size) for size in _SIZES]
    entries = [*large, _prompt("small"), large[-1]]  # the same large body twice
    for entry in entries:
        _append(store, entry)
    _expect(store, *entries)
    store.close()
    store = harness.open()
    _expect(store, *entries)
    store.close()


def _appends_nothing(harness: Harness) -> None:
    store = harness.open()
    _append(store)
    _append(store, _prompt("one"))
    _append(store)
    _expect(store, _prompt("one"))
    store.close()


def _appends_all_or_none(harness: Harness) -> None:
    store = harness.open()
    _append(store, _prompt("kept"))
    cannot_be_encoded = _prompt("\ud800")
    try:
        store.append([_prompt("first"), cannot_be_encoded, _prompt("last")], expected=1)
    except (ValueError, StateError):
        pass
    else:
        raise AssertionError("it accepted text that is not valid Unicode")
    _expect(store, _prompt("kept"))
    store.close()
    store = harness.open()
    _expect(store, _prompt("kept"))
    store.close()


def _refuses_a_conflict(harness: Harness) -> None:
    store = harness.open()
    _append(store, _prompt("one"), _prompt("two"))
    for expected in (0, 1, 3):
        conflict = _conflict(store, expected=expected)
        assert conflict is not None, f"it appended to 2 entries although the caller passed expected={expected}"
        assert (conflict.expected, conflict.found) == (expected, 2), "its conflict has other lengths"
        _expect(store, _prompt("one"), _prompt("two"))
    store.close()


def _goes_on_after_a_failure(harness: Harness) -> None:
    store = harness.open()
    for entry in (_prompt("a"), _prompt("b")):
        _conflict(store, expected=99)
        _append(store, entry)
    _expect(store, _prompt("a"), _prompt("b"))
    store.close()


def _reopens_the_same(harness: Harness) -> None:
    store = harness.open()
    _append(store, *EXAMPLES)
    before = store.read()
    store.close()
    store = harness.open()
    assert store.read() == before, "after reopening, it reads something else than before"
    _append(store, _prompt("more"))
    store.close()
    store = harness.open()
    _expect(store, *EXAMPLES, _prompt("more"))
    store.close()


def _refuses_once_closed(harness: Harness) -> None:
    store = harness.open()
    _append(store, _prompt("one"))
    store.close()
    store.close()
    try:
        store.append([_prompt("two")], expected=1)
    except AppendConflict as conflict:
        raise AssertionError("a closed store reports a conflict instead of being closed") from conflict
    except StateError:
        pass
    else:
        raise AssertionError("it appended although it was closed")
    store = harness.open()
    _expect(store, _prompt("one"))
    store.close()
