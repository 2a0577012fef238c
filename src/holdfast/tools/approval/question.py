"""The question about a planned call: what would be done, what is dangerous about it, and the offered answers. Pure.

It is made where the parsed line, the dangers and the patterns of the plan are known, so that no surface parses it
again. Which answers a place may offer is decided here too, before the question is journalled (`QuestionRules`).
"""

from __future__ import annotations

import msgspec

from holdfast.questions import (
    ALL_ANSWERS,
    EDITS,
    NO,
    OPTION_NAMES,
    AnswerChoice,
    Question,
    QuestionRules,
    level_choices,
    remembering_choices,
)
from holdfast.text import valid_unicode
from holdfast.tool_calls import Mode, UserQuestion
from holdfast.tools.approval.decision import HOLDS_SECRETS, NOT_CONFINED_HERE
from holdfast.tools.tool import Plan
from holdfast.tools.truncation import beginning

LONGEST_DETAIL = 65_536
"""Bytes of what would be done that a question holds; the rest is named by its size."""


PLAN_CHOICES = (
    AnswerChoice(name="free", label="Approve, and edit freely (accept edits)", mode="accept-edits"),
    AnswerChoice(name="each", label="Approve, and ask about each change", mode="ask"),
    AnswerChoice(name="keep", label="Keep planning: say what to change", allows=False, words=True),
    AnswerChoice(name="leave", label="Leave plan mode, carry nothing out", allows=False, mode="ask"),
)


OWN_WORDS = AnswerChoice(name="own", label="Answer in your own words", words=True)
ANSWER_MARKED = AnswerChoice(name="marked", label="Answer with what is marked")


def question_of(
    plan: Plan, *, mode: Mode, why: str = "", call: str = "", rules: QuestionRules = ALL_ANSWERS
) -> Question:
    """Return the question about the planned `call` in a session of this approval mode; `why` is the policy's sentence.

    Laws (`tests/tools/approval/test_questions_laws.py`): its JSON gives it back, it is bounded however long the plan
    is, it can always be refused, and rules only leave choices out.
    """
    title, detail = valid_unicode(plan.title), _detail(plan)
    if plan.presents:
        text, choices = "Carry out this plan?", _offered(PLAN_CHOICES, rules)
        return Question(id=call, call=call, text=text, title=title, detail=detail, choices=choices)
    if plan.question is not None:
        question = question_of_the_model(plan.question, detail=plan.detail)
        return msgspec.structs.replace(question, id=call, call=call, title=title, detail=detail)
    from holdfast.tools.approval.patterns import changes_autorun_file, suggest_patterns

    by_itself = plan.effect == "write" and changes_autorun_file(plan)
    choices = remembering_choices(suggest_patterns(plan).patterns)
    if mode == "ask" and plan.effect == "write" and plan.outside is None and plan.changes and not by_itself:
        choices.append(EDITS)
    first, last = level_choices(plan.asks_level, tuple(map(valid_unicode, plan.network)))
    return Question(
        id=call,
        call=call,
        text=valid_unicode(_text(plan)),
        why=valid_unicode(_reason(plan, why)),
        warnings=tuple(map(valid_unicode, _warnings(plan, by_itself=by_itself))),
        title=title,
        detail=detail,
        choices=_offered((*first, *choices, *last, NO), rules),
    )


def _offered(choices: tuple[AnswerChoice, ...], rules: QuestionRules) -> tuple[AnswerChoice, ...]:
    return tuple(each for each in choices if rules.allow(each))


def _detail(plan: Plan) -> str:
    """Return what would be done, at most `LONGEST_DETAIL` bytes of it with a mark where it is cut."""
    text = valid_unicode(plan.detail)
    data = text.encode()
    if len(data) <= LONGEST_DETAIL:
        return text
    shown = beginning(data[:LONGEST_DETAIL])
    return f"{shown}\n[… {len(data) - len(shown.encode()):,} more bytes: look at the call itself before you allow it …]"


def question_of_the_model(question: UserQuestion, *, detail: str) -> Question:
    """Return the question of the model or a server; a long one, or one of several lines, is in `detail`."""
    options = tuple(
        AnswerChoice(
            name=name,
            label="{}",
            subject=valid_unicode(each.label),
            option=valid_unicode(each.label),
            note=valid_unicode(each.description),
        )
        for name, each in zip(OPTION_NAMES, question.options, strict=False)
    )
    more = (*((ANSWER_MARKED,) if question.several else ()), *((OWN_WORDS,) if question.free_text else ()))
    choices = (*options[:-1], *more, *options[-1:]) if question.by else (*options, *more)
    text = f"{question.by or 'The model'} asks:" if detail else question.text
    return Question(text=valid_unicode(text), choices=choices, several=question.several, by=valid_unicode(question.by))


def _text(plan: Plan) -> str:
    if plan.asks_level == "outside":
        return "Run this command outside the sandbox?"
    if plan.effect == "execute" and plan.background:
        return "Run this command in the background?"
    return "Run this command?" if plan.effect == "execute" else f"{plan.title[:1].upper()}{plan.title[1:]}?"


def _reason(plan: Plan, why: str) -> str:
    """Return the part of the policy's sentence that the question and its warnings do not contain."""
    rest = why.removeprefix(f"The call {plan.title!r} ")
    if rest == why:
        return ""
    if rest.startswith("needs approval") or NOT_CONFINED_HERE in rest or HOLDS_SECRETS in rest:
        return f"It {rest}"
    if plan.effect != "execute":
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
