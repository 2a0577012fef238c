"""The house rules that no linter has: lengths, names, broad excepts, `Any`, mocks, and reasons for every exception."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import PurePosixPath

import pytest
import words
from source_tree import (
    Contract,
    Source,
    complaints,
    dotted,
    expect_none,
    files,
    imported,
    nodes,
    read,
    source,
    sources,
    within,
)

# Where everything may be caught, and what is done with it. Nowhere else.
BROAD_EXCEPTS = {
    "text.py": "the text of an exception of others' code, which is code of others too",
    "agent/turn/tool_runner.py": "the tool boundary: whatever a tool raises becomes the failed outcome of its call",
    "ledger/call_notices.py": "a recorded call has run: its end is recorded, whatever its result is",
    "guard/request_repair.py": "the guard: whatever judging raises, the request of the program goes on as it is",
    "guard/guarded_request.py": "the guard: a report of the program that raises must not cost it its request",
    "agent/turn/calls/plan_run.py": "the tool boundary: what no task may carry becomes an exception of the call",
    "agent/turn/turn.py": "the top of a turn: a bug of ours leaves through the one exit, then goes on",
    "agent/conversation_checks.py": "a rule that fails is reported; it never closes a session",
    "agent/listener.py": "a listener of an author is foreign code; it never ends a turn",
    "session/request/validate.py": "a rule that fails: nothing is sent, and the error says so",
    "providers/connect.py": "an import begun early: `connect` meets its failure again, and tells",
    "agent/cancellation.py": "an exception in a caller stops its turn, and goes on after its end",
    "agent/model_request/response_stream.py": "a Model is foreign code: any exception ends its response and the turn",
    "system/threads.py": "work in a thread: whatever it raises is handed to whoever awaits it",
    "providers/http_model.py": "the provider boundary: whatever a response leads to becomes ProviderFailed",
    "providers/pydantic_ai/inferred_model.py": "the provider boundary: what a library raises becomes ProviderFailed",
    "host/plugins/plugin_load.py": "the boundary of plug-ins: whatever one raises at its import is its reason",
    "host/plugins/slash_reply.py": "the boundary of plug-ins: what a slash command raises becomes a refusal",
    "ui/startup/plugin_command.py": "the boundary of plug-ins: what a command raises becomes a sentence",
    "ui/main.py": "the top: a bug becomes a sentence, its traceback and an exit code",
    "ui/tui/agent_thread/command_loop.py": "the top of the agent thread: a bug becomes a message",
    "ui/acp/protocol/refusals.py": "the top of an editor's session: a bug becomes the answer to its request",
    "ui/service/local/driven_session.py": "the top of a session's thread: a bug must not end the server",
    "ui/service/application.py": "the top of a request: a bug becomes an answer with its safe headers",
}

# Adapters speak to libraries that say Any; typed_data is msgspec's, and field_types makes types for it of these tables.
ANY_ALLOWED = (
    "history/field_types.py",
    "history/field_tables.py",
    "history/formats/pydantic_ai/field_table.py",
    "guard/http_transports.py",
    "guard/requests_adapter.py",
    "guard/aiohttp_client.py",
    "history/objects.py",
    "ledger/google_adk_plugin.py",
    "ledger/langchain_agent.py",
    "ledger/openai_agents_session.py",
    "ledger/pydantic_ai_agent.py",
    "providers/pydantic_ai/messages.py",
    "testing/*",
    "typed_data.py",
)

LONGEST = {"src": 600, "tests": 600, "bench": 600}
"""Lines of a file. The aim is 400; a longer one has one subject too."""


def too_long(module: Source) -> Iterator[str]:
    """Yield a sentence if the file is longer than its folder allows."""
    limit = LONGEST[module.path.partition("/")[0]]
    lines = len(module.text.splitlines())
    if lines > limit:
        yield f"{lines} lines (expected at most {limit}): what can be deleted, what is a module of its own?"


def badly_named(module: Source) -> Iterator[str]:
    """Yield a sentence for each name that says a thing exists, not what it is."""
    for name in PurePosixPath(module.path).with_suffix("").parts:
        if name in words.MODULES:
            yield f"{name} says nothing about what is in it"
    for node in nodes(module.tree):
        if isinstance(node, ast.ClassDef):
            parts = set(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", node.name))
            if parts & words.CLASS_WORDS or node.name.lstrip("_").startswith("Base"):
                yield f"line {node.lineno}: class {node.name} is named for its role, not for what it is"


def catches_everything(module: Source) -> Iterator[str]:
    """Yield a sentence for each place that catches or suppresses more than it can know, and does not raise it again."""
    if module.inner in BROAD_EXCEPTS:
        return
    for node in nodes(module.tree):
        match node:
            case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
                continue
            case ast.ExceptHandler(type=None):
                caught: list[ast.expr] = []
                broad = True
            case ast.ExceptHandler(type=ast.Tuple(elts=caught)):
                broad = False
            case ast.ExceptHandler(type=ast.expr() as one):
                caught = [one]
                broad = False
            case ast.Call(func=function, args=caught) if dotted(function) in {"suppress", "contextlib.suppress"}:
                broad = False
            case _:
                continue
        if broad or any(dotted(each) in {"Exception", "BaseException"} for each in caught):
            yield f"line {node.lineno} catches everything, which only {', '.join(BROAD_EXCEPTS)} may"


def says_any(module: Source) -> Iterator[str]:
    """Yield a sentence for each use of Any outside the adapters."""
    if not any(fnmatch(module.inner, pattern) for pattern in ANY_ALLOWED):
        for name, line in imported(module.tree):
            if name in {"typing.Any", "typing_extensions.Any"}:
                yield f"line {line} imports Any, which only {', '.join(ANY_ALLOWED)} may"
        for node in nodes(module.tree):
            if isinstance(node, ast.Attribute) and dotted(node) == "typing.Any":
                yield f"line {node.lineno} uses Any, which only {', '.join(ANY_ALLOWED)} may"


def mocks(module: Source) -> Iterator[str]:
    """Yield a sentence for each import of a mock library."""
    for name, line in imported(module.tree):
        if any(within(name, library) for library in ("unittest.mock", "mock", "pytest_mock")):
            yield f"line {line} imports {name}: use a real thing, or a fake of holdfast.testing"


def excuses(module: Source) -> Iterator[str]:
    """Yield a sentence for each comment that silences a tool without naming the rule and the reason."""
    if not re.search(r"#\s*(type|ruff|pyright|noqa|pragma)", module.text):
        return
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type != tokenize.COMMENT:
            continue
        line = f"line {token.start[0]}: {token.string!r}"
        if re.search(r"#\s*(type:\s*ignore|ruff:\s*noqa|pyright:\s*basic)", token.string):
            yield f"{line} excuses too much; write `# noqa: CODE - reason` or `# pyright: ignore[rule] - reason`"
        elif re.search(r"#\s*(noqa|pyright:\s*ignore)\b", token.string) and not re.search(
            r"#\s*(noqa:\s*[A-Z]+\d+(\s*,\s*[A-Z]+\d+)*|pyright:\s*ignore\[\w+(\s*,\s*\w+)*\])\s*(-|#)+\s*\S",
            token.string,
        ):
            yield f"{line} does not say which rule and why: `# noqa: CODE - reason`"
        elif re.search(r"#\s*pragma:\s*no (cover|branch)\s*$", token.string):
            yield f"{line} does not say why"


def stray_texts(module: Source) -> Iterator[str]:
    """Yield a sentence for each text that documents nothing: neither what begins with it, nor the value before it."""
    for node in nodes(module.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for before, each in pairwise(node.body):
                match each:
                    case ast.Expr(ast.Constant(str())) if not isinstance(before, ast.Assign | ast.AnnAssign):
                        yield f"line {each.lineno} is a text that documents nothing: move it to what it is about"
                    case _:
                        pass


CONTRACTS: dict[Contract, tuple[str, ...]] = {
    too_long: ("src", "tests", "bench"),
    badly_named: ("src", "tests", "bench"),
    catches_everything: ("src",),
    says_any: ("src",),
    mocks: ("src", "tests", "bench"),
    excuses: ("src", "tests", "bench"),
    stray_texts: ("src", "tests", "bench"),
}


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_tree_keeps(contract: Contract) -> None:
    expect_none(complaints(contract, sources(*CONTRACTS[contract])))


@pytest.mark.parametrize(
    ("contract", "path", "text"),
    [
        (too_long, "src/holdfast/x.py", "x = 1\n" * 601),
        (too_long, "tests/test_x.py", "x = 1\n" * 601),
        (badly_named, "src/holdfast/utils.py", ""),
        (badly_named, "src/holdfast/core/x.py", ""),
        (badly_named, "src/holdfast/x.py", "class SessionManager: ..."),
        (badly_named, "src/holdfast/x.py", "class BaseStore: ..."),
        (badly_named, "src/holdfast/x.py", "class _HTTPHandler: ..."),
        (catches_everything, "src/holdfast/x.py", "try: ...\nexcept Exception: ..."),
        (catches_everything, "src/holdfast/x.py", "try: ...\nexcept (OSError, BaseException): ..."),
        (catches_everything, "src/holdfast/x.py", "try: ...\nexcept: ..."),
        (catches_everything, "src/holdfast/x.py", "with suppress(Exception): ..."),
        (says_any, "src/holdfast/x.py", "from typing import Any"),
        (says_any, "src/holdfast/x.py", "import typing\nx: typing.Any = 1"),
        (mocks, "tests/test_x.py", "from unittest.mock import Mock"),
        (mocks, "tests/test_x.py", "from unittest import mock"),
        (excuses, "src/holdfast/x.py", "x = 1  # " + "noqa"),
        (excuses, "src/holdfast/x.py", "x = 1  # " + "noqa: E501"),
        (excuses, "src/holdfast/x.py", "x = 1  # " + "pyright: ignore[reportAny]"),
        (excuses, "src/holdfast/x.py", "x = 1  # " + "type: ignore[x] - for mypy"),
        (excuses, "src/holdfast/x.py", "# " + "ruff: noqa: E501 - all of it"),
        (stray_texts, "src/holdfast/x.py", "import re\n'What was here moved.'"),
        (stray_texts, "src/holdfast/x.py", "class A:\n    def f(self): ...\n    'Of no value.'"),
    ],
)
def test_what_breaks_a_rule_is_found(contract: Contract, path: str, text: str) -> None:
    assert list(contract(source(path, text)))


@pytest.mark.parametrize(
    ("contract", "text"),
    [
        (badly_named, "class DatabaseStore: ...\nclass Utility: ..."),
        (catches_everything, "try: ...\nexcept (OSError, ValueError): ..."),
        (catches_everything, "try: ...\nexcept BaseException:\n    close()\n    raise"),
        (excuses, "x = 1  # " + "noqa: E501, S101 - the address is one word"),
        (excuses, "x = '# " + "noqa'"),
        (stray_texts, "'Of the module.'\nx: int = 1\n'Of x.'\nclass A:\n    'Of A.'\n    y = 1\n    'Of y.'"),
        (excuses, "x = 1  # " + "pyright: ignore[reportAny] - the library says Any"),
    ],
)
def test_what_keeps_the_rules_passes(contract: Contract, text: str) -> None:
    assert list(contract(source("src/holdfast/x.py", text))) == []


def test_every_broad_except_is_still_needed() -> None:
    written = {each.inner: each for each in sources("src")}
    unused = [
        path
        for path in BROAD_EXCEPTS
        if path in written and not re.search(r"except (Base)?Exception|suppress\((Base)?Exception", written[path].text)
    ]
    assert unused == []


def test_test_modules_have_names_of_their_own() -> None:
    names = [PurePosixPath(path).name for path in files() if path.startswith("tests/") and path.endswith(".py")]
    assert sorted({name for name in names if names.count(name) > 1 and name != "conftest.py"}) == []


def test_the_tools_are_as_strict_as_the_house() -> None:
    text = read("pyproject.toml")
    tool = tomllib.loads(text)["tool"]
    assert tool["ruff"]["lint"]["select"] == ["ALL"]
    assert tool["pyright"]["typeCheckingMode"] == "strict"
    assert tool["pytest"]["ini_options"]["filterwarnings"] == ["error"]
    ignored = re.findall(r'^    "[A-Z]+\d*",(.*)$', text, flags=re.MULTILINE)
    assert ignored
    assert [comment for comment in ignored if not re.search(r"#\s*\S+", comment)] == []
