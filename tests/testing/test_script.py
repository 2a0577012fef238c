"""What can be played, and what cannot."""

from __future__ import annotations

import pytest

from holdfast.errors import UsageError
from holdfast.testing.script import (
    Call,
    Cut,
    End,
    Fail,
    Finish,
    Headers,
    Hold,
    Ping,
    Raw,
    Reply,
    Reset,
    Say,
    Think,
    Wait,
    check_reply,
)
from holdfast.testing.scripted_provider import ScriptedProvider
from http_calls import CHAT, ask
from request_bodies import SYSTEM, USER, chat

PLAYABLE: list[Reply] = [
    (),
    (Cut(),),
    (Reset(),),
    (Ping(), Cut()),
    (Wait(1), Hold("gate"), Fail(500)),
    (Wait(1), Headers(502, "text/html"), Raw(b"<html>"), Cut()),
    (Say("a"), End(), Say("a ghost"), Call("c", {})),
    (Think("a"), Say("b"), Call("c", {}), Finish("stop"), Wait(1), Ping(), Cut()),
]
UNPLAYABLE: list[tuple[Reply, str]] = [
    ((Cut(), Say("a")), "Action 'Cut' at 0 of the reply must be the last action"),
    ((Reset(), Wait(1)), "Action 'Reset' at 0 of the reply must be the last action"),
    ((Fail(500), Finish("stop")), "Action 'Fail' at 0 of the reply must be the last action"),
    ((Say("a"), Fail(500)), "Action 'Fail' at 1 of the reply follows content"),
    ((Finish("stop"), Say("a")), "Action 'Say' at 1 of the reply follows a Finish"),
    ((Finish("stop"), Finish("stop")), "Action 'Finish' at 1 of the reply is the second Finish"),
    ((Say("a"), Headers()), "Action 'Headers' at 1 of the reply follows content"),
    ((Headers(), Headers()), "Action 'Headers' at 1 of the reply follows content"),
    ((End(), End()), "Action 'End' at 1 of the reply is the second End"),
    ((End(), Finish("stop"), Finish("stop")), "Action 'Finish' at 1 of the reply is the second Finish"),
    ((Say("a", chunk=0),), "Action 'Say' at 0 of the reply has a chunk size below 1"),
]


@pytest.mark.parametrize("reply", PLAYABLE)
def test_playable(reply: Reply) -> None:
    assert check_reply(list(reply)) == tuple(reply)


@pytest.mark.parametrize(("reply", "why"), UNPLAYABLE)
def test_unplayable_is_said_before_anything_is_played(reply: Reply, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ScriptedProvider([reply])
    with pytest.raises(UsageError, match=why):
        ScriptedProvider(after=reply)
    with pytest.raises(UsageError, match=why):
        ScriptedProvider().extend((Say("good"),), reply)


def test_unplayable_by_a_function_is_said_when_it_is_played() -> None:
    with pytest.raises(UsageError, match="must be the last action"):
        ask(ScriptedProvider([lambda _: (Cut(), Cut())]), CHAT, chat(SYSTEM, USER))
