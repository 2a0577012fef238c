"""The commands of usual coding sessions, replayed: how many ask, and that none changes anything unasked."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from shell_cases import cases

from holdfast.tool_calls import Mode, Pattern
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.tool import Plan, ToolContext, ToolOutput

ROOT = "/srv/work/project"
SESSIONS = cases("sessions.tsv")
ATTACKS = cases("attacks.tsv")
DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "approvals.md"

EARLIER = 224
"""How many asked before commands were parsed: every one of them, because no command was free."""

EARLIER_ALLOWED = 111
"""How many would still have asked with all the rest allowed: a line with a character of the shell was never matched."""

NOW = 98
"""How many ask today in a folder where nothing was allowed yet."""

NOW_ALLOWED = 30
"""How many ask today once each usual program was allowed, and edits are accepted: 13.4 in 100."""

AIM = 0.15

PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]+")
"""The only lines that a pattern could match before commands were parsed."""

USUAL = re.compile(
    r"(python -m )?pytest|uv run (pytest|ruff)|uv sync|ruff|mypy|black|isort|alembic|make"
    r"|python3? main\.py|node index\.js"
    r"|(npm|pnpm|yarn) (test|run|build|install|ci)|npx (tsc|eslint|jest)|cargo (build|test|check|clippy)"
    r"|go (build|test|vet)|pip (install|list)|git (add|commit|checkout|stash|pull|fetch|merge|restore|rebase)"
    r"|gh (pr view|run)|mkdir|touch|mv|docker (ps|compose logs)|lsof"
)
"""Programs that a user allows at the first question: tests, builds, and git except what others see or what is lost."""


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


@cache
def runs(command: str) -> Plan:
    """Return the plan of a command in the workspace."""
    line = command_parts(command, root=ROOT)
    return Plan(effect="execute", title="run", run=_never, command=command, line=line)


def approvals_needed(mode: Mode, allowed: tuple[Pattern, ...] = ()) -> list[str]:
    """Return the commands of the sessions that ask."""
    return [each for _, each in SESSIONS if isinstance(decide(runs(each), Policy(mode, allowed)), Ask)]


@cache
def usual() -> tuple[Pattern, ...]:
    """Return what the questions about these sessions offer to remember, of the usual programs."""
    offered = (pattern for each in approvals_needed("ask") for pattern in suggest_patterns(runs(each)).patterns)
    return tuple(dict.fromkeys(each for each in offered if each.effect == "execute" and USUAL.match(each.text)))


def test_how_many_commands_of_a_session_ask() -> None:
    assert len(SESSIONS) == EARLIER > 200
    assert sum(not PLAIN.fullmatch(each) for _, each in SESSIONS) == EARLIER_ALLOWED
    assert len(approvals_needed("ask")) == NOW
    assert len(approvals_needed("accept-edits", usual())) == NOW_ALLOWED
    assert NOW_ALLOWED / len(SESSIONS) <= AIM


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "plan"])
def test_no_command_that_does_more_than_read_is_free(mode: Mode) -> None:
    more = [each for shows, each in SESSIONS if shows != "free"]
    assert len(more) == NOW
    free = {each for each in more if decide(runs(each), Policy(mode)) == Allow()}
    edits = {'echo "x" > src/new.txt', "cat > src/new.py <<'EOF'\nprint(1)\nEOF", "cat *.log 2>/dev/null > all.txt"}
    assert free == (edits if mode == "accept-edits" else set())


def test_what_only_reads_is_free_in_every_mode() -> None:
    reading = [each for shows, each in SESSIONS if shows == "free"]
    modes: tuple[Mode, ...] = ("ask", "accept-edits", "plan")
    assert [(mode, each) for mode in modes for each in reading if decide(runs(each), Policy(mode)) != Allow()] == []


def test_usual_programs_allow_no_attack_but_their_own_calls() -> None:
    ran = [each for _, each in ATTACKS if decide(runs(each), Policy("ask", usual())) == Allow()]
    assert [each for each in ran if not (PLAIN.fullmatch(each) and USUAL.match(each))] == []
    assert len(ran) <= 15


def test_the_document_has_these_numbers() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert f"Of {len(SESSIONS)} commands from typical coding sessions, {NOW} need approval" in text
    assert f"accept edits, {NOW_ALLOWED} still do" in text
