"""Finds what the settings of a repository make git run while it only reads. Pure.

`git status` in a folder that came from elsewhere may run a program: the file `.git/config` names programs that watch
files, compare, filter and check signatures. A cloned repository cannot bring one, an unpacked archive or a repository
within a folder can. A setting that is not known to be harmless counts only if it is one of those that name programs.
"""

from __future__ import annotations

import re

_SECTION = re.compile(r"\[\s*([A-Za-z0-9.-]+)(?:\s+\"((?:\\.|[^\"\\])*)\")?\s*\]")
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")

_RUNS = re.compile(
    r"core\.(fsmonitor|hookspath|pager|sshcommand|worktree|attributesfile|alternaterefscommand|gitproxy)"
    r"|include(if)?\..*|pager\..*|diff\.external|diff\..*\.(command|textconv)|filter\..*\.(clean|smudge|process)"
    r"|gpg\..*|log\.showsignature|extensions\.(partialclone|worktreeconfig)|remote\..*\.promisor|uploadpack\..*"
    r"|interactive\.difffilter|alias\..*|format\.pretty|pretty\..*|submodule\..*\.update|trace2\..*"
)
_HARMLESS_VALUES = re.compile(r"false|git-lfs (clean|smudge) -- %f|git-lfs filter-process|no|off|0|")


def setting_that_starts_program(config: str) -> str:
    """Return the first setting in the text of a `.git/config` that makes git's reading start a program, "" if none.

    A line that is not understood counts as one.
    """
    section = ""
    for line in re.sub(r"\\\r?\n", "", config).splitlines():
        rest = line.strip()
        while found := _SECTION.match(rest):
            section = ".".join(filter(None, (found[1].lower(), found[2])))
            rest = rest[found.end() :].strip()
        if not rest or rest[0] in "#;":
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None or not section:
            return rest[:60]
        name, value = f"{section}.{setting[1].lower()}", (setting[2] or "").strip().strip('"')
        if _RUNS.fullmatch(name.lower()) and not _harmless(name, setting[2] is None, value):
            return name
    return ""


def _harmless(name: str, bare: bool, value: str) -> bool:  # noqa: FBT001 - a setting without `=` is true
    if name.startswith(("alias.", "pager.")):
        return True  # an alias cannot take a name that is known here, and without a screen nothing is paged
    return not bare and _HARMLESS_VALUES.fullmatch(value) is not None
