"""The version of a fold covers every module that decides what a fold is."""

from __future__ import annotations

import ast
from pathlib import Path

import holdfast
from holdfast.session.conversation.checkpoint import FOLDING, decode_checkpoint, fold_version

ROOT = Path(holdfast.__file__).parent
BEGIN = ("session/conversation/checkpoint.py",)
OTHERS = {"errors.py", "system/bounded_files.py", "typed_data.py"}
"""Modules that decide nothing about what entries mean."""


def _file(name: str) -> str:
    """Return the path of holdfast's module with this name, "" if it is none."""
    path = f"{name.removeprefix('holdfast.').replace('.', '/')}.py"
    return path if (ROOT / path).is_file() else ""


def _imported(path: str) -> set[str]:
    """Return the files of the modules that one imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("holdfast"):
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return {file for file in map(_file, names) if file}


def test_the_version_covers_every_module_that_a_fold_imports() -> None:
    found: set[str] = set()
    rest = set(BEGIN)
    while rest:
        path = rest.pop()
        found.add(path)
        rest |= _imported(path) - found
    assert found - OTHERS == set(FOLDING), "list it in FOLDING: a checkpoint of another fold must not be used"


def test_a_version_is_the_same_in_every_process() -> None:
    version = fold_version()
    fold_version.cache_clear()
    assert len(version) == 32
    assert fold_version() == version


def test_what_is_no_checkpoint_is_not_decoded() -> None:
    for data in (b"", b"{}", b"[]", b"[1, 2]", b"\xff", b"[" * 100_000):
        assert decode_checkpoint(data) is None
