"""Completes patches without their first or last line, and converts unified diffs to patches. Pure.

Only these two lines are added: the parser decides whether the lines in between are hunks.
"""

from __future__ import annotations

import re

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (?:Add|Delete|Update) File:")
_FENCE = re.compile(r"```[a-z]*")
_NAMES_FILE = re.compile(r"(?:---|\+\+\+) (.+?)(?:\t.*)?")
_BETWEEN = re.compile(
    r"diff --git .*|index [0-9a-f]+\.\.[0-9a-f]+.*|(?:new|deleted) file mode \d+|(?:old|new) mode \d+|=+|Index: .*|"
)
_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@.*")
_NOWHERE = "/dev/null"


def complete_patch(text: str) -> tuple[str, str]:
    """Return the complete patch, and a sentence on what was changed, "" if nothing."""
    lines = text.replace("\r\n", "\n").strip().split("\n")
    if lines and _FENCE.fullmatch(lines[0].strip()):
        lines = lines[1:]
    if lines and lines[-1].strip() == "```":
        lines.pop()
    has = {line.strip() for line in lines}
    if _BEGIN not in has and _END not in has and (patch_lines := _from_diff(lines)):
        return "\n".join(
            [_BEGIN, *patch_lines, _END]
        ), "The unified diff was read as a patch; its line numbers were not looked at."
    added: list[str] = []
    if _BEGIN not in has and lines and _FILE.match(lines[0].strip()):
        lines.insert(0, _BEGIN)
        added.append(_BEGIN)
    if _END not in has and _BEGIN in {_BEGIN if added else "", *has}:
        lines.append(_END)
        added.append(_END)
    if not added:
        return text, ""
    return "\n".join(lines), f"The patch had no line {' and no line '.join(map(repr, added))}: it was read to its end."


def _from_diff(lines: list[str]) -> list[str] | None:
    """Return the lines of a patch for a unified diff, None if it is not one."""
    patch_lines: list[str] = []
    at = 0
    while at < len(lines):
        if _BETWEEN.fullmatch(lines[at]):
            at += 1
            continue
        named = [_NAMES_FILE.fullmatch(line) for line in lines[at : at + 2]]
        if len(named) != 2 or named[0] is None or named[1] is None:  # noqa: PLR2004 - the old and the new
            return None
        before, after = (_path(found[1].strip()) for found in named if found is not None)
        at, hunks = _hunks(lines, at + 2)
        if not hunks and after != _NOWHERE:
            return None
        if after == _NOWHERE:
            patch_lines.append(f"*** Delete File: {before}")
        elif before == _NOWHERE:
            patch_lines += [f"*** Add File: {after}", *(line for line in hunks if line.startswith("+"))]
        else:
            patch_lines += [
                f"*** Update File: {before}",
                *([f"*** Move to: {after}"] if after != before else []),
                *hunks,
            ]
    return patch_lines or None


def _hunks(lines: list[str], at: int) -> tuple[int, list[str]]:
    """Return where the hunks from line `at` on end, and their lines. Their ranges say how many lines they have."""
    hunk_lines: list[str] = []
    while at < len(lines) and (found := _RANGE.fullmatch(lines[at])) is not None:
        old, new = (1 if count is None else int(count) for count in (found[2], found[4]))
        hunk_lines.append("@@")
        at += 1
        while at < len(lines) and (old > 0 or new > 0 or lines[at][:1] in ("-", "+", " ", "\\")):
            line = lines[at]
            ends = (
                old <= 0
                and new <= 0
                and line.startswith("--- ")
                and lines[at + 1 : at + 2]
                and (lines[at + 1].startswith("+++ "))
            )
            if ends or line[:1] not in ("-", "+", " ", "\\", ""):
                break
            if line[:1] != "\\":  # `\ No newline at end of file`
                hunk_lines.append(line or " ")
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
            at += 1
    return at, hunk_lines


def _path(name: str) -> str:
    return name[2:] if name[:2] in ("a/", "b/") else name
