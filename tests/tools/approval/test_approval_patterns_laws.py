"""The laws of remembered patterns, tried as an attacker would who wants to run what was never allowed."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tool_calls import Effect, FileChange, Pattern
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.approval.patterns import pattern_words, patterns_allow, suggest_patterns, unmatchable
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.workspace.autorun_files import runs_by_itself
from laws import law
from polling import HANGS

ACTED_ON = ";&|$()`\\><\n\r\t'\"*?[]{}!#~^\0\x0b\x0c\x1b\u00a0\u2028"
"""What a shell may act on, and what only looks like a space."""

letters = st.text(st.sampled_from("abgz019_./:,=@%+-"), min_size=1, max_size=6)
words = st.lists(letters, min_size=1, max_size=4)
calm = st.lists(st.from_regex(r"[bg019_][abg019_.%-]{0,5}", fullmatch=True), min_size=1, max_size=4)
"""Words that may stand behind a remembered command; `test_command_words_laws.py` has those that may not."""
names = st.from_regex(r"[bg][abg019_.-]{0,5}", fullmatch=True)
programs = st.tuples(names, st.one_of(st.just(list[str]()), calm)).map(lambda each: [each[0], *each[1]])
"""Such a command itself: what begins with a digit may be something else for a shell."""
paths = st.lists(st.sampled_from(["src", "a", "..", ".", "", "*", ".git", "~"]), min_size=1, max_size=3).map("/".join)
anything = st.text(max_size=30)
patterns = st.one_of(
    words.map(" ".join),
    words.map(lambda each: " ".join((*each, "*"))),
    anything,
    st.sampled_from(["*", "", " *", "**"]),
)


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str, *, outside: str | None = None) -> Plan:
    return Plan(effect="execute", title="run", run=_never, command=command, outside=outside)


def writes(path: str, *, outside: str | None = None) -> Plan:
    change = FileChange(path=path, before=None, after="0" * 64)
    return Plan(effect="write", title="write", run=_never, changes=(change,), outside=outside)


def may(effect: Effect, *texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(effect=effect, text=text) for text in texts)


@given(before=anything, mark=st.sampled_from(ACTED_ON), after=anything, pattern=patterns)
@example(before="git status", mark=";", after=" rm -rf .", pattern="git status *")
@example(before="git status ", mark="\n", after="rm -rf .", pattern="git status *")
@example(before="git status ", mark="$", after="{IFS}x", pattern="git status *")
@example(before="git status ", mark="$", after="'\\n'", pattern="git status *")
@example(before="diff ", mark="<", after="(rm x) y", pattern="diff *")
@example(before="git status ", mark="\\", after="\nrm x", pattern="git status *")
@example(before="b ", mark=">", after="/etc/x", pattern="b *")
@example(before="b ", mark=">", after="x", pattern="b *")
def test_what_a_shell_acts_on_is_matched_only_as_what_it_makes_of_it(
    before: str, mark: str, after: str, pattern: str
) -> None:
    plan = runs(f"{before}{mark}{after}")
    known = may("execute", pattern, plan.command, f"{plan.command} *")
    line = command_parts(plan.command)
    if patterns_allow(plan, known):
        assert not line.unclear
        assert line.outside is None
        for part in line.parts:
            assert not part.writes, "no pattern of a command allows a file"
            assert part.words, "bash hands over exactly these words"
            expected = [pattern_words(each.text) for each in known]
            assert any(part.words[: len(each) - (each[-1:] == ("*",))] == each[: len(each) - (each[-1:] == ("*",))]
                       for each in expected if each)  # fmt: skip
    for each in suggest_patterns(plan).patterns:
        assert not line.unclear
        assert unmatchable(each) == ""


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status\nrm -rf .",
        "git status ${IFS}x",
        "diff <(rm x) y",
        "git status > x",
        "git status >> x",
        "git status | tee x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status & rm x",
        "A=b git status",
        "git status *",
        "git status ~",
        "git status {a,b}",
        "git status $X",
        "git status <(rm x)",
        "cd /etc && git status",
        "git() { rm x; }; git status",
        "alias git=rm; git status",
        "git status 'unclosed",
    ],
)
def test_a_pattern_of_one_command_allows_nothing_beside_it(command: str) -> None:
    assert not patterns_allow(runs(command), may("execute", "git status *", "git status", "diff *"))


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        ("npm test 2>&1 | tail -20", ["npm test *"]),
        ("cd web && npm test && git commit -m 'it works'", ["npm test *", "git commit *"]),
        ("npm test; npm test --watch", ["npm test *"]),
        ("make test > out/log.txt", ["make test *", "out/**"]),
        ("make test | tee log.txt", ["make test *", "log.txt"]),
        ("make test > /tmp/log.txt", []),
        ("make test > .git/hooks/pre-commit", []),
        ("make test > $X", []),
        ("cd /etc && make test", []),
        ("CI=1 npm test", ["CI=1 npm test"]),
        ("bash -c 'rm x'", []),
        ("ls | xargs rm", []),
        ("git checkout main", ["git checkout *"]),
        ("git checkout -- .", ["git checkout -- ."]),
        ("git commit -m \"$(cat <<'EOF'\nfix it\n\nmore\nEOF\n)\"", ["git commit *"]),
        ('git commit -m "$(rm x)"', []),
        ("git commit $(echo --no-verify)", []),
        ("for i in 1 2; do rm $i; done", []),
        ("ls", []),
    ],
)
def test_what_is_suggested_for_a_line(command: str, texts: list[str]) -> None:
    found = suggest_patterns(runs(command))
    assert [each.text for each in found.patterns] == texts
    assert bool(found.why) == (not texts)
    if texts:
        assert decide(runs(command), Policy("ask", found.patterns)) == Allow()
        for left_out in found.patterns:
            rest = tuple(each for each in found.patterns if each != left_out)
            assert isinstance(decide(runs(command), Policy("ask", rest)), Ask)


@law(20)
@given(more=calm)
def test_a_shell_reads_what_is_matched_as_one_program_and_its_words(more: list[str]) -> None:
    command = "printf %s, " + " ".join(more)
    assert patterns_allow(runs(command), may("execute", "printf *"))
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=HANGS)
    assert done.stdout.split(",")[:-1] == "".join(f"{each}," for each in more).split(",")[:-1]
    assert not done.stderr


@given(known=programs, more=calm)
def test_a_pattern_ends_at_the_end_of_a_word(known: list[str], more: list[str]) -> None:
    text = " ".join(known)
    assert patterns_allow(runs(text), may("execute", text))
    assert not patterns_allow(runs(f"{text} more"), may("execute", f"{text} *")), "the program is not listed"
    assert not patterns_allow(runs(f"{text}x"), may("execute", text, f"{text} *"))
    assert not patterns_allow(runs(f"x {text}"), may("execute", text, f"{text} *"))
    assert not patterns_allow(runs(f"A=b {text}"), may("execute", text, f"{text} *"))
    assert not patterns_allow(runs(" ".join((*known, *more))), may("execute", text))


@given(command=anything, path=anything, pattern=patterns)
def test_no_pattern_reaches_outside_or_beyond_its_effect(command: str, path: str, pattern: str) -> None:
    assert not patterns_allow(runs(command, outside="/etc"), may("execute", pattern, command))
    assert not patterns_allow(writes(path, outside=path), may("write", pattern, path, "**", "/**"))
    assert not patterns_allow(runs(command), may("write", pattern, command))
    assert not patterns_allow(writes(path), may("execute", pattern, path))
    assert suggest_patterns(writes(path, outside=path)).patterns == ()


@given(command=words.map(" ".join), path=st.lists(letters, min_size=1, max_size=4).map("/".join))
def test_what_is_suggested_allows_just_that_and_its_like(command: str, path: str) -> None:
    for plan in (runs(command), writes(path)):
        found = suggest_patterns(plan)
        assert bool(found.patterns) != bool(found.why)
        assert decide(plan, Policy("ask", found.patterns)) == Allow() or not found.patterns
        assert all(unmatchable(each) == "" for each in found.patterns if each.effect == "execute")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("npm test", "npm test *"),
        ("npm test --watch", "npm test *"),
        ("uv run pytest -q tests/a.py", "uv run pytest *"),
        ("npm install left-pad", "npm install left-pad"),
        ("git  push", "git push *"),
        ("rm -r build", "rm -r build"),
        ("make deploy", "make deploy *"),
        ("pytest -k 'a or b'", "pytest *"),
        ("pytest --basetemp=docs", "pytest --basetemp=docs"),
        ("  ", None),
    ],
)
def test_what_is_suggested_for_a_command(command: str, pattern: str | None) -> None:
    assert [each.text for each in suggest_patterns(runs(command)).patterns] == ([] if pattern is None else [pattern])


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push *", "git push --force"),
        ("git push *", "git push -f origin main"),
        ("git checkout *", "git checkout -- ."),
        ("git checkout *", "git checkout ."),
        ("git reset *", "git reset --hard"),
    ],
)
def test_words_behind_a_pattern_add_no_danger(pattern: str, command: str) -> None:
    assert patterns_allow(runs(pattern.removesuffix(" *")), may("execute", pattern))
    assert not patterns_allow(runs(command), may("execute", pattern))
    assert patterns_allow(runs(command), may("execute", command))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("src/app.py", "src/**"),
        ("src/web/app.py", "src/web/**"),
        ("README.md", "README.md"),
        ("Makefile", "Makefile"),
        (".git/hooks/pre-commit", None),
        ("vendor/lib/.GIT/config", None),
        (".g\u200cit/config", None),
        ("home/.bashrc", None),
        (".github/workflows/ci.yml", None),
        (".envrc", None),
        (".git", None),
        ("Jenkinsfile", None),
    ],
)
def test_what_is_suggested_for_a_file(path: str, pattern: str | None) -> None:
    assert [each.text for each in suggest_patterns(writes(path)).patterns] == ([] if pattern is None else [pattern])
    assert runs_by_itself(path) == (pattern is None)


accepted = st.one_of(
    st.tuples(st.just("execute"), patterns),
    st.tuples(st.just("write"), st.one_of(anything, paths, paths.map(lambda each: f"{each}/**"))),
    st.tuples(st.just("read"), st.one_of(anything, st.sampled_from(["docs.python.org", "::1", "10.0.0.1"]))),
)


@law()
@given(each=accepted)
def test_a_pattern_that_is_accepted_matches_something(each: tuple[Effect, str]) -> None:
    pattern = Pattern(effect=each[0], text=each[1])
    text = pattern.text.removesuffix("**") + "x" if pattern.text.endswith("/**") else pattern.text
    plan = {
        "execute": runs(pattern.text.removesuffix("*").strip()),
        "write": writes(text),
        "read": Plan(effect="read", title="fetch", run=_never, host=pattern.text),
    }[pattern.effect]
    assert patterns_allow(plan, [pattern]) or unmatchable(pattern)


@pytest.mark.parametrize(
    ("effect", "text", "why"),
    [
        ("write", "**", "is not a file or FOLDER/**"),
        ("write", "*", "is not a file or FOLDER/**"),
        ("write", "", "is not a file or FOLDER/**"),
        ("write", "/**", "is not a file or FOLDER/**"),
        ("write", "src/*.py", "is not a file or FOLDER/**"),
        ("write", "**/*.py", "is not a file or FOLDER/**"),
        ("write", "src/**/x", "is not a file or FOLDER/**"),
        ("write", "src/", "is not a file or FOLDER/**"),
        ("write", "./src/**", "is not a file or FOLDER/**"),
        ("write", "/etc/hosts", "is not a file or FOLDER/**"),
        ("write", "../x", "is not a file or FOLDER/**"),
        ("write", "~/x/**", "is not a file or FOLDER/**"),
        ("write", "~/**", "is not a file or FOLDER/**"),
        ("write", ".github/**", "other programs run"),
        ("write", ".envrc", "other programs run"),
        ("execute", "*", "is not a program with its arguments"),
        ("execute", "", "is not a program with its arguments"),
        ("execute", "npm*", "is not a program with its arguments"),
        ("execute", "git * status", "is not a program with its arguments"),
        ("execute", "make test && x", "is not a program with its arguments"),
        ("execute", "pytest -k 'a b", "is not a program with its arguments"),
        ("execute", "pytest > x", "is not a program with its arguments"),
        ("execute", "pytest $X", "is not a program with its arguments"),
        ("execute", "bash *", "another program, an address or code"),
        ("execute", "env *", "another program, an address or code"),
        ("execute", "uv run *", "another program, an address or code"),
        ("read", "*", "is not a host"),
        ("read", "", "is not a host"),
        ("read", "*.python.org", "is not a host"),
        ("read", "https://docs.python.org", "is not a host"),
        ("read", "docs.python.org/3", "is not a host"),
        ("read", "docs.python.org:443", "is not a host"),
        ("read", "Docs.python.org", "is not a host"),
    ],
)
def test_why_a_pattern_matches_nothing(effect: Effect, text: str, why: str) -> None:
    reason = unmatchable(Pattern(effect=effect, text=text))
    assert why in reason
    assert repr(text) in reason


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        *(("write", each) for each in ("src/**", "README.md", "pages/[id].tsx", "a b/c")),
        *(
            ("execute", each)
            for each in ("make test", "pytest *", "npm run build *", "bash run.sh", "python -m pytest *")
        ),
        *(("read", each) for each in ("docs.python.org", "localhost", "127.0.0.1", "::1")),
    ],
)
def test_what_is_no_mistake(effect: Effect, text: str) -> None:
    assert unmatchable(Pattern(effect=effect, text=text)) == ""


def test_a_folder_is_not_its_neighbour() -> None:
    assert patterns_allow(writes("src/a/b.py"), may("write", "src/**"))
    assert not patterns_allow(writes("srcs/a.py"), may("write", "src/**"))
    assert not patterns_allow(writes("src"), may("write", "src/**"))
    assert not patterns_allow(writes("lib/src/a.py"), may("write", "src/**"))


@given(path=st.sampled_from([".git/hooks/pre-commit", "a/.envrc", ".github/x.yml"]), text=patterns)
def test_what_runs_by_itself_always_asks(path: str, text: str) -> None:
    for mode in ("ask", "accept-edits"):
        decision = decide(writes(path), Policy(mode, may("write", text, path, ".git/**", ".github/**", "a/**")))
        assert isinstance(decision, Ask)
        assert "by themselves" in decision.why


@given(command=programs.map(" ".join), path=letters)
def test_in_plan_mode_nothing_that_is_remembered_allows_more_than_reading(command: str, path: str) -> None:
    policy = Policy("plan", (*may("execute", command, f"{command} *"), *may("write", path, f"{path}/**")))
    assert isinstance(decide(runs(command), policy), Deny)
    assert isinstance(decide(writes(path), policy), Deny)
    assert isinstance(decide(runs(command), Policy("ask", policy.patterns)), Allow)


def test_a_write_to_who_knows_where_asks() -> None:
    unknown = Plan(effect="write", title="write", run=_never)
    assert isinstance(decide(unknown, Policy("accept-edits")), Ask)
    assert suggest_patterns(unknown).patterns == ()
