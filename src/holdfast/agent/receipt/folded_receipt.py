"""Makes the receipt of a turn or a session out of its entries. Pure.

How it works. The entries are read once forwards, for what stands where, and once backwards, so that at each command it
is known what changed behind it: by an edit, by a command, by the user between two calls (the folder differs from what
it was behind the last call), by an undo, or unseen. A test run is found in the command's parsed words.

Example: `pytest -q` ended with 0, then `a.py` was edited. Its exit code is known, and one file changed behind it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from holdfast.agent.receipt.receipt import (
    CallApproval,
    CommandRun,
    LastTests,
    Receipt,
    ReceiptFiles,
    RunFacts,
)
from holdfast.agent.receipt.request_facts import RequestLog
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.tasks import TaskEnded, TaskStarted
from holdfast.tools.test_runs.run_of_line import UNKNOWN_WORKSPACE, found_tests
from holdfast.tools.test_runs.runner_table import count_of_tests, is_test_file


def receipt(
    entries: Iterable[e.Entry], *, turn: int = 0, root: str = "", tests: Sequence[str] = (), only: bool = False
) -> Receipt:
    """Return the receipt of these entries; with `turn`, of that turn and those behind it, of that one `only` if so.

    `root` is the folder of the session, "" if the entries say it. `tests` are commands that the user calls test runs.
    """
    facts = _Facts(entries, turn=turn, root=root, only=only)
    return facts.receipt(tests)


class _Facts:
    """What the entries say, by call."""

    def __init__(self, entries: Iterable[e.Entry], *, turn: int, root: str, only: bool) -> None:
        self.entries: list[e.Entry] = []
        self.turns: list[int] = []
        self.root = root
        self.requests = RequestLog()
        self.tasks: dict[str, None] = {}
        self.written: set[str] = set()
        begun = not turn
        for entry in entries:
            match entry:
                case e.SessionOpened(cwd=cwd) if not root:
                    self.root = cwd
                case e.Moved(to=to) if not root:
                    self.root = to
                case e.PromptAccepted():
                    begun = entry.turn == turn if only else entry.turn >= turn
                    self.turns += [entry.turn] if begun else []
                case TaskStarted(id=task):
                    self.tasks[task] = None
                case TaskEnded(id=task):
                    self.tasks.pop(task, None)
                case e.FilesMoved():
                    self.written |= {*(each.path for each in entry.changes), *entry.uncovered}
                case _:
                    pass
            self.requests.take(entry, counts=begun)
            if begun:
                self.entries.append(entry)
        of_kind = self.entries
        self.parts = {
            part.id: part
            for entry in of_kind
            if isinstance(entry, e.ResponseEnded)
            for part in entry.parts
            if isinstance(part, CallPart)
        }
        self.started = {entry.call: entry for entry in of_kind if isinstance(entry, e.CallStarted)}
        self.moved = {entry.call: entry for entry in of_kind if isinstance(entry, e.FilesMoved)}
        self.ended = [entry for entry in of_kind if isinstance(entry, e.CallEnded)]
        self.answered = {each.call: each for each in of_kind if isinstance(each, e.ApprovalAnswered) and each.allowed}

    def receipt(self, own_tests: Sequence[str]) -> Receipt:
        changes_after = _changes_behind(self.entries, self.started, self.moved)
        commands = tuple(
            run
            for entry in self.ended
            if (run := self._command(entry, own_tests, changes=changes_after.get(entry.call, 0))) is not None
        )
        return Receipt(
            turns=tuple(self.turns),
            commands=commands,
            tests=self._last_tests(commands, changes_after),
            files=self._files(),
            approvals=tuple(
                self._approval(each)
                for each in self.started.values()
                if each.effect != "read" or each.call in self.answered
            ),
            denied=tuple(entry.call for entry in self.ended if entry.outcome == "denied"),
            unknown_effects=tuple(
                entry.call
                for entry in self.ended
                if entry.outcome == "interrupted" and entry.observed in ("unknown", "part")
            ),
            tasks_running=tuple(self.tasks),
            requests=self.requests.sent(),
            cost=self.requests.cost(),
        )

    def _command(self, ended: e.CallEnded, own_tests: Sequence[str], *, changes: int) -> CommandRun | None:
        started, part = self.started.get(ended.call), self.parts.get(ended.call)
        if started is None or part is None or started.effect != "execute" or started.remote is not None:
            return None
        arguments = _decoded(started.arguments or part.arguments)
        line = arguments.get("command")
        if not isinstance(line, str):
            return None
        moved = self.moved.get(ended.call)
        facts = self._tests(ended, arguments, line, own_tests)
        return CommandRun(
            call=ended.call,
            command=line,
            exit=ended.exit,
            known=ended.exit is not None,
            seconds=ended.seconds,
            edits_after=changes > 0,
            kind="" if facts is None else "test",
            tests=facts,
            tree="" if moved is None else moved.tree,
        )

    def _tests(
        self, ended: e.CallEnded, arguments: Mapping[str, object], line: str, own_tests: Sequence[str]
    ) -> RunFacts | None:
        folder, background = arguments.get("cwd"), arguments.get("background") is True
        run = found_tests(
            line,
            root=self.root or UNKNOWN_WORKSPACE,
            folder=folder if isinstance(folder, str) else "",
            own_tests=own_tests,
            background=background,
        )
        if run is None:
            return None
        written = next((path for path in run.programs if path in self.written), "")
        known = run.knows(ended.exit) and not written
        why = "" if known else f"a call changed {written}" if written else run.hidden or _why_unknown(ended)
        ran = count_of_tests(run.row, ended.exit, ended.text) if known else None
        return RunFacts(
            runner=run.runner,
            exit=ended.exit if known else None,
            known=known,
            why=why,
            ran=ran,
            some=known and (ran > 0 if ran is not None else not run.row.counted),
            elsewhere=run.elsewhere,
        )

    def _last_tests(self, commands: Sequence[CommandRun], changes_after: Mapping[str, int]) -> LastTests | None:
        last = next((each for each in reversed(commands) if each.tests is not None), None)
        if last is None or last.tests is None:
            return None
        at = next(
            at for at, each in enumerate(self.entries) if isinstance(each, e.CallEnded) and each.call == last.call
        )
        after: dict[str, None] = {}
        for each in self.entries[at:]:
            match each:
                case e.FilesMoved(call=call) if call != last.call:
                    after |= dict.fromkeys((*(change.path for change in each.changes), *each.uncovered))
                case e.RestoreStarted(steps=steps):
                    after |= dict.fromkeys(step.path for step in steps)
                case _:
                    pass
        return LastTests(
            call=last.call,
            command=last.command,
            facts=last.tests,
            edits_after=changes_after.get(last.call, 0),
            files_after=tuple(after),
            deleted=self._deleted_tests(),
        )

    def _deleted_tests(self) -> tuple[str, ...]:
        """Return the files of tests that are gone, and whose content stands nowhere else."""
        first: dict[str, e.PathState] = {}
        last: dict[str, e.PathState] = {}
        for moved in self.moved.values():
            for each in moved.changes:
                first.setdefault(each.path, each.before)
                last[each.path] = each.after
        contents = {state.object for state in last.values() if state.kind == "file"}
        return tuple(
            path
            for path, state in last.items()
            if state.kind == "absent"
            and first[path].kind == "file"
            and first[path].object not in contents
            and is_test_file(path)
        )

    def _files(self) -> ReceiptFiles:
        edited: dict[str, None] = {}
        by_command: dict[str, None] = {}
        unknown: list[str] = []
        for call, entry in self.started.items():
            seen = self.moved.get(call)
            paths = [*(each.path for each in seen.changes), *seen.uncovered] if seen is not None else []
            (edited if entry.effect == "write" else by_command).update(dict.fromkeys(paths))
            if _may_change(entry, seen) and (seen is None or seen.failed):
                unknown.append(call)
        added, removed = self._lines()
        return ReceiptFiles(tuple(edited), tuple(by_command), tuple(unknown), added, removed)

    def _lines(self) -> tuple[int | None, int | None]:
        """Return how many lines edits added and removed, as the results of edits say it."""
        added, removed, known = 0, 0, False
        for entry in self.ended:
            started = self.started.get(entry.call)
            if started is not None and started.effect == "write" and entry.outcome == "ok":
                part = self.parts.get(entry.call)
                arguments = _decoded(started.arguments or ("" if part is None else part.arguments))
                plus, minus = _edited_lines(arguments, is_new=all(each.before is None for each in started.changes))
                if plus is not None and minus is not None:
                    added, removed, known = added + plus, removed + minus, True
        return (added, removed) if known else (None, None)

    def _approval(self, started: e.CallStarted) -> CallApproval:
        answer = self.answered.get(started.call)
        if answer is not None:
            return CallApproval(call=started.call, by="user", what=answer.choice)
        by, _, what = started.allowed_by.partition(":")
        match by:
            case "rule" | "pattern" | "mode" | "free":
                return CallApproval(call=started.call, by=by, what=what)
            case _:
                return CallApproval(call=started.call, by="unknown")


def _why_unknown(ended: e.CallEnded) -> str:
    match ended.outcome:
        case "interrupted":
            return "it was interrupted"
        case "not_started" | "denied":
            return "it did not run"
        case _:
            return "it did not end by itself, or the journal is older than exit codes"


def _may_change(started: e.CallStarted, seen: e.FilesMoved | None) -> bool:
    """Return whether a call changed files, or may have done so unseen."""
    if started.effect == "read" or started.confined == "read":
        return False
    return seen is None or bool(seen.failed or seen.changes or seen.uncovered)


def _changes_behind(
    entries: Sequence[e.Entry], started: Mapping[str, e.CallStarted], moved: Mapping[str, e.FilesMoved]
) -> dict[str, int]:
    """Return for each call that ended how many changes of files by others than itself came behind its end.

    A call whose effect was not seen counts as one, and so does a background task that ran behind it.
    """
    strange = _stranger_changes(entries)
    tasks = {each.id for each in entries if isinstance(each, TaskStarted) and _acts(started.get(each.call))}
    ended = {each.id for each in entries if isinstance(each, TaskEnded)}
    by_call: Counter[str] = Counter()
    total, found = len(tasks - ended), dict[str, int]()
    for at in range(len(entries) - 1, -1, -1):
        total += at in strange
        match entries[at]:
            case e.FilesMoved() as entry:
                seen = 1 if entry.failed else len(entry.changes) + len(entry.uncovered)
                by_call[entry.call] += seen
                total += seen
            case e.RestoreStarted(steps=steps):
                total += len(steps)
            case e.CallStarted(call=call) as entry if call not in moved and _may_change(entry, None):
                total += 1
            case TaskEnded(id=task) if task in tasks:
                total += 1
            case e.CallEnded(call=call):
                found[call] = total - by_call[call]
            case _:
                pass
    return found


def _acts(started: e.CallStarted | None) -> bool:
    return started is None or started.confined != "read"


def _stranger_changes(entries: Sequence[e.Entry]) -> set[int]:
    """Return where a snapshot before a call shows a folder other than the last call left it."""
    known, edited, found = "", False, set[int]()
    for at, entry in enumerate(entries):
        match entry:
            case e.SnapshotTaken(tree=tree) if tree:
                if known and tree != known and not edited:
                    found.add(at)
                known, edited = tree, False
            case e.FilesMoved(tree=tree):
                edited = edited or (not tree and bool(entry.changes))
                known = tree or known
            case e.RestoreStarted():
                edited = True
            case _:
                pass
    return found


def _edited_lines(arguments: Mapping[str, object], *, is_new: bool) -> tuple[int | None, int | None]:
    """Return the lines that the arguments of an edit add and remove, None if they do not say it."""
    old, new, content, patch = (arguments.get(name) for name in ("old", "new", "content", "input"))
    several = arguments.get("edits")
    if isinstance(several, list):
        each = [
            _edited_lines(cast("Mapping[str, object]", one), is_new=False)
            for one in cast("list[object]", several)
            if isinstance(one, dict)
        ]
        known = [(plus, minus) for plus, minus in each if plus is not None and minus is not None]
        return sum(plus for plus, _ in known), sum(minus for _, minus in known)
    if isinstance(old, str) and isinstance(new, str):
        before, after = Counter(old.splitlines()), Counter(new.splitlines())
        return (after - before).total(), (before - after).total()
    if isinstance(content, str) and is_new:
        return len(content.splitlines()), 0
    if isinstance(patch, str):
        lines = patch.splitlines()
        return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    return None, None


def _decoded(arguments: str) -> Mapping[str, object]:
    """Return the arguments of a call, empty if they are no object."""
    try:
        found: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}
