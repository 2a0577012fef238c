"""The tool `ask_user`: puts one question to the user, with options, and gives the model their answer.

Its plan only reads, and the user is asked in every mode. The answer and the outcome of the call are journalled together
by the turn, in one append, so that a crash never loses what the user said.
"""

from __future__ import annotations

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, QuestionOption, UserQuestion
from holdfast.tools.builtin.declarations import ASK_USER_SCHEMA, AskUserArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.truncation import escape_newlines

LEAST_OPTIONS, MOST_OPTIONS = 2, 4

_ONE_LINE = 160
"""Characters up to which a question of one line is the title of its prompt; a longer one scrolls below it."""


class AskUserTool:
    """Asks the user a question."""

    schema = ASK_USER_SCHEMA
    effect: Effect = "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of asking; raises `ToolFailed` if it is no question with two to four different options."""
        question = _question(parse_arguments(arguments, AskUserArguments, tool="ask_user"))

        async def run(context: ToolContext) -> ToolOutput:
            del context
            raise ToolFailed("The question was not put to the user: it is answered, not run. Nothing was done.")

        short = len(question.text) <= _ONE_LINE and "\n" not in question.text
        detail = "" if short else question.text
        return Plan(effect="read", title="ask the user", detail=detail, question=question, run=run)


def _question(args: AskUserArguments) -> UserQuestion:
    text = args.question.strip()
    if not text:
        raise ToolFailed("The question is blank. Nothing was asked. Give it as text.")
    options = tuple(
        QuestionOption(escape_newlines(each.label.strip()), escape_newlines(each.description.strip()))
        for each in args.options
    )
    if not LEAST_OPTIONS <= len(options) <= MOST_OPTIONS:
        raise ToolFailed(
            f"The question has {len(options)} options (expected {LEAST_OPTIONS} to {MOST_OPTIONS}). Nothing was asked. "
            "Give the likeliest answers: the user can always answer in their own words."
        )
    labels = [each.label for each in options]
    for label in labels:
        if not label or labels.count(label) > 1:
            why = "is given twice" if label else "is blank"
            raise ToolFailed(f"Option {label!r} {why}. Nothing was asked. Give each option another label.")
    return UserQuestion(text=text, options=options, several=args.several)
