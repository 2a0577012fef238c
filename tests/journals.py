"""Strategies for journals: any sequence of entries, however unlikely, with ids from few letters, to collide."""

from __future__ import annotations

from functools import cache
from typing import get_args

from hypothesis import strategies as st

from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    BAD_IMAGES,
    NO_IMAGES,
    ApprovalAnswered,
    ApprovalAsked,
    CallAnswered,
    CallEnded,
    CallLate,
    CallStarted,
    CallWaits,
    Cause,
    Compacted,
    Entry,
    FilesChanged,
    FilesMoved,
    ModeChanged,
    ModelChanged,
    ModelSettingsChanged,
    Part,
    PathChange,
    PathState,
    ProcessStarted,
    PromptAccepted,
    Pruned,
    Queued,
    Recalled,
    Repaired,
    RequestChange,
    RequestFailed,
    RequestsChanged,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
    RestoreEnded,
    RestoreStarted,
    RestoreStep,
    Rewound,
    ServerFailed,
    SessionOpened,
    ShellEnded,
    ShellStarted,
    SkippedPath,
    SnapshotTaken,
    Steered,
    Titled,
    ToolsChanged,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.journal.model_settings import EFFORTS, ModelSettings
from holdfast.session.journal.parts import AnswerRefusal, CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.tasks import HookEnded, HookStarted, ResultAmended, TaskEnded, TaskEndSent, TaskStarted
from holdfast.session.model_notices import REASONS
from holdfast.tool_calls import (
    FileChange,
    FileSeen,
    InputRequest,
    Outcome,
    Pattern,
    ProcessId,
    ServerAnswer,
    ServerQuestion,
    ToolSchema,
)
from shown_images import picture

ids = st.sampled_from(["a", "b", "c", "d"])
texts = st.sampled_from(["", "  ", "one", "two words", "drei — ünïcode 🌊"])
models = st.sampled_from(["openai:gpt-5.5", "openai-chat:m", "anthropic:m"])
steps = st.integers(1, 3)
turns = st.integers(1, 3)
causes = st.sampled_from(get_args(Cause))
outcomes = st.sampled_from(get_args(Outcome))

parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, texts),
    st.builds(ThinkingPart, texts, signature=st.sampled_from([None, "sig"]), provider=st.just("anthropic")),
    st.builds(
        CallPart,
        id=ids,
        name=st.sampled_from(["read", "bash", "functions.read", "läs fil", "x" * 200]),
        arguments=st.sampled_from(["{}", '{"x":', ""]),
    ),
)
answers = st.lists(parts, min_size=1, max_size=4).map(tuple)
cuts = st.one_of(st.none(), st.none(), causes)
opened = SessionOpened(session="s", cwd="/", model="openai-chat:m", system="SYSTEM", tools=(), version="0")
files = st.builds(
    FileSeen, path=st.sampled_from(["f", "g"]), size=st.sampled_from([None, 1]), sha256=st.sampled_from(["", "0" * 64])
)
images = st.sampled_from([(), (), (picture(),), (picture("b.png"), picture("large.png", width=3000, height=1))])
changes = st.just(FileChange(path="f", before=None, after="0" * 64))

moved_path = PathChange("f", before=PathState("absent"), after=PathState("file", "0" * 40, 0o644))
restored = RestoreStep("f", expect=moved_path.after, content=moved_path.before)

settings = st.builds(
    ModelSettings,
    effort=st.sampled_from([None, *EFFORTS]),
    temperature=st.sampled_from([None, 0.0, 0.7, 1.0, 2.0]),
    max_output=st.sampled_from([None, 1, 1_500, 10_000, 300_000]),
    service_tier=st.sampled_from([None, "auto", "flex", "x"]),
)

