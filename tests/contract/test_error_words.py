"""Error messages are sentences: `What failed: why. What to do.`"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from source_tree import Source, complaints, dotted, expect_none, nodes, read, source, sources

PLACEHOLDER = "\N{REPLACEMENT CHARACTER}"


def error_classes(errors: str) -> dict[str, bool]:
    """Return the classes of errors.py; True for those that the user caused: their messages say what to do."""
    classes: dict[str, bool] = {}
    for node in ast.parse(errors).body:
        if isinstance(node, ast.ClassDef):
            bases = [dotted(base) for base in node.bases]
            if bases == ["Exception"] or any(base in classes for base in bases):
                classes[node.name] = node.name == "UsageError" or any(classes.get(base, False) for base in bases)
    return classes


ERRORS = error_classes(read("src/holdfast/errors.py"))

BEGINNING = re.compile(rf"[A-Z{PLACEHOLDER}]|--?\w|/[a-z{PLACEHOLDER}]|\[[a-z]")
"""A capital, a value, or the option, command or section that is wrong."""

REMEDY = re.compile(r"\bmust\b|\bexpected\b|\btakes\b|\byet\b|\bUsage: ")
"""One sentence that has one of these says what to do by saying what is right."""


def misworded(module: Source) -> Iterator[str]:
    """Yield a sentence for each error message in `module` that is not in the form, as far as its literal shows."""
    if not any(name in module.text for name in ERRORS):
        return
    functions = [node for node in nodes(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    seen: set[ast.Call] = set()
    for scope in [*reversed(functions), module.tree]:  # inner functions come later: their names are theirs
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and node not in seen:
                seen.add(node)
                yield from _misworded_call(node, scope)


def _misworded_call(call: ast.Call, scope: ast.AST) -> Iterator[str]:
    name = dotted(call.func).rpartition(".")[2]
    if name not in ERRORS or not call.args:
        return
    for text in _literals(call.args[0], scope):
        shown = f"line {call.lineno}, {name}: {text.replace(PLACEHOLDER, '{}')!r}"
        if not BEGINNING.match(text):
            yield f"{shown} does not begin with a capital, or with the option, command or section that is wrong"
        # A last placeholder after a full stop, a colon or another one stands for a sentence.
        ends = re.findall(rf"[.?](?=\s|$)|(?<=[.:{PLACEHOLDER}] ){PLACEHOLDER}$", text)
        if not (text.endswith((".", PLACEHOLDER)) and ends) and not text.startswith("Usage: "):
            yield f"{shown} does not end with a full stop"
        with_advice = any(keyword.arg == "fault" for keyword in call.keywords)  # by the surface that shows it
        if ERRORS[name] and not with_advice and len(ends) < 2 and not REMEDY.search(text):
            yield f"{shown} does not say what to do next"


def _literals(node: ast.expr, scope: ast.AST) -> Iterator[str]:
    """Yield each text `node` can be, with placeholders; nothing where only running would tell."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            yield "".join(str(value.value) if isinstance(value, ast.Constant) else PLACEHOLDER for value in values)
        case ast.IfExp(body=body, orelse=other):
            yield from _literals(body, scope)
            yield from _literals(other, scope)
        case ast.Name(id=variable):
            for each in ast.walk(scope):
                if isinstance(each, ast.Assign) and [dotted(target) for target in each.targets] == [variable]:
                    yield from _literals(each.value, scope)
        case _:
            return


def test_every_error_is_a_sentence_and_says_what_to_do() -> None:
    expect_none(complaints(misworded, sources("src")))


def test_the_classes_are_known() -> None:
    assert ERRORS["ConfigInvalid"]
    assert not ERRORS["ToolFailed"]
    assert "ProviderFailed" in ERRORS


@pytest.mark.parametrize(
    "text",
    [
        "raise StateError('the store is closed.')",
        "raise StateError('The store is closed')",
        "raise ToolFailed(f'{path} is a folder')",
        "raise ToolFailed(f'No such file {path}')",
        "raise UsageError(f'Model {name!r} is unknown {hint}')",
        "raise UsageError('Unknown session.')",
        "raise UsageError('--x is wrong.')",
        "raise UsageError('. Pass a directory.')",
        "def f():\n    msg = 'no such file'\n    raise ToolFailed(msg)",
        "def f():\n    return errors.ModelUnusable(f'Model {name!r} is unknown.')",
        "raise StateError('Closed.' if closed else 'busy.')",
    ],
)
def test_a_bad_message_is_found(text: str) -> None:
    assert list(misworded(source("src/holdfast/x.py", text)))


@pytest.mark.parametrize(
    "text",
    [
        "raise ToolFailed(f'{path} is a directory. Name a file in it.')",
        "raise UsageError(f'Unknown session {id!r}. List sessions with: holdfast sessions list.')",
        "raise UsageError(f'-C {folder!r} is not a directory. Pass an existing directory.')",
        "raise UsageError('--timeout must be greater than 0.')",
        "raise UsageError('/new takes no arguments.')",
        "raise UsageError('Usage: /rename TITLE')",
        "raise UsageError(f'File {path!r} already exists.', fault='file_exists')",
        "raise StateError(message)",
        "raise UsageError(f'Unknown model {name!r} (expected one of {all}). {nearest}')",
        "def f():\n    msg = 'no such file'\n\ndef g():\n    msg = 'A file is missing.'\n    raise ToolFailed(msg)",
    ],
)
def test_a_good_message_passes(text: str) -> None:
    assert list(misworded(source("src/holdfast/x.py", text))) == []
