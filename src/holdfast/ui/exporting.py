"""A session as a document in a file: read from a copy of its journal, so that one in use can be exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, assert_never

import msgspec

from holdfast.errors import UsageError
from holdfast.session.disk import write_whole
from holdfast.session.entries import Compacted, Pruned, Uncompacted
from holdfast.session.fold import fold
from holdfast.session.sqlite import read_copy
from holdfast.session.store import Finding, Reading
from holdfast.session.transfer import export

Form = Literal["pydantic-ai", "json", "markdown", "html", "openai-chat", "anthropic"]
"""What a session can be written as; only the first can be imported again."""


FORMS: dict[Form, tuple[str, str]] = {
    "markdown": (".md", "Markdown, to read"),
    "html": (".html", "a page, to read and to search"),
    "pydantic-ai": (".json", "messages of pydantic-ai; can be imported again"),
    "json": (".entries.json", "every entry of the journal"),
    "openai-chat": (".openai-chat.json", "a request of OpenAI Chat"),
    "anthropic": (".anthropic.json", "a request of Anthropic Messages"),
}
"""What a file of each form is called at the end, and what it is."""


def form_of(name: str) -> Form:
    """Return what a file of that name is to hold, as its ending tells; one that can be imported if it tells nothing."""
    found: list[Form] = [form for form, (ending, _) in FORMS.items() if name.lower().endswith(ending)]
    otherwise: Form = "pydantic-ai"
    return max(found, key=lambda form: len(FORMS[form][0])) if found else otherwise


def exported(folder: Path, form: Form = "pydantic-ai") -> tuple[dict[str, object] | str, tuple[Finding, ...]]:
    """Return the session in `folder` as a document, a text if it is for people, and what is damaged in it."""
    reading = read_copy(folder)
    return _document(reading, folder.name, form), reading.findings


def _document(reading: Reading, session: str, form: Form) -> dict[str, object] | str:
    match form:
        case "json":
            return {"session": session, **msgspec.to_builtins(reading)}
        case "markdown":
            from holdfast.ui.markdown import markdown  # noqa: PLC0415 - only this form needs the view

            return markdown(reading, session)
        case "html":
            from holdfast.ui.page import page  # noqa: PLC0415 - as above

            return page(reading, session)
        case "pydantic-ai":
            # What has no end yet may still run: whether anybody holds the session is nothing an export asks.
            # What is not sent any more is in it as it was: whoever takes it up can leave it out again.
            decided = Pruned | Compacted | Uncompacted
            entries = (record.entry for record in reading.records if not isinstance(record.entry, decided))
            return export(fold(entries, left="fork"))
        case "openai-chat" | "anthropic":
            from holdfast.session import bodies  # noqa: PLC0415 - only these forms need the profiles

            conversation = bodies.settled(record.entry for record in reading.records)
            return (bodies.openai_chat if form == "openai-chat" else bodies.anthropic)(conversation)
        case _:
            assert_never(form)


def text_of(document: dict[str, object] | str, *, ascii_only: bool) -> str:
    """Return the document as it is written; with `ascii_only` JSON holds nothing that a terminal acts on."""
    if isinstance(document, str):
        return document
    return f"{json.dumps(document, ensure_ascii=ascii_only, indent=1)}\n"


def write(path: Path, document: dict[str, object] | str, *, force: bool = False) -> None:
    """Write the document to `path`, whole or not at all; raises `UsageError` if it is there and not to be replaced."""
    if path.exists() and not force:
        raise UsageError(
            f"File {str(path)!r} exists, a new one was expected. Choose another name, or replace it with --force."
        )
    try:
        write_whole(path, text_of(document, ascii_only=False).encode())
    except OSError as error:
        raise UsageError(
            f"File {str(path)!r} cannot be written: {error.strerror}, a writable place was expected. Choose another."
        ) from error
