"""Makes the prompt of a skill or a custom command that the user typed: the step `expand_prompt` of the seam.

Interruption rules. Nothing of a prompt exists before its text does. Each command in it goes the way of any command:
judged by the rules, asked about, `shell-started`, run by the supervisor, `shell-ended`; both are unshared, so no other
request has them. Then the text is made, and then `prompt-accepted` has it, with what was typed.

| killed, or stopped | what is left |
|---|---|
| before a command | nothing: what was typed is the user's again |
| while the user is asked | nothing: no answer is stored, the question is asked again at the next use |
| between `shell-started` and `shell-ended` | the command, settled as any: its processes are ended, its effect unknown |
| after the last command | the ended commands; no prompt was accepted |

A command in a project's file runs by the rules only once the user has trusted exactly this text, by their answers to
the questions about all of its commands, or with --trust-project. Until then each is asked about, in every mode.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.seam import Expanded, PlannedCall
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.errors import UsageError
from holdfast.session.journal.parts import CallPart
from holdfast.skills.command_places import PlaceRefused
from holdfast.skills.named_files import with_named_files
from holdfast.skills.prompt_template import MOST_BODY_COMMANDS, Template, filled
from holdfast.skills.session_skills import SessionSkills
from holdfast.skills.skill_body import ReadBody, read_body, skill_content
from holdfast.skills.skill_files import SkillFile, SkillListing
from holdfast.skills.trusted_texts import is_trusted, set_trust
from holdfast.system.threads import in_daemon
from holdfast.tool_calls import Confined
from holdfast.tools.approval.decision import Allow, Ask, Deny, granted
from holdfast.tools.approval.question import question_of

_TYPED = re.compile(r"/([A-Za-z0-9][\w.:-]*)(?:\s+(.*))?", re.DOTALL)
_HOW_IT_ENDED = re.compile(r"\n\([^()\n]*\)\Z")
_MOST_IN_A_ROW = 10


class _Use(msgspec.Struct, frozen=True):
    """A file that is used: its text as it is now, and the template of it."""

    file: SkillFile
    read: ReadBody
    template: Template


class PromptTexts:
    """The step of one session. `reserved` are the names of holdfast's own commands, which win."""

    def __init__(self, skills: SessionSkills, *, agent: Callable[[], Agent], reserved: frozenset[str]) -> None:
        self._skills = skills
        self._agent = agent
        self._reserved = reserved
        self.ask: ApprovalPrompt | None = None
        """Asks the user about a command, None where the user cannot be asked before a turn."""

    def __call__(self, text: str) -> Awaitable[Expanded] | None:
        """Return the prompt that a typed text means, None for one that is no command of these."""
        name, rest = _parted(text)
        if not name or name in self._reserved or name.startswith("mcp__"):
            return None
        return self._expanded(text, name, rest)

    async def _expanded(self, text: str, name: str, rest: str) -> Expanded:
        listing = await in_daemon(self._skills.find)
        first = listing.by_name.get(name)
        if first is None:
            return Expanded(text)
        files, rest = self._in_a_row(listing, first, rest)
        for file in files:
            if not file.for_user:
                raise UsageError(
                    f"Skill {file.name!r} is for the model alone: its file {str(file.path)!r} says so. "
                    "Say what you want done."
                )
        uses = await in_daemon(lambda: [self._use(file, rest if file is files[-1] else "") for file in files])
        texts = [await self._text(use) for use in uses]
        if len(files) > 1 and rest and "ARGUMENTS: " not in texts[-1]:
            texts.append(rest)
        prompt = "\n\n".join(texts)
        if not prompt.strip():
            raise UsageError(
                f"Command '/{name}' has no text: {str(first.path)!r} is empty. Nothing was sent. Write its text."
            )
        return Expanded(prompt)

    def _in_a_row(self, listing: SkillListing, first: SkillFile, rest: str) -> tuple[list[SkillFile], str]:
        """Return the skills that were typed one behind the other, and what follows them."""
        files = [first]
        while first.kind == "skill" and len(files) < _MOST_IN_A_ROW:
            name, after = _parted(rest)
            following = None if name in self._reserved else listing.by_name.get(name)
            if following is None or following.kind != "skill" or following in files:
                break
            files.append(following)
            rest = after
        return files, rest

    def _use(self, file: SkillFile, arguments: str) -> _Use:
        read = read_body(self._skills.root, file)
        try:
            template = filled(read.body, arguments, names=file.names, variables=self._skills.variables(file))
        except PlaceRefused as error:
            raise UsageError(f"Command '/{file.name}' was not run: {error}. Nothing was sent.") from error
        if len(template.commands) > MOST_BODY_COMMANDS:
            raise UsageError(
                f"Command '/{file.name}' was not run: {str(file.path)!r} has {len(template.commands)} commands "
                f"({MOST_BODY_COMMANDS} at most). Nothing was sent."
            )
        return _Use(file, read, template)

    async def _text(self, use: _Use) -> str:
        """Return what the model reads of a use, once its commands have run."""
        outputs: list[str] = []
        questions = 0
        trusted = not use.template.commands or await in_daemon(
            lambda: is_trusted(self._skills.environ, use.file, use.read.source)
        )
        for command in use.template.commands:
            output, was_asked = await self._output(use.file, command, trusted=trusted)
            outputs.append(output)
            questions += was_asked
        if not trusted and questions == len(outputs):
            await in_daemon(lambda: set_trust(self._skills.environ, use.file, use.read.source, trusted=True))
        text = use.template.text(outputs)
        if use.file.kind == "skill":
            return skill_content(use.file, text)
        written = use.template.text(["output"] * len(outputs))
        return await in_daemon(lambda: with_named_files(self._skills.root, text, written=written))

    async def _output(self, file: SkillFile, command: str, *, trusted: bool) -> tuple[str, bool]:
        """Run a command, if it may run; return its output, and whether the user was asked.

        Raises `UsageError` if it may not, or was stopped: then nothing is sent.
        """
        agent = self._agent()
        planned = agent.plan_shell(command)
        call = CallPart(id=planned.id, name=planned.tool, arguments=planned.arguments)
        decision = agent.permissions.judge(PlannedCall(call, planned.plan, planned.tool))
        confined, by_user, was_asked = "", False, False
        match decision:
            case Deny(why=why):
                raise _refused(file, command, why)
            case Allow() if trusted:
                confined, by_user = decision.confined, decision.by_user
            case Allow() | Ask():
                why = decision.why if isinstance(decision, Ask) and trusted else _untrusted(file)
                confined, by_user, was_asked = await self._allowed(file, command, planned.id, why=why), True, True
        ended = await agent.shell(command, share=False, planned=planned, confined=confined, by_user=by_user)
        if ended.outcome == "interrupted":
            raise _refused(file, command, "It was stopped.")
        text = ended.text if ended.outcome != "ok" else _HOW_IT_ENDED.sub("", ended.text)
        return ("" if text == "(no output)" else text), was_asked

    async def _allowed(self, file: SkillFile, command: str, call: str, *, why: str) -> Confined:
        """Return how a command runs that the user allows. Raises `UsageError` if they do not, or cannot be asked."""
        agent = self._agent()
        if self.ask is None:
            advice = "Allow it with a rule (--allow), and trust the text of a project's file with --trust-project."
            raise _refused(file, command, f"{why} The user cannot be asked here. {advice}")
        plan = agent.plan_shell(command).plan
        question = question_of(plan, mode=agent.mode, why=why, call=call, rules=agent.permissions.offered)
        once = tuple(each for each in question.choices if not each.remember and each.mode is None)
        question = msgspec.structs.replace(question, why=why, choices=once)
        answer = await self.ask(question, plan)
        choice = question.chosen(answer)
        if not choice.allows:
            raise _refused(file, command, "You did not allow it." + (f" {answer.words}" if answer.words else ""))
        return granted(plan, choice.level)


def _parted(text: str) -> tuple[str, str]:
    """Return the name of the command that a text begins with, "" if it begins with none, and what follows it."""
    found = _TYPED.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found else ("", text)


def _untrusted(file: SkillFile) -> str:
    return f"The command stands in {str(file.path)!r}, a file of this project whose text you have not trusted yet."


def _refused(file: SkillFile, command: str, why: str) -> UsageError:
    return UsageError(
        f"Command {command[:200]!r} of '/{file.name}' was not run to its end: {why} Nothing was sent. "
        "Try it again, or say it in your own words."
    )
