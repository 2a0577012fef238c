"""Where the file system takes two names for one, so do the rules that forbid or ask, and the list of secret files.

The laws are about the names alone; `tests/e2e/test_folding_names.py` has a file system that compares them so.
"""

from __future__ import annotations

import random
import shlex
from unicodedata import normalize

from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.system.file_names import folded_path
from holdfast.system.secret_files import holds_secrets
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.permission_rules.permission_rule import permission_rule
from holdfast.tools.permission_rules.rule_set import RuleSet
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.workspace.autorun_files import runs_by_itself
from laws import law

ROOT = "/srv/work"
SECRETS = [
    ".env",
    ".env.local",
    "key.pem",
    ".envrc",
    "id_rsa",
    ".aws/x",
    "deep/.npmrc",
    "credentials.json",
    "a.tfstate",
    ".ssh/id",
]
OBEYED = ["AGENTS.md", "CLAUDE.md", ".git/hooks/pre-commit", ".vscode/tasks.json", "conftest.py", "Makefile"]
NAMES = ["notes.txt", "straße.md", "é.txt", "İ.txt", "src/Main.PY", "ﬁle", "ΣΑΣ.txt"]


def respelt(name: str, seed: int) -> str:
    """Return another spelling of a name: other letters in capitals, another form of Unicode."""
    source = random.Random(seed)
    letters = "".join(source.choice((str.lower, str.upper, str))(each) for each in name)
    return normalize(source.choice(("NFC", "NFD")), letters)


pairs = st.tuples(st.sampled_from([*SECRETS, *OBEYED, *NAMES]), st.integers(0, 10_000)).map(
    lambda each: (each[0], respelt(*each))
)


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def read_by_tool(path: str) -> Plan:
    return Plan(effect="read", title="read", run=_never, reads=(f"{ROOT}/{path}",))


def read_by_command(path: str) -> Plan:
    command = f"cat -- {shlex.quote(path)}"
    line = command_parts(command, root=ROOT)
    return Plan(effect="execute", title="run", run=_never, command=command, line=line)


def policy(text: str, verdict: str) -> Policy:
    assert verdict in ("deny", "ask", "allow")
    rule = permission_rule(text, verdict, source="test", base=ROOT)  # pyright: ignore[reportArgumentType] - one of the three
    return Policy("ask", rules=RuleSet(rules=(rule,), root=ROOT, home="/srv/me"))


@law(100)
@given(pair=pairs)
@example(pair=("straße.md", "STRASSE.MD"))
def test_two_spellings_of_a_name_are_one(pair: tuple[str, str]) -> None:
    assert folded_path(pair[0]) == folded_path(pair[1])
    assert folded_path(folded_path(pair[1])) == folded_path(pair[1])


@law(100)
@given(pair=pairs)
def test_a_secret_and_a_file_that_is_obeyed_are_known_in_every_spelling(pair: tuple[str, str]) -> None:
    assert holds_secrets(pair[0]) == holds_secrets(pair[1]) == (pair[0] in SECRETS)
    assert runs_by_itself(pair[0]) == runs_by_itself(pair[1])


@law(100)
@given(pair=pairs)
@example(pair=(".env", ".ENV"))
def test_what_denies_or_asks_holds_for_every_spelling_and_what_allows_for_its_own(pair: tuple[str, str]) -> None:
    name, other = pair
    for plan, tool in ((read_by_tool(other), "read"), (read_by_command(other), "bash")):
        assert isinstance(decide(plan, policy(f"Read(./{name})", "deny"), tool=tool), Deny)
        assert isinstance(decide(plan, policy(f"Read(./{name})", "ask"), tool=tool), Ask)
    if name in SECRETS:
        asks = decide(read_by_tool(other), policy(f"Read(./{name})", "allow"), tool="read")
        assert isinstance(asks, Allow if name == other else Ask)
        assert isinstance(decide(read_by_command(other), Policy("ask"), tool="bash"), Ask)
