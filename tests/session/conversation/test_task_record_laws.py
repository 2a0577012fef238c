"""The model reads the end of a background task exactly once, on any branch, whenever it comes."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.background_tasks import unsent_task_ends
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    ProcessStarted,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    Rewound,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import Reading, StoredEntry
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.tool_calls import ProcessId
from journals import journals, opened
from laws import law

ENDS = 1_000


class Journal:
    """A session as an agent writes it, with ends of tasks that come whenever they like."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.entries: list[Entry] = []
        self.fold = Fold()
        self.running = [f"t{number}" for number in range(ENDS)]
        self.random.shuffle(self.running)
        self.ended: list[str] = []
        self.steps = 0
        self.turns = 0
        self.add(opened, *(TaskStarted(id=task, call="begun", command="make") for task in self.running))

    def add(self, *entries: Entry) -> None:
        for entry in entries:
            self.entries.append(entry)
            self.fold.add(entry)

    def ends(self) -> None:
        """Let some tasks end."""
        for _ in range(min(len(self.running), self.random.choice((0, 0, 1, 2, 7)))):
            task = self.running.pop()
            self.ended.append(task)
            self.add(TaskEnded(id=task, outcome="ok", text="", note=note(task)))

    def turn(self) -> None:
        """Run one turn; some are cut off, some have no answer."""
        self.turns += 1
        self.add(PromptAccepted(turn=self.turns, text=f"prompt {self.turns}"))
        self.expect_sent_once()
        for _ in range(self.random.randrange(4)):
            self.request(CallPart(id=f"c{self.steps}", name="bash", arguments="{}"))
            call = f"c{self.steps - 1}"
            self.add(CallStarted(call=call, effect="execute"))
            self.ends()
            self.add(CallEnded(call=call, outcome="ok", text="done"))
        if self.random.random() < 0.8:
            self.request(TextPart("said"))
        self.add(TurnEnded(turn=self.turns, reason="end_turn", cause="finished"))
        self.ends()

    def request(self, part: CallPart | TextPart) -> None:
        self.add(*unsent_task_ends(self.fold.conversation()))
        self.expect_sent_once()
        self.steps += 1
        self.add(RequestStarted(step=self.steps, attempt=1, model="m"))
        self.ends()
        self.add(ResponseEnded(step=self.steps, model="m", parts=(part,), usage=Usage()))

    def expect_sent_once(self) -> None:
        """Find every end that came so far in what is sent now, once."""
        assert task_notes(self.fold.conversation()) == Counter(map(note, self.ended))
        assert self.fold.conversation().unreported_tasks == ()


def note(task: str) -> str:
    return f"[Note: task {task} has ended.]"


def task_notes(conversation: Conversation) -> Counter[str]:
    texts = (text for message in conversation.messages if isinstance(message, UserMessage) for text in message.texts)
    return Counter(text for text in texts if text.startswith("[Note: task"))


@pytest.mark.parametrize("seed", range(4))
def test_each_of_a_thousand_ends_is_sent_once_on_any_branch(seed: int) -> None:
    journal = Journal(seed)
    while journal.running:
        journal.turn()
        prompts = journal.fold.conversation().prompts
        if journal.random.random() < 0.2 and prompts:
            journal.add(Rewound(turn=journal.random.choice(prompts).turn))
    journal.turn()
    for prompt in journal.fold.conversation().prompts[-20:]:
        back = fold([*journal.entries, Rewound(turn=prompt.turn), PromptAccepted(turn=10_000, text="again")])
        assert task_notes(back) == Counter(map(note, journal.ended))
    records = tuple(StoredEntry(seq, float(seq), entry) for seq, entry in enumerate(journal.entries, 1))
    copied = fork_entries(Reading(records, ()), "copy")
    assert task_notes(fold(copied)) == Counter(map(note, journal.ended))


def test_an_end_twice_is_sent_once_and_a_task_is_open_until_its_end() -> None:
    process = ProcessId(pid=1, start=2, boot="b")
    began: list[Entry] = [opened, PromptAccepted(turn=1, text="go"), TaskStarted(id="t1", call="c", command="make")]
    began.append(ProcessStarted(call="c", process=process))
    (task,) = fold(began).open_tasks
    assert task.process == process
    end = TaskEnded(id="t1", outcome="ok", text="", note=note("t1"))
    ended: list[Entry] = [*began, end, end]
    assert fold(ended).open_tasks == ()
    assert fold(ended).unreported_tasks == ("t1",)
    once = fold([*ended, TaskEndSent(task="t1"), TaskEndSent(task="t1"), PromptAccepted(turn=2, text="on")])
    assert task_notes(once) == {note("t1"): 1}


@law()
@given(journals, st.sampled_from(["a", "b"]))
def test_an_end_is_sent_at_most_once_in_any_journal(journal: list[Entry], suffix: str) -> None:
    """Whatever else is in it: rewinds, damage, ends of tasks that never began."""
    mine = note("mine")
    end = TaskEnded(id=f"mine{suffix}", outcome="ok", text="", note=mine)
    entries: list[Entry] = []
    for entry in journal:
        entries += [entry, end, TaskEndSent(task=end.id)]
        assert task_notes(fold(entries))[mine] <= 1
