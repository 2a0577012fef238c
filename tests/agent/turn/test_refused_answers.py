"""An answer that was refused is shown with its reason, and is not sent back as the model's words, on each wire."""

from __future__ import annotations

import json

import pytest

from agent_harness import Rig
from holdfast.providers.protocols import protocol_of
from holdfast.providers.registry import resolve_endpoint
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import CallEnded, PromptAccepted, ResponseEnded, SessionOpened, TurnEnded
from holdfast.session.journal.parts import AnswerRefusal, TextPart, Usage
from holdfast.testing.script import Call, Finish, Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.ui.view.sentences import Narrator
from refusing_server import MODELS, Wire

KEYS: dict[str, str] = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"), "k"
)
DETAILS = {"type": "refusal", "category": "cyber", "explanation": "It could harm."}
ENDS: list[tuple[Wire, list[object], AnswerRefusal | None]] = [
    (
        "anthropic",
        [{"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": DETAILS}}],
        AnswerRefusal("cyber", "It could harm."),
    ),
    (
        "anthropic",
        [{"type": "message_delta", "delta": {"stop_reason": "refusal"}, "stop_details": {"category": 7}}],
        None,
    ),
    ("anthropic", [{"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_details": DETAILS}}], None),
    (
        "chat",
        [
            {"choices": [{"delta": {"refusal": "I cannot "}}]},
            {"choices": [{"delta": {"refusal": "help."}, "finish_reason": "stop"}]},
        ],
        AnswerRefusal("", "I cannot help."),
    ),
    (
        "chat",
        [
            {
                "choices": [
                    {
                        "delta": {},
                        "finish_reason": "content_filter",
                        "content_filter_results": {
                            "hate": {"filtered": True, "severity": "high"},
                            "violence": {"filtered": False},
                            "jailbreak": {"detected": True, "filtered": True},
                        },
                    }
                ]
            }
        ],
        AnswerRefusal("hate, jailbreak", ""),
    ),
    ("chat", [{"choices": [{"delta": {}, "finish_reason": "content_filter"}]}], None),
    (
        "responses",
        [
            {"type": "response.refusal.delta", "delta": "I can"},
            {"type": "response.refusal.delta", "delta": "not."},
            {"type": "response.refusal.done", "refusal": "I cannot."},
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        ],
        AnswerRefusal("", "I cannot."),
    ),
    (
        "gemini",
        [{"promptFeedback": {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "Not this."}}],
        AnswerRefusal("PROHIBITED_CONTENT", "Not this."),
    ),
    (
        "gemini",
        [
            {
                "candidates": [
                    {
                        "finishReason": "SAFETY",
                        "safetyRatings": [
                            {"category": "HARM_CATEGORY_HARASSMENT", "blocked": True},
                            {"category": "HARM_CATEGORY_HATE_SPEECH", "blocked": False},
                        ],
                    }
                ]
            }
        ],
        AnswerRefusal("SAFETY (HARM_CATEGORY_HARASSMENT)", ""),
    ),
]


@pytest.mark.parametrize(("wire", "events", "refusal"), ENDS)
def test_a_reader_keeps_the_category_and_the_explanation(
    wire: Wire, events: list[object], refusal: AnswerRefusal | None
) -> None:
    target = resolve_endpoint(MODELS[wire], KEYS)
    reader = protocol_of(target.provider.kind).reader(target)
    for event in events:
        list(reader.event("", json.dumps(event).encode()))
    finished = reader.finished()
    assert (finished.refusal if finished.refusal is None or finished.refusal.text else None) == refusal
    assert (finished.finish == "refusal") is (refusal is not None or "end_turn" not in str(events))


async def test_a_refused_answer_is_not_sent_back_and_its_calls_never_start() -> None:
    script = [[Say("Sure, first"), Call("act", {}), Finish("refusal")], [Say("fine")]]
    rig = Rig(ScriptedModel(script))
    ended = await rig.agent.run("go")
    assert (ended.cause, ended.reason) == ("refusal", "refusal")
    (answer,) = [each for each in rig.entries if isinstance(each, ResponseEnded)]
    assert answer.refusal == AnswerRefusal()
    assert [part.text for part in answer.parts if isinstance(part, TextPart)] == ["Sure, first"]
    assert not [each for each in rig.entries if isinstance(each, CallEnded)]
    assert (await rig.new_agent().run("and now?")).cause == "finished"
    sent = str(rig.model.requests[-1].messages)
    assert "go" in sent
    assert "the response was refused; the previous turn ended there" in sent
    assert "Sure, first" not in sent


OPENED = SessionOpened(session="s", cwd="/", model="anthropic:m", system="", tools=(), version="0")
PROMPT = PromptAccepted(turn=1, text="go")


def answered(refusal: AnswerRefusal | None) -> ResponseEnded:
    return ResponseEnded(
        step=1,
        model="anthropic:m",
        parts=(TextPart("Sure"),),
        usage=Usage(),
        finish="refusal",
        cut="refusal" if refusal else None,
        refusal=refusal,
    )


def test_an_older_journal_sends_what_it_always_sent() -> None:
    assert "Sure" in str(fold([OPENED, PROMPT, answered(None)]).messages)
    assert "Sure" not in str(fold([OPENED, PROMPT, answered(AnswerRefusal())]).messages)


def test_the_sentences_say_why() -> None:
    narrator = Narrator()
    shown = [
        sentence.text
        for entry in (
            answered(AnswerRefusal("cyber", "It could harm.")),
            TurnEnded(turn=1, reason="refusal", cause="refusal", detail="cyber: It could harm."),
        )
        for sentence in narrator.sentences(entry)
    ]
    assert shown == ["Sure", "Turn ended: the response was refused (cyber: It could harm.)"]
