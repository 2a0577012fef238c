"""Search over sessions by what was said in them: prompts, answers, titles, and what calls were about.

How it works. The words of a session are kept beside its journal in `words.txt`, a cache that is used only while the
journal's files are the ones it was made from. A search reads the caches that are fresh, makes the others again, and
looks for the words in the text. 2,000 sessions take about a tenth of a second (docs/decisions/0059-search.md).

Why no index? An index of all sessions is one more database to keep in step, and it would keep the words of a session
that was deleted. A cache in the session's own folder goes where the session goes.

Outputs of tools are left out: they are most of the text, and what a user remembers is what was said.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import HoldfastError
from holdfast.session.catalog import Catalog, SessionSummary, Stamp, journal_stamp
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.system.durable_files import write_whole
from holdfast.typed_data import decode_json

WORDS_FILE = "words.txt"
"""The name of the cache in a session's folder."""

LONGEST_SAID = 20_000
"""Characters of one prompt or answer that are searched; a longer one is data."""

MOST_WORDS = 4_000_000
"""Characters of one session that are searched."""

_ARGUMENTS = 400
_EXCERPT = 160
_BEFORE = 40


class FoundSession(msgspec.Struct, frozen=True):
    """A session with all the words: `excerpt` is the line that has most of them, "" if only its title has them."""

    summary: SessionSummary
    excerpt: str


class _Stamped(msgspec.Struct, frozen=True):
    """The first line of the cache: whose words they are, of which state of its journal, and how many characters."""

    id: str
    stamp: Stamp
    length: int


def search_sessions(catalog: Catalog, words: str, summaries: Iterable[SessionSummary]) -> Iterator[FoundSession]:
    """Yield those of the sessions in which all the words occur, in any case and as parts of words, in their order."""
    wanted = tuple(words.casefold().split())
    for summary in summaries if wanted else ():
        text = session_words(catalog.folder(summary.id))
        head = f"{summary.title} {summary.id} {summary.cwd} {summary.model}".casefold()
        folded = text.casefold()
        if all(word in folded or word in head for word in wanted):
            yield FoundSession(summary, _excerpt(text, wanted))


def session_words(folder: Path) -> str:
    """Return what was said in a session, a line for each prompt, answer and call; "" if it cannot be read."""
    stamp = journal_stamp(folder)
    cached = _cached(folder, stamp)
    if cached is not None:
        return cached
    from holdfast.session.storage.sqlite_store import read_copy  # noqa: PLC0415 - fresh caches need no SQLite

    try:
        text = "\n".join(said_lines(record.entry for record in read_copy(folder).records))[:MOST_WORDS]
    except HoldfastError:  # a list shows the damage; its title can still be found
        return ""
    text = text.encode("utf-8", "replace").decode()
    head = msgspec.json.encode(_Stamped(folder.name, stamp, len(text))).decode()
    with contextlib.suppress(OSError):  # a full or read-only disk: it is made again each time
        write_whole(folder / WORDS_FILE, f"{head}\n{text}".encode(), durable=False)
    return text


def said_lines(entries: Iterable[e.Entry]) -> Iterator[str]:
    """Yield what was said, on one line each: also what was rewound or compacted later."""
    for entry in entries:
        match entry:
            case e.Titled(title=text):
                yield from _line(text)
            case e.PromptAccepted(text=text) | e.Steered(text=text):
                yield from _line(text)
            case e.ShellStarted(command=text):
                yield from _line(f"! {text}")
            case e.ResponseEnded(parts=parts):
                for part in parts:
                    if isinstance(part, TextPart):
                        yield from _line(part.text)
                    elif isinstance(part, CallPart):
                        yield from _line(f"{part.name} {_readable(part.arguments)}")
            case e.Compacted(summary=text):
                yield from _line(text)
            case _:
                pass


def _line(text: str) -> Iterator[str]:
    if line := " ".join(text[:LONGEST_SAID].split()):
        yield line


def _readable(arguments: str) -> str:
    """Return the beginning of a call's arguments, with letters in place of their escapes."""
    with contextlib.suppress(ValueError, RecursionError):
        arguments = json.dumps(json.loads(arguments), ensure_ascii=False)
    return arguments[:_ARGUMENTS]


def _cached(folder: Path, stamp: Stamp) -> str | None:
    """Return the cached words, None if they are missing, unreadable or those of another state."""
    try:
        head, _, text = (folder / WORDS_FILE).read_bytes().decode().partition("\n")
        of = decode_json(head, _Stamped)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return text if of == _Stamped(folder.name, stamp, len(text)) else None


def _excerpt(text: str, wanted: Sequence[str]) -> str:
    """Return the part around the first of the words, of the line in which most of them occur."""
    best, most = "", 0
    for line in text.split("\n"):
        count = sum(word in line.casefold() for word in wanted)
        if count > most:
            best, most = line, count
            if most == len(wanted):
                break
    folded = best.casefold()
    at = max(0, min((folded.find(word) for word in wanted if word in folded), default=0) - _BEFORE)
    shown = best[at : at + _EXCERPT]
    return f"{'…' if at else ''}{shown}{'…' if at + _EXCERPT < len(best) else ''}"
