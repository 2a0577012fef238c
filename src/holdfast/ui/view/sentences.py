"""Every journal entry as sentences for the user: the only place that words them.

The screen, the headless output, `sessions show` and the exports choose sentences by their kind; none of them words an
entry itself. So a fact reads the same live, on resuming and in an export. Texts are as journalled: the caller
makes them printable for a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.model_settings import settings_text
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.session.model_notices import NO_OUTPUT, ONLY_USER_DECIDES, clause_for_user, files_changed, folder_gone
from holdfast.text import printable
from holdfast.ui.view.columns import count_noun, home
from holdfast.ui.view.declared_arguments import declared_arguments

MARKS = {"ok": "✓", "failed": "✗", "denied": "⊘", "not_started": "○", "interrupted": "◐"}
"""One mark per outcome, followed by the outcome's name unless it is `ok`."""

NoteKind = Literal[
    "session",
    "model",
    "retry",
    "failed",
    "cut",
    "late",
    "files",
    "receipt",
    "rewound",
    "context",
    "server",
    "task",
    "hook",
    "damage",
    "repaired",
    "trouble",
]
"""The subject of a note; `trouble` (a failed append, a finding of a check) is the only one that is not journalled."""

SentenceKind = NoteKind | Literal["prompt", "answer", "queue", "approval", "started", "call", "unapproved", "end"]
"""The subject of a sentence; an `unapproved` call did not run because no user could be asked."""

_REASON = 300  # characters; a long reason ends with what is known of the effect
_TITLE = 100  # characters of the main argument
_WHEN: dict[e.When, str] = {"steer": "for the next request", "later": "for the next turn"}
_RETRY_TEXTS: dict[str, str] = {
    "too_long": "The conversation is too long for the model; it is shortened, then sent again.",
    e.NO_IMAGES: "The model does not accept images; the request is sent again without them, with notes in their place.",
    e.BAD_IMAGES: "An image was refused; the request is sent again without the newest images, with notes in their "
    "place.",
}
"""How the next attempt differs after these faults."""

_SWITCHED: dict[e.ModelReason, str] = {
    "": "Model switched to {}.",
    "fallback": "This turn continues with {}, the fallback model.",
    "back": "Back to {}.",
}

_Message = e.PromptAccepted | e.Queued | e.Recalled | e.Steered
_Call = e.ApprovalAsked | e.ApprovalAnswered | e.CallStarted | e.CallEnded | e.CallLate | e.ShellStarted | e.ShellEnded
_Folder = e.Moved | e.FolderGone
_Restore = e.SnapshotTaken | e.FilesMoved | e.RestoreStarted | e.RestoreEnded
_Hook = e.HookStarted | e.HookEnded | e.ResultAmended
_DECIDED = {
    "allow": "allowed it",
    "ask": "wants you to decide",
    "deny": "denied it",
    "block": "blocked it",
    "stop": "ended the turn",
}
_Server = e.CallWaits | e.CallAnswered | e.ToolsChanged | e.ServerFailed
_CHANGES: dict[e.RequestChange, str] = {
    "thinking": "the model's thinking is left out",
    "reasoning": "each message with calls says that it has no reasoning",
    "markers": "control tokens in the conversation are broken with spaces",
    "tools": "{} not declared to the model any more",
    "one_call": "several calls of one answer are sent one after the other",
}
"""What later requests leave out or write in another way, after a refusal that would repeat."""

_Context = e.Pruned | e.Compacted | e.Uncompacted | e.Rewound | e.FilesChanged | e.Repaired | e.RequestsChanged


class Sentence(msgspec.Struct, frozen=True):
    """A sentence about an entry; `detail` is more text that the sentence does not contain.

    `question` is the approval question that no user could answer, if the call is `unapproved`.
    """

    kind: SentenceKind
    text: str
    detail: str = ""
    question: e.ApprovalAsked | None = None


