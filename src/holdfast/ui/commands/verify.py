"""`holdfast sessions verify`: check sessions, in use or not, and report problems with advice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

import msgspec

from holdfast.errors import EXIT_DAMAGE, EXIT_OK, HoldfastError
from holdfast.providers.registry import Providers, profile_of
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import ModelChanged, SessionOpened
from holdfast.session.journal.store import Reading
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.verify import Problem, Report, verify
from holdfast.ui.view.columns import count_noun, single_line


def verify_all(
    catalog: Catalog, sessions: Sequence[str], *, providers: Providers, as_json: bool, stdout: TextIO
) -> int:
    """Verify the sessions, print findings as they come, and return the exit code."""
    reports: list[Report] = []
    for session in sessions:
        reports.append(verify_session(catalog, session, providers))
        if not as_json:
            for line in _lines(reports[-1]):
                print(line, file=stdout, flush=True)
    clean = sum(not report.problems for report in reports)
    if as_json:
        print(json.dumps(msgspec.to_builtins(reports), indent=2), file=stdout)
    elif len(reports) > 1:
        print(f"{count_noun(len(reports), 'session')}: {clean} OK, {len(reports) - clean} damaged", file=stdout)
    return EXIT_OK if clean == len(reports) else EXIT_DAMAGE


def verify_session(catalog: Catalog, session: str, providers: Providers) -> Report:
    """Return the report on one session. A session that cannot be read gets a report too."""
    try:
        reading = read_copy(catalog.folder(session))
    except HoldfastError as error:  # one unreadable session must not hide the others
        problem = Problem(kind="unreadable", where="session", what=str(error), todo="")
        return Report(session=session, entries=0, messages=0, profiles=0, problems=(problem,))
    return verify(session, reading, profile_of(_model(reading), providers))


def _model(reading: Reading) -> str:
    named = (r.entry.model for r in reversed(reading.records) if isinstance(r.entry, SessionOpened | ModelChanged))
    return next(named, "")


def _lines(report: Report) -> Iterator[str]:
    name, problems = report.session, report.problems
    if any(problem.kind == "unreadable" for problem in problems):
        yield f"{name}  cannot be read"
    else:
        entries = count_noun(report.entries, "entry").replace("entrys", "entries")
        counts = f"{entries}, {count_noun(report.messages, 'message')}"
        verdict = count_noun(len(problems), "finding") if problems else f"valid for all {report.profiles} providers"
        yield f"{name}  {counts}: {verdict}"
    todo = ""
    for index, problem in enumerate(problems):
        placed = problem.what.lower().startswith(problem.where)  # the journal's own findings name the place themselves
        yield f"  ! {single_line(problem.what if placed else f'{problem.where}: {problem.what}')}"
        todo = problem.todo
        if todo and (index + 1 == len(problems) or problems[index + 1].todo != todo):
            yield f"    {todo}"
