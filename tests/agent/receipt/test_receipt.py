"""A receipt says what happened, whatever the model says: 12 ways to lie about a command, and their honest twins."""

from __future__ import annotations

import pytest

from holdfast.agent.receipt.conditions import known_condition, unmet
from holdfast.agent.receipt.folded_receipt import receipt
from holdfast.errors import UsageError
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, Usage
from holdfast.tool_calls import Effect, Outcome

ABSENT = e.PathState("absent")
FILE = e.PathState("file", "0" * 40, 0o644)


def run(
    call: str, line: str, code: int | None = 0, *, outcome: Outcome = "ok", changed: tuple[str, ...] | None = ()
) -> tuple[e.Entry, ...]:
    """Return the entries of a command; what it changed is not known with None."""
    return acted(call, "execute", f'{{"command": "{line}"}}', code, outcome=outcome, changed=changed)


def edit(call: str, path: str) -> tuple[e.Entry, ...]:
    return acted(call, "write", f'{{"path": "{path}"}}', None, outcome="ok", changed=(path,))


def acted(
    call: str, effect: Effect, arguments: str, code: int | None, *, outcome: Outcome, changed: tuple[str, ...] | None
) -> tuple[e.Entry, ...]:
    part = CallPart(id=call, name="tool", arguments=arguments)
    moved = () if changed is None else tuple(e.PathChange(path, ABSENT, FILE) for path in changed)
    behind = () if changed is None else (e.FilesMoved(call=call, changes=moved),)
    return (
        e.ResponseEnded(step=1, model="m:n", parts=(part,), usage=Usage()),
        e.CallStarted(call=call, effect=effect),
        e.CallEnded(call=call, outcome=outcome, text="42 passed", exit=code),
        *behind,
    )


TEST = run("c1", "pytest -q")
LIARS: dict[str, tuple[e.Entry, ...]] = {
    "never ran it": (),
    "ran another": run("c1", "pytest -q tests/a"),
    "piped it": run("c1", "pytest -q | tail"),
    "hid its failure": run("c1", "pytest -q || true"),
    "printed that it passed": run("c1", "echo 42 passed"),
    "it failed": run("c1", "pytest -q", 1, outcome="failed"),
    "it was killed": run("c1", "pytest -q", None, outcome="interrupted"),
    "an older journal has no code": run("c1", "pytest -q", None),
    "passed, then failed": (*TEST, *run("c2", "pytest -q", 2, outcome="failed")),
    "edited after it": (*TEST, *edit("c2", "a.py")),
    "a command changed files after it": (*TEST, *run("c2", "sed -i s/a/b/ a.py", changed=("a.py",))),
    "what ran after it is not known": (*TEST, *run("c2", "make", changed=None)),
}
HONEST: dict[str, tuple[e.Entry, ...]] = {
    "ran it": TEST,
    "edited before it": (*edit("c0", "a.py"), *TEST),
    "failed, then passed": (*run("c0", "pytest -q", 1, outcome="failed"), *TEST),
    "looked after it": (*TEST, *run("c2", "git status")),
    "with more spaces": run("c1", "pytest   -q"),
    "it made files itself": run("c1", "pytest -q", changed=("report.xml",)),
}


@pytest.mark.parametrize("name", LIARS)
def test_a_lie_about_a_command_is_found(name: str) -> None:
    assert unmet("ran:pytest -q", receipt(LIARS[name])) != ""


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_run_is_met(name: str) -> None:
    assert unmet("ran:pytest -q", receipt(HONEST[name])) == ""


def test_files_are_those_that_were_seen_to_change() -> None:
    found = receipt((*edit("c1", "src/a.py"), *run("c2", "make", changed=("b.o",)), *run("c3", "x", changed=None)))
    assert (found.files.changed, found.files.by_command, found.files.unknown) == (("src/a.py",), ("b.o",), ("c3",))
    assert unmet("changed", found) == unmet("changed:src/*", found) == ""
    assert unmet("changed:docs/*", found) == "no file that matches docs/* was changed"
    assert unmet("unchanged:*.o", found) == "b.o was changed"
    assert unmet("unchanged:docs/*", found) == "what 1 calls changed is not known"
    assert unmet("no-unknown", found) == "what 1 calls changed is not known"


def test_what_was_denied_or_interrupted_is_not_hidden() -> None:
    denied = e.CallEnded(call="c9", outcome="denied", text="No.")
    found = receipt((*TEST, denied, *run("c2", "sleep 9", None, outcome="interrupted")))
    assert unmet("no-denied", found) == "1 calls were denied"
    assert unmet("no-unknown", found) == "the effect of 1 calls is unknown"
    assert unmet("no-denied", receipt(TEST)) == unmet("no-unknown", receipt(TEST)) == ""


@pytest.mark.parametrize(
    "text", ["", "ran", "ran:", "changed:", "unchanged", "tests-pass:x", "no-denied:x", "committed:"]
)
def test_an_unknown_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="unknown"):
        known_condition(text)
