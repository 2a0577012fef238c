"""The skills and custom commands of a session as its host has them: offered, listed, and made into prompts.

Loaded only where a folder for them exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.agent.seam import ExpandPrompt
from holdfast.host.offered_commands import OfferedCommand
from holdfast.skills.prompt_texts import PromptTexts
from holdfast.skills.session_skills import SessionSkills
from holdfast.text import literal

if TYPE_CHECKING:
    from holdfast.agent.agent import Agent
    from holdfast.agent.turn.approval_prompt import ApprovalPrompt
    from holdfast.skills.skill_files import SkillFile, SkillListing

_LONGEST_SUMMARY = 200


class BroughtCommands:
    """The skills and commands of one session; `expand` is its step before a prompt."""

    def __init__(self, skills: object, *, agent: Callable[[], Agent], reserved: frozenset[str]) -> None:
        """Create it. `skills` are the session's, `reserved` the names of the commands that win, wherever it is used."""
        assert isinstance(skills, SessionSkills)
        self._skills = skills
        self._reserved = reserved
        skills.conversation = lambda: agent().conversation
        self._texts = PromptTexts(skills, agent=agent, reserved=self._reserved)
        self.expand: ExpandPrompt = self._texts

    def may_ask(self, ask: ApprovalPrompt | None) -> None:
        """Ask the user in this way whether a command in a prompt may run; with None the user cannot be asked."""
        self._texts.ask = ask

    def has(self, name: str) -> bool:
        """Return whether a skill or command of this name can be typed."""
        return any(each.name == name for each in self._for_user(self._skills.find()))

    def offered(self) -> tuple[OfferedCommand, ...]:
        """Return the skills and commands that the user can type, as they were a moment ago."""
        return offered_of(self._for_user(self._skills.listed()))

    def _for_user(self, listing: SkillListing) -> list[SkillFile]:
        return typed_files(listing, self._reserved)

    def lines(self) -> tuple[str, ...]:
        """Return what `/skills` shows: what there is, then what is not in use, and why."""
        return listing_lines(self._skills.find(), self._reserved)


def typed_files(listing: SkillListing, reserved: frozenset[str]) -> list[SkillFile]:
    """Return the files that the user can type, by name."""
    usable = (each for each in listing.by_name.values() if each.for_user and each.name not in reserved)
    return sorted(usable, key=lambda each: each.name)


def offered_of(files: list[SkillFile]) -> tuple[OfferedCommand, ...]:
    """Return files as they are listed and completed."""
    return tuple(OfferedCommand(each.name, _summary(each), each.hint or _takes(each)) for each in files)


def _summary(file: SkillFile) -> str:
    text = " ".join(literal(file.description).split()) or f"a command in {literal(str(file.path))}"
    return text if len(text) <= _LONGEST_SUMMARY else f"{text[: _LONGEST_SUMMARY - 1]}…"


def _takes(file: SkillFile) -> str:
    return " ".join(f"[{each}]" for each in file.names)


def listing_lines(listing: SkillListing, reserved: frozenset[str]) -> tuple[str, ...]:
    """Return a listing as lines for the user."""
    lines: list[str] = []
    for each in sorted(listing.by_name.values(), key=lambda file: (file.kind != "skill", file.name)):
        facts = [each.kind]
        if each.name in reserved:
            facts.append(f"not typed: /{each.name} is a command of holdfast")
        elif not each.for_user:
            facts.append("for the model alone")
        if each.kind == "skill" and not each.for_model:
            facts.append("for you alone")
        facts += each.warnings
        lines.append(f"/{each.name} ({'; '.join(facts)}): {_summary(each)}")
        lines.append(f"    {literal(str(each.path))}")
    lines += [
        f"Not in use: {literal(str(file.path))}: {winner.kind} {winner.name!r} in {literal(str(winner.path))} wins."
        for file, winner in listing.shadowed
    ]
    lines += [f"Not in use: {literal(str(each.path))}: {literal(each.why)}." for each in listing.skipped]
    return tuple(lines) or (
        "No skills and no commands were found. docs/how-to/skills.md says where they are looked for.",
    )