class Narrator:
    """Turns entries into sentences, one by one; it remembers the calls and messages that later entries only name."""

    def __init__(self, own_tests: Sequence[str] = (), *, receipts: bool = True) -> None:
        """Create it; `own_tests` are commands that the user calls test runs. With `receipts`, it says what happened."""
        self._own_tests = own_tests
        self._receipts = receipts
        self._root = ""
        self._titles: dict[str, str] = {}  # of calls and user commands
        self._open_questions: dict[str, e.ApprovalAsked] = {}
        self._queued: dict[str, str] = {}
        self._failed = ""  # why the last request failed for good
        self._restore: e.RestoreStarted | None = None  # the last one that began
        self._unkept = ""  # why files were not kept before a call: said once
        self._turn: list[e.Entry] = []  # the entries of the running turn, for its receipt

    def title(self, call: str) -> str:
        """Return the call or user command as one line."""
        return self._titles.get(call, f"a call that is not in the journal ({call})")

    def sentences(self, entry: e.Entry) -> tuple[Sentence, ...]:
        """Return the sentences of this entry; one that only prepares others has none."""
        match entry:
            case e.SessionOpened(cwd=cwd):
                self._root = cwd
            case e.Moved(to=to):
                self._root = to
            case e.PromptAccepted():
                self._turn.clear()
            case _:
                pass
        self._turn.append(entry)
        return tuple(self._sentences(entry))

    def _sentences(self, entry: e.Entry) -> Iterator[Sentence]:
        match entry:
            case e.SessionOpened():
                yield Sentence("session", _opened(entry))
            case e.ModelChanged(model=model):
                yield Sentence("retry" if entry.why == "fallback" else "model", _SWITCHED[entry.why].format(model))
            case e.ModelSettingsChanged(settings=settings):
                yield Sentence("model", settings_text(settings))
            case e.ModeChanged(mode=mode):  # the status line shows changes by the user
                yield from (Sentence("session", f"Mode from here on: {mode}."),) if entry.why else ()
            case e.Titled():
                yield Sentence("session", _titled(entry))
            case e.PromptAccepted() | e.Queued() | e.Recalled() | e.Steered():
                yield from self._message(entry)
            case e.RequestStarted() | e.ResponseCheckpoint() | e.ProcessStarted():
                pass
            case e.RequestFailed(retry_in=None, message=message):
                self._failed = message
                yield Sentence("failed", f"Request failed ({_fault(entry)}): {message}")
            case e.RequestFailed():
                yield Sentence("retry", _retried(entry), entry.message)
            case e.ResponseEnded():
                yield from self._response(entry)
            case (
                e.ApprovalAsked()
                | e.ApprovalAnswered()
                | e.CallStarted()
                | e.CallEnded()
                | e.CallLate()
                | e.ShellStarted()
                | e.ShellEnded()
            ):
                yield from self._call(entry)
            case e.TurnEnded(cause=cause, detail=detail):
                if cause != "finished":
                    how = "interrupted" if cause in ("crash", "fork") else "ended"
                    more = detail.removeprefix(self._failed).strip()  # the sentence of the failed request has the rest
                    yield Sentence("end", f"Turn {how}: {clause_for_user(cause, more)}")
                yield from self._receipt()
            case (
                e.Pruned()
                | e.Compacted()
                | e.Uncompacted()
                | e.Rewound()
                | e.FilesChanged()
                | e.Repaired()
                | e.RequestsChanged()
            ):
                yield from _context(entry)
            case e.Moved() | e.FolderGone():
                yield _folder(entry)
            case _:
                yield from self._other(entry)

    def _receipt(self) -> Iterator[Sentence]:
        """Yield one line about what happened in the turn, if a call acted in it."""
        entries, self._turn = self._turn, []
        if self._receipts and any(isinstance(each, e.CallStarted) and each.effect != "read" for each in entries):
            from holdfast.agent.receipt.folded_receipt import receipt  # it loads what reads commands
            from holdfast.agent.receipt.receipt_lines import acted, receipt_details, receipt_line

            found = receipt(entries, root=self._root, tests=self._own_tests)
            if acted(found):
                yield Sentence("receipt", receipt_line(found), "\n".join(receipt_details(found)[1:]))

    def _message(self, entry: _Message) -> Iterator[Sentence]:
        match entry:
            case e.PromptAccepted(text=text) | e.Steered(text=text):
                yield Sentence("prompt", text)
            case e.Queued(id=message, text=text, when=when):
                self._queued[message] = text
                yield Sentence("queue", f"Queued, {_WHEN[when]}: {text}")
            case e.Recalled(queued=message):
                yield Sentence("queue", f"Recalled: {self._queued.get(message, message)}")

    def _response(self, entry: e.ResponseEnded) -> Iterator[Sentence]:
        for part in entry.parts:
            if isinstance(part, TextPart) and part.text.strip():
                yield Sentence("answer", part.text)
            elif isinstance(part, CallPart):
                title = self._titles[part.id] = call_line(part)
                if entry.cut is not None:
                    yield Sentence("call", f"{MARKS['not_started']} {title} not started: its response was cut off")
        if entry.cut is not None and entry.refusal is None:  # the end of the turn says that it was refused
            yield Sentence("cut", f"The response was cut off: {clause_for_user(entry.cut)}.")

    def _call(self, entry: _Call) -> Iterator[Sentence]:
        match entry:
            case e.ApprovalAsked(call=call, question=question):
                self._open_questions[call] = entry
                yield Sentence("approval", f"Approval requested for {self.title(call)}: {question.reason}")
                yield from (Sentence("approval", entry.notice),) if entry.notice else ()
            case e.ApprovalAnswered(call=call, allowed=allowed, reason=reason, chosen=chosen, level=level):
                self._open_questions.pop(call, None)
                how = "" if not level else " outside the sandbox" if level == "outside" else f" at level {level}"
                answer = f"Chosen: {', '.join(chosen)}" if chosen else f"Allowed{how}" if allowed else "Refused"
                yield Sentence("approval", f"{answer}. {reason}".rstrip())
            case e.CallStarted(call=call, confined=confined, changed_by=changed_by, arguments=arguments):
                yield Sentence("started", f"→ {self.title(call)}{f' (confined: {confined})' if confined else ''}")
                if changed_by:
                    shown = " ".join(arguments.split())[:_TITLE]
                    yield Sentence("started", f"{changed_by} changed this call before it ran. It runs with: {shown}")
            case e.ShellStarted(id=call, command=command):
                title = self._titles[call] = f"! {' '.join(command.split())}"
                yield Sentence("started", f"→ {title}")
            case e.CallEnded(outcome="not_started" | "denied", call=call, text=text) if (
                call in self._open_questions and text not in ONLY_USER_DECIDES
            ):
                text = f"{MARKS[entry.outcome]} {self.title(call)} needs approval; not run"
                yield Sentence("unapproved", text, question=self._open_questions[call])
            case e.CallEnded(call=call) | e.ShellEnded(id=call):
                yield _ended(self.title(call), entry)
            case e.CallLate(call=call, outcome=outcome, text=text):
                how = outcome.replace("_", " ")
                yield Sentence("late", f"{self.title(call)}: {how} after its turn had ended", text)

    def _other(self, entry: TaskStarted | TaskEnded | TaskEndSent | _Server | _Restore | _Hook) -> Iterator[Sentence]:
        if isinstance(entry, TaskStarted | TaskEnded | TaskEndSent):
            yield from self._task(entry)
        elif isinstance(entry, _Restore):
            yield from self._restores(entry)
        elif isinstance(entry, _Hook):
            yield from self._hook(entry)
        else:
            yield from _server(entry)

    def _restores(self, entry: _Restore) -> Iterator[Sentence]:
        """Yield the sentence about what was done to files, or about why their content is not kept."""
        match entry:
            case e.SnapshotTaken(failed=why):
                if why and why != self._unkept:
                    yield Sentence("files", f"What commands do to files is not kept, and cannot be undone. {why}")
                self._unkept = why or self._unkept
            case e.FilesMoved(call=call, failed=why):
                if why:
                    yield Sentence("files", f"What {self.title(call)} did to files is not known. {why}")
            case e.RestoreStarted():
                self._restore = entry
            case e.RestoreEnded(skipped=skipped):
                begun, self._restore = self._restore, None
                left = {each.path for each in skipped[len(begun.skipped) if begun is not None else 0 :]}
                steps = [step for step in begun.steps if step.path not in left] if begun is not None else []
                done = [f"{step.path}{' (deleted)' if step.content.kind == 'absent' else ''}" for step in steps]
                other = [f"{path}: it is not kept" for path in begun.uncovered] if begun is not None else []
                what = "done again" if begun is not None and begun.redo else "undone"
                alone = f"; {count_noun(len(skipped) + len(other), 'path')} left as it is" if skipped or other else ""
                if begun is not None and begun.unknown:
                    alone += f"; what {count_noun(begun.unknown, 'call')} did to files is not known, and stays"
                listed = "\n".join((*done, *(f"{each.path}: {each.why}" for each in skipped), *other))
                yield Sentence("files", f"Files {what}: {count_noun(len(done), 'path')}{alone}.", listed)

    def _hook(self, entry: _Hook) -> Iterator[Sentence]:
        """Yield a sentence about a hook that decided or failed, and what it says to the user; nothing of the others."""
        match entry:
            case e.HookStarted(event=event, command=command):
                self._titles[entry.id] = f"hook {event} ({' '.join(command.split())[:_TITLE]})"
            case e.HookEnded(outcome=outcome, decision=decision, text=text, message=message):
                title = self._titles.pop(entry.id, "a hook")
                if decision or outcome != "ok":
                    how = _DECIDED.get(decision, "") if decision else outcome.replace("_", " ")
                    first = printable(text).strip().split("\n")[0][:_REASON]
                    yield Sentence("hook", f"{title} {how}{': ' if first else '.'}{first}", text)
                if message.strip():
                    yield Sentence("hook", f"{title} says: {printable(message).strip()}")
            case e.ResultAmended(call=call, text=text, replaces=replaces):
                what = "replaced" if replaces else "added to"
                yield Sentence("hook", f"A hook {what} the result of {self.title(call)}.", text)

    def _task(self, entry: TaskStarted | TaskEnded | TaskEndSent) -> Iterator[Sentence]:
        match entry:
            case TaskStarted(id=task, command=command):
                title = self._titles[task] = f"task {task}: {' '.join(command.split())}"
                yield Sentence("task", f"→ {title}{' (moved to the background)' if entry.moved else ''}")
            case TaskEnded(id=task):
                title = self._titles.get(task, f"task {task}")
                sentence = _ended(title, entry)
                yield Sentence("task", sentence.text, sentence.detail)
            case TaskEndSent():
                pass  # the sentence of its end says it


