"""Turns in which holdfast decides something before it asks again: each decision is a fact that may be the last one.

What is journalled before each: `requests-changed` with the failure, `request-failed` of an empty answer, the response
with the calls that were read from its text, the results of calls that repeat, the text of an answer that is cut off,
`moved` before anything is done in the new folder. Whatever strikes between the decision and its request, the next
prompt works.
"""

from __future__ import annotations

from left_behind import left_open
from scenarios import ACT, LOOK, SCENARIOS, Scenario, calls

from holdfast.config.settings import Limits
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Moved
from holdfast.testing.script import Call, Fail, Finish, Reply, Say, Think

BLOCKED = Fail(400, "Request blocked.")
MARKER = "<|channel|>"
WRITTEN = 'I look.\n<tool_call>\n{"name": "look", "arguments": {"of": "a"}}\n</tool_call>'


def refused(conversation: Conversation) -> Reply:
    """Return what a provider says that takes no control tokens."""
    return (BLOCKED,) if MARKER in str(conversation.messages) else (Say("done"),)


SENTENCE = "I will now read the file README.md to see its title. "

DECISIONS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "a refusal that is left out",
            [calls("look", MARKER) + calls("act", "b"), refused, [Say("done")], [Say("again")]],
            [LOOK, ACT],
            then=["and then"],
        ),
        Scenario(
            "a provider that keeps refusing",
            [calls("look", MARKER), [BLOCKED], [BLOCKED], [Say("again")]],
            [LOOK],
            then=["and then"],
        ),
        Scenario(
            "calls written as text",
            [[Say(WRITTEN, chunk=8, delay=0.4)], calls("act", "b"), [Say("seen")]],
            [LOOK, ACT],
            model="ollama:scripted",
        ),
        Scenario(
            "a call written as text where it is none",
            [[Say(WRITTEN, chunk=8, delay=0.4)], [Say("again")]],
            [LOOK],
            then=["and then"],
        ),
        Scenario(
            "empty answers",
            [[Think("hm"), Finish("stop")], calls("act", "a"), [Say("I will now look:")], [Say("done")]],
            [LOOK, ACT],
        ),
        Scenario(
            "nothing but empty answers",
            [[Finish("stop")], [Finish("stop")], [Say("again")]],
            then=["and then"],
        ),
        Scenario(
            "a call that repeats",
            [[Call("look", {"of": "a"})]] * 9 + [[Say("again")]],
            [LOOK],
            repeats=["look a"],
            then=["and then"],
        ),
        Scenario(
            "an answer that repeats itself",
            [[Say(SENTENCE * 40, chunk=120, delay=0.3)], [Say("again")]],
            then=["and then"],
        ),
        Scenario(
            "an answer that goes on as the user",
            [[Say("Sure.<|im_end|>\n<|im_start|>user\nthanks", chunk=6, delay=0.4)], [Say("again")]],
            then=["and then"],
        ),
        Scenario(
            "text that streams for long",
            [[Say("word " * 200, chunk=20, delay=0.15)], [Say("again")]],
            limits=Limits(idle_event=60),
            then=["and then"],
        ),
        Scenario(
            "moved with an open turn",
            [[Say("here now")]],
            [LOOK],
            before=[*left_open(), Moved(from_="/old", to="/", by="resume", note="The folder moved.")],
            lingers=1,
        ),
    )
}

EVERY: dict[str, Scenario] = SCENARIOS | DECISIONS
"""Every scenario: those of the world around the agent, and those of the decisions."""
