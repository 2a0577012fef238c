"""`holdfast doctor`: what this machine has of what holdfast needs, and what to do about the rest."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import EXIT_FAILED, EXIT_OK
from holdfast.text import literal
from holdfast.ui.arguments import Parser
from holdfast.ui.choosing import folder
from holdfast.ui.table import counted

if TYPE_CHECKING:
    from holdfast.ui.doctor.findings import Finding

_SIGNS = {"ok": "ok", "warn": "warn", "fail": "FAIL"}


class _Arguments(argparse.Namespace):
    format: str


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    made = Parser(
        prog="holdfast doctor",
        description="What this machine has of what holdfast needs, and what to do about the rest. "
        "Ends with 1 if something fails.",
        allow_abbrev=False,
    )
    made.add_argument("--format", choices=("text", "json"), default="text")
    made.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    return made


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Look, print what is found, and return 1 if something of it fails, else 0."""
    from holdfast.ui.doctor.probes import examined  # noqa: PLC0415 - not to learn the options

    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    found = asyncio.run(examined(environ, folder(None)))
    if arguments.format == "json":
        print(json.dumps(msgspec.to_builtins(found), indent=2))
    else:
        for line in lines(found):
            print(line)
    return EXIT_FAILED if any(each.level == "fail" for each in found) else EXIT_OK


def lines(found: Sequence[Finding]) -> Iterator[str]:
    """Yield what is found as lines for people."""
    wide = max(len(each.name) for each in found)
    for each in found:
        yield literal(f"{_SIGNS[each.level]:<4}  {each.name:<{wide}}  {each.what}".rstrip())
        if each.todo:
            yield literal(f"      {'':<{wide}}  {each.todo}")
    bad = {level: sum(each.level == level for each in found) for level in ("fail", "warn")}
    yield ""
    told = f"{counted(bad['fail'], 'failure')}, {counted(bad['warn'], 'warning')}."
    yield told if any(bad.values()) else "All is well."
