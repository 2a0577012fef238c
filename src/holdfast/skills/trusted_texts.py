"""Whether the user trusts the text of a project's skill or command, whose commands may then run by the user's rules.

The decision is about exactly this text: any change needs another one. What is the user's own needs none. It is stored
beside the other decisions about projects, never in the project.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.config.project_decisions import APPROVALS, Project
from holdfast.errors import ConfigInvalid, HoldfastError
from holdfast.skills.prompt_template import body_commands
from holdfast.skills.skill_body import read_body
from holdfast.skills.skill_files import SkillFile, find_files
from holdfast.system.user_directories import homes


def is_trusted(environ: Mapping[str, str], file: SkillFile, source: str) -> bool:
    """Return whether commands in the text `source` of a file may run by the user's rules: it is theirs, or trusted."""
    if file.within is None:
        return True
    try:
        return _decisions(environ, file).trusts(_digest(source)) is True
    except ConfigInvalid:  # what cannot be read allows nothing
        return False


def set_trust(environ: Mapping[str, str], file: SkillFile, source: str, *, trusted: bool) -> None:
    """Store the user's decision about exactly this text. Raises `HoldfastError` if it cannot be stored."""
    _decisions(environ, file).set_trust(_digest(source), trusted=trusted)


def judge_texts(environ: Mapping[str, str], cwd: Path, *, trusted: bool) -> None:
    """Store the decision of --trust-project about the skills and commands of a project that run commands.

    They are judged as they are now. Raises `StorageFailed` if it cannot be stored.
    """
    root = Path(os.path.realpath(cwd))
    listing = find_files(root, environ)
    for file in listing.by_name.values():
        if file.within is None:
            continue
        try:
            read = read_body(root, file)
        except HoldfastError:  # it cannot be used either: that is said when it is
            continue
        if body_commands(read.body):
            set_trust(environ, file, read.source, trusted=trusted)


def _decisions(environ: Mapping[str, str], file: SkillFile) -> Project:
    return Project(homes(environ).sessions.with_name(APPROVALS), file.path)


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
