"""The question about a call, as data: every surface offers the same choices, in the same order. Pure.

A surface draws it in its own way and returns `AnswerChoice.answer`. The first choice is the smallest permission, the
last one refuses. For a question of the model itself, the choices are its options, and last the user's own words.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.agent.turn.approval_prompt import ApprovalAnswer
from holdfast.tool_calls import Effect, Leaving, Mode, Pattern, Remember, UserQuestion
from holdfast.tools.tool import Plan

ChoiceName = Literal[
    "once",  # allow this call
    "session",  # and similar calls, in this session
    "project",  # and in every session of this folder
    "edits",  # and every edit in this folder, in this session
    "inside",  # allow this call, confined although the model asked to leave the sandbox
    "outside",  # allow this call, outside the sandbox
    "no",  # reject, with words for the model
    "free",  # approve the plan, edits run without asking
    "each",  # approve the plan, each change is asked about
    "keep",  # do not approve the plan, with words for the model
    "leave",  # do not approve the plan, and leave plan mode
    "option1",  # the first option of the model's question; with several, it is marked or unmarked
    "option2",
    "option3",
    "option4",
    "option5",
    "option6",
    "option7",
    "option8",
    "marked",  # answer with the marked options
    "own",  # answer in the user's own words, in addition to the marked options
]
"""The names of the choices."""


class AnswerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One possible answer. `label` is its text, in which `{}` stands for `subject`: a command, a file or a host.

    `level` is what a command may do, "" if it is not confined. `words` is whether the surface asks the user for a text
    for the model. `option` is the option of the model's question that it selects, `note` the model's description of it,
    "" if none.
    """

    name: ChoiceName
    label: str
    subject: str = ""
    allows: bool = True
    remember: Remember = ""
    mode: Mode | None = None
    level: Leaving = ""
    words: bool = False
    option: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """Return the label with its subject in backticks, for surfaces without styles."""
        return self.label.replace("{}", f"`{self.subject}`", 1)

    def answer(self, words: str = "", *, marked: tuple[str, ...] = ()) -> ApprovalAnswer:
        """Return the answer that this choice gives; `marked` are the options that the user marked before."""
        chosen = (self.option,) if self.option else marked
        return ApprovalAnswer(
            allowed=self.allows,
            reason=words,
            remember=self.remember,
            mode=self.mode,
            chosen=chosen,
            level=self.level,
        )


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the user.

    `text` is one line, `why` a sentence why the user is asked, "" if `text` says it. `warnings` say in a few words each
    what makes the call dangerous. With `several`, a choice with an option marks it, and the others answer with all
    marked options. `by` is the server that asks, "" for holdfast and the model.
    """

    text: str
    why: str = ""
    warnings: tuple[str, ...] = ()
    choices: tuple[AnswerChoice, ...]
    several: bool = False
    by: str = ""

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


OWN_WORDS = AnswerChoice(name="own", label="Answer in your own words", words=True)
ANSWER_MARKED = AnswerChoice(name="marked", label="Answer with what is marked")

_OPTIONS: tuple[ChoiceName, ...] = (
    "option1",
    "option2",
    "option3",
    "option4",
    "option5",
    "option6",
    "option7",
    "option8",
)


def question_of(plan: Plan, *, mode: Mode, why: str = "") -> Question:
    """Return the question about a planned call in a session of this approval mode; `why` is the policy's sentence."""
    if plan.presents:
        return Question(text="Carry out this plan?", choices=PLAN_CHOICES)
    if plan.question is not None:
        return question_of_the_model(plan.question, detail=plan.detail)
    from holdfast.tools.approval.patterns import changes_autorun_file, suggest_patterns

    by_itself = plan.effect == "write" and changes_autorun_file(plan)
    patterns = suggest_patterns(plan).patterns
    choices = remembering_choices(patterns)
    if mode == "ask" and plan.effect == "write" and plan.outside is None and plan.files and not by_itself:
        choices.append(EDITS)
    warnings = _warnings(plan, by_itself=by_itself)
    first, last = level_choices(plan.asks_level, plan.network)
    return Question(text=_text(plan), why=_reason(plan, why), warnings=warnings, choices=(*first, *choices, *last, NO))


