"""A note that holdfast wrote is sent with the next prompt, once; a denial or a cut leaves nothing behind."""

from __future__ import annotations

from holdfast.questions import older_question
from holdfast.session.conversation.conversation import AssistantMessage, Conversation, UserMessage
from holdfast.session.conversation.fold import Fold, fold
from holdfast.session.journal.entries import (
    ApprovalAnswered,
    ApprovalAsked,
    CallEnded,
    Entry,
    PromptAccepted,
    Repaired,
    RequestStarted,
    ResponseEnded,
    Rewound,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.tool_calls import Pattern

OPENED = SessionOpened(session="s", cwd="/", model="m", system="", tools=(), version="0")


def turn(number: int, *parts: TextPart | CallPart, cut: bool = False, note: str = "") -> list[Entry]:
    return [
        PromptAccepted(turn=number, text=f"prompt {number}"),
        RequestStarted(step=number, attempt=1, model="m"),
        ResponseEnded(step=number, model="m", parts=parts, usage=Usage(), cut="user" if cut else None),
        *(CallEnded(call=part.id, outcome="ok", text="done") for part in parts if isinstance(part, CallPart)),
        TurnEnded(turn=number, reason="end_turn", cause="finished", note=note),
    ]


def words(conversation: Conversation) -> list[str]:
    return [text for message in conversation.messages if isinstance(message, UserMessage) for text in message.texts]


def call(call_id: str) -> CallPart:
    return CallPart(id=call_id, name="bash", arguments="{}")


def test_a_note_is_sent_with_the_next_prompt_and_with_no_other() -> None:
    damage = Repaired(findings=("Entry 2 is missing.",), note="[Note: some of it was lost.]")
    conversation = fold(
        [OPENED, *turn(1, TextPart("hi"), note="[Note: stopped.]"), damage, *turn(2, TextPart("ho")), *turn(3)]
    )
    assert words(conversation) == [
        "prompt 1",
        "[Note: stopped.]",
        "[Note: some of it was lost.]",
        "prompt 2",
        "prompt 3",
    ]


def test_what_was_denied_is_not_allowed_from_then_on() -> None:
    pattern = Pattern(effect="execute", text="make *")
    question = ApprovalAsked(call="A", question=older_question("A", "It runs a command.", (pattern,)))
    begun: list[Entry] = [OPENED, *turn(1, call("A"))[:3], question]
    denied = ApprovalAnswered(call="A", allowed=False, remember="session", patterns=(pattern,))
    granted = ApprovalAnswered(call="A", allowed=True, remember="session", patterns=(pattern,))
    assert fold([*begun, denied]).allowed == ()
    assert fold([*begun, granted]).allowed == (pattern,)
    several = (pattern, Pattern(effect="execute", text="git commit *"))
    pipeline = ApprovalAnswered(call="A", allowed=True, remember="project", patterns=several)
    assert fold([*begun, pipeline]).allowed == several


def test_the_mode_of_the_last_answer_holds_from_then_on() -> None:
    begun: list[Entry] = [
        OPENED,
        *turn(1, call("A"))[:3],
        ApprovalAsked(call="A", question=older_question("A", "It changes files.")),
    ]
    switched = ApprovalAnswered(call="A", allowed=True, mode="accept-edits")
    assert fold(begun).mode is None
    assert fold([*begun, switched]).mode == "accept-edits"
    assert fold([*begun, switched, ApprovalAnswered(call="A", allowed=True)]).mode == "accept-edits"
    assert fold([*begun, switched, Rewound(turn=1)]).mode == "accept-edits"


def test_no_call_of_a_response_that_was_cut_is_sent_or_open() -> None:
    conversation = fold([OPENED, *turn(1, TextPart("I will"), call("A"), cut=True)[:3]])
    assert conversation.open_calls == ()
    (answer,) = [message for message in conversation.messages if isinstance(message, AssistantMessage)]
    assert answer.parts == (TextPart("I will"),)


def test_the_id_of_a_call_that_was_rewound_stays_taken() -> None:
    known = Fold([OPENED, *turn(1, call("A")), Rewound(turn=1)])
    assert known.knows_call("A")
    assert not known.has_call("A")
