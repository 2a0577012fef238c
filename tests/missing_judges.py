"""Vendors' judges that are not installed: what needs one is skipped with the reason in place of failing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from skips import leave_out

JUDGES = ("botocore", "cohere_melody", "deepseek_recipe", "mistral_common", "psycopg")
"""The vendors' own readers, and that of PostgreSQL; those that are compiled may have no wheel for a new Python."""


class MissingJudges(MetaPathFinder):
    """Stands behind every other finder, so that it is asked only for what is not installed."""

    def __init__(self, names: Sequence[str] = JUDGES) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Skip the module of tests whose import came to a judge."""
        del path, target
        if fullname in self._names:
            version = ".".join(map(str, sys.version_info[:2]))
            leave_out("libraries", f"{fullname} is not installed: is there a wheel for Python {version}?")
        return None
