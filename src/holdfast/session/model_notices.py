"""The notices that holdfast writes for the model and the user: neutral, factual, never guessed.

"Had no effect" is said only of a call whose start was never journalled and cannot have been lost. Most notices are
stored in entries when first used, so a change here does not change what older sessions send. `not_started`,
`interrupted`, `lost`, `late` and `ran_changed`, with `CLAUSES`, `NO_OUTPUT` and `MISSING_START`, are also rendered by
the fold: their texts must not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.session.journal.entries import Cause, StopReason
from holdfast.tool_calls import FileCheck, FileChecks, FileSeen, InputRequest, Leaving, Outcome, RemoteCall

HOLDFAST = "holdfast"
"""What notices call the program that runs a session without a name of its own."""

NO_OUTPUT = "(no output)"
MISSING_START = "(The beginning of this conversation is missing from the record.)"


REASONS: dict[Cause, StopReason] = {
    "finished": "end_turn",
    "max_tokens": "max_tokens",
    "max_steps": "max_steps",
    "max_cost": "max_cost",
    "refusal": "refusal",
    "timeout": "timeout",
    "user": "cancelled",
    "signal": "cancelled",
    "output": "cancelled",
    "external": "cancelled",
    "approval": "cancelled",
    "provider": "error",
    "flood": "error",
    "empty": "error",
    "loop": "error",
    "periodic": "error",
    "text_call": "error",
    "hook": "cancelled",
    "storage": "error",
    "crash": "error",
    "bug": "error",
    "fork": "cancelled",
    "import": "cancelled",
}
"""The stop reason for each cause."""

CLAUSES: dict[Cause, str] = {
    "finished": "the turn had ended",
    "max_tokens": "the response reached the output limit",
    "max_steps": "the turn reached its limit of model requests",
    "max_cost": "the run reached its cost limit",
    "refusal": "the response was refused",
    "timeout": "the turn reached its time limit (the user did not stop it)",
    "user": "the user stopped the turn",
    "signal": "holdfast was told to exit by a signal",
    "output": "what holdfast said could not be written any more",
    "external": "the program that runs holdfast cancelled the turn",
    "approval": "a call needed the user's approval and they were not there to give it",
    "provider": "the model's provider failed or could not be used",
    "flood": "the response or the turn went over a limit of size or count",
    "empty": "the response had neither an answer nor a tool call",
    "loop": "the same tool call was repeated with the same result",
    "periodic": "the response repeated the same text over and over",
    "text_call": "the response had a tool call written as text, and nothing ran",
    "hook": "a hook that the user configured ended the turn",
    "storage": "the session could not be written to disk",
    "crash": "holdfast's process ended without recording why (a crash, a kill, a power loss or a full disk)",
    "bug": "an internal error of holdfast ended the turn",
    "fork": "this session was copied in the middle of the turn, the original may have gone on",
    "import": "the imported record of the turn ends there",
}
"""The cause as a clause that begins a sentence or follows a colon."""

UNREMARKABLE: frozenset[Cause] = frozenset({"finished", "approval", "max_tokens"})
"""Causes that need no note, because the conversation itself shows them."""


FOREIGN: frozenset[Cause] = frozenset({"provider", "refusal", "storage", "bug", "text_call"})
"""Causes whose detail is another program's text or advice for the user: not repeated to the model."""


_FOR_USER: dict[Cause, str] = {
    "timeout": "the turn reached its time limit",
    "user": "you stopped the turn",
    "signal": "holdfast received a signal to exit",
    "output": "the output could no longer be written",
    "provider": "provider error",
    "bug": "a bug in holdfast",
    "approval": "a call needed your approval and you were not there to give it",
}
"""The clauses for the user, where they differ from those for the model."""


def clause_for_user(cause: Cause, detail: str = "") -> str:
    """Return the cause as a clause for the user, with its detail."""
    return _detailed(_FOR_USER.get(cause, CLAUSES[cause]), cause, detail)


def _clause_for_model(cause: Cause, detail: str, program: str) -> str:
    """Return the cause as a clause for the model, with its detail if holdfast wrote it; `program` is its name."""
    return _detailed(_clause(cause, program), cause, "" if cause in FOREIGN else detail)


def _clause(cause: Cause, program: str) -> str:
    return CLAUSES[cause].replace(HOLDFAST, program)


def _detailed(clause: str, cause: Cause, detail: str) -> str:
    if not detail:
        return clause
    if cause == "timeout":  # the detail is the time limit
        return clause.replace("time limit", f"time limit of {detail}")
    return f"{clause[:-1]}; {detail})" if clause.endswith(")") else f"{clause} ({detail})"