def _opened(entry: e.SessionOpened) -> str:
    text = f"{home(entry.cwd)} with {entry.model}" if entry.model else home(entry.cwd)
    if entry.forked_from is not None:
        text += f", a copy of session {entry.forked_from}"
    if entry.imported_from is not None:
        text += f", imported from {entry.imported_from}"
    return text


def _fault(failed: e.RequestFailed) -> str:
    status = "" if failed.status is None else f"{failed.status} "
    return f"{status}{failed.fault.replace('_', ' ')}"


def _retried(failed: e.RequestFailed) -> str:
    """Return why an attempt failed and how the next one differs."""
    of = "" if failed.attempts is None else f"/{failed.attempts}"
    how = " without streaming" if failed.retry_unstreamed else ""
    text = f"Attempt {failed.attempt}{of} failed ({_fault(failed)}); retrying in {failed.retry_in:g} s{how}."
    return _RETRY_TEXTS.get(failed.fault, text)


def _ended(title: str, entry: e.CallEnded | e.ShellEnded | TaskEnded) -> Sentence:
    """Return the sentence for an ended call: its outcome unless `ok`, the time, and the first line of the reason."""
    took = f" ({entry.seconds:.1f} s)" if entry.seconds >= 1 else ""
    shared = ", shared with the model" if isinstance(entry, e.ShellEnded) and entry.note else ""
    text = f"{MARKS[entry.outcome]} {title}{took}{shared}"
    if entry.outcome == "ok":
        return Sentence("call", text, entry.text)
    outcome = entry.outcome.replace("_", " ")
    lines = printable(entry.text).strip().split("\n")
    reason = lines[-1] if lines[0] == NO_OUTPUT else lines[0]  # for a command without output, the exit code
    is_complete = len(lines) == 1 and len(reason) <= _REASON
    reason_text = reason[:_REASON].removeprefix(f"{outcome.capitalize()}: ")
    return Sentence("call", f"{text} {outcome}: {reason_text}", "" if is_complete else entry.text)


