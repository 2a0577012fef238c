"""The laws of the words behind a remembered command: what they may be is what reading and testing the project needs."""

from __future__ import annotations

import pytest
from attacks import ATTACKS, HARMLESS
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tool_calls import Pattern
from holdfast.tools.approval.command_words import harmless
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.known_programs.programs import BY_NAME, spelt
from holdfast.tools.tool import Plan, ToolContext, ToolOutput


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str) -> Plan:
    return Plan(effect="execute", title="run", run=_never, command=command)


def remembered(pattern: str) -> Policy:
    return Policy("ask", (Pattern(effect="execute", text=pattern),))


def ran(pattern: str, words: str) -> str:
    return f"{pattern.removesuffix('*')}{words}"


def test_the_list_of_attacks_is_long_and_has_no_line_twice() -> None:
    assert len(set(ATTACKS)) == len(ATTACKS) > 200


@pytest.mark.whole  # each is an attack, and cheap
@pytest.mark.parametrize(("pattern", "words"), ATTACKS)
def test_no_attack_is_let_through(pattern: str, words: str) -> None:
    plan = runs(ran(pattern, words))
    assert isinstance(decide(plan, remembered(pattern)), Ask)
    for each in suggest_patterns(plan).patterns:  # may be empty: most attacks get no suggestion
        if each.effect == "execute" and each.text.endswith(" *"):
            assert isinstance(decide(plan, Policy("ask", (each,))), Allow)
            assert each.text != pattern


OF_OPTIONS = [each for each in ATTACKS if each[0].removesuffix(" *") in BY_NAME and each[1].startswith("-")]


@example(attack=("pytest *", "-p evil"), before="yarn")
@given(attack=st.sampled_from(OF_OPTIONS), before=st.sampled_from(["yarn", "npm exec", "make", "cargo"]))
def test_an_attack_is_not_hidden_by_a_program_before_it(attack: tuple[str, str], before: str) -> None:
    """Its words may go to any program that is named, not only to the first one."""
    pattern, words = attack
    known = f"{before} {pattern}"
    assert isinstance(decide(runs(ran(known, words)), remembered(known)), Ask)


@pytest.mark.parametrize(("pattern", "words"), HARMLESS)
def test_what_tests_and_reading_need_is_let_through(pattern: str, words: str) -> None:
    assert decide(runs(ran(pattern, words)), remembered(pattern)) == Allow()
    assert decide(runs(ran(pattern, "").strip()), remembered(pattern)) == Allow()


@example(attack=("awk *", "-f evil"), before=["a"])
@given(attack=st.sampled_from(ATTACKS), before=st.lists(st.sampled_from(["-q", "a", "-v", "src/a.py"]), max_size=3))
def test_an_attack_is_not_hidden_by_other_words(attack: tuple[str, str], before: list[str]) -> None:
    pattern, words = attack
    if pattern.startswith("git "):  # its first operand is the address, so another one before it makes the attack none
        before = [each for each in before if each.startswith("-")]
    command = ran(pattern, " ".join((*before, words, *before)))
    assert isinstance(decide(runs(command), remembered(pattern)), Ask)


rows = st.sampled_from(sorted(BY_NAME.items()))


@given(row=rows, data=st.data())
def test_each_option_of_the_tables_is_held_back_however_it_is_written(
    row: tuple[str, object], data: st.DataObject
) -> None:
    name = row[0]
    program = BY_NAME[name]
    dashes = "-" if program.single else "--"
    for option in program.long:
        value = data.draw(st.sampled_from(["", "=x", ":x", "=a/b"]))
        assert not harmless([name], [f"{dashes}{option}{value}"])
        assert not harmless([name], [f"{dashes}{option.upper()}{value}"])
        assert not harmless([name], [f"-{option}{value}"])
        cut = option[: data.draw(st.integers(1, len(option)))]
        assert program.single or cut in program.exact or not harmless([name], [f"--{cut}{value}"])
    for letter in program.short:
        joined = data.draw(st.sampled_from(["", "x", "=x", "a/b"]))
        assert not harmless([name], [f"-{letter}{joined}"])
        flag = next(each for each in "qvzyZQ" if each not in program.values)
        assert not harmless([name], [f"-{flag}{letter}{joined}"])
    for word in program.words:
        assert not harmless([name], [word])
    if program.closed:
        assert not harmless([name], ["x"])


@given(
    row=rows,
    word=st.sampled_from(["/etc/x", "..", "a/../..", "x=/etc", "-x/etc", "-x..", "A=b", "@x", "a:/b", ".git/x"]),
)
def test_no_program_gets_a_word_that_leads_out(row: tuple[str, object], word: str) -> None:
    assert not harmless([row[0]], [word])
    assert not harmless([f"/usr/bin/{row[0]}"], [word])
    assert not harmless(["unheard-of"], [word])


def test_each_row_says_where_that_stands() -> None:
    assert len(BY_NAME) > 250
    for name, row in BY_NAME.items():
        assert row.source.startswith("https://")
        assert name in row.names
        assert row.closed or row.short or row.long or name in {"echo", *BY_NAME["echo"].names}
        assert all(other in BY_NAME for other in row.passes)
        assert all(option == spelt(option) for option in row.long | row.exact)
        assert not row.exact & row.long, f"{name} holds back and lets through {row.exact & row.long}"
