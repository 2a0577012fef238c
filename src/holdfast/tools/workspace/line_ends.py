"""Which line ends a new file gets, as `.editorconfig` or `.gitattributes` of its project say.

Only CRLF is asked for here: a model writes LF. The nearest file that says something about the name decides, and in it
the last rule that fits. Of EditorConfig `end_of_line` and `root` are read, of git's attributes `eol`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.bounded_files import read_bounded
from holdfast.tools.workspace.globs import globs

EDITOR_CONFIG, ATTRIBUTES = ".editorconfig", ".gitattributes"
LARGEST_RULES = 64 * 1024
"""Bytes of a file with rules; a larger one says nothing here."""
_DEEPEST = 64
"""Folders above a file that are looked into."""


def crlf_rule(root: Path, file: Path) -> str:
    """Return the name of the file below `root` that asks for CRLF in a new `file`, "" if none does. Never raises."""
    for name, rules in ((EDITOR_CONFIG, _editor_config), (ATTRIBUTES, _attributes)):
        for folder in [each for each in file.parents if each.is_relative_to(root)][:_DEEPEST]:
            try:
                text = read_bounded(folder / name, LARGEST_RULES).decode("utf-8", "replace")
            except OSError:  # most folders have none; one that cannot be read says nothing
                continue
            ends, is_last = rules(text, file.relative_to(folder).parts)
            if ends:
                return name if ends == "crlf" else ""
            if is_last:
                break
    return ""


def with_line_ends(root: Path, file: Path, content: bytes) -> tuple[bytes, str]:
    """Return the content of a new `file` with the line ends that its project asks for, and words about them."""
    if b"\n" not in content or b"\r\n" in content:
        return content, ""
    rule = crlf_rule(root, file)
    return (content.replace(b"\n", b"\r\n"), f"CRLF, as {rule} says") if rule else (content, "")


def _editor_config(text: str, parts: tuple[str, ...]) -> tuple[str, bool]:
    """Return the line ends that an `.editorconfig` gives a file below its folder, "" for none; if it is the root."""
    ends, fits, is_root = "", False, False
    before_sections = True
    for key, value in _lines(text):
        if not value and key.startswith("[") and key.endswith("]"):
            before_sections, fits = False, _fits(key[1:-1], parts)
        elif before_sections:
            is_root |= key.lower() == "root" and value.lower() == "true"
        elif fits and key.lower() == "end_of_line":
            ends = value.lower() if value.lower() in ("lf", "crlf", "cr") else ""
    return ends, is_root


def _attributes(text: str, parts: tuple[str, ...]) -> tuple[str, bool]:
    """Return the line ends that a `.gitattributes` gives a file below its folder, "" for none."""
    ends = ""
    for line in text.splitlines():
        pattern, *attributes = line.split() or [""]
        if pattern and not pattern.startswith("#") and _fits(pattern, parts):
            for each in attributes:
                if each.startswith("eol=") or each in ("-text", "binary"):
                    ends = each.removeprefix("eol=")
    return ends, False


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and values, and a section's head as a key without a value."""
    for line in text.removeprefix("\ufeff").splitlines():
        line = line.strip()  # noqa: PLW2901 - the same line
        if line.startswith("["):
            yield line, ""
        elif line and line[0] not in "#;":
            key, _, value = line.partition("=")
            yield key.strip(), value.partition("#")[0].partition(";")[0].strip()


def _fits(pattern: str, parts: tuple[str, ...]) -> bool:
    """Return whether the pattern matches; one without a slash matches the name in any folder."""
    try:
        found = globs(pattern.removeprefix("/"), anywhere=not pattern.startswith("/"))
    except ToolFailed:  # too long, or too many alternatives
        return False
    return any(each.matches(parts) for each in found)
