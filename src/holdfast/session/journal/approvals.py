"""The question about a call, and the user's answer, as entries of a journal."""

from __future__ import annotations

import msgspec

from holdfast.questions import Question
from holdfast.tool_calls import InputRequest, Leaving, Mode, Pattern, Remember, ServerAnswer


class ApprovalAsked(msgspec.Struct, frozen=True, tag_field="kind", tag="approval-asked", omit_defaults=True):
    """Call `call` needs the user's approval. `why` is the question, `pattern` what the answer may allow permanently.

    If that takes several patterns, as for a pipeline, they are in `patterns`, and `pattern` is None. `level` is what
    the command asks for, if it can be confined, with the `hosts` that it names. `notice` says, once in a run, why
    commands are not confined. `repeats` is how often in a row the call had the same result, if the question is only
    whether that may go on; 0 for a question about the call itself. `question` is what the user sees, with every answer
    that is offered; None in older journals.
    """

    call: str
    why: str
    pattern: Pattern | None = None
    patterns: tuple[Pattern, ...] = ()
    level: Leaving = ""
    hosts: tuple[str, ...] = ()
    notice: str = ""
    repeats: int = 0
    question: Question | None = None


class ApprovalAnswered(msgspec.Struct, frozen=True, tag_field="kind", tag="approval-answered", omit_defaults=True):
    """The user answered. `words` is the reason for a refusal; the model reads it.

    `pattern` or `patterns`, if set, are allowed from now on, in this session or in every session of the project
    (`remember`). `mode` is the approval mode of the session from now on, None if the answer did not change it. `chosen`
    are the options chosen for a question of the model, and `words` is then the user's own text. `level` is what a
    command may do, "" if what the question named.
    """

    call: str
    allowed: bool
    words: str = ""
    remember: Remember = ""
    pattern: Pattern | None = None
    patterns: tuple[Pattern, ...] = ()
    mode: Mode | None = None
    chosen: tuple[str, ...] = ()
    level: Leaving = ""

    @property
    def remembered(self) -> tuple[Pattern, ...]:
        """Return what is allowed from now on."""
        if not (self.allowed and self.remember):
            return ()
        return self.patterns if self.pattern is None else (self.pattern, *self.patterns)


class CallWaits(msgspec.Struct, frozen=True, tag_field="kind", tag="call-waits", omit_defaults=True):
    """The server of `call` wants answers from the user, who is asked from now on."""

    call: str
    request: InputRequest


class CallAnswered(msgspec.Struct, frozen=True, tag_field="kind", tag="call-answered", omit_defaults=True):
    """The `answers` to the request of this `round`. They may have been sent from now on."""

    call: str
    round: int
    answers: tuple[ServerAnswer, ...]
