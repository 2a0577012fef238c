"""The lines of a config text at which settings and tables begin, found by a scan line by line. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_SETTING = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


def setting_lines(text: str) -> dict[str, int]:
    """Return the line at which each setting or table begins, by its dotted name, if the scan finds it."""
    table, found = "", dict[str, int]()
    for number, line in enumerate(text.splitlines(), 1):
        if named := _TABLE.match(line):
            table = f"{_name(named[1])}."
            found.setdefault(table.rstrip("."), number)
        elif setting := _SETTING.match(line):
            found.setdefault(f"{table}{_name(setting[1])}", number)
    return found


def line_of(name: str, lines: Mapping[str, int]) -> int:
    """Return the line of a setting, of a table below it, or of the inline table around it; 0 if there is none."""
    if name and name not in lines:
        below = [line for each, line in lines.items() if each.startswith(f"{name}.")]
        if below:
            return min(below)
    while name:
        if name in lines:
            return lines[name]
        name = name.rpartition(".")[0]
    return 0


def _name(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