def _context(entry: _Context) -> Iterator[Sentence]:
    """Yield a sentence about a change of the conversation that is sent to the model."""
    match entry:
        case e.Pruned(outputs=outputs, saved=saved):
            shortened = f"From here on the model gets a shortened output of {count_noun(len(outputs), 'call')}"
            yield Sentence("context", f"{shortened} (saves about {saved:,} tokens). Nothing is deleted.")
        case e.Compacted():
            how = f"summarized by {entry.model}" if entry.model else "left out, because no summary could be made"
            summary = f"Compacted: {entry.messages} older messages were {how}."
            sizes = f"Context: {entry.before:,} → {entry.after:,} tokens."
            yield Sentence("context", f"{summary} {sizes} The messages stay here (/uncompact undoes this).", entry.note)
        case e.Uncompacted():
            yield Sentence("context", "Compaction undone: the older messages are sent to the model again.")
        case e.Rewound(turn=turn):
            stay = "Later messages stay visible but are no longer sent."
            yield Sentence("rewound", f"Rewound to before turn {turn}. {stay}")
        case e.FilesChanged(files=files):
            yield Sentence("files", files_changed(files))
        case e.RequestsChanged(model=model, change=change, tools=tools):
            what = _CHANGES[change].format(f"{', '.join(tools)} {'is' if len(tools) == 1 else 'are'}")
            yield Sentence("context", f"From here on {what}: {model}'s provider refuses it.", entry.reason)
        case e.Repaired(findings=findings, note=note):
            yield from (Sentence("damage", found) for found in findings)
            if note:
                yield Sentence("repaired", note)


