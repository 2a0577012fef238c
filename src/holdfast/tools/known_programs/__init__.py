"""What arguments of known programs do beyond reading and testing the project: a table with its sources.

`programs.json` has a row for each program, a `ProgramRow`. It is read with the first command.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.tools.known_programs.program import Program, ProgramRow
from holdfast.typed_data import decode_json

_PROGRAMS = Path(__file__).with_name("programs.json")

BY_NAME: dict[str, Program] = {
    name: program
    for row in decode_json(_PROGRAMS.read_bytes(), list[ProgramRow])
    for program in [row.program()]
    for name in program.names
}
"""The programs, by each of their names."""
