"""What the model is told about calls without an outcome and turns that stopped: neutral, factual, never assumed.

Two rules. "Had no effect" is said only of a call whose start was never journalled, and cannot have been lost. These
words are stored in entries when they are first used, so changing one here never changes what an older session sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.calls import FileSeen, Looked, Outcome
from holdfast.session.entries import Cause, Compacted, ModelChanged, StopReason, Titled

NO_OUTPUT = "(no output)"
MISSING_START = "(The beginning of this conversation is missing from the record.)"


REASONS: dict[Cause, StopReason] = {
    "finished": "end_turn",
    "max_tokens": "max_tokens",
    "max_steps": "max_steps",
    "refusal": "refusal",
    "timeout": "timeout",
    "user": "cancelled",
    "signal": "cancelled",
    "output": "cancelled",
    "external": "cancelled",
    "approval": "cancelled",
    "provider": "error",
    "storage": "error",
    "crash": "error",
    "bug": "error",
    "fork": "cancelled",
    "import": "cancelled",
}
"""The stop reason that a turn ended by a cause reports."""

CLAUSES: dict[Cause, str] = {
    "finished": "the turn had ended",
    "max_tokens": "the response reached the output limit",
    "max_steps": "the turn reached its limit of model requests",
    "refusal": "the response was refused",
    "timeout": "the turn reached its time limit (the user did not stop it)",
    "user": "the user stopped the turn",
    "signal": "holdfast was told to exit by a signal",
    "output": "what holdfast said could not be written any more",
    "external": "the program that runs holdfast cancelled the turn",
    "approval": "a call needed the user's approval and they were not there to give it",
    "provider": "the model's provider failed or could not be used",
    "storage": "the session could not be written to disk",
    "crash": "holdfast's process ended without recording why (a crash, a kill, a power loss or a full disk)",
    "bug": "an internal error of holdfast ended the turn",
    "fork": "this session was copied in the middle of the turn, the original may have gone on",
    "import": "the imported record of the turn ends there",
}
"""What happened, as a clause that begins a sentence or follows a colon."""

UNREMARKABLE: frozenset[Cause] = frozenset({"finished", "approval", "max_tokens", "refusal"})
"""Endings that the conversation itself shows, so that no note is needed."""


FOREIGN: frozenset[Cause] = frozenset({"provider", "storage", "bug"})
"""Endings whose detail is somebody else's words, or advice for the person: nothing to say in our name to a model."""


_TO_THE_PERSON: dict[Cause, str] = {
    "timeout": "the turn reached its time limit",
    "user": "you stopped the turn",
    "approval": "a call needed your approval and you were not there to give it",
}
"""The clauses that say "you" to whoever they are about."""


def what_happened(cause: Cause, detail: str = "") -> str:
    """Return the cause as a clause for a person, with its detail."""
    return _detailed(_TO_THE_PERSON.get(cause, CLAUSES[cause]), cause, detail)


def _told(cause: Cause, detail: str) -> str:
    """Return the cause as a clause for the model, with its detail if that is ours to tell."""
    return _detailed(CLAUSES[cause], cause, "" if cause in FOREIGN else detail)


def _detailed(clause: str, cause: Cause, detail: str) -> str:
    if not detail:
        return clause
    if cause == "timeout":  # its detail is how long that was
        return clause.replace("time limit", f"time limit of {detail}")
    return f"{clause[:-1]}; {detail})" if clause.endswith(")") else f"{clause} ({detail})"


def not_started(cause: Cause, detail: str = "", *, asked: bool = False) -> str:
    """Return the result of a call whose start was never journalled; `asked` if a person was asked about this one."""
    if cause == "approval" and asked:
        return "Not started; not approved, the user wrote instead. It had no effect."
    if cause == "fork":
        return f"Not started in this copy: {CLAUSES[cause]} and run this call. Check before you run it again."
    return f"Not started: {_told(cause, detail)} before this call began. It had no effect."


_LOOKED: dict[Looked, str] = {
    "after": "The change had landed all the same: {path} was read afterwards and holds exactly the intended content.",
    "before": "The change did not land: {path} was read afterwards and still holds its earlier content.",
    "other": "Effect unknown: {path} was read afterwards and holds neither its earlier nor the intended content.",
    "unreadable": "Effect unknown: {path} could not be read afterwards.",
}
_UNKNOWN = "Effect unknown: it may have done all, part or none of its work. Check before you run it again."


def interrupted(
    cause: Cause, detail: str = "", *, looked: Looked | None = None, path: str = "", printed: str = ""
) -> str:
    """Return the result of a call that started and has no outcome: what is known of its effect, what it had printed."""
    if cause == "fork":
        begun = f"Not finished in this copy: {CLAUSES[cause]} with this call, which was running then."
    else:
        begun = f"Interrupted: {_told(cause, detail)} while this call was running."
    return _with_what_is_known(begun, looked, path, printed)


def lost(*, looked: Looked | None = None, path: str = "", printed: str = "") -> str:
    """Return the result of a call whose outcome, and maybe its start, was in what could not be read of the journal."""
    begun = "Outcome lost: the part of this session's record that may have held it is damaged."
    return _with_what_is_known(begun, looked, path, printed)


def _with_what_is_known(begun: str, looked: Looked | None, path: str, printed: str) -> str:
    text = f"{begun} {_UNKNOWN if looked is None else _LOOKED[looked].format(path=path)}"
    return f"{text}\nWhat it had printed until then:\n{printed}" if printed.strip() else text


