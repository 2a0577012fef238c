"""Plain technical English: no banned phrase in docstrings, comments and texts."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest
from source_tree import ROOT, Source, complaints, expect_none, files, nodes, source, sources
from words import PHRASES

FIXED = {
    "src/holdfast/session/model_notices.py": "old journals fold to the same bytes, so its notices stay as they are"
}
"""Files that keep their words, and why."""

THIS_FILE = "tests/contract/test_language.py"

MOST_HEADINGS = 12
"""Modules that may begin a text with "Rule:" or "Two rules."; the others say the rule in a sentence."""

_RULES = re.compile(r"""^\s*(?:\"{3}|#\s*)?(?:Rules?:|(?:One|Two|Three|Four|Five) rules?[.:])""", re.MULTILINE)

DOCUMENTS = (".md", ".sql", ".tcss", ".css", ".html", ".jinja", ".js", "Makefile", ".ci/run", "pyproject.toml")
"""The ends of the paths of other texts than Python's."""

DECISIONS = "docs/decisions/"
"""Records keep the words they were accepted in."""

PROMISE = "truth is told"
"""The name of P9, in the README and in the guarantees."""

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)

_PHRASES = "|".join(each.replace(" ", r"\s+") for each in PHRASES)
_FOUND = re.compile(rf"\b(?:{_PHRASES})\b", re.IGNORECASE)


def written(module: Source) -> Iterator[tuple[int, str]]:
    """Yield each docstring, text and comment of `module` with the line it begins at; line ends become spaces.

    The public names in `__all__` are no words.
    """
    names = {id(each) for node in module.tree.body for each in _exported(node)}
    for node in nodes(module.tree):
        if id(node) in names:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, " ".join(node.value.split())
        elif isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, " ".join("".join(parts).split())
    yield from comments(module)


def _exported(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            yield from ast.walk(node)
        case _:
            pass


def explained(module: Source) -> Iterator[tuple[int, str]]:
    """Yield each docstring, comment and name of a definition; the other texts of a test are what it tries."""
    for node in nodes(module.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield node.lineno, " ".join(text.split())
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name.replace("_", " ")
            case _:
                pass
    yield from comments(module)


def comments(module: Source) -> Iterator[tuple[int, str]]:
    """Yield each comment with its line."""
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def private_words(module: Source) -> Iterator[str]:
    """Yield a sentence for each banned phrase in what `module` says."""
    texts = written(module) if module.path.startswith("src/") else explained(module)
    found = {(line, phrase[0].lower()) for line, text in texts for phrase in _FOUND.finditer(text)}
    for line, phrase in sorted(found):
        yield f"line {line} says {phrase!r}; write: {PHRASES[phrase]}"


def said_privately(path: str, text: str) -> Iterator[str]:
    """Yield a sentence for each banned phrase in a document, outside of code, also where a line ends in it."""
    prose = _CODE.sub(lambda code: re.sub(r"[^\n]", "`", code[0]), text).replace(PROMISE, "")
    for found in _FOUND.finditer(prose):
        phrase, line = " ".join(found[0].lower().split()), prose.count("\n", 0, found.start()) + 1
        yield f"{path} line {line} says {phrase!r}; write: {PHRASES[phrase]}"


def test_the_documents_speak_plainly() -> None:
    papers = (path for path in files() if path.endswith(DOCUMENTS) and DECISIONS not in path)
    expect_none(complaint for path in papers for complaint in said_privately(path, (ROOT / path).read_text()))


def test_the_source_speaks_plainly() -> None:
    expect_none(complaints(private_words, (each for each in sources("src") if each.path not in FIXED)))


def test_the_tests_speak_plainly() -> None:
    expect_none(complaints(private_words, (each for each in sources("tests", "bench") if each.path != THIS_FILE)))


def test_what_is_excepted_is_there() -> None:
    assert set(FIXED) <= set(files())


def test_the_list_is_long_enough() -> None:
    assert len(PHRASES) >= 20


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize(
    "snippet",
    [
        'def f():\n    """Return it; {} here."""\n',
        'x = "so {}."\n',
        'x = f"so {} for {{y}}"\n',
        'x = (\n    "a: {}"\n    " b"\n)\n',
        "x = 1  # because {} here\n",
        'raise UsageError(f"{{x}} {}. Change it.")\n',
    ],
)
def test_a_banned_phrase_is_found(phrase: str, snippet: str) -> None:
    assert list(private_words(source("src/holdfast/x.py", snippet.format(phrase))))
    assert list(private_words(source("src/holdfast/x.py", snippet.format(phrase.capitalize()))))


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_banned_phrase_in_a_test_is_found(phrase: str) -> None:
    for snippet in ('def f():\n    """It {} here."""\n', "x = 1  # because {} here\n"):
        assert list(private_words(source("tests/x.py", snippet.format(phrase))))
    assert list(private_words(source("tests/x.py", "def test_it_is_told_so() -> None: ...\n")))
    assert list(private_words(source("tests/x.py", f'x = "{phrase}"\n'))) == []


def test_few_modules_have_a_heading_of_rules() -> None:
    with_heading = [each.path for each in sources("src") if _RULES.search(each.text)]
    assert len(with_heading) <= MOST_HEADINGS, with_heading


@pytest.mark.parametrize("text", ['"""Rule: one.', "Two rules.", "  # Rules: a, b.", "Three rules: one"])
def test_a_heading_of_rules_is_found(text: str) -> None:
    assert _RULES.search(text)
    assert not _RULES.search(f"The name of a {text}")


def test_the_tools_of_the_project_are_read() -> None:
    read = {path for path in files() if path.endswith(DOCUMENTS)}
    assert {"Makefile", ".ci/run", "pyproject.toml", "README.md"} <= read


def test_a_phrase_over_two_lines_is_found() -> None:
    text = 'def f():\n    """Return what the model is\n    told.\n    """\n'
    assert list(private_words(source("src/holdfast/x.py", text)))


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("text", ["It {} so.\n", "# {}\n", "`x` {}\n", "| {} | x |\n"])
def test_a_banned_phrase_in_a_document_is_found(phrase: str, text: str) -> None:
    assert list(said_privately("docs/a.md", text.format(phrase)))
    assert list(said_privately("docs/a.md", text.format(phrase.replace(" ", "\n  "))))


@pytest.mark.parametrize("text", ["`nobody` sees it\n", "```\nmended\n```\n", "**The truth is told.**\n", "amend it\n"])
def test_code_and_plain_words_in_a_document_pass(text: str) -> None:
    assert list(said_privately("docs/a.md", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    """Return the message for the user."""\n',
        "mend = nobody = 1\n",
        'x = "recommended amendments"  # this_told\n',
    ],
)
def test_plain_words_pass(text: str) -> None:
    assert list(private_words(source("src/holdfast/x.py", text))) == []
