"""The question about a call, as data: every surface offers the same choices, in the same order. Pure.

A surface draws it in its own way and gives back `AnswerChoice.answer`. The first choice is the smallest permission, the
last one refuses.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.tool_calls import Effect, Mode, Pattern, Remember
from holdfast.tools.tool import Plan

ChoiceName = Literal[
    "once",  # allow this call
    "session",  # and what is like it, in this session
    "project",  # and in every session of this folder
    "edits",  # and every edit in this folder, in this session
    "no",  # reject, with words for the model
    "free",  # approve the plan, edits run without asking
    "each",  # approve the plan, each change is asked about
    "keep",  # do not approve the plan, with words for the model
    "leave",  # do not approve the plan, and leave plan mode
]
"""What an answer does."""


class AnswerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One possible answer. `label` is its text, in which `{}` stands for `subject`: a command, a file or a host.

    `words` is whether the surface asks the user for words for the model.
    """

    name: ChoiceName
    label: str
    subject: str = ""
    allows: bool = True
    remember: Remember = ""
    mode: Mode | None = None
    words: bool = False

    @property
    def text(self) -> str:
        """Return the label with its subject in backticks, for surfaces without styles."""
        return self.label.replace("{}", f"`{self.subject}`", 1)

    def answer(self, words: str = "") -> ApprovalAnswer:
        """Return the answer that this choice gives."""
        return ApprovalAnswer(allowed=self.allows, reason=words, remember=self.remember, mode=self.mode)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the user: `text` is one line, `warnings` say in a few words each what makes the call dangerous."""

    text: str
    warnings: tuple[str, ...] = ()
    choices: tuple[AnswerChoice, ...]

    def choice(self, name: str) -> AnswerChoice | None:
        """Return the choice of this name, None if it is not offered."""
        return next((each for each in self.choices if each.name == name), None)


ONCE = AnswerChoice(name="once", label="Allow once")
NO = AnswerChoice(name="no", label="Reject with feedback", allows=False, words=True)
EDITS = AnswerChoice(name="edits", label="Allow all edits in this folder (this session)", mode="accept-edits")


PLAN_CHOICES = (
    AnswerChoice(name="free", label="Approve, and edit freely (accept edits)", mode="accept-edits"),
    AnswerChoice(name="each", label="Approve, and ask about each change", mode="ask"),
    AnswerChoice(name="keep", label="Keep planning: say what to change", allows=False, words=True),
    AnswerChoice(name="leave", label="Leave plan mode, carry nothing out", allows=False, mode="ask"),
)


def question_of(plan: Plan, *, mode: Mode) -> Question:
    """Return the question about a planned call in a session of this approval mode."""
    if plan.presents:
        return Question(text="Carry out this plan?", choices=PLAN_CHOICES)
    from holdfast.tools.approval_patterns import obeyed, suggested  # noqa: PLC0415 - tables, for the first question

    by_itself = plan.effect == "write" and obeyed(plan)
    remembered = suggested(plan).patterns
    kept: list[AnswerChoice] = []
    if remembered:
        what, subject = _remembered(remembered)
        scopes: tuple[tuple[Remember, str], ...] = (("session", "this session"), ("project", "this folder"))
        for remember, scope in scopes:
            if remember:
                label = f"Always allow {what} ({scope})"
                kept.append(AnswerChoice(name=remember, label=label, subject=subject, remember=remember))
    if mode == "ask" and plan.effect == "write" and plan.outside is None and plan.files and not by_itself:
        kept.append(EDITS)
    return Question(text=_text(plan), warnings=_warnings(plan, by_itself=by_itself), choices=(ONCE, *kept, NO))


def _remembered(patterns: tuple[Pattern, ...]) -> tuple[str, str]:
    """Return what an answer allows from then on, with `{}` for the subject, and the subject."""
    names: dict[Effect, str] = {"execute": "running", "write": "edits to", "read": "pages from", "remote": "calls of"}
    effects = {each.effect for each in patterns}
    if len(effects) == 1:
        return f"{names[patterns[0].effect]} {{}}", ", ".join(each.text for each in patterns)
    return "{}", ", ".join(f"{names[each.effect]} {each.text}" for each in patterns)


def _text(plan: Plan) -> str:
    return "Run this command?" if plan.effect == "execute" else f"{plan.title[:1].upper()}{plan.title[1:]}?"


def _warnings(plan: Plan, *, by_itself: bool) -> tuple[str, ...]:
    """Return what makes the call dangerous."""
    found: list[str] = []
    if plan.outside is not None:
        found.append(f"outside this folder, at {plan.outside}")
    if by_itself:
        found.append("other programs run or obey this file by themselves")
    if plan.command:
        from holdfast.tools.shell.dangers import dangers  # noqa: PLC0415 - a parser, for the first command
        from holdfast.tools.shell.parse import parse_command  # noqa: PLC0415 - likewise

        found += dangers(parse_command(plan.command))
    return tuple(found)
