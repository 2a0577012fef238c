"""A file that is created is never opened through a link, and a temporary one never over another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from source_tree import Source, complaints, expect_none, nodes, source, sources

# Files that are opened again and again under one name, in a folder of the session's or of holdfast's own.
REOPENED = (
    "session/storage/lease.py",
    "providers/credentials/server_sign_ins.py",
    "agent/debug_log/log_file.py",
    "tools/process/launch.py",
    "tools/process/supervisor.py",
)

WRITES = ("write_text", "write_bytes", "copyfile", "copy2", "copy")

# A file that writes by name, and why no other user can have put a link there.
EXCEPTIONS: dict[str, str] = {
    "session/storage/wal.py": "copies into a temporary folder of its own",
    "ui/demo/story.py": "makes the project of the demo in a temporary folder of its own",
}


def follows_links(module: Source) -> Iterator[str]:
    """Yield a sentence for each file that is created where a link may stand."""
    inner: set[int] = set()
    for node in nodes(module.tree):
        if isinstance(node, ast.BinOp) and id(node) not in inner:
            inner.update(id(each) for each in ast.walk(node))
            flags = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
            if "O_CREAT" in flags and "O_NOFOLLOW" not in flags:
                yield f"line {node.lineno} creates a file without O_NOFOLLOW"
            if "O_CREAT" in flags and "O_EXCL" not in flags and module.inner not in REOPENED:
                yield f"line {node.lineno} creates a file without O_EXCL"
        name = _writes(node)
        if name and module.inner not in EXCEPTIONS:
            yield f"line {getattr(node, 'lineno', 0)} writes to a name by {name}"


def _writes(node: ast.AST) -> str:
    """Return the name of the function by which a file is written; a `copy` of a value has one argument at most."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    name = node.func.attr
    return name if name in WRITES and not (name == "copy" and len(node.args) < 2) else ""


def test_created_files_follow_no_link() -> None:
    expect_none(complaints(follows_links, sources("src")))


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.open('x', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)",
        "import os\nflags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC\nos.open('x', flags, 0o600)",
        "from pathlib import Path\nPath('x').write_text('y')",
        "import shutil\nshutil.copy2('x', 'y')",
    ],
)
def test_a_file_created_through_a_link_is_found(code: str) -> None:
    assert list(follows_links(source("src/holdfast/session/known_bad.py", code)))
