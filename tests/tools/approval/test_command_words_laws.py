"""The laws of the words behind a remembered command: what they may be is what reading and testing the project needs."""

from __future__ import annotations

import pytest
from attacks import ATTACKS, HARMLESS
from dangerous_options import BY_NAME, USUAL, Program, spelt
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tool_calls import Pattern
from holdfast.tools.approval.command_words import harmless
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.known_programs.widened_programs import ANY_WORD, WIDENED, WIDENED_TABLE, WidenedRow
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.typed_data import decode_json


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
    suggested = [each.text for each in suggest_patterns(plan).patterns if each.effect == "execute"]
    assert [each for each in suggested if each.endswith(" *")] == []  # may be empty: what only bash knows has no words


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
    row: tuple[str, Program], data: st.DataObject
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


# --- the closed table ------------------------------------------------------------------------------------------------

ENTRIES = sorted(WIDENED)
WORDS = [row for row in ENTRIES if ANY_WORD not in row]
STRANGERS = ["concurrently", "hyperfine", "nyc", "newtool", "docker", "npx", "uvx", "bash", "python", "tar", "curl"]
"""Programs that are in no row by their name alone."""


@pytest.mark.parametrize("name", STRANGERS)
def test_a_program_that_is_in_no_row_is_allowed_by_its_very_words_alone(name: str) -> None:
    for words in (name, f"{name} run", f"{name} x y"):
        assert isinstance(decide(runs(f"{words} more"), remembered(f"{words} *")), Ask)
        assert isinstance(decide(runs(words), remembered(f"{words} *")), Ask)
        assert decide(runs(words), remembered(words)) == Allow()
        assert isinstance(decide(runs(f"{words} more"), remembered(words)), Ask)


@given(name=st.from_regex(r"[a-z][a-z0-9_]{0,7}", fullmatch=True), more=st.lists(st.sampled_from(["a", "-q", "b.py"])))
def test_a_made_up_program_is_never_widened(name: str, more: list[str]) -> None:
    if name in {row[0] for row in ENTRIES}:
        return
    assert not harmless([name], more)
    assert not any(each.text.endswith("*") for each in suggest_patterns(runs(" ".join((name, *more)))).patterns)


@given(row=st.sampled_from(WORDS), word=st.from_regex(r"[a-z]{3,8}", fullmatch=True))
def test_a_sub_command_that_is_in_no_row_is_not_widened(row: tuple[str, ...], word: str) -> None:
    if len(row) == 1 or (row[0], word) in WIDENED or (row[0], ANY_WORD) in WIDENED or (row[0],) in WIDENED:
        return
    assert not harmless([row[0], word], [])
    assert not harmless([row[0]], [*row[1:]]), "the sub-command is part of what is remembered"


@given(row=st.sampled_from(WORDS), name=st.from_regex(r"[a-zA-Z][a-zA-Z-]{2,9}", fullmatch=True), data=st.data())
def test_an_option_passes_only_if_its_row_has_it_by_its_whole_name(
    row: tuple[str, ...], name: str, data: st.DataObject
) -> None:
    listed = WIDENED[row].options
    every = sorted(listed.long | listed.long_values)
    if name not in every:
        assert not harmless(row, [f"--{name}"])
        assert not harmless(row, [f"--{name}=x"])
    for option in data.draw(st.lists(st.sampled_from(every), max_size=3)) if every else ():
        assert harmless(row, [f"--{option}"])
        cut = option[: data.draw(st.integers(1, len(option)))]
        assert cut in every or not harmless(row, [f"--{cut}"])
        assert f"{option}x" in every or not harmless(row, [f"--{option}x"])
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if not WIDENED[row].single:
        assert harmless(row, [f"-{letter}"]) == (letter in listed.flags or letter in listed.values)


@pytest.mark.parametrize("row", ENTRIES)
def test_no_row_has_an_option_that_a_vendor_documents_as_dangerous(row: tuple[str, ...]) -> None:
    known = [each.replace(ANY_WORD, "x") for each in row]
    witness = BY_NAME.get(row[0], USUAL)
    options = {spelt(each) for each in (*WIDENED[row].options.long, *WIDENED[row].options.long_values)}
    assert not witness.closed, f"{row[0]} runs its words"
    assert options & (witness.long | USUAL.long) == set()
    letters = [each for each in witness.short if (row[0], each) not in BEHIND_A_SUB_COMMAND]
    passed = [each for each in letters if harmless(known, [f"-{each}"]) or harmless(known, [f"-{each}x"])]
    assert passed == []


