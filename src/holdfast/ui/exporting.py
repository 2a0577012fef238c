"""A session as a document in a file: read from a copy of its journal, so that one in use can be exported."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.errors import UsageError
from holdfast.session.disk import write_whole
from holdfast.session.fold import fold
from holdfast.session.sqlite import read_copy
from holdfast.session.store import Finding
from holdfast.session.transfer import export


def exported(folder: Path) -> tuple[dict[str, object], tuple[Finding, ...]]:
    """Return the session in `folder` as a pydantic-ai document, and what is damaged in it."""
    reading = read_copy(folder)
    # What has no end yet may still run: whether anybody holds the session is nothing an export asks.
    return export(fold((record.entry for record in reading.records), left="fork")), reading.findings


def write(path: Path, document: dict[str, object], *, force: bool = False) -> None:
    """Write the document to `path`, whole or not at all; raises `UsageError` if it is there and not to be replaced."""
    if path.exists() and not force:
        raise UsageError(
            f"File {str(path)!r} exists, a new one was expected. Choose another name, or replace it with --force."
        )
    try:
        write_whole(path, f"{json.dumps(document, ensure_ascii=False, indent=1)}\n".encode())
    except OSError as error:
        raise UsageError(
            f"File {str(path)!r} cannot be written: {error.strerror}, a writable place was expected. Choose another."
        ) from error
