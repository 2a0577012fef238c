"""What a store is put through, and how it is judged: scenarios, the program that plays one, the judge of what is left.

Two rules. The program says what it tries before it tries it, and what was acknowledged after; the judge believes only
that and the files. What was acknowledged must be there, in order, and at most the one append in flight beside it.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from stores import KINDS, LINES, NORMAL, QUICK, REAL, RENAMED, REWRITTEN, UNLOGGED, Journal, Kind, integrity

from holdfast.errors import HoldfastError
from holdfast.session.journal.entries import (
    FORMAT,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestStarted,
    ResponseEnded,
    ServerFailed,
    SessionOpened,
    TurnEnded,
    decode,
    encode,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.storage.blobs import BLOB_LIMIT
from holdfast.session.storage.database import APPLICATION
from holdfast.session.storage.wal import PAGE

Step = tuple[Entry, ...]
Report = Callable[..., None]

JOURNALS = Path(__file__).with_name("journals")
"""Journals of every format, as an earlier holdfast left them."""

HOME = Path("home/holdfast/sessions/s")
"""Where a run has its session: nothing of this path is there before a session that is new."""

_SENTENCE = re.compile(
    r"Journal '/.*' cannot be used: .+\. .+ is safe\.|No session can be stored in '/.*': .+\. Nothing was done\. .+\.",
    re.DOTALL,
)
_NAMES = re.compile(r"lock|session\.db|blobs|blobs/[0-9a-f]{64}|session\.json.*|session\.sqlite")
_KEPT = re.compile(r"session\.db\.damaged-\d+(-wal|-journal)?")


def listed(name: str) -> list[Entry]:
    """Return what the journals of this name hold."""
    return [decode(line) for line in (JOURNALS / f"{name}.jsonl").read_bytes().splitlines()]


def marks(folder: Path) -> tuple[int, int]:
    """Return the two marks of a journal's format, the second without its name; nothing is changed."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, Path(scratch, "copy"))
        with closing(sqlite3.connect(copy / "session.db")) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
    return version, application ^ APPLICATION


