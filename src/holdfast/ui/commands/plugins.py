"""The command `holdfast plugins`: what each plug-in adds, and why one is not in use."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from holdfast.errors import EXIT_FAILED, EXIT_OK
from holdfast.host.plugins.checks import names_of
from holdfast.system.user_directories import homes
from holdfast.text import printable
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.startup.plugins_in_use import plugins_in_use


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """List the plug-ins, and return the exit code: 1 if one is not in use."""
    command_parser().parse_args(argv)
    found = plugins_in_use(environ)
    for each in found.loaded:
        print(printable(f"{each.name}  {each.source}"))
        for name in names_of(each.adds):
            print(printable(f"  {name}"))
    for name in found.off:
        print(printable(f"{name}  off, by [plugins] in the config"))
    for fault in found.faults:
        print(printable(fault.sentence))
    if not (found.loaded or found.faults or found.off):
        print(
            printable(
                f"No plug-ins. Put a file into {str(homes(environ).plugins)!r}, "
                "or name an installed one in `use` of [plugins]."
            )
        )
    return EXIT_FAILED if found.faults else EXIT_OK


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of its words."""
    return Parser(prog="holdfast plugins", description="List plug-ins, and why one is not in use.", allow_abbrev=False)
