"""Runs holdfast as in a clean install, and reports what was imported: `python -P start_program.py FILE CLEAN WORDS...`.

`CLEAN` are the top-level names that an install without extras has: others are not found, whatever stands in the
environment of the tests. The report is written to `FILE` at SIGUSR1, or at the end: a line for each fact.
"""

import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType

REPORT, CLEAN = sys.argv[1], frozenset((*sys.argv[2].split(","), *sys.stdlib_module_names))
BEFORE = frozenset(sys.modules)
importers: dict[str, str] = {}
"""What imported a module first, for every module that was looked for."""


class CleanFinder(PathFinder):
    """Finds what a clean install has, and remembers who asked for it."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the place of a module, None if a clean install would not have it."""
        frame = sys._getframe(1)
        while frame.f_back and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        importers.setdefault(fullname, str(frame.f_globals.get("__name__")))
        return super().find_spec(fullname, path, target) if path or fullname in CLEAN else None


def report(number: int = 0, frame: FrameType | None = None) -> None:
    """Write what is loaded, what was looked for, and which of our classes are dataclasses, whole or not at all."""
    del number, frame
    modules = {name: module for name, module in tuple(sys.modules.items()) if module and name not in BEFORE}
    lines = [f"loaded {name} {importers.get(name, 'the start')}" for name in modules]
    lines += [f"asked {name} {who}" for name, who in tuple(importers.items())]
    lines += [
        f"dataclass {name}.{key} {name}"
        for name, module in modules.items()
        if name.partition(".")[0] == "holdfast"
        for key, value in tuple(vars(module).items())
        if isinstance(value, type) and value.__module__ == name and "__dataclass_fields__" in vars(value)
    ]
    with open(f"{REPORT}~", "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib may be what is looked for
        file.write("\n".join(lines))
    os.replace(f"{REPORT}~", REPORT)  # noqa: PTH105 - as above


sys.meta_path[sys.meta_path.index(PathFinder)] = CleanFinder
signal.signal(signal.SIGUSR1, report)
sys.argv[1:] = sys.argv[3:]

from holdfast.ui.main import main  # noqa: E402 - it is what is looked at

try:
    code = main()
finally:
    report()
sys.exit(code)
