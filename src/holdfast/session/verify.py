"""Reports the problems of a session: damage of its journal, and rules of providers that it breaks. Pure.

Nothing is changed, and no server is contacted. Each problem comes with what to do about it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.history.profiles import PROFILES
from holdfast.history.rules.profile import Profile
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Repaired
from holdfast.session.journal.store import Finding, Reading
from holdfast.session.request.validate import left_broken, violations


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem: where it is, what it is, and what to do about it."""

    kind: Literal["damage", "violation", "unreadable"]
    where: str
    what: str
    todo: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one session: its size, and every problem."""

    session: str
    entries: int
    messages: int
    profiles: int
    problems: tuple[Problem, ...]


def verify(session: str, reading: Reading, current: Profile) -> Report:
    """Return the report on a session; `current` is the profile of its provider."""
    conversation = fold(record.entry for record in reading.records)
    reported = {each for r in reading.records if isinstance(r.entry, Repaired) for each in r.entry.findings}
    lost = conversation.opened is None
    problems = [_damage(finding, session, reported=finding.what in reported, lost=lost) for finding in reading.findings]
    if lost and not problems:  # the first entry is missing and no finding explains it
        problems.append(_damage(Finding(seq=1, what="Its first entry is lost."), session, reported=False, lost=True))
    for profile in PROFILES.values():
        problems += _violations(as_sent_to(profile, conversation, current), profile)
    return Report(
        session=session,
        entries=len(reading.records),
        messages=len(conversation.messages),
        profiles=len(PROFILES),
        problems=tuple(problems),
    )


def as_sent_to(profile: Profile, conversation: Conversation, current: Profile) -> Conversation:
    """Return the conversation as if it continued with that provider: with its current model, or another one."""
    return (
        conversation if profile == current else msgspec.structs.replace(conversation, model=f"{profile.name}:another")
    )


def _damage(finding: Finding, session: str, *, reported: bool, lost: bool) -> Problem:
    if lost:
        todo = (
            f"Continue with holdfast -r {session}: its directory and model are known from its summary, and it gets "
            "today's system prompt and tools."
        )
    elif reported:
        todo = "Nothing: it was reported to you and the model when the session continued."
    else:
        todo = f"Continue with holdfast -r {session}: everything readable is kept, and the model reads about the gap."
    where = f"entry {finding.seq}" if finding.seq else "journal"
    return Problem(kind="damage", where=where, what=finding.what, todo=todo)


def _violations(conversation: Conversation, profile: Profile) -> list[Problem]:
    found = violations(conversation, profile)
    rule = left_broken(conversation, profile) if found else ""
    repaired = "The session works: this is repaired before each request."
    unsendable = (
        f"No repair restores the rule {rule!r}, so nothing more is sent to this provider. Rewind to an earlier prompt, "
        "or continue with a model of another provider."
    )
    todo = f"Report it: this is a bug in holdfast. {unsendable if rule else repaired}"
    return [
        Problem(
            kind="violation",
            where=f"{profile.name}, {violation.position}",
            what=f"Breaks the rule {violation.rule!r}: {violation.sentence}",
            todo=todo,
        )
        for violation in found
    ]
