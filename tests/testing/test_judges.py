"""The judge itself: what it must refuse, and what it is known to let pass."""

from __future__ import annotations

import pytest

from judges import judge
from request_bodies import USER, Json, anthropic, assistant, called, chat, result, returned, text, use, user

BROKEN_CHAT = {
    "a dangling call": chat(USER, called("a")),
    "a call answered by the user": chat(USER, called("a"), USER),
    "one of two answered": chat(USER, called("a", "b"), returned("a"), USER),
    "a result without a call": chat(USER, returned("a")),
    "a result of another call": chat(USER, called("a"), returned("b")),
    "a second result": chat(USER, called("a"), returned("a"), returned("a")),
    "an id twice": chat(USER, called("a", "a"), returned("a")),
    "no calls in the array": chat(USER, called()),
    "no message": chat(),
    "unknown role": chat({"role": "bogus", "content": "x"}),
}
BROKEN_ANTHROPIC = {
    "a dangling call": anthropic(USER, assistant(use("a"))),
    "a call answered by the user": anthropic(USER, assistant(use("a")), USER),
    "one of two answered": anthropic(USER, assistant(use("a"), use("b")), user(result("a"))),
    "results in two messages": anthropic(USER, assistant(use("a"), use("b")), user(result("a")), user(result("b"))),
    "text before the result": anthropic(USER, assistant(use("a")), user(text("x"), result("a"))),
    "a result without a call": anthropic(user(result("a"))),
    "a second result": anthropic(USER, assistant(use("a")), user(result("a"), result("a"))),
    "an id twice": anthropic(USER, assistant(use("a"), use("a")), user(result("a"))),
    "a call by the user": anthropic(user(use("a"))),
    "no message": anthropic(),
}
LET_PASS = {
    "input of no object": anthropic(USER, assistant(use("a", "{}")), user(result("a"))),
    "an id twice in a conversation": anthropic(
        USER, assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))
    ),
    "an id of another vendor": anthropic(USER, assistant(use("a.b:0")), user(result("a.b:0"))),
    "blank text": anthropic(user(text(" "))),
    "an empty message": anthropic({"role": "user", "content": ""}),
    "an unknown field": anthropic(USER, foo=1),
    "a system message": anthropic(USER, {"role": "system", "content": "x"}),
}


@pytest.mark.parametrize("body", BROKEN_CHAT.values(), ids=BROKEN_CHAT)
def test_refuses_broken_chat(body: Json) -> None:
    with pytest.raises(AssertionError, match="Judge"):
        judge("openai-chat", body)


@pytest.mark.parametrize("body", BROKEN_ANTHROPIC.values(), ids=BROKEN_ANTHROPIC)
def test_refuses_broken_messages(body: Json) -> None:
    with pytest.raises(AssertionError, match="Judge"):
        judge("anthropic", body)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_refuses_what_is_no_json(wire: str) -> None:
    with pytest.raises(AssertionError, match="could not read"):
        judge(wire, rb'{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "\ud83d"}]}')


@pytest.mark.parametrize("body", LET_PASS.values(), ids=LET_PASS)
def test_lets_pass_what_its_docstring_says(body: Json) -> None:
    judge("anthropic", body)