def found_afterwards(cause: Cause, detail: str, text: str) -> str:
    """Return the result of a call that ended with nobody there to record it: `text`, and why it comes so late."""
    return f"{text}\n[Note from holdfast: {_told(cause, detail)}; the result of this call was found afterwards.]"


def turn_note(cause: Cause, detail: str, *, cut_calls: tuple[str, ...] = (), was_cut: bool = False) -> str:
    """Return what opens the next user message after a turn that did not end by itself, "" if nothing need be said."""
    if cause in UNREMARKABLE and not cut_calls:
        return ""
    said = [f"Note from holdfast: {_told(cause, detail)}; the previous turn ended there."]
    if was_cut:
        said.append("Your response above was cut off at that point.")
    if cut_calls:
        names = ", ".join(cut_calls)
        said.append(f"The tool calls you had begun to write in it ({names}) were not started.")
    return "[" + " ".join(said) + "]"


def late(name: str, outcome: Outcome, text: str) -> str:
    """Return how an outcome that arrived after its call was settled is told."""
    since = f"the earlier call of {name}, reported as interrupted, has since ended ({outcome})"
    return f"[Note from holdfast: {since}:\n{text}]"


def left_out(outcome: Outcome, text: str, images: int = 0) -> str:
    """Return what stands in the place of an old result that is not sent any more: short, for there are many."""
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters" + (f", {lines:,} lines" if lines > 1 else "")
    if images:
        size += f", {images} image" + ("s" if images > 1 else "")
    return f"[Note from holdfast: old output ({outcome}; {size}) left out to save room. Look again if you need it.]"


def too_large(text: str, images: int = 0) -> str:
    """Return what stands in the place of a new result that has no room: `text` is its beginning and its end."""
    gone = f"; {images} image{'s' * (images > 1)} left out too" if images else ""
    return f"[Note from holdfast: too large to be sent whole{gone}. Look at it in smaller parts.]\n{text}"


def pruned(outputs: int, saved: int) -> str:
    """Return for a person that results are not sent whole any more."""
    calls = "1 call" if outputs == 1 else f"{outputs} calls"
    gone = f"The output of {calls} is not sent whole to the model from here on"
    return f"{gone}, about {saved:,} tokens less; the session keeps it."


def compacted(entry: Compacted) -> str:
    """Return for a person that something else is sent in place of what is older."""
    how = f"summed up by {entry.model}" if entry.model else "left out, for it could not be summed up"
    return (
        f"From here on the older part is not sent to the model: {entry.messages} messages were {how}. "
        f"About {entry.before:,} tokens were in use, {entry.after:,} are now; all of it stays here (/uncompact)."
    )


UNCOMPACTED = "From here on the older part is sent to the model again, in place of what stood for it."
"""What a person is told when a compaction is taken back."""


_NAMED = 20
"""Files that are named; more of them are counted."""


def rewound(files: tuple[str, ...], commands: int) -> str:
    """Return what opens the next user message after a rewind, "" if nothing was done that is left behind."""
    if not files and not commands:
        return ""
    named = f" Files that were or may have been changed: {_list(files)}." if files else ""
    ran = f" Commands that were run: {commands}." if commands else ""
    return (
        "[Note from holdfast: the user went back to before an earlier prompt. What followed it is no longer part of "
        f"this conversation, but its effects were not undone.{named}{ran} Look before you rely on how things were.]"
    )


def from_here_on(entry: ModelChanged | Titled) -> str:
    """Return for a person what is otherwise from here on."""
    match entry:
        case ModelChanged(model=model):
            return f"The model is {model} from here on."
        case Titled(title=title):
            return f"The session is called {title!r} from here on." if title else "The session has no title of its own."


def shared(command: str, outcome: Outcome, text: str) -> str:
    """Return what opens the next user message after a command of the person's own that they share."""
    how = "" if outcome == "ok" else f", {outcome}"
    return f"[The user ran a command of their own and shares what came of it{how}:\n$ {command}\n{text}]"


def went_back(turn: int) -> str:
    """Return for a person that the conversation was taken back."""
    return f"Back to before the prompt of turn {turn}. What was said from there on stays here and is not sent any more."


def files_changed(files: Iterable[FileSeen]) -> str:
    """Return for a person which files are not as the model last saw them."""
    return _files_that(files, "changed since the model last saw them", "gone since then")


def files_note(files: Iterable[FileSeen]) -> str:
    """Return what opens the next user message when files that the model had seen are different."""
    said = _files_that(files, "these files changed since you last read or wrote them", "these are gone")
    return f"[Note from holdfast: {said}. Read a file again before you change it.]"


def stale(path: str) -> str:
    """Return why a file is not changed that is not as the model last saw it."""
    return (
        f"File {path!r} changed since you last read or wrote it, its content as you know it was expected. "
        "Nothing was written. Read it again, then make the change."
    )


def _files_that(files: Iterable[FileSeen], changed: str, gone: str) -> str:
    by_fate: dict[str, list[str]] = {changed: [], gone: []}
    for file in files:
        by_fate[gone if file.size is None else changed].append(file.path)
    return "; ".join(f"{fate}: {_list(paths)}" for fate, paths in by_fate.items() if paths)


def _list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