BEHIND_A_SUB_COMMAND = {("git", "c"), ("git", "C")}
"""Letters that are dangerous before a sub-command alone: `git switch -c x` makes a branch, `git -c x` sets anything."""


def test_every_row_of_the_table_has_a_source_and_stands_once() -> None:
    rows = decode_json(WIDENED_TABLE.read_bytes(), list[WidenedRow])
    every = [words for row in rows for words, _ in row.entries()]
    assert len(set(every)) == len(every) > 150
    assert all(row.source.startswith("https://") for row in rows)


# --- what a command is given to read ---------------------------------------------------------------------------------

FED = [
    "bash < run.sh",
    "python3 < a.py",
    "python3 <<EOF\nprint(1)\nEOF",
    "mydb <<< 'drop x'",
    "mydb <> x",
    "cat x | mydb",
    "(mydb) < x",
    "{ mydb; mydb; } < x",
    "while read x; do mydb; done < f",
    "cat x | (cd a && mydb)",
    "mydb 3< x <&3",
    "if mydb; then ls; fi < x",
    "time mydb < x",
    "cat x | mydb | tail",
]


@pytest.mark.parametrize("line", FED)
def test_very_words_allow_no_command_that_is_given_something_else_to_read(line: str) -> None:
    known = tuple(
        Pattern(effect="execute", text=each) for each in ("bash", "python3", "mydb", "(mydb)", "read x", "mydb *")
    )
    assert isinstance(decide(runs(line), Policy("ask", known)), Ask)
    assert {each.text for each in suggest_patterns(runs(line)).patterns}.isdisjoint({"bash", "python3", "mydb"})


@pytest.mark.parametrize(
    "line", ["mydb", "mydb | tail", "mydb > out/x", "mydb; cat < x", "ls | pytest -q", "pytest < x"]
)
def test_what_reads_nothing_or_can_run_nothing_of_it_is_allowed(line: str) -> None:
    known = tuple(Pattern(effect="execute", text=each) for each in ("mydb", "pytest *"))
    written = (Pattern(effect="write", text="out/**"),)
    assert decide(runs(line), Policy("ask", (*known, *written))) == Allow()


@pytest.mark.parametrize(
    "line", ["export PATH=./evil", "printf -v PATH ./evil", "read PATH", "hash -p ./evil ls", "umask 0"]
)
def test_a_builtin_that_changes_the_shell_is_never_remembered(line: str) -> None:
    assert suggest_patterns(runs(line)).patterns == ()
    assert isinstance(decide(runs(f"{line} && ls"), remembered(line)), Ask)


@pytest.mark.parametrize(
    "name", ["./pytest", "scripts/make test", "/srv/x/git status", "./node_modules/jest", "../venv/bin/pytest"]
)
def test_a_file_that_is_called_like_a_program_is_not_that_program(name: str) -> None:
    assert not harmless(name.split(), [])
    assert harmless([".venv/bin/pytest"], ["-q"])
    assert harmless(["./gradlew", "test"], ["--info"])


@pytest.mark.parametrize(
    "known",
    ["pytest -c", "pytest -p evil -p", "git log --output", "git push -o", "npm test --prefix", "npm run --prefix"],
)
def test_an_option_that_is_remembered_takes_no_further_word(known: str) -> None:
    assert not harmless(known.split(), ["x"])
    assert isinstance(decide(runs(f"{known} x"), remembered(f"{known} *")), Ask)


VALUED = [row for row in ENTRIES if WIDENED[row].options.values or WIDENED[row].options.long_values]


@pytest.mark.parametrize("path", ["/etc/x", "..", "../x", "a/../../b", ".git/hooks/x", "a:/etc/x"])
def test_the_value_of_a_listed_option_stays_inside(path: str) -> None:
    for row in VALUED:
        known = [each.replace(ANY_WORD, "x") for each in row]
        options = WIDENED[row].options
        joined = [f"-{letter}{path}" for letter in options.values] if not WIDENED[row].single else []
        joined += [f"--{name}={path}" for name in options.long_values]
        assert [each for each in joined if harmless(known, [each])] == []
        assert [
            name for name in options.long_values if harmless(known, [f"--{name}", path])
        ] == []  # may be empty: letters
