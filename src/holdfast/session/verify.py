"""What is wrong with a session, if anything: with its record, and with what would be sent of it to each provider. Pure.

Two rules. Nothing is changed, and nothing is asked of anybody. Each thing found comes with what to do about it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import msgspec

from holdfast.history.profile import Profile
from holdfast.history.profiles import PROFILES
from holdfast.session.conversation import Conversation
from holdfast.session.entries import Repaired
from holdfast.session.fold import fold
from holdfast.session.gate import left_broken, violations
from holdfast.session.store import Finding, Reading


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: where it is, what it is, and what to do about it."""

    kind: Literal["damage", "violation", "unreadable"]
    where: str
    what: str
    todo: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A session that was verified: how much of it there is, and every problem."""

    session: str
    entries: int
    messages: int
    profiles: int
    problems: tuple[Problem, ...]


def verify(session: str, reading: Reading, own: Profile) -> Report:
    """Return what is wrong with a session; `own` are the rules of the provider it works with."""
    conversation = fold(record.entry for record in reading.records)
    told = {each for r in reading.records if isinstance(r.entry, Repaired) for each in r.entry.findings}
    lost = conversation.opened is None
    problems = [_damage(finding, session, told=finding.what in told, lost=lost) for finding in reading.findings]
    if lost and not problems:  # it says nothing of itself, and nothing says why
        problems.append(_damage(Finding(seq=1, what="Its first entry is lost."), session, told=False, lost=True))
    for profile in PROFILES.values():
        problems += _violations(as_sent_to(profile, conversation, own), profile)
    return Report(
        session=session,
        entries=len(reading.records),
        messages=len(conversation.messages),
        profiles=len(PROFILES),
        problems=tuple(problems),
    )


def as_sent_to(profile: Profile, conversation: Conversation, own: Profile) -> Conversation:
    """Return the conversation as if it went on with a model of that provider: its own model, or another's."""
    return conversation if profile == own else replace(conversation, model=f"{profile.name}:another")


def _damage(finding: Finding, session: str, *, told: bool, lost: bool) -> Problem:
    if lost:
        todo = (
            f"Go on with holdfast -r {session}: its folder and its model are known from its summary, its system prompt "
            "and its tools are made again."
        )
    elif told:
        todo = "Nothing: you and the model were told when the session went on."
    else:
        todo = f"Go on with holdfast -r {session}: what can be read is kept, and the model is told of the gap."
    where = f"entry {finding.seq}" if finding.seq else "journal"
    return Problem(kind="damage", where=where, what=finding.what, todo=todo)


def _violations(conversation: Conversation, profile: Profile) -> list[Problem]:
    found = violations(conversation, profile)
    rule = left_broken(conversation, profile) if found else ""
    goes_on = "the session works, for this is repaired before each request."
    ends = (
        f"no repair restores the rule {rule!r}, so nothing more is sent to this provider: go back to an earlier prompt "
        "(/rewind), or continue with a model of another provider."
    )
    todo = f"Report it, it is a fault of holdfast; {ends if rule else goes_on}"
    return [
        Problem(
            kind="violation",
            where=f"{profile.name}, {violation.position}",
            what=f"Breaks the rule {violation.rule!r}: {violation.sentence}",
            todo=todo,
        )
        for violation in found
    ]
