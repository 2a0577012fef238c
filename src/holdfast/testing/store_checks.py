"""A conformance suite for any `Store`: it tries everything that the agent relies on.

Each law is tried on a new journal, so that one failure hides no other. A failure is an AssertionError that begins with
the law's name, whatever the store raised.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.errors import AppendConflict, StateError
from holdfast.questions import AnswerChoice, Question
from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import ModelSettings
from holdfast.session.journal.parts import AnswerRefusal, CallPart, RequestPrefix, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Store
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.testing.named_law import NamedLaw
from holdfast.testing.store_faults import (
    Harness,
    append,
    expect,
    loses_nothing_on_a_full_disk,
    loses_nothing_when_killed_in_a_write,
    prompt,
)
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
        facts="Working directory: /srv/engine",
        repository=("remote example.org/engine",),
        program="shop",
    ),
    e.ModelChanged(model="openai-chat:n", why="fallback"),
    e.ModelSettingsChanged(
        settings=ModelSettings(effort="high", temperature=0.5, max_output=4_096, service_tier="flex")
    ),
    e.ModeChanged(mode="accept-edits", why="plan"),
    e.Titled(title="The engine, grüßend", model="openai-chat:n", usage=Usage(output_tokens=9, cost="0.001")),
    e.PromptAccepted(
        turn=1,
        text="Grüße, 世界 \N{WATER WAVE}\nsecond line",
        queued="q7",
        images=(_IMAGE,),
        cause="wake",
        typed="/greet",
    ),
    e.Queued(id="q7", text="And the tests too.", when="steer", images=(_IMAGE,), typed="/greet"),
    e.Recalled(queued="q7"),
    e.Steered(queued="q7", text="And the tests too.", images=(_IMAGE,), typed="/greet", cause="hook"),
    e.Rewound(turn=1, note="[Note: its effects stay.]", files="r41"),
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
        user_texts=1,
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
        retry_unstreamed=True,
        model="anthropic:m",
        usage=Usage(input_tokens=9, output_tokens=1, cost="0.0001"),
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
        refusal=AnswerRefusal(category="cyber", explanation="It may harm."),
        written="<tool_call>…</tool_call>",
    ),
    e.ApprovalAsked(
        call="c1",
        level="network",
        hosts=("api.example.org",),
        notice="Commands are not confined: bubblewrap is not installed.",
        repeats=9,
        question=Question(
            id="c1",
            call="c1",
            text="Run this command?",
            why="It is outside the workspace.",
            warnings=("outside this folder, at /srv",),
            title="run: make test",
            detail="make test",
            choices=(
                AnswerChoice(
                    name="session",
                    label="Always allow running {} (this session)",
                    subject="make test *",
                    remember="session",
                    patterns=(Pattern(effect="execute", text="make test *"),),
                    mode="accept-edits",
                    level="network",
                    hosts=("api.example.org",),
                ),
                AnswerChoice(name="option1", label="{}", subject="Red", option="Red", note="As it is."),
                AnswerChoice(name="no", label="Reject with feedback", allows=False, words=True),
            ),
            several=True,
            by="MCP server trip",
        ),
    ),
    e.ApprovalAnswered(
        call="c1",
        allowed=False,
        reason="Not that one.",
        choice="no",
        remember="session",
        patterns=(Pattern(effect="write", text="src/**"), Pattern(effect="write", text="README.md")),
        mode="accept-edits",
        chosen=("SQLite", "Postgres"),
        level="workspace",
    ),
    e.CallStarted(
        call="c1",
        effect="write",
        spool="c1.out",
        changes=(
            FileChange(path="a.py", before="0" * 64, after="f" * 64),
            FileChange(path="b.py", before="0" * 64, after=None),
        ),
        remote=RemoteCall(server="trip", tool="book", protocol="2026-07-28"),
        confined="read",
        arguments='{"path":"a.py"}',
        changed_by="shop",
        allowed_by="mode:accept-edits",
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
        snapshots=(
            FileSeen(path="a.py", size=12, modified=1763852345678901234, sha256="f" * 64),
            FileSeen(path="b.py", size=7),
        ),
        images=(_IMAGE,),
        repeats=3,
        same_as="c0",
        exit=2,
        observed="part",
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
        added=True,
    ),
    e.ServerFailed(
        server="trip", reason="it exited with status 3", tools=("mcp__trip__book",), note="[Note: trip has failed.]"
    ),
    e.RequestsChanged(
        model="openai-chat:n",
        change="tools",
        refusal="tool-schema",
        reason="Invalid schema for function 'mcp__trip__book'.",
        tools=("mcp__trip__book",),
    ),
    e.Moved(from_="/srv/engine", to="/srv/motor", by="resume", note="[Note: it is elsewhere.]"),
    e.FolderGone(folder="/srv/motor", note="[Note: it is gone.]"),
    e.SnapshotTaken(
        call="c1",
        states={"a.py": e.PathState(kind="file", object="0" * 40, mode=0o644), "new": e.PathState(kind="absent")},
        tree="1" * 40,
        scan="2" * 40,
        failed="It took too long.",
        seconds=0.25,
    ),
    e.FilesMoved(
        call="c1",
        changes=(
            e.PathChange(
                path="a.py",
                before=e.PathState(kind="file", object="0" * 40, mode=0o644),
                after=e.PathState(kind="absent"),
            ),
        ),
        tree="3" * 40,
        uncovered=("large.bin",),
        doubtful=("a.py",),
        later=True,
        failed="It took too long.",
        note="[Note: it deleted a.py.]",
    ),
    e.RestoreStarted(
        id="r41",
        calls=("c1",),
        steps=(
            e.RestoreStep(
                path="a.py",
                expect=e.PathState(kind="absent"),
                content=e.PathState(kind="file", object="0" * 40, mode=0o644),
            ),
        ),
        skipped=(e.SkippedPath(path="b.py", why="it changed since"),),
        redo="r40",
        rewinds=2,
        uncovered=("large.bin",),
        unknown=1,
    ),
    e.RestoreEnded(
        id="r41", skipped=(e.SkippedPath(path="b.py", why="it changed since"),), note="[Note: a.py is as before.]"
    ),
    e.HookStarted(id="s-h22", event="PreToolUse", command="./guard.sh", call="c1", spool="s-h22.out"),
    e.HookEnded(
        id="s-h22",
        outcome="ok",
        decision="deny",
        text="Not here.",
        message="It was denied.",
        seconds=0.25,
        exit=2,
        note="[Note: a hook may have run.]",
    ),
    e.ResultAmended(call="c1", text="2 matches, hidden", replaces=True),
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
    for fault_law in (loses_nothing_on_a_full_disk, loses_nothing_when_killed_in_a_write):
        with NamedLaw(f"a store {fault_law.__name__.replace('_', ' ')}"):
            fault_law(make)


def _conflict(store: Store, *, expected: int) -> AppendConflict | None:
    """Return the error of an append with a wrong length, None if the append succeeded."""
    try:
        store.append([prompt("never")], expected=expected)
    except AppendConflict as conflict:
        return conflict
    return None


def _starts_empty(harness: Harness) -> None:
    store = harness.open()
    expect(store)
    store.close()


def _keeps_order(harness: Harness) -> None:
    store = harness.open()
    entries = [prompt(str(number)) for number in range(30)]
    for entry in entries[:10]:
        append(store, entry)
    append(store, *entries[10:])
    expect(store, *entries)
    times = [record.at for record in store.read().records]
    assert times == sorted(times), "later entries have earlier times"
    store.close()


def _keeps_every_kind(harness: Harness) -> None:
    store = harness.open()
    append(store, *EXAMPLES)
    expect(store, *EXAMPLES)
    store.close()


def _keeps_any_text(harness: Harness) -> None:
    store = harness.open()
    entries = [prompt(text) for text in _TEXTS]
    append(store, *entries)
    expect(store, *entries)
    store.close()


def _keeps_any_size(harness: Harness) -> None:
    store = harness.open()
    large = [prompt("x" * size) for size in _SIZES]
    entries = [*large, prompt("small"), large[-1]]  # the same large body twice
    for entry in entries:
        append(store, entry)
    expect(store, *entries)
    store.close()
    store = harness.open()
    expect(store, *entries)
    store.close()


def _appends_nothing(harness: Harness) -> None:
    store = harness.open()
    append(store)
    append(store, prompt("one"))
    append(store)
    expect(store, prompt("one"))
    store.close()


def _appends_all_or_none(harness: Harness) -> None:
    store = harness.open()
    append(store, prompt("kept"))
    cannot_be_encoded = prompt("\ud800")
    try:
        store.append([prompt("first"), cannot_be_encoded, prompt("last")], expected=1)
    except (ValueError, StateError):
        pass
    else:
        raise AssertionError("it accepted text that is not valid Unicode")
    expect(store, prompt("kept"))
    store.close()
    store = harness.open()
    expect(store, prompt("kept"))
    store.close()


def _refuses_a_conflict(harness: Harness) -> None:
    store = harness.open()
    append(store, prompt("one"), prompt("two"))
    for expected in (0, 1, 3):
        conflict = _conflict(store, expected=expected)
        assert conflict is not None, f"it appended to 2 entries although the caller passed expected={expected}"
        assert (conflict.expected, conflict.found) == (expected, 2), "its conflict has other lengths"
        expect(store, prompt("one"), prompt("two"))
    store.close()


def _goes_on_after_a_failure(harness: Harness) -> None:
    store = harness.open()
    for entry in (prompt("a"), prompt("b")):
        _conflict(store, expected=99)
        append(store, entry)
    expect(store, prompt("a"), prompt("b"))
    store.close()


def _reopens_the_same(harness: Harness) -> None:
    store = harness.open()
    append(store, *EXAMPLES)
    before = store.read()
    store.close()
    store = harness.open()
    assert store.read() == before, "after reopening, it reads something else than before"
    append(store, prompt("more"))
    store.close()
    store = harness.open()
    expect(store, *EXAMPLES, prompt("more"))
    store.close()


def _refuses_once_closed(harness: Harness) -> None:
    store = harness.open()
    append(store, prompt("one"))
    store.close()
    store.close()
    try:
        store.append([prompt("two")], expected=1)
    except AppendConflict as conflict:
        raise AssertionError("a closed store reports a conflict instead of being closed") from conflict
    except StateError:
        pass
    else:
        raise AssertionError("it appended although it was closed")
    store = harness.open()
    expect(store, prompt("one"))
    store.close()