entries: st.SearchStrategy[Entry] = st.one_of(
    st.just(opened),
    st.builds(ModelChanged, models, st.sampled_from(("", "fallback", "back"))),
    st.builds(ModelSettingsChanged, settings=settings),
    st.builds(
        ModeChanged, mode=st.sampled_from(("ask", "accept-edits", "plan", "yolo")), why=st.sampled_from(("", "plan"))
    ),
    st.builds(Titled, texts),
    st.builds(PromptAccepted, turn=turns, text=texts, queued=st.sampled_from(["", "a", "b"]), images=images),
    st.builds(Queued, id=ids, text=texts, when=st.sampled_from(["steer", "later"]), images=images),
    st.builds(Recalled, queued=ids),
    st.builds(Steered, queued=ids, text=texts, images=images),
    st.builds(Rewound, turn=turns, note=texts),
    st.builds(Pruned, outputs=st.dictionaries(ids, texts, max_size=3), saved=st.integers(0, 9)),
    st.builds(
        Compacted,
        step=st.integers(0, 3),
        note=texts,
        why=st.just("auto"),
        summary=texts,
        usage=st.just(Usage(input_tokens=1)),
        user_texts=st.integers(0, 2),
    ),
    st.builds(Uncompacted),
    st.builds(RequestStarted, step=steps, attempt=st.integers(1, 2), model=models),
    st.builds(
        RequestFailed,
        step=steps,
        attempt=st.integers(1, 2),
        fault=st.sampled_from(["overloaded", NO_IMAGES, BAD_IMAGES]),
        message=texts,
        retry_in=st.sampled_from([None, 1.0]),
        retry_unstreamed=st.booleans(),
        model=models,
        usage=st.sampled_from([None, Usage(input_tokens=3, cost="0.25"), Usage(output_tokens=1)]),
    ),
    st.builds(ResponseCheckpoint, step=steps, text=texts),
    st.builds(
        ResponseEnded,
        step=steps,
        model=models,
        parts=st.lists(parts, max_size=4).map(tuple),
        usage=st.just(Usage(input_tokens=1)),
        cut=st.one_of(st.none(), causes),
        refusal=st.sampled_from([None, None, None, AnswerRefusal(), AnswerRefusal("cyber", "It may harm.")]),
    ),
    st.builds(
        ApprovalAsked,
        call=ids,
        question=st.builds(older_question, ids, texts),
        repeats=st.sampled_from([0, 0, 9]),
    ),
    st.builds(
        ApprovalAnswered,
        call=ids,
        allowed=st.booleans(),
        reason=texts,
        remember=st.sampled_from(["", "session", "project"]),
        patterns=st.sampled_from([(), (Pattern(effect="execute", text="make"), Pattern(effect="read", text="a.org"))]),
        mode=st.sampled_from([None, "ask", "accept-edits", "plan", "yolo"]),
        chosen=st.sampled_from([(), ("SQLite", "Postgres")]),
    ),
    st.builds(
        CallStarted,
        call=ids,
        effect=st.just("write"),
        changes=st.lists(changes, max_size=3).map(tuple),
    ),
    st.builds(ProcessStarted, call=ids, process=st.just(ProcessId(pid=4711, start=1, boot="b"))),
    st.builds(
        CallEnded,
        call=ids,
        outcome=outcomes,
        text=texts,
        images=images,
        snapshots=st.lists(files, max_size=3).map(tuple),
        repeats=st.sampled_from([0, 0, 0, 3, 6]),
        same_as=st.sampled_from(["", "", "", "a"]),
    ),
    st.builds(CallLate, call=ids, outcome=outcomes, text=texts),
    st.builds(ShellStarted, id=ids, command=texts, shared=st.booleans()),
    st.builds(ShellEnded, id=ids, outcome=outcomes, text=texts, note=texts),
    st.builds(TaskStarted, id=ids, call=ids, command=texts, moved=st.booleans()),
    st.builds(TaskEnded, id=ids, outcome=outcomes, text=texts, note=texts),
    st.builds(TaskEndSent, task=ids),
    st.builds(HookStarted, id=ids, event=st.sampled_from(["PreToolUse", "Stop"]), command=texts, call=ids),
    st.builds(HookEnded, id=ids, outcome=outcomes, text=texts, note=texts),
    st.builds(ResultAmended, call=ids, text=texts, replaces=st.booleans()),
    st.builds(
        CallWaits,
        call=ids,
        request=st.builds(
            InputRequest,
            server=texts,
            round=st.integers(1, 10),
            questions=st.just((ServerQuestion(message="Who?", key="who"),)),
            again=st.booleans(),
            state=st.one_of(st.none(), texts),
        ),
    ),
    st.builds(CallAnswered, call=ids, round=st.integers(1, 10), answers=st.just((ServerAnswer("who", "decline"),))),
    st.builds(
        ToolsChanged,
        tools=st.sampled_from([(), (ToolSchema(name="mcp__a__b", description="", parameters={"type": "object"}),)]),
        note=texts,
    ),
    st.builds(
        RequestsChanged,
        model=models,
        change=st.sampled_from(get_args(RequestChange)),
        refusal=st.just("thinking-signature"),
        reason=texts,
        tools=st.lists(ids, max_size=2).map(tuple),
    ),
    st.builds(ServerFailed, server=ids, reason=texts, tools=st.lists(ids, max_size=2).map(tuple), note=texts),
    causes.flatmap(
        lambda cause: st.builds(TurnEnded, turn=turns, reason=st.just(REASONS[cause]), cause=st.just(cause), note=texts)
    ),
    st.builds(SnapshotTaken, call=ids, tree=st.sampled_from(["", "0" * 40]), failed=texts),
    st.builds(FilesMoved, call=ids, changes=st.sampled_from([(), (moved_path,)]), later=st.booleans()),
    st.builds(RestoreStarted, id=ids, calls=st.lists(ids, max_size=2).map(tuple), steps=st.just((restored,))),
    st.builds(RestoreEnded, id=ids, skipped=st.sampled_from([(), (SkippedPath("f", "it changed"),)]), note=texts),
    st.builds(FilesChanged, files=st.lists(files, max_size=2).map(tuple), note=texts),
    st.builds(Repaired, findings=st.just(("Entry 1 is damaged.",)), note=texts),
)

