"""`holdfast doctor`: check this machine's setup, and suggest fixes."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import EXIT_FAILED, EXIT_OK
from holdfast.text import literal
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.startup.session_choice import working_directory
from holdfast.ui.view.columns import count_noun

if TYPE_CHECKING:
    from holdfast.ui.commands.doctor.findings import DoctorFinding

_SIGNS = {"ok": "ok", "warn": "warn", "fail": "FAIL"}


class _Arguments(argparse.Namespace):
    what: str | None
    format: str


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast doctor",
        description="Check this machine's setup, and suggest fixes. Exit code 1 if a check fails.",
        allow_abbrev=False,
    )
    parser.add_argument("what", nargs="?", choices=["sandbox"], help="check only this: whether commands are confined")
    parser.add_format()
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Run the checks, print the findings, and return 1 if a check failed, else 0."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    found = _found(arguments.what, environ)
    if arguments.format == "json":
        print(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for line in report_lines(found):
            print(line)
    return EXIT_FAILED if any(each.level == "fail" for each in found) else EXIT_OK


def _found(what: str | None, environ: Mapping[str, str]) -> list[DoctorFinding]:
    if what == "sandbox":
        from holdfast.ui.commands.doctor.sandbox import examine_sandbox

        return examine_sandbox(environ, working_directory(None))
    from holdfast.ui.commands.doctor.probes import examine_machine

    return asyncio.run(examine_machine(environ, working_directory(None)))


def report_lines(found: Sequence[DoctorFinding]) -> Iterator[str]:
    """Yield the findings as lines for people."""
    wide = max(len(each.name) for each in found)
    for each in found:
        yield literal(f"{_SIGNS[each.level]:<4}  {each.name:<{wide}}  {each.what}".rstrip())
        if each.todo:
            yield literal(f"      {'':<{wide}}  {each.todo}")
    bad = {level: sum(each.level == level for each in found) for level in ("fail", "warn")}
    yield ""
    summary = f"{count_noun(bad['fail'], 'failure')}, {count_noun(bad['warn'], 'warning')}."
    yield summary if any(bad.values()) else "Everything is OK."
