"""A question to the user as data: any process can show it, and an answer is one of its choices.

The agent makes it once, journals it, and gives it to the caller that asks the user. A surface draws it in its own way
and returns `ApprovalAnswer`, which only names a choice: what a choice grants is in the question, so no answer can grant
more than was offered. The first choice is the smallest permission, and the last one refuses. For a question of the
model itself, the choices are its options, and last the user's own words.

It is stored in journals, so its fields and spellings are part of FORMAT (see docs/reference/journal.md).
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from holdfast.errors import UsageError
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect, Leaving, Mode, Pattern, Remember

OptionName = Literal["option1", "option2", "option3", "option4", "option5", "option6", "option7", "option8"]
"""The options of the model's question, in their order; with several, a choice of one marks or unmarks it."""

OPTION_NAMES: tuple[OptionName, ...] = get_args(OptionName)

ChoiceName = Literal[
    OptionName,
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
    "marked",  # answer with the marked options
    "own",  # answer in the user's own words, in addition to the marked options
]
"""The names of the choices."""


class ApprovalAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's answer: the name of a choice, "" if the user closed the question, which allows nothing.

    `words` are the user's own: why they refuse, or their answer to a question of the model, who reads them. `marked`
    are the names of the options that they marked before.
    """

    choice: ChoiceName | Literal[""] = ""
    words: str = ""
    marked: tuple[ChoiceName, ...] = ()


class AnswerChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One possible answer. `label` is its text, in which `{}` stands for `subject`: a command, a file or a host.

    `remember` also allows `patterns` from now on. `mode` is the session's approval mode from now on, whatever `allows`
    says; None keeps the mode. `level` is what a command may do, "" if it is not confined, and `hosts` are the addresses
    that it may then reach. `words` is whether the surface asks the user for a text for the model. `option` is the
    option of the model's question that it selects, `note` the model's description of it, "" if none.
    """

    name: ChoiceName
    label: str
    subject: str = ""
    allows: bool = True
    remember: Remember = ""
    patterns: tuple[Pattern, ...] = ()
    mode: Mode | None = None
    level: Leaving = ""
    hosts: tuple[str, ...] = ()
    words: bool = False
    option: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """Return the label with its subject in backticks, for surfaces without styles."""
        return self.label.replace("{}", f"`{self.subject}`", 1)

    def answer(self, words: str = "", *, marked: tuple[ChoiceName, ...] = ()) -> ApprovalAnswer:
        """Return the answer that names this choice; `marked` are the options that the user marked before."""
        return ApprovalAnswer(self.name, words, () if self.option else marked)


CLOSE = AnswerChoice(name="no", label="Close the question", allows=False)
"""What the user chose who closed the question: nothing is allowed."""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to the user.

    `id` is its own, "" if an older journal stored no question; `call` is the call it is about. `text` is one line,
    `why` a sentence why the user is asked, "" if `text` says it. `warnings` say in a few words each what makes the call
    dangerous. `title` is the plan in one line, `detail` what would be done: a diff, the whole command, a plan.

    With `several`, a choice with an option marks it, and the others answer with all marked options. `by` is the server
    that asks, "" for holdfast and the model.
    """

    id: str = ""
    call: str = ""
    text: str
    why: str = ""
    warnings: tuple[str, ...] = ()
    title: str = ""
    detail: str = ""
    choices: tuple[AnswerChoice, ...]
    several: bool = False
    by: str = ""

    @property
    def reason(self) -> str:
        """Return why the user is asked, or what, if that says it."""
        return self.why or self.text

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Return what a choice of the question may allow from then on, () if none is offered."""
        return next((each.patterns for each in self.choices if each.patterns), ())

    def choice(self, name: str) -> AnswerChoice | None:
        """Return the choice of this name, None if it is not offered."""
        return next((each for each in self.choices if each.name == name), None)

    def chosen(self, answer: ApprovalAnswer) -> AnswerChoice:
        """Return the choice that the answer names; raises `UsageError` unless it and all marks were offered."""
        choice = self.choice(answer.choice) if answer.choice else CLOSE
        if choice is None:
            offered = ", ".join(each.name for each in self.choices)
            raise UsageError(f"Choice {answer.choice!r} is not offered (expected one of {offered}).")
        options = [each.name for each in self.choices if each.option]
        for name in answer.marked:
            if name not in options:
                raise UsageError(f"Mark {name!r} is not an option (expected one of {', '.join(options) or 'none'}).")
        if len(self.options_of(answer)) > 1 and not self.several:
            raise UsageError(
                f"The answer has {len(self.options_of(answer))} options (expected one). Leave one of them."
            )
        return choice

    def options_of(self, answer: ApprovalAnswer) -> tuple[str, ...]:
        """Return the options of the model's question that the answer selects, in their order."""
        names = {answer.choice, *answer.marked}
        return tuple(each.option for each in self.choices if each.option and each.name in names)


class QuestionRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which answers a place may offer.

    With `project`, an answer may be remembered for the folder: False where the folder is on one of many machines. With
    `yolo`, an answer may set the mode that allows everything: False for guests.
    """

    project: bool = True
    yolo: bool = True

    def allow(self, choice: AnswerChoice) -> bool:
        """Return whether the choice may be offered."""
        return (self.project or choice.remember != "project") and (self.yolo or choice.mode != "yolo")


ALL_ANSWERS = QuestionRules()
"""The rules of a user in front of the machine: every answer."""


ONCE = AnswerChoice(name="once", label="Allow once")
NO = AnswerChoice(name="no", label="Reject with feedback", allows=False, words=True)
EDITS = AnswerChoice(name="edits", label="Allow all edits in this folder (this session)", mode="accept-edits")


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
            reaching = AnswerChoice(
                name="once", label="Allow once, reaching {}", subject=named, level="network", hosts=hosts
            )
            return (reaching,), (outside,)
        case "outside":
            inside = AnswerChoice(name="inside", label="Allow once, but in the sandbox", level="workspace")
            return (inside,), (outside,)
        case "workspace":
            inside = AnswerChoice(name="once", label="Allow once, in the sandbox: no network", level="workspace")
            return (inside,), (outside,)


def remembering_choices(patterns: tuple[Pattern, ...]) -> list[AnswerChoice]:
    """Return the choices that allow these patterns from now on, none without patterns.

    A pattern whose text is no Unicode, as of a file with such a name, cannot be stored: it is not offered.
    """
    if not patterns or any(valid_unicode(each.text) != each.text for each in patterns):
        return []
    choices: list[AnswerChoice] = []
    what, subject = _pattern_label(patterns)
    scopes: tuple[tuple[Remember, str], ...] = (("session", "this session"), ("project", "this folder"))
    for remember, scope in scopes:
        if remember:
            label = f"Always allow {what} ({scope})"
            choices.append(
                AnswerChoice(name=remember, label=label, subject=subject, remember=remember, patterns=patterns)
            )
    return choices


def _pattern_label(patterns: tuple[Pattern, ...]) -> tuple[str, str]:
    """Return the calls that the patterns allow, with `{}` for the subject, and the subject."""
    names: dict[Effect, str] = {"execute": "running", "write": "edits to", "read": "pages from", "remote": "calls of"}
    effects = {each.effect for each in patterns}
    if len(effects) == 1:
        return f"{names[patterns[0].effect]} {{}}", ", ".join(each.text for each in patterns)
    return "{}", ", ".join(f"{names[each.effect]} {each.text}" for each in patterns)


def older_question(
    call: str, why: str, patterns: tuple[Pattern, ...] = (), *, level: Leaving = "", hosts: tuple[str, ...] = ()
) -> Question:
    """Return the question of an older journal, which stored no more than this. It has no `id`."""
    first, last = level_choices(level, hosts)
    choices = (*first, *remembering_choices(patterns), *last, NO)
    return Question(call=call, text="Allow this call?", why=why, choices=choices)