DECISIONS = Compacted | Pruned | RequestsChanged | Rewound | Uncompacted
"""What may change what was sent before."""


others = st.lists(entries, max_size=3)


@st.composite
def sessions(draw: st.DrawFn) -> list[Entry]:
    """Return turns as an agent writes them, of answers with calls, each somewhere on its way, then strewn with others.

    Sequences of any entries hold hardly a call with its result; these are made of little else.
    """
    journal: list[Entry] = []
    step = 0
    for turn in range(1, draw(turns) + 1):
        journal.append(PromptAccepted(turn=turn, text="go", images=draw(images)))
        for _ in range(draw(steps)):
            step += 1
            model = draw(models)
            parts = draw(answers)
            cut = draw(cuts)
            journal.append(RequestStarted(step=step, attempt=1, model=model))
            journal.append(ResponseEnded(step=step, model=model, parts=parts, usage=Usage(input_tokens=1), cut=cut))
            for call in (part for part in parts if isinstance(part, CallPart)):
                journal += draw(fates(call.id))
        if draw(st.booleans()):
            journal.append(TurnEnded(turn=turn, reason="end_turn", cause="finished"))
    for other in draw(others):
        journal.insert(draw(st.integers(0, len(journal))), other)
    return journal


@cache
def fates(call: str) -> st.SearchStrategy[list[Entry]]:
    """Return what may be in a journal of a call: nothing, its start, its end, both."""
    begin: list[Entry] = [CallStarted(call=call, effect="read")]
    ends = st.builds(CallEnded, call=st.just(call), outcome=outcomes, text=texts, images=images)
    starts = st.sampled_from([[], begin])
    return st.builds(list[Entry].__add__, starts, st.lists(ends, max_size=1))


journals = st.one_of(st.lists(entries, max_size=25), sessions(), sessions())
