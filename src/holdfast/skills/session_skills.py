"""The skills and commands of one session: its catalogue, the tool that the model uses, and what the user may type.

Interruption rules: the tool `skill` is an ordinary call with the effect `read`: `call-started`, then the file is read,
then `call-ended` with the text that the model reads. A kill in between leaves `interrupted`, and the next use reads the
file again. Its commands are not run then: they stand in the text, and the model runs them as any command.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from holdfast.errors import ToolFailed
from holdfast.session.conversation.conversation import Conversation, UserMessage
from holdfast.skills.catalogue import catalogue
from holdfast.skills.command_places import PlaceRefused
from holdfast.skills.prompt_template import filled
from holdfast.skills.skill_body import read_body, skill_content
from holdfast.skills.skill_files import SkillFile, SkillListing, find_files
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import SKILL_TOOL, Effect, FileSeen, ToolSchema
from holdfast.tools.schema import as_declared, parse_arguments, schema_of
from holdfast.tools.tool import Instruction, Plan, ToolContext, ToolOutput
from holdfast.tools.truncation import escape_newlines

CATALOGUE = "(the catalogue of skills)"
"""What stands for the catalogue among the instruction files."""

LISTED_FOR = 2.0
"""Seconds for which a list for the screen stays as it is, so that no key looks at the disk."""


class SkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `skill`."""

    name: Annotated[str, msgspec.Meta(description="A name of the catalogue.")]
    arguments: Annotated[str, msgspec.Meta(description="What its text asks for, if it does.")] = ""


SKILL_SCHEMA = as_declared(
    schema_of(
        SKILL_TOOL,
        "Read a skill: instructions for a certain task. The catalogue has their names.",
        SkillArguments,
    )
)
"""The tool as a model reads it: always the same, whatever skills there are, so that a new one changes no prefix."""


class SessionSkills:
    """What a session has of skills and commands. The disk is looked at when they are needed, within bounds."""

    def __init__(self, root: Path, environ: Mapping[str, str], session: str) -> None:
        """Create it for a workspace (resolved) and a session's id."""
        self.root = root
        self.environ = environ
        self.conversation: Callable[[], Conversation] | None = None
        """What the session's agent says now, once there is one: what is loaded already is not loaded again."""
        self._session = session
        self._listed: tuple[float, SkillListing] | None = None

    def find(self) -> SkillListing:
        """Return what there is now."""
        listing = find_files(self.root, self.environ)
        self._listed = time.monotonic(), listing
        return listing

    def listed(self) -> SkillListing:
        """Return what there was a moment ago, for a list that the user completes."""
        if self._listed is not None and time.monotonic() - self._listed[0] < LISTED_FOR:
            return self._listed[1]
        return self.find()

    def catalogue(self) -> tuple[Instruction, ...]:
        """Return the catalogue as instructions, whose changes are noticed like those of a file. Never raises."""
        text = catalogue(self.find().skills())
        if not text:
            return ()
        data = text.encode()
        seen = FileSeen(path=CATALOGUE, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        return (Instruction(snapshot=seen, text=text),)

    def tool(self, schema: ToolSchema) -> SkillTool:
        """Return the tool that reads a skill."""
        return SkillTool(schema, self)

    def variables(self, file: SkillFile) -> Mapping[str, str]:
        """Return what stands for `${NAME}` in a body."""
        return {
            "CLAUDE_SKILL_DIR": str(file.folder),
            "CLAUDE_PROJECT_DIR": str(self.root),
            "CLAUDE_SESSION_ID": self._session,
        }

    def skill_text(self, file: SkillFile, arguments: str) -> tuple[str, FileSeen]:
        """Return what the model reads of a skill, and the state of its file. Raises `ToolFailed`."""
        read = read_body(self.root, file)
        try:
            template = filled(read.body, arguments, names=file.names, variables=self.variables(file))
        except PlaceRefused as error:
            raise ToolFailed(f"Skill {file.name!r} was not read: {error}. Or read {str(file.path)!r}.") from error
        return skill_content(file, template.unrun()), read.snapshot

    def is_loaded(self, text: str) -> bool:
        """Return whether the conversation, as it is sent now, has this text of a skill."""
        messages = () if self.conversation is None else self.conversation().messages
        return any(
            any(result.name == SKILL_TOOL and result.text == text for result in message.results)
            or any(text in each for each in message.texts)
            for message in messages
            if isinstance(message, UserMessage)
        )


class SkillTool:
    """Reads a skill, as it is now. Where it comes from does not matter: it is text, like AGENTS.md."""

    effect: Effect = "read"

    def __init__(self, schema: ToolSchema, skills: SessionSkills) -> None:
        self.schema = schema
        self._skills = skills

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the interface of a tool
        """Return the plan to read a skill; raises `ToolFailed` for one that there is not."""
        args = parse_arguments(arguments, SkillArguments, tool=SKILL_TOOL)
        known = {each.name: each for each in self._skills.find().skills()}
        file = known.get(args.name.strip().removeprefix("/"))
        if file is None:
            names = ", ".join(sorted(known)) or "none"
            raise ToolFailed(
                f"Skill {args.name[:100]!r} is unknown (expected one of {names[:2_000]}). Use one of these."
            )
        chosen = file

        async def run(_: ToolContext) -> ToolOutput:
            text, seen = await in_daemon(lambda: self._skills.skill_text(chosen, args.arguments))
            if self._skills.is_loaded(text):
                return ToolOutput(
                    text=f"Skill {chosen.name!r} is already loaded: its text stands above, unchanged. Follow it."
                )
            return ToolOutput(text=text, snapshots=(seen,))

        return Plan(
            effect="read", title=escape_newlines(f"use the skill {file.name}"), reads=(str(file.path),), run=run
        )