def not_started(cause: Cause, detail: str = "", *, approval_requested: bool = False, program: str = HOLDFAST) -> str:
    """Return the result of a call whose start was never journalled; `approval_requested` if the user was asked."""
    if cause == "approval" and approval_requested:
        return "Not started; not approved, the user wrote instead. It had no effect."
    if cause == "fork":
        return f"Not started in this copy: {CLAUSES[cause]} and run this call. Check before you run it again."
    return f"Not started: {_clause_for_model(cause, detail, program)} before this call began. It had no effect."


def plan_not_approved(words: str, mode: str) -> str:
    """Return the result of a plan that the user did not approve; `mode` is the one they left plan mode for, or ""."""
    reason = f" They said: {words}" if words.strip() else ""
    if mode:
        return (
            f"The user did not approve this plan and left plan mode without it. Mode: {mode}. Do not carry the "
            f"plan out: say so briefly, and wait for what they ask next.{reason}"
        )
    return (
        f"The user did not approve this plan yet; nothing else has changed. Look further if you must, change "
        f"the plan, and present it again. Do not carry it out.{reason}"
    )


PLAN_WITHOUT_USER = (
    "Not approved: no user can be asked in this run, so the plan is its result. Nothing else has changed. Give the "
    "whole plan as your answer, and do not carry it out."
)
"""The result of a plan that is presented in a run where no user can be asked."""


def question_answered(chosen: Sequence[str], words: str) -> str:
    """Return the result of a question that the user answered: the options they chose, and their own words."""
    text = words.strip()
    if not chosen:
        return f"The user answered in their own words: {text}" if text else "The user chose none of the options."
    choice = f"The user chose: {', '.join(chosen)}"
    return f"{choice}\nThey said: {text}" if text else choice


def question_refused(words: str) -> str:
    """Return the result of a question that the user did not answer."""
    reason = f" They said: {words}" if words.strip() else ""
    return f"The user did not answer this question. Do not ask it again: decide yourself, or stop and say why.{reason}"


def question_unanswered(cause: Cause, detail: str = "", *, program: str = HOLDFAST) -> str:
    """Return the result of a question to the user that the turn ended without an answer to."""
    return (
        f"Not answered: {_clause_for_model(cause, detail, program)} while the question was open. No option was chosen."
    )


QUESTION_WITHOUT_USER = (
    "Not answered: no user can be asked in this run. Decide yourself, and say in your answer what you assumed."
)
"""The result of a question in a run where no user can be asked."""


ONLY_USER_DECIDES = frozenset({PLAN_WITHOUT_USER, QUESTION_WITHOUT_USER})
"""The results of calls that only a user can decide: no option allows them."""


def denied_without_user(why: str, *, level: Leaving = "", hosts: tuple[str, ...] = ()) -> str:
    """Return the result of a call that needs approval in a run where no user can be asked; `why` is the question.

    `level` is what a command asked for, if it can be confined, with the `hosts` that it named.
    """
    to_hosts = f" to {', '.join(hosts)}" if level == "network" else ""
    at = "" if not level else " to run outside the sandbox" if level == "outside" else f" for level {level}{to_hosts}"
    return (
        f"Denied: {why} It needs the user's approval{at}, and no user can be asked in this run. It was not started "
        "and had no effect. Go on with what needs no approval, and do not do the same in another way. If the "
        "request cannot be completed without this call, say so in your answer, with the call."
    )


_CHECKED: dict[FileCheck, str] = {
    "after": "The change had landed all the same: {path} was read afterwards and holds exactly the intended content.",
    "before": "The change did not land: {path} was read afterwards and still holds its earlier content.",
    "other": "Effect unknown: {path} was read afterwards and holds neither its earlier nor the intended content.",
    "unreadable": "Effect unknown: {path} could not be read afterwards.",
}
_UNKNOWN = "Effect unknown: it may have done all, part or none of its work. Check before you run it again."


def interrupted(  # noqa: PLR0913 - each is a fact that may be known of the call
    cause: Cause,
    detail: str = "",
    *,
    file_checks: FileChecks = (),
    printed: str = "",
    remote: RemoteCall | None = None,
    input_request: InputRequest | None = None,
    only_reads: bool = False,
    observed: str = "",
    program: str = HOLDFAST,
) -> str:
    """Return the result of a started call without an outcome: what is known of its effect, and its output so far.

    `file_checks` says what was found at the paths that it changes. `remote` is the server's tool that it called,
    `input_request` what that server asked the user. `only_reads` says that the tool is holdfast's own and only reads.
    `observed` is what was seen of its effect.
    """
    if cause == "fork":
        begun = f"Not finished in this copy: {CLAUSES[cause]} with this call, which was running then."
    elif remote is None:
        begun = f"Interrupted: {_clause_for_model(cause, detail, program)} while this call was running."
    else:
        doing = "waited for an answer of the user" if input_request is not None else "was being asked"
        begun = f"Interrupted: {_clause_for_model(cause, detail, program)} while MCP server {remote.server!r} {doing}."
    if input_request is not None and input_request.again and not printed.strip():
        return f"{begun} {_ENDED_TO_ASK}"
    if remote is not None:
        return f"{begun} {printed.strip() or 'Whether it acted is unknown: look before you repeat it.'}"
    if only_reads:
        return f"{begun} {_ONLY_READS}"
    if observed and not file_checks:
        text = f"{begun} {observed}"
        return f"{text}\nWhat it had printed until then:\n{printed}" if printed.strip() else text
    return _with_known_effect(begun, file_checks, printed)


