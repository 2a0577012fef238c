"""Tests that need more than Python: `needs("ripgrep")` skips one with its reason, or fails it where it must be run.

The groups stand in `needs.py`. Which of them must be run, HOLDFAST_NEEDED says.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import NoReturn

import pytest

from needs import BY_NAME, needed, why_missing

REQUIRED = "HOLDFAST_NEEDED"


def required() -> frozenset[str]:
    """Return the groups that fail when they are missing."""
    try:
        return needed(os.environ.get(REQUIRED, ""))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error


def needs(*names: str) -> pytest.MarkDecorator:
    """Mark a test that needs these groups."""
    assert BY_NAME.keys() >= set(names), names
    return pytest.mark.needs(*names)


def require(name: str) -> None:
    """Skip or fail the test that runs if the group is missing."""
    if why := why_missing(name):
        leave_out(name, why)


def leave_out(name: str, why: str) -> NoReturn:
    """Skip the test that runs, or all of a module that is imported; where its group must be run, fail it."""
    need = BY_NAME[name]
    reason = f"{name} ({need.tests}): {why}. To get it: {need.get}."
    if name in required():
        pytest.fail(f"Must be run here ({REQUIRED}), and cannot: {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def imported(name: str) -> ModuleType:
    """Return a module of an optional library, or leave out the module of tests that asks for it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        leave_out("libraries", str(error))


def names_of(item: pytest.Item) -> list[str]:
    """Return the groups that a test needs by its marks."""
    return [name for mark in item.iter_markers("needs") for name in mark.args]
