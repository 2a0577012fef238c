"""`holdfast sessions import`: a document becomes a new session."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import msgspec

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, ModelUnusable, UsageError
from holdfast.providers.registry import split
from holdfast.session.catalog import Catalog
from holdfast.session.transfer.transfer import LIMIT, import_document
from holdfast.system.bounded_files import read_beginning
from holdfast.system.user_directories import homes
from holdfast.text import printable, valid_unicode
from holdfast.ui.commands.sessions import configured_providers, current_folder
from holdfast.ui.view.columns import single_line


def import_session(
    catalog: Catalog, file: str, *, model: str | None, environ: Mapping[str, str], stdout: TextIO
) -> int:
    """Import a document as a new session, and return the exit code. Raise `HoldfastError`."""
    from holdfast.agent.sessions import first_entry, new_store, settled
    from holdfast.agent.stop_cause import StopCause
    from holdfast.tools.toolbox import LocalToolbox

    if model:
        split(model, configured_providers(environ))  # report an unusable model before reading the file
    cwd = current_folder()
    imported = import_document(_read(file))
    model = model or _usable(imported.model, environ)
    source = "standard input" if file == "-" else str(Path(file).absolute())
    session = catalog.new_id()
    folder = catalog.folder(session)
    with new_store(folder) as store:
        opened = msgspec.structs.replace(
            first_entry(session, cwd=cwd, model=model, toolbox=LocalToolbox(cwd, folder)),
            imported_from=valid_unicode(source),
        )
        store.append(settled(imported.entries(opened), StopCause("import")), expected=0)
    store.close()
    catalog.find(session)  # writes its summary
    print(f"Imported {printable(file)} as session {session}.", file=stdout)
    for change in imported.changes(opened):
        print(f"- {single_line(change)}", file=stdout)
    print(f"Resume it: holdfast -r {session}{'' if model else ' -m PROVIDER:MODEL'}", file=stdout)
    return EXIT_OK


def _read(file: str) -> bytes:
    """Return the document, or one byte more than allowed if it is too long."""
    if file == "-":
        return read_beginning(sys.stdin.buffer, LIMIT + 1)
    try:
        with Path(file).open("rb") as document:
            return read_beginning(document, LIMIT + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {file!r}: {error.strerror}. Check its name.") from error


def _usable(model: str, environ: Mapping[str, str]) -> str:
    """Return the document's model if its provider is known, else the configured one, else ""."""
    try:
        split(model, configured_providers(environ))
    except ModelUnusable:
        return read_config(homes(environ).config).model or ""
    return model