_ONLY_READS = "It only reads, so it had no effect."

_ENDED_TO_ASK = (
    "It got no answer, and it had ended this call before it asked: nothing of the call is running. What it had done "
    "before it asked is unknown."
)


_SHOWN_ARGUMENTS = 4_000
"""Characters of the arguments that a call ran with in place of the model's."""


def ran_changed(text: str, arguments: str, changed_by: str, *, program: str = HOLDFAST) -> str:
    """Return the result of a call that ran with other arguments than the model's, and which."""
    shown = arguments if len(arguments) <= _SHOWN_ARGUMENTS else f"{arguments[:_SHOWN_ARGUMENTS]}…"
    return f"{text}\n[Note from {program}: {changed_by} changed this call before it ran. It ran with: {shown}]"


def amended(name: str, text: str, *, program: str = HOLDFAST) -> str:
    """Return the note about what a hook added to a result that was sent already."""
    return f"[Note from {program}: a hook of the user says about the result of {name}:]\n{text}"


def hook_unfinished(event: str, *, program: str = HOLDFAST) -> str:
    """Return the note about a hook of a call that was then not started, when a crash left the hook without an end."""
    return f"[Note from {program}: a hook ({event}) may have run before the crash; its call did not start.]"


def lost(file_checks: FileChecks = (), *, printed: str = "") -> str:
    """Return the result of a call whose outcome, and perhaps its start, is in an unreadable part of the journal."""
    begun = "Outcome lost: the part of this session's record that may have held it is damaged."
    return _with_known_effect(begun, file_checks, printed)


_EACH: dict[FileCheck, str] = {
    "after": "landed: it is exactly as intended",
    "before": "not landed: it is as it was before",
    "other": "unknown: it is neither as it was before nor as intended",
    "unreadable": "unknown: it could not be read",
}


def _known_effect(checks: FileChecks) -> str:
    match checks:
        case ():
            return _UNKNOWN
        case ((path, check),):
            return _CHECKED[check].format(path=path)
        case _:
            lines = [f"{path}: {_EACH[check]}." for path, check in checks]
            return "\n".join(["Each of its files was looked at afterwards:", *lines])


def _with_known_effect(begun: str, checks: FileChecks, printed: str) -> str:
    text = f"{begun} {_known_effect(checks)}"
    return f"{text}\nWhat it had printed until then:\n{printed}" if printed.strip() else text


def result_found_later(cause: Cause, detail: str, text: str, *, program: str = HOLDFAST) -> str:
    """Return the result of a call that ended while holdfast was not running: its output, and why it comes late."""
    clause = _clause_for_model(cause, detail, program)
    return f"{text}\n[Note from {program}: {clause}; the result of this call was found afterwards.]"


def turn_note(
    cause: Cause, detail: str, *, cut_calls: tuple[str, ...] = (), was_cut: bool = False, program: str = HOLDFAST
) -> str:
    """Return the note for the next user message after a turn that was cut short, "" if none is needed."""
    if cause in UNREMARKABLE and not cut_calls:
        return ""
    sentences = [f"Note from {program}: {_clause_for_model(cause, detail, program)}; the previous turn ended there."]
    if was_cut:
        sentences.append("Your response above was cut off at that point.")
    if cut_calls:
        names = _list(cut_calls)
        sentences.append(f"The tool calls you had begun to write in it ({names}) were not started.")
    return "[" + " ".join(sentences) + "]"


def late(name: str, outcome: Outcome, text: str, *, program: str = HOLDFAST) -> str:
    """Return the note about an outcome that arrived after its call was settled."""
    since = f"the earlier call of {name}, reported as interrupted, has since ended ({outcome})"
    return f"[Note from {program}: {since}:\n{text}]"