_MAIN_ARGUMENTS = ("command", "path", "pattern", "url", "query", "question")


_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: *(.+?) *$", re.MULTILINE)
_FILES = 3  # named in a line


def call_line(call: CallPart) -> str:
    """Return a call as one line: its name and its main argument, unchanged."""
    try:
        arguments: object = json.loads(declared_arguments(call) or "{}")
    except (ValueError, RecursionError):
        arguments = None
    argument = call.arguments
    if isinstance(arguments, dict):
        known: dict[str, object] = arguments  # pyright: ignore[reportUnknownVariableType] - JSON the model wrote
        argument = next((str(known[key]) for key in _MAIN_ARGUMENTS if key in known), "")
        if isinstance(patch := known.get("input"), str) and (files := _PATCHED.findall(patch)):
            argument = ", ".join(files[:_FILES]) + (f" and {len(files) - _FILES} more" if len(files) > _FILES else "")
    line = " ".join(argument.split())
    return f"{call.name} {line[:_TITLE]}{'…' if len(line) > _TITLE else ''}".rstrip()


def _server(entry: _Server) -> Iterator[Sentence]:
    """Yield a sentence about the questions of an MCP server, their answers, changed tools, or its failure."""
    match entry:
        case e.CallWaits(request=request):
            questions = "; ".join(" ".join(each.message.split()) for each in request.questions)
            yield Sentence("session", f"MCP server {request.server} asks: {questions}")
        case e.CallAnswered(answers=answers):
            yield Sentence("session", f"Answered: {', '.join(each.action for each in answers)}")
        case e.ToolsChanged(note=note):
            yield Sentence("session", note[note.find(": ") + 2 :].removesuffix("]"))
        case e.ServerFailed(server=server, reason=reason, tools=tools):
            lost = f" Its {count_noun(len(tools), 'tool')} cannot be called now." if tools else ""
            why = " ".join(reason.split()).rstrip(".")
            yield Sentence("server", f"MCP server {server} failed: {why}.{lost}", ", ".join(tools))


def _folder(entry: _Folder) -> Sentence:
    """Return the sentence about the folder of the session."""
    match entry:
        case e.Moved(from_=old, to=new):
            return Sentence("session", f"The session works in {home(new)} from here on; before, in {home(old)}.")
        case e.FolderGone(folder=folder):
            return Sentence("files", folder_gone(folder))


def _titled(entry: e.Titled) -> str:
    """Return the sentence about a new title."""
    if entry.model:
        return f"Title, by {entry.model}: {entry.title}"
    return f"Session renamed to {entry.title!r}." if entry.title else "Session title cleared."
