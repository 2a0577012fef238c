"""What words of programs do beyond reading and testing the project: a table per kind, each row with its source."""

from __future__ import annotations

from holdfast.tools.programs import builders, languages, system
from holdfast.tools.programs.program import Program

BY_NAME: dict[str, Program] = {
    name: program
    for table in (builders.TABLE, languages.TABLE, system.TABLE)
    for program in table
    for name in program.names
}
"""The programs by each of their names."""