def pruned_result_notice(outcome: Outcome, text: str, images: int = 0, *, program: str = HOLDFAST) -> str:
    """Return the notice that replaces an old result. Short, because there are many."""
    lines = text.count("\n") + 1
    size = f"{len(text):,} characters" + (f", {lines:,} lines" if lines > 1 else "")
    if images:
        size += f", {images} image" + ("s" if images > 1 else "")
    return f"[Note from {program}: old output ({outcome}; {size}) left out to save room. Look again if you need it.]"


def too_large_result(text: str, images: int = 0, *, program: str = HOLDFAST) -> str:
    """Return the notice that replaces a result that does not fit; `text` is its beginning and its end."""
    images_note = f"; {images} image{'s' * (images > 1)} left out too" if images else ""
    return f"[Note from {program}: too large to be sent whole{images_note}. Look at it in smaller parts.]\n{text}"


_NAMED = 20
"""Files listed by name; further files are only counted."""


def rewound_notice(files: tuple[str, ...], commands: int, *, program: str = HOLDFAST) -> str:
    """Return the note for the next user message after a rewind, "" if it leaves no effects behind."""
    if not files and not commands:
        return ""
    named = f" Files that were or may have been changed: {_list(files)}." if files else ""
    ran = f" Commands that were run: {commands}." if commands else ""
    return (
        f"[Note from {program}: the user rewound to before an earlier prompt. What followed it is no longer part of "
        f"this conversation, but its effects were not undone.{named}{ran} Check the current state first.]"
    )


def shared_command_note(command: str, outcome: Outcome, text: str) -> str:
    """Return the note for the next user message about a user command whose output is shared."""
    how = "" if outcome == "ok" else f", {outcome}"
    return f"[The user ran a shell command and shared its output{how}:\n$ {command}\n{text}]"


def task_note(task: str, command: str, outcome: Outcome, text: str, *, program: str = HOLDFAST) -> str:
    """Return the note for the model about the end of a background task."""
    return f"[Note from {program}: background task {task} has ended ({outcome}):\n$ {command}\n{text}]"


def interrupted_task(cause: Cause, detail: str = "", *, printed: str = "", program: str = HOLDFAST) -> str:
    """Return what is known of a background task that ended while holdfast was not running."""
    if cause == "fork":
        return "It belongs to the original of this copy, where it may still run. It is no task of this session."
    text = f"It has ended, and how is unknown: {_clause_for_model(cause, detail, program)}. {_UNKNOWN}"
    return f"{text}\nWhat it had printed last:\n{printed}" if printed.strip() else text


def became_task(cause: Cause, detail: str, task: str, *, program: str = HOLDFAST) -> str:
    """Return the result of a call that was interrupted while its command was started as a background task."""
    begun = (
        f"Interrupted: {_clause_for_model(cause, detail, program)} while this call was starting background task {task}."
    )
    return f"{begun} What became of the task is reported for itself."


def folder_moved_note(old: str, new: str, *, program: str = HOLDFAST) -> str:
    """Return the note for the next user message after the session's folder changed."""
    return (
        f"[Note from {program}: this session now works in the folder {new!r}. It worked in {old!r} before. Relative "
        f"paths are in the new folder. Paths that begin with {old!r}, in earlier messages, results and instructions, "
        "are as they were said then. What was allowed in this session before is asked about again.]"
    )


def folder_gone(folder: str) -> str:
    """Return the sentence about a session's folder that was deleted or moved while the session was open."""
    return f"The folder of this session, {folder!r}, does not exist any more: it was deleted or moved."


def folder_gone_note(folder: str, *, program: str = HOLDFAST) -> str:
    """Return the note for the next user message about that."""
    return (
        f"[Note from {program}: {folder_gone(folder)} No file in it can be read or changed, and no command can run "
        "there. Say so to the user, and do not create it again unless they ask for that.]"
    )


def files_changed(files: Iterable[FileSeen]) -> str:
    """Return a sentence for the user about files that changed since the model last saw them."""
    return _files_that(files, "changed since the model last saw them", "deleted since then")


def files_note(files: Iterable[FileSeen], *, program: str = HOLDFAST) -> str:
    """Return the note for the next user message about files that changed."""
    changes = _files_that(files, "these files changed since you last read or wrote them", "these were deleted")
    return f"[Note from {program}: {changes}. Read a file again before you change it.]"


def stale_file_notice(path: str) -> str:
    """Return why an edit was refused: the file changed since the model last saw it."""
    return (
        f"File {path!r} changed since you last read or wrote it. "
        "Nothing was written. Read it again, then make the change."
    )


def _files_that(files: Iterable[FileSeen], changed: str, deleted: str) -> str:
    by_fate: dict[str, list[str]] = {changed: [], deleted: []}
    for file in files:
        by_fate[deleted if file.size is None else changed].append(file.path)
    return "; ".join(f"{fate}: {_list(paths)}" for fate, paths in by_fate.items() if paths)


def _list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more
