"""What arguments of known programs do beyond reading and testing the project: tables with their sources."""

from __future__ import annotations

from holdfast.tools.known_programs import builders, languages, system
from holdfast.tools.known_programs.program import Program

BY_NAME: dict[str, Program] = {
    name: program
    for table in (builders.BUILDERS, languages.LANGUAGES, system.SYSTEM_PROGRAMS)
    for program in table
    for name in program.names
}
"""The programs, by each of their names."""
