from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from holdfast.tool_calls import Effect, FileChange, Mode
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

# (mode, effect): what happens inside the workspace, and outside.
LAW: dict[tuple[Mode, Effect], tuple[type, type]] = {
    ("ask", "read"): (Allow, Ask),
    ("ask", "write"): (Ask, Ask),
    ("ask", "execute"): (Ask, Ask),
    ("accept-edits", "read"): (Allow, Ask),
    ("accept-edits", "write"): (Allow, Ask),
    ("accept-edits", "execute"): (Ask, Ask),
    ("plan", "read"): (Allow, Ask),
    ("plan", "write"): (Deny, Deny),
    ("plan", "execute"): (Deny, Deny),
    ("yolo", "read"): (Allow, Allow),
    ("yolo", "write"): (Allow, Allow),
    ("yolo", "execute"): (Allow, Allow),
    ("ask", "remote"): (Ask, Ask),
    ("accept-edits", "remote"): (Ask, Ask),
    ("plan", "remote"): (Deny, Deny),
    ("yolo", "remote"): (Allow, Allow),
}


# mode: what happens to a read that asks a host over the network.
ASKS_A_HOST: dict[Mode, type] = {"ask": Ask, "accept-edits": Ask, "plan": Ask, "yolo": Allow}


def plan(effect: Effect, *, outside: str | None = None, host: str = "") -> Plan:
    async def run(_: ToolContext) -> ToolOutput:
        raise AssertionError("deciding must not run")

    changes = (FileChange(path="src/app.py", before=None, after="0" * 64),) if effect == "write" else ()
    return Plan(effect=effect, title="do src/app.py", run=run, outside=outside, changes=changes, host=host)


def test_the_law_covers_every_combination() -> None:
    assert set(LAW) == set(product(get_args(Mode), get_args(Effect)))


@pytest.mark.parametrize(("mode", "effect"), LAW)
def test_the_law(mode: Mode, effect: Effect) -> None:
    inside, outside = LAW[mode, effect]
    assert type(decide(plan(effect), Policy(mode))) is inside
    assert type(decide(plan(effect, outside="/etc/hosts"), Policy(mode))) is outside


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_read_that_asks_a_host_is_asked_about(mode: Mode) -> None:
    assert type(decide(plan("read", host="example.org"), Policy(mode))) is ASKS_A_HOST[mode]


def test_a_question_names_the_call_and_the_place() -> None:
    assert decide(plan("execute"), Policy("ask")) == Ask("The call 'do src/app.py' runs a command.")
    decision = decide(plan("read", outside="/etc/hosts"), Policy("plan"))
    assert decision == Ask("The call 'do src/app.py' reads outside the workspace, at '/etc/hosts'.")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("make", "'make' is not known to only read."),
        ("make && npm test", "'make' and 'npm' are not known to only read."),
        ("make; npm i; go vet", "'make', 'npm' and 'go' are not known to only read."),
        ("make; npm i; go vet; rm x; tox", "'make', 'npm', 'go' and 2 more are not known to only read."),
        ("make; npm i; go vet; rm x", "'make', 'npm', 'go' and 1 more are not known to only read."),
        ("cat /etc/x; make | sed -i s/a/b/ y; npm i", "'make' and 'npm' are not known to only read; it reads '/etc/x'"),
    ],
)
def test_programs_that_are_not_known_are_named_together(command: str, why: str) -> None:
    async def never(_: ToolContext) -> ToolOutput:
        raise AssertionError

    plan = Plan(effect="execute", title="run", run=never, command=command)
    decision = decide(plan, Policy("ask"))
    assert isinstance(decision, Ask)
    assert f"runs a command: {why}" in decision.why


@pytest.mark.parametrize(
    ("command", "reasons", "left"),
    [
        ("cat /a", ["/a"], 0),
        ("cat /a; cat /b; cat /c", ["/a", "/b", "/c"], 0),
        ("cat /a; cat /b; cat /c; cat /d", ["/a", "/b", "/c"], 1),
        ("cat /a; cat /b; cat /c; cat /d; cat /e; cat /a", ["/a", "/b", "/c"], 2),
        ("cat /a; cat /b; cat /c; cat /d; make", ["make", "/a", "/b"], 2),
        ("make; npm i; cat /a; cat /b; cat /c", ["npm", "/a", "/b"], 1),
    ],
)
def test_of_many_reasons_three_are_named_and_the_others_counted(command: str, reasons: list[str], left: int) -> None:
    async def never(_: ToolContext) -> ToolOutput:
        raise AssertionError

    plan = Plan(effect="execute", title="run", run=never, command=command)
    decision = decide(plan, Policy("ask"))
    assert isinstance(decision, Ask)
    *said, last = decision.why.removesuffix(".").split("; ")
    if left:
        assert last == f"and {left} more"
    else:
        said.append(last)
    assert len(said) == len(reasons)
    for reason, words in zip(reasons, said, strict=True):
        assert f"{reason!r}" in words


def test_a_denial_tells_the_model_why_and_what_to_do() -> None:
    denied = decide(plan("write"), Policy("plan"))
    assert isinstance(denied, Deny)
    assert denied.why.startswith("Plan mode allows only reading: 'do src/app.py' changes files")
    assert "It was not run." in denied.why
