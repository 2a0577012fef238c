"""Names: a public name stands in one module, a module is named by a noun, a folder is seen at a glance.

A search for a name finds one thing. That is checked for what stands at the top of the modules of `src/holdfast`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import words
from source_tree import Source, complaints, expect_none, nodes, source, sources

ONE_FOR_EACH = {
    "FORMAT": "each module of a format offers its format by this name",
    "WIRE": "each module of a protocol offers the protocol by this name",
    "RULES": "each module of rules offers its rules by this name",
    "find": "each module of rules finds what breaks them",
    "check": "each protocol of the scripted provider checks a body; `holdfast.history.check` checks a document",
    "main": "each command, and each program of a process of its own, begins here",
    "command_parser": "each command describes its own words",
    "Rename": "a command of a session, and an edit of a document",
    "T": "a type variable",
}
"""The public names that several modules have, and why."""

NOUNS = {"testing", "pairing", "thinking", "keyring", "mapping", "listing", "opening"}
"""Nouns that look like a gerund or a participle."""

MOST_FILES = 20
"""The most modules beside each other, without `__init__.py`."""

STORED = {
    "fleet/record.py": {"asking", "held", "holds"},
}
"""The fields with such a name that are written to a journal, a database or the network, by their module."""

_GERUND = re.compile(r"(?:ing|ed)$")


def shared(modules: Iterable[Source]) -> Iterator[str]:
    """Yield a sentence for each public name at the top of more than one module."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in modules:
        for name in sorted(_public(each.tree)):
            found[name].append(each.inner)
    for name, paths in sorted(found.items()):
        if len(paths) > 1 and name not in ONE_FOR_EACH:
            yield f"{name} stands in {', '.join(paths)}: give each its own name"


def ill_named(module: Source) -> Iterator[str]:
    """Yield a sentence for each word of a module's path that is no noun."""
    for word in PurePosixPath(module.inner).with_suffix("").parts:
        last = word.rpartition("_")[2]
        if _GERUND.search(last) and last not in NOUNS:
            yield f"{word} is no noun: name the module for its subject"


def crowded(paths: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each folder of too many modules."""
    folders: dict[str, int] = defaultdict(int)
    for path in paths:
        if PurePosixPath(path).name != "__init__.py":
            folders[str(PurePosixPath(path).parent)] += 1
    for folder, count in sorted(folders.items()):
        if count > MOST_FILES:
            yield f"{folder} has {count} modules: put those of one subject in a folder"


def vague(module: Source) -> Iterator[str]:
    """Yield a sentence for each name that a module gives to something, and that does not say what it is."""
    for node in nodes(module.tree):
        name = given_name(node)
        if name.strip("_") in words.NAMES - STORED.get(module.inner, set()):
            line = getattr(node, "lineno", 0)
            yield f"line {line}: {name} does not say what it is: name it for its content or its work"


def given_name(node: ast.AST) -> str:
    """Return the name that the node gives to a function, a class, a parameter, a variable or a field, "" if none."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.arg(arg=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return name
        case _:
            return ""


def _public(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def test_a_public_name_stands_in_one_module() -> None:
    expect_none(shared(sources("src/holdfast")))


def test_a_module_is_named_for_its_subject() -> None:
    expect_none(complaints(ill_named, sources("src/holdfast")))


def test_a_folder_is_seen_at_a_glance() -> None:
    expect_none(crowded(each.path for each in sources("src/holdfast")))


def test_a_name_says_what_it_is() -> None:
    expect_none(complaints(vague, sources("src/holdfast")))


def test_the_exceptions_are_needed() -> None:
    found: dict[str, int] = defaultdict(int)
    for each in sources("src/holdfast"):
        for name in _public(each.tree):
            found[name] += 1
    expect_none(f"{name} stands in one module now: take it out" for name in ONE_FOR_EACH if found[name] < len("ab"))
    for inner, names in STORED.items():
        (module,) = (each for each in sources("src/holdfast") if each.inner == inner)
        given = {given_name(node) for node in nodes(module.tree)}
        expect_none(f"{inner} has no {name} now" for name in names if name not in given)


def test_each_of_these_is_found() -> None:
    one = source("src/holdfast/a.py", "class Thing: ...\n")
    other = source("src/holdfast/b.py", "Thing: int = 1\n_hidden = 2\n")
    assert list(shared([one, other])) == ["Thing stands in a.py, b.py: give each its own name"]
    assert list(ill_named(source("src/holdfast/agent/seeing.py", "")))
    assert list(ill_named(source("src/holdfast/agent/turn/aimed.py", "")))
    assert not list(ill_named(source("src/holdfast/history/pairing.py", "")))
    assert list(crowded(f"src/holdfast/agent/m{at}.py" for at in range(MOST_FILES + 1)))
    assert list(vague(source("src/holdfast/a.py", "def _told(said): ...\n")))
    assert not list(vague(source("src/holdfast/fleet/record.py", "asking = 1\n")))