def prompt(number: int, size: int = 60) -> PromptAccepted:
    """Return a prompt like no other, of about so many bytes."""
    return PromptAccepted(turn=number, text=f"{number} " + f"{number * 7919 % 100_000:05} " * (size // 6))


def _turn(number: int) -> tuple[Step, ...]:
    calls = tuple(CallPart(id=f"c{number}-{each}", name="read", arguments='{"path": "a.py"}') for each in (1, 2))
    answer = ResponseEnded(step=number, model="m:m", parts=(TextPart(text="I look."), *calls), usage=Usage())
    return (
        (prompt(number),),
        (RequestStarted(step=number, attempt=1, model="m:m"),),
        (answer,),
        tuple(CallStarted(call=call.id, effect="read") for call in calls),
        (
            CallEnded(call=calls[0].id, outcome="ok", text="x" * 5000),
            CallEnded(call=calls[1].id, outcome="ok", text=""),
        ),
        (TurnEnded(turn=number, reason="end_turn", cause="finished"),),
    )


_OPENED: Step = (SessionOpened(session="s", cwd="/", model="m:m", system="Be brief.", tools=(), version="0"),)
_LARGE = BLOB_LIMIT + 500
_AFTER_A_FAILURE: tuple[Step, ...] = ((prompt(901, 30_000), prompt(902)), (prompt(903, 9000),), (prompt(904),))
_NEXT = prompt(999)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps appended one after the other to a journal that is new, or was left by a process that appended `before`."""

    kind: Kind
    steps: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    left: str = "closed"  # or "open", as by kill -9, or so and "damaged", or the name of a folder in `journals`

    def prepare(self, root: Path) -> None:
        """Put what a run starts from in the empty folder `root`."""
        if not self.before:
            return
        if (JOURNALS / self.left).is_dir():
            shutil.copytree(JOURNALS / self.left, root / HOME)
            return
        original = root / "made"
        journal = self.kind.open(original)
        for step in self.before:
            journal.append(step)
        if self.left == "closed":
            journal.close()
        shutil.copytree(original, root / HOME)
        journal.close()
        shutil.rmtree(original)
        if self.left == "damaged":  # SQLite would believe two frames of the log, and drop the rest
            with (root / HOME / "session.db-wal").open("r+b") as file:
                file.seek(32 + 2 * (24 + PAGE) + 100)
                file.write(b"\xff\xff")

    @property
    def acknowledged(self) -> list[Entry]:
        return [entry for step in self.before for entry in step]


_STEPS = (_OPENED, *_turn(1))
_OLDER: tuple[Step, ...] = tuple((entry,) for entry in listed("format-1-last"))
_RAISING: tuple[Step, ...] = ((ServerFailed(server="trip", reason="it exited"), prompt(4)), (prompt(5, _LARGE),))
_SMALL = tuple((prompt(number),) for number in range(1, 9))

SCENARIOS: dict[str, Scenario] = {
    "a new session and a turn": Scenario(REAL, _STEPS),
    "large entries": Scenario(
        REAL, (_OPENED, (prompt(1, _LARGE),), (prompt(2), prompt(3, _LARGE), prompt(4)), (prompt(1, _LARGE),))
    ),
    "a log that is moved and restarted": Scenario(QUICK, tuple((prompt(number, 5000),) for number in range(1, 9))),
    "after a clean end": Scenario(REAL, _turn(2), before=_STEPS),
    "after an unclean end": Scenario(REAL, _turn(2), before=_STEPS, left="open"),
    "after damage": Scenario(REAL, ((prompt(1),), (prompt(2, _LARGE),)), before=_STEPS, left="damaged"),
    "an older format, closed": Scenario(REAL, _RAISING, before=_OLDER, left="format-1-last-closed"),
    "an older format, killed": Scenario(REAL, _RAISING, before=_OLDER, left="format-1-last-killed"),
    **{kind.name: Scenario(kind, _SMALL) for kind in (NORMAL, UNLOGGED, LINES, REWRITTEN, RENAMED)},
}
REAL_ONES = tuple(name for name in SCENARIOS if name not in KINDS)


def copies(root: Path) -> Path:
    """Return where a run that uses `root` puts copies of its session."""
    return root.with_name("copies")


def perform(scenario: Scenario, root: Path, report: Report, calm: Callable[[], None]) -> None:
    """Play the scenario in the folder `root` as the agent would: report what fails, and try it again."""
    folder = root / HOME
    kind, acknowledged = scenario.kind, scenario.acknowledged
    journal = _opened(kind, folder, acknowledged, report, calm)
    for step in scenario.steps:
        # After a failure something else is appended first, as a turn's end is; and at last the disk works again.
        for number, entries in enumerate((step, *_AFTER_A_FAILURE, step)):
            if number == 3:
                calm()
            report("trying", [encode(entry).decode() for entry in entries])
            try:
                journal.append(entries)
            except kind.refusals as error:
                report("failed", str(error))
                _expect_readable(journal, acknowledged, report)
                continue
            report("acked")
            acknowledged += entries
            if entries is step:
                break
            shutil.copytree(folder, copies(root) / str(len(acknowledged)))
            report("copied", str(len(acknowledged)))
    journal.close()


def _opened(
    kind: Kind, folder: Path, acknowledged: Sequence[Entry], report: Report, calm: Callable[[], None]
) -> Journal:
    for number in range(3):
        if number == 2:
            calm()
        try:
            journal = kind.open(folder)
        except kind.refusals as error:
            report("failed", str(error))
            if acknowledged and kind.copy(folder)[0] != acknowledged:
                report("wrong", "it can neither be opened nor read as a copy")
        else:
            report("opened")
            _expect_readable(journal, acknowledged, report)
            return journal
    raise AssertionError("it could not be opened although the disk worked again")


def _expect_readable(journal: Journal, acknowledged: Sequence[Entry], report: Report) -> None:
    """Say so if the open journal does not hold exactly what was acknowledged."""
    try:
        found, _ = journal.read()
    except HoldfastError as error:
        report("wrong", f"it could not be read after a failure: {error}")
        return
    if found != list(acknowledged):
        report("wrong", f"after a failure it holds {len(found)} entries, {len(acknowledged)} were acknowledged")


@dataclass(slots=True)
class Account:
    """What a program said: what is acknowledged, what was tried since, and what was wrong already."""

    acknowledged: list[Entry]
    tried: list[list[Entry]] = field(default_factory=list[list[Entry]])
    opened: bool = False
    wrong: list[str] = field(default_factory=list[str])

    def hear(self, line: str) -> str:
        """Take one line in, and return the name of a copy to be judged now, if it names one."""
        match json.loads(line):
            case ["opened"]:
                self.opened = True
            case ["trying", bodies]:
                self.tried.append([decode(body.encode()) for body in bodies])
            case ["acked"]:
                self.acknowledged += self.tried[-1]
                self.tried.clear()
            case ["failed", str(text)]:
                pass
            case ["copied", str(name)]:
                return name
            case ["wrong", str(text)]:
                self.wrong.append(text)
            case other:
                self.wrong.append(f"it said {other}")
        return ""


def unclear(lines: Sequence[str]) -> list[str]:
    """Return what a program was told failed, where that is no clear sentence."""
    errors = [text for word, *text in map(json.loads, lines) if word == "failed"]
    return [f"it failed with {text!r}" for (text,) in errors if not _SENTENCE.fullmatch(text)]


def judge(scenario: Scenario, folder: Path, account: Account) -> list[str]:
    """Return what is wrong with the files that a program left, having opened them, appended and closed."""
    kind = scenario.kind
    try:
        raised = _raised(scenario, folder) if account.opened and scenario.left.startswith("format-") else []
        return raised + _judge(kind, folder, account, damaged=scenario.left == "damaged")
    except (HoldfastError, *kind.refusals) as error:
        return [f"it cannot be used: {type(error).__name__}: {error}"]


def _raised(scenario: Scenario, folder: Path) -> list[str]:
    """Return what is wrong with the marks of an older journal: they are those of today once there is a new entry."""
    more = len(scenario.kind.copy(folder)[0]) > len(scenario.acknowledged)
    found, expected = marks(folder), (FORMAT if more else 1,) * 2
    return [] if found == expected else [f"its marks are {found}, and {'' if more else 'not '}more was appended"]


def _judge(kind: Kind, folder: Path, account: Account, *, damaged: bool) -> list[str]:
    wrong: list[str] = []
    copied = kind.copy(folder) if account.opened else None
    journal = kind.open(folder)
    found, findings = journal.read()
    if copied and copied[0] != found:
        wrong.append(f"a copy holds {len(copied[0])} entries, the journal {len(found)}")
    if found not in [account.acknowledged + tried for tried in ([], *account.tried)]:
        wrong.append(_compared(found, account))
    wrong += [f"it found {each!r}" for each in findings if not (damaged and each.startswith("The file session.db is"))]
    journal.append((_NEXT,))
    journal.close()
    journal = kind.open(folder)
    if journal.read()[0] != [*found, _NEXT]:
        wrong.append("the next append is lost")
    journal.close()
    if (problem := integrity(folder)) != "ok":
        wrong.append(problem)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    left = [name for name in sorted(names) if not (_NAMES.fullmatch(name) or (damaged and _KEPT.fullmatch(name)))]
    return [*wrong, *(f"{name} is left behind" for name in left)]


def _compared(found: list[Entry], account: Account) -> str:
    lost = sum(entry not in found for entry in account.acknowledged)
    return f"of {len(account.acknowledged)} acknowledged entries {lost} are lost; it holds {len(found)}"
