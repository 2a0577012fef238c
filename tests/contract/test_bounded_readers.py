"""Every file that others may have written is read through the bounded reader, and the page has the bound."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from source_tree import Source, complaints, dotted, expect_none, nodes, read, source, sources

from outside_bytes import BYTES
from outside_readers import FILES

PAGE = "docs/reference/limits.md"

ALLOWED = {
    "system/bounded_files.py": "the reader itself",
    "testing/*": "fakes read what the tests wrote",
    "*/__init__.py": "reads what is installed",
    "agent/context/system_prompt.py": "a file of the package",
    "agent/context/summary_request.py": "a file of the package",
    "host/prompt_expansion.py": "a file of the package",
    "providers/catalog.py": "a file of the package",
    "providers/model_table.py": "a file of the package",
    "providers/refusals.py": "a file of the package",
    "tools/known_programs/*": "files of the package",
    "tools/test_runs/runner_table.py": "a file of the package",
    "tools/workspace/autorun_files.py": "a file of the package",
    "tools/arguments/name_aliases.py": "a file of the package",
    "fleet/postgres/schema.py": "files of the package",
    "ui/export/html.py": "a file of the package",
    "ui/service/page.py": "files of the package",
    "ui/demo/story.py": "a folder of the demo's own",
    "session/storage/salvage.py": "copies in a folder of its own, of files that were opened as regular ones",
    "session/storage/wal.py": "likewise; the writer's own log, under its lease",
    "ui/commands/doctor/probes.py": "files of the kernel",
    "providers/credentials/process_environment.py": "a file of the kernel",
    "tools/process/launch.py": "a file of the kernel",
    "ui/mcp_server/session_worker.py": "a file of the kernel",
    "system/safe_paths.py": "opens beneath a folder, regular files only",
    "undo/path_states.py": "opens folders only",
    "tools/process/end_record.py": "imports the standard library only, and follows no link",
    "tools/background/kept_output.py": "writes; reads by `open_regular_file`",
    "ui/commands/input_document.py": "a document that the user names may be a pipe; bounded",
    "ui/commands/session_import.py": "likewise",
    "ui/tui/pages/git_diff.py": "looks first, and reads at most a bound",
    "tools/workspace/file_walk.py": "beneath an open folder, by `open_regular_in`",
    "tools/workspace/atomic_write.py": "writes",
    "ui/main.py": "the null device",
    "ui/service/access.py": "reads again what the bounded reader has just read",
    "fleet/places/local_places.py": "a file of git in a worktree that holdfast made",
    "fleet/places/place.py": "a file of the worker's own state",
}
"""The modules that read in another way, each with the reason."""

READS = ("read_bytes", "read_text")


def reads_unbounded(module: Source) -> Iterator[str]:
    """Yield a sentence for each read that takes whatever is there and waits as long as it must."""
    if any(ast_match(module.inner, pattern) for pattern in ALLOWED):
        return
    for node in nodes(module.tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func) if isinstance(node.func, ast.Attribute | ast.Name) else ""
            last = node.func.attr if isinstance(node.func, ast.Attribute) else name
            if last in READS or (last == "open" and _for_reading(node, name)):
                yield f"line {node.lineno} reads with {last}: use system/bounded_files.py with a bound, and add a row"


def ast_match(path: str, pattern: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), path) is not None


def _for_reading(call: ast.Call, name: str) -> bool:
    """Return whether a call of `open` opens a path for reading; other things have an `open` too."""
    if name == "os.open":
        written = ast.unparse(call)
        return "O_RDONLY" in written and not any(each in written for each in ("O_DIRECTORY", "O_NONBLOCK", "devnull"))
    at = 1 if name in ("open", "io.open") else 0
    mode = next((each.value for each in call.keywords if each.arg == "mode"), None)
    if mode is None and len(call.args) > at:
        mode = call.args[at]
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        return mode.value.startswith("r")
    return name == "open"


def test_every_reader_is_bounded() -> None:
    expect_none(complaints(reads_unbounded, sources("src")))


@pytest.mark.parametrize(
    "text",
    [
        "def f(p):\n    return p.read_bytes()",
        "from pathlib import Path\nPath('a').read_text('utf-8')",
        "open('a')",
        "with open('a', 'rb') as f: pass",
        "def f(p):\n    return p.open('rb')",
        "import os\nos.open('a', os.O_RDONLY | os.O_CLOEXEC)",
    ],
)
def test_a_reader_without_a_bound_is_found(text: str) -> None:
    assert list(reads_unbounded(source("src/holdfast/agent/agent.py", text)))


def size(number: int) -> str:
    """Return a bound as the page writes it."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number % unit == 0 and (number < 1 << 20 or unit > 1 << 10):
            return f"{number // unit:,} {name}"
    return f"{number:,} bytes"


def rows(heading: str) -> list[tuple[str, str]]:
    section = read(PAGE).split(f"## {heading}\n")[1].split("\n## ")[0]
    return [(name, bound) for name, bound in re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.MULTILINE)][1:]


@pytest.mark.parametrize(("heading", "table"), [("Files", FILES), ("Bytes", BYTES)])
def test_the_page_has_the_readers_of_the_table_and_their_bounds(heading: str, table: tuple[object, ...]) -> None:
    expected = [(each.name, size(each.bound)) for each in (FILES if table is FILES else BYTES)]
    assert [row for row in rows(heading) if not row[0].startswith("-")] == expected


def test_no_allowance_outlives_its_file() -> None:
    paths = [module.inner for module in sources("src")]
    assert [pattern for pattern in ALLOWED if not any(ast_match(path, pattern) for path in paths)] == []
