"""Export a session to a file, from a copy of its journal, so that a session in use can be exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal, assert_never, cast

import msgspec

from holdfast.errors import UsageError
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Compacted, Pruned, Uncompacted
from holdfast.session.journal.store import Finding, Reading
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.durable_files import replace_file

Form = Literal["pydantic-ai", "json", "markdown", "html", "openai-chat", "anthropic"]
"""The export formats; all but Markdown and HTML, which are for reading, can be imported again."""


PYDANTIC_AI_EXPORT = "holdfast.session.transfer.export:export"
"""What makes pydantic-ai's messages of a conversation."""

FORMS: dict[Form, tuple[str, str]] = {
    "markdown": (".md", "Markdown for reading"),
    "html": (".html", "an HTML page for reading"),
    "pydantic-ai": (".json", "pydantic-ai messages; can be imported again"),
    "json": (".entries.json", "every entry of the journal; can be imported again"),
    "openai-chat": (".openai-chat.json", "a request of OpenAI Chat; can be imported again"),
    "anthropic": (".anthropic.json", "a request of Anthropic Messages; can be imported again"),
}
"""The file name ending and a description of each format."""


def form_of(name: str) -> Form:
    """Return the format for the ending of a file name; by default the one that can be imported."""
    found: list[Form] = [form for form, (ending, _) in FORMS.items() if name.lower().endswith(ending)]
    otherwise: Form = "pydantic-ai"
    return max(found, key=lambda form: len(FORMS[form][0])) if found else otherwise


def session_document(folder: Path, form: Form = "pydantic-ai") -> tuple[dict[str, object] | str, tuple[Finding, ...]]:
    """Return the session in `folder` as a document (a text for Markdown and HTML), and its damage."""
    reading = read_copy(folder)
    return document_of(reading, folder.name, form), reading.findings


def document_of(reading: Reading, session: str, form: Form) -> dict[str, object] | str:
    """Return a session as a document in this form: a text for Markdown and HTML."""
    match form:
        case "json":
            return {"session": session, **msgspec.to_builtins(reading)}
        case "markdown":
            from holdfast.ui.export.markdown import markdown

            return markdown(reading, session)
        case "html":
            from holdfast.ui.export.html import page

            return page(reading, session)
        case "pydantic-ai":
            # An open turn may still be running: an export does not check whether another process holds the session.
            # Pruned outputs are exported in full: after an import they can be pruned again.
            decided = Pruned | Compacted | Uncompacted
            entries = (record.entry for record in reading.records if not isinstance(record.entry, decided))
            export = cast("Callable[[Conversation], dict[str, object]]", resolve_name(PYDANTIC_AI_EXPORT))
            return export(fold(entries, left="fork"))
        case "openai-chat" | "anthropic":
            from holdfast.session.request import exported_body

            conversation = exported_body.settled_conversation(record.entry for record in reading.records)
            return (exported_body.openai_chat if form == "openai-chat" else exported_body.anthropic)(conversation)
        case _:
            assert_never(form)


def export_text(document: dict[str, object] | str, *, ascii_only: bool) -> str:
    """Return the document as text. With `ascii_only`, JSON contains no control characters of a terminal."""
    if isinstance(document, str):
        return document
    return f"{json.dumps(document, ensure_ascii=ascii_only, indent=1)}\n"


def write(path: Path, document: dict[str, object] | str, *, force: bool = False) -> None:
    """Write the document to `path`, completely or not at all. Raise `UsageError` if it exists, unless `force`."""
    if path.exists() and not force:
        raise UsageError(f"File {str(path)!r} already exists.", fault="file_exists")
    try:
        replace_file(path, export_text(document, ascii_only=False).encode())
    except OSError as error:
        raise UsageError(f"Cannot write {str(path)!r}: {error.strerror}. Choose another place.") from error
