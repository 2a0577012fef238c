"""The page of commands that run unasked says what the tables say.

HOLDFAST_WRITE_READ_ONLY=1 writes its tables again.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.tools.known_programs.readers import GIT_READERS, READERS, VERSIONS
from holdfast.tools.shell.closed_options import ClosedOptions

PAGE = Path(__file__).parents[3] / "docs/reference/read-only-commands.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def options(of: ClosedOptions | None) -> str:
    """Return the options as the page shows them."""
    if of is None:
        return "any"
    letters = "".join(sorted({*of.flags, *of.values}))
    shown = ([f"`-{letters}`"] if letters else []) + [f"`--{each}`" for each in sorted({*of.long, *of.long_values})]
    return " ".join([*shown, *(["`-NUMBER`"] if of.numbers else [])])


def tables() -> str:
    """Return the part of the page that is made from the tables."""
    lines = ["| programs | options |", "|---|---|"]
    for row in READERS:
        more = "; one file" if row.most == 1 else ""
        lines.append(f"| {' '.join(f'`{name}`' for name in row.names)} | {options(row.options)}{more} |")
    lines += ["", "| git | options | words |", "|---|---|---|"]
    for git in GIT_READERS:
        words = " ".join(f"`{each}`" for each in git.words.split())
        lines.append(f"| {' '.join(f'`{name}`' for name in git.names.split())} | {options(git.options)} | {words} |")
    versions = ", ".join(f"`{name}` ({' '.join(sorted(words))})" for name, words in VERSIONS.items())
    lines += ["", f"Asked for their version alone: {versions}."]
    return "\n".join(lines)


def test_the_page_lists_what_the_tables_list() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    if os.environ.get("HOLDFAST_WRITE_READ_ONLY"):
        PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
        return
    assert written.strip() == tables(), "run this test with HOLDFAST_WRITE_READ_ONLY=1"