def level_choices(
    requested: Leaving, hosts: tuple[str, ...]
) -> tuple[tuple[AnswerChoice, ...], tuple[AnswerChoice, ...]]:
    """Return the choices that allow this call: the smallest level first, outside the sandbox last.

    `requested` is the level that the question names, "" if the command cannot be confined.
    """
    outside = AnswerChoice(name="outside", label="Allow once, outside the sandbox", level="outside")
    match requested:
        case "":
            return (ONCE,), ()
        case "network":
            named = ", ".join(hosts)
            reaching = AnswerChoice(name="once", label="Allow once, reaching {}", subject=named, level="network")
            return (reaching,), (outside,)
        case "outside":
            inside = AnswerChoice(name="inside", label="Allow once, but in the sandbox", level="workspace")
            return (inside,), (outside,)
        case "workspace":
            inside = AnswerChoice(name="once", label="Allow once, in the sandbox: no network", level="workspace")
            return (inside,), (outside,)


def remembering_choices(patterns: tuple[Pattern, ...]) -> list[AnswerChoice]:
    """Return the choices that allow these patterns from now on, none without patterns."""
    if not patterns:
        return []
    choices: list[AnswerChoice] = []
    what, subject = _pattern_label(patterns)
    scopes: tuple[tuple[Remember, str], ...] = (("session", "this session"), ("project", "this folder"))
    for remember, scope in scopes:
        if remember:
            label = f"Always allow {what} ({scope})"
            choices.append(AnswerChoice(name=remember, label=label, subject=subject, remember=remember))
    return choices


def question_of_the_model(question: UserQuestion, *, detail: str) -> Question:
    """Return the question of the model or a server; a long one, or one of several lines, is in `detail`."""
    options = tuple(
        AnswerChoice(name=name, label="{}", subject=each.label, option=each.label, note=each.description)
        for name, each in zip(_OPTIONS, question.options, strict=False)
    )
    more = (*((ANSWER_MARKED,) if question.several else ()), *((OWN_WORDS,) if question.free_text else ()))
    choices = (*options[:-1], *more, *options[-1:]) if question.by else (*options, *more)
    text = f"{question.by or 'The model'} asks:" if detail else question.text
    return Question(text=text, choices=choices, several=question.several, by=question.by)


def _pattern_label(patterns: tuple[Pattern, ...]) -> tuple[str, str]:
    """Return the calls that the patterns allow, with `{}` for the subject, and the subject."""
    names: dict[Effect, str] = {"execute": "running", "write": "edits to", "read": "pages from", "remote": "calls of"}
    effects = {each.effect for each in patterns}
    if len(effects) == 1:
        return f"{names[patterns[0].effect]} {{}}", ", ".join(each.text for each in patterns)
    return "{}", ", ".join(f"{names[each.effect]} {each.text}" for each in patterns)


def _text(plan: Plan) -> str:
    if plan.asks_level == "outside":
        return "Run this command outside the sandbox?"
    if plan.effect == "execute" and plan.background:
        return "Run this command in the background?"
    return "Run this command?" if plan.effect == "execute" else f"{plan.title[:1].upper()}{plan.title[1:]}?"


def _reason(plan: Plan, why: str) -> str:
    """Return the part of the policy's sentence that the question and its warnings do not contain."""
    rest = why.removeprefix(f"The call {plan.title!r} ")
    if rest.startswith("needs approval"):
        return f"It {rest}"
    if rest == why or plan.effect != "execute":
        return ""
    what, _, reason = rest.partition(": ")
    judged = "holdfast cannot judge it: " if what.endswith("cannot judge") else "Why: "
    return f"{judged}{reason[:1].lower()}{reason[1:]}" if reason else ""


def _warnings(plan: Plan, *, by_itself: bool) -> tuple[str, ...]:
    """Return what makes the call dangerous."""
    found: list[str] = []
    if plan.outside is not None:
        found.append(f"outside this folder, at {plan.outside}")
    if by_itself:
        found.append("other programs run or obey this file by themselves")
    if plan.sandbox_notice:
        found.append(plan.sandbox_notice)
    if plan.command:
        from holdfast.tools.shell.dangers import dangers
        from holdfast.tools.shell.parse import parse_command

        found += dangers(parse_command(plan.command))
    return tuple(found)
