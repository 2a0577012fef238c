"""The page of commands that run unasked says what the tables say.

HOLDFAST_WRITE_READ_ONLY=1 writes its tables again.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.tools.shell.git_commands import GIT_READERS
from holdfast.tools.shell.read_only_programs import READERS, VERSIONS

PAGE = Path(__file__).parents[3] / "docs/reference/read-only-commands.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def tables() -> str:
    """Return the part of the page that is made from the tables."""
    lines = ["| programs | not with |", "|---|---|"]
    for row in READERS:
        options = [f"`-{each}`" for each in row.short] + [f"`--{each}`" for each in sorted(row.long)]
        if row.most == 1:
            options.append("a second file")
        lines.append(f"| {' '.join(f'`{name}`' for name in row.names)} | {' '.join(options)} |")
    lines += ["", "| git | not with | only with |", "|---|---|---|"]
    for git in GIT_READERS:
        more, only = (" ".join(f"`{each}`" for each in text.split()) for text in (git.more, f"{git.words} {git.only}"))
        lines.append(f"| {' '.join(f'`{name}`' for name in git.names.split())} | {more} | {only} |")
    lines += ["", "Asked for their version alone: " + ", ".join(f"`{name}`" for name in VERSIONS) + "."]
    return "\n".join(lines)


def test_the_page_lists_what_the_tables_list() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    if os.environ.get("HOLDFAST_WRITE_READ_ONLY"):
        PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
        return
    assert written.strip() == tables(), "run this test with HOLDFAST_WRITE_READ_ONLY=1"
