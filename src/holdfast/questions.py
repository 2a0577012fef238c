"""A question to the user as data: any process can show it, and an answer is one of its choices.

The agent makes it once, journals it, and gives it to the caller that asks the user. A surface draws it in its own way
and returns `AnswerChoice.answer`. The first choice is the smallest permission, and the last one refuses. For a question
of the model itself, the choices are its options, and last the user's own words.

It is stored in journals, so its fields and spellings are part of FORMAT (see docs/reference/journal.md).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.tool_calls import Leaving, Mode, Pattern, Remember

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


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """The user's answer about a call. `reason` is why they refuse; the model reads it.

    For a question of the model, `chosen` has the labels of the chosen options, and `reason` the user's own words.

    `remember` also allows the patterns of the choice. `level` is what a command may do, "" if what the question names.
    `mode` is the session's approval mode from now on, whatever `allowed` says; None keeps the mode.
    """

    allowed: bool
    reason: str = ""
    remember: Remember = ""
    mode: Mode | None = None
    chosen: tuple[str, ...] = ()
    level: Leaving = ""


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


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to the user.

    `id` is its own, `call` is the call it is about. `text` is one line, `why` a sentence why the user is asked, "" if
    `text` says it. `warnings` say in a few words each what makes the call dangerous. `title` is the plan in one line,
    `detail` what would be done: a diff, the whole command, the model's plan.

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

    def choice(self, name: str) -> AnswerChoice | None:
        """Return the choice of this name, None if it is not offered."""
        return next((each for each in self.choices if each.name == name), None)
