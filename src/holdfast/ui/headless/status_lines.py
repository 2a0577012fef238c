"""The status lines of a run on standard error: the same sentences live and on resuming."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.session.journal import entries as e
from holdfast.ui.headless.denied_calls import allow_advice
from holdfast.ui.view.sentences import Narrator, Sentence


def status_line(sentence: Sentence) -> str:
    """Return the sentence as a status line, "" if it is not for one."""
    match sentence.kind:
        case (
            "started" | "call" | "late" | "task" | "hook" | "context" | "files" | "server" | "retry" | "failed" | "end"
        ):
            return sentence.text
        case "unapproved":
            return f"{sentence.text}. {allow_advice(sentence.question)}"
        case "damage":
            return f"damage found: {sentence.text}"
        case _:
            return ""


def last_turn(entries: Iterable[e.Entry]) -> tuple[e.Entry, ...]:
    """Return the entries of the last turn, starting with its prompt; a rewound turn does not count."""
    last: list[e.Entry] = []
    for entry in entries:
        if isinstance(entry, e.PromptAccepted | e.Rewound):
            last.clear()
        last.append(entry)
    return tuple(last)


def last_turn_status(entries: Iterable[e.Entry]) -> tuple[str, ...]:
    """Return the status lines of the last turn: its calls since the last request, that request's failure, its end.

    Empty if it ended regularly, has not ended, or was rewound.

    Laws (`tests/ui/headless/test_status_lines_laws.py`): every call that was open when the turn ended has one line, and
    the lines are those that were shown live.
    """
    narrator = Narrator(receipts=False)
    lines: list[str] = []
    end: e.TurnEnded | None = None
    for entry in entries:
        sentences = [status_line(sentence) for sentence in narrator.sentences(entry)]
        match entry:
            case e.PromptAccepted() | e.RequestStarted() | e.Rewound():
                lines.clear()
                end = None
            case e.CallEnded() | e.CallLate() | e.RequestFailed():
                lines += sentences
            case e.TurnEnded():
                lines += sentences
                end = entry
            case _:
                pass
    return () if end is None or end.cause == "finished" else tuple(lines)
