"""The laws of `SessionHost`: whatever its clients submit, and whenever they do, what they hear is in order.

Each seed is one story: prompts, stops, recalls, rewinds, compactions, shell and slash commands, answers and changes of
the mode, at random moments, and the end at any point.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from agent_harness import says, waits
from holdfast.agent.events import Fact
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF, Surface
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Fail, Reply, Say, Wait
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.virtual_loop import run_virtual
from host_harness import Client, HostRig
from tiers import TIER

STORIES = {"quick": 100, "wider": 150, "deep": 2_000}[TIER]

SURFACES: tuple[Surface, ...] = ("screen", "stream", "plain", "editor", "fleet")


class Story:
    """A session with random commands from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.surface = self.random.choice(SURFACES)
        model = ScriptedModel([self.reply] * 200)
        tools = [says("look"), says("change", effect="execute"), waits("slow", effect="read"), waits("bash")]
        self.rig = HostRig(model, tools, "ask", RULES_OF[self.surface], wake=True)
        self.submissions: list[c.Submission] = []
        self.late: list[Client] = []

    def reply(self, conversation: Conversation) -> Reply:
        """Return what the model says next."""
        del conversation
        replies: list[Reply] = [
            (Say("done"),),
            (Say("well"), Wait(0.5), Say(", done")),
            (Call("look", {}),),
            (Call("change", {}),),
            (Call("change", {}), Call("slow", {})),
            (Call("slow", {}),),
            (Fail(400, "no"),),
        ]
        return self.random.choice(replies)

    def command(self) -> c.Command:
        """Return the next command."""
        number = len(self.submissions)
        asked = self.rig.client.of(h.Asked, h.AskClosed)
        question = asked[-1].question if asked and isinstance(asked[-1], h.Asked) else None
        if question is not None and self.random.random() < 0.4:
            return c.Answer(question.id, self.random.choice(question.choices).name)
        makers: list[Callable[[], c.Command]] = [
            lambda: c.Prompt(f"prompt {number}"),
            lambda: c.Prompt(f"prompt {number}", "later"),
            lambda: c.Prompt(f"/mcp__fake__prompt {number}"),
            lambda: c.Typed(
                self.random.choice([f"prompt {number}", f"!run {number}", "/status", "/compact", "/nonsense"])
            ),
            c.Stop,
            c.Stop,
            c.Recall,
            lambda: c.Rewind(self.random.randint(1, 4)),
            c.Compact,
            c.Uncompact,
            c.Continue,
            lambda: c.Shell("run it", share=True),
            lambda: c.Slash("rename", "title"),
            lambda: c.UseMode(self.random.choice(("ask", "yolo", "plan"))),
            lambda: c.UseModel("openai-chat:other"),
            lambda: c.Answer(question.id if question else "none", self.random.choice(("once", "no", "free"))),
            lambda: c.Answer(question.id if question else "none", "once"),
        ]
        return self.random.choice(makers[: self.random.choice((2, 7, len(makers)))])()

    async def run(self) -> None:
        """Submit commands at random moments, then close."""
        if self.random.random() < 0.7:
            self.rig.servers.answer.set()
        for _ in range(self.random.randint(3, 16)):
            self.submissions.append(self.rig.host.submit(self.command()))
            for _ in range(self.random.choice((0, 0, 1, 2, 5, 20))):
                await asyncio.sleep(0)
            if self.random.random() < 0.2:
                await asyncio.sleep(self.random.choice((0.001, 0.3, 2)))
            if self.random.random() < 0.1:
                client = Client()
                self.rig.host.listen(client.events.append)
                self.late.append(client)
        await self.rig.host.close()


async def story_of(seed: int) -> Story:
    story = Story(seed)
    await story.run()
    return story


@pytest.fixture(scope="module")
def stories() -> list[Story]:
    """Return all stories, half of them with the ready tasks in another order."""
    return [run_virtual(story_of(seed), seed=seed if seed % 2 else None) for seed in range(STORIES)]


def test_facts_come_once_in_order_and_with_no_gap(stories: list[Story]) -> None:
    for story in stories:
        entries = list(enumerate(story.rig.entries, 1))
        assert story.rig.client.journal == entries, story.random


def test_nothing_that_states_a_fact_comes_before_it(stories: list[Story]) -> None:
    accepted = 0
    for story in stories:
        prompts = {each.number: each.command for each in story.submissions if isinstance(each.command, c.Prompt)}
        texts: set[str] = set()
        queued: set[str] = set()
        for event in story.rig.client.events:
            match event:
                case Fact(entry=e.PromptAccepted(text=text)):
                    texts.add(text)
                case Fact(entry=e.Queued(id=message, text=text)):
                    queued.add(message)
                case h.Accepted(submission=number, message=message) if number in prompts:
                    accepted += 1
                    text = prompts[number].text.removeprefix("/mcp__fake__")
                    assert message in queued if message else text in texts
                case _:
                    pass
    assert accepted


def test_each_submission_is_accepted_or_refused_once_and_refused_only_without_an_entry(stories: list[Story]) -> None:
    refused = 0
    for story in stories:
        events = story.rig.client.events
        answered = [each.submission for each in events if isinstance(each, h.Accepted | h.Refused)]
        assert sorted(answered) == [each.number for each in story.submissions]
        texts = {each.text for each in story.rig.entries if isinstance(each, e.PromptAccepted | e.Queued)}
        for event in events:
            if isinstance(event, h.Refused) and event.text:
                refused += 1
                assert event.text.removeprefix("/mcp__fake__") not in texts
    assert refused


def test_busy_and_idle_alternate(stories: list[Story]) -> None:
    for story in stories:
        for client in (story.rig.client, *story.late):
            kinds = [type(each) for each in client.of(h.Busy, h.Idle)]
            assert kinds == [h.Busy, h.Idle] * (len(kinds) // 2)


def test_what_returns_comes_before_the_end_of_the_work(stories: list[Story]) -> None:
    returned = 0
    for story in stories:
        is_busy = False
        for event in story.rig.client.events:
            is_busy = isinstance(event, h.Busy) or (is_busy and not isinstance(event, h.Idle))
            if isinstance(event, Fact) and isinstance(event.entry, e.TurnEnded):
                assert is_busy
            returned += isinstance(event, h.Returned)
    assert returned


def test_a_question_is_closed_before_the_next_and_before_the_end(stories: list[Story]) -> None:
    asked = 0
    for story in stories:
        is_open = ""
        for event in story.rig.client.of(h.Asked, h.AskClosed, h.Closed):
            match event:
                case h.Asked(question=question):
                    assert not is_open
                    is_open = question.id
                    asked += 1
                case h.AskClosed(question=question):
                    assert question == is_open
                    is_open = ""
                case _:
                    assert not is_open
    assert asked


def test_nothing_comes_after_the_end(stories: list[Story]) -> None:
    for story in stories:
        for client in (story.rig.client, *story.late):
            assert [at for at, each in enumerate(client.events, 1) if isinstance(each, h.Closed)] == [
                len(client.events)
            ]


def test_a_client_that_comes_late_hears_the_same_session(stories: list[Story]) -> None:
    clients = 0
    for story in stories:
        for client in story.late:
            assert client.journal == story.rig.client.journal
            clients += 1
    assert clients


def test_whatever_happens_nothing_is_left_open_and_every_submission_has_its_end(stories: list[Story]) -> None:
    for story in stories:
        story.rig.expect_settled()
        for submission in story.submissions:
            assert submission.accepted.done()
            assert submission.ended.done()
