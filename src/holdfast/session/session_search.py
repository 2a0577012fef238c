"""Search over the text of sessions: prompts, answers, titles, and the arguments of calls.

How it works. The words of a session are stored next to its journal in `words.txt`, a cache that is used only while the
journal's files have not changed since. A search reads the fresh caches, rebuilds the others, and looks for the words
in the text. An index of all sessions says which of them cannot have the words and need not be opened; it has none of
the words (`word_index`, docs/decisions/0059-search.md).

Why no index with words? It would keep the words of a deleted session. A cache in the session's own folder is moved and
deleted with the session.

Tool outputs are left out: they are most of the text, and users remember the messages.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from holdfast.errors import HoldfastError
from holdfast.session.catalog import Catalog, SessionSummary, Stamp, journal_stamp
from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import CallPart, TextPart
from holdfast.session.session_index import has_rested
from holdfast.session.word_index import WordIndex, bits_of
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import replace_file
from holdfast.typed_data import decode_json

WORDS_FILE = "words.txt"
"""The name of the cache in a session's folder."""

LONGEST_TEXT = 20_000
"""Characters of one prompt or answer that are searched; a longer one is data."""

MOST_WORDS = 4_000_000
"""Characters of one session that are searched."""

LARGEST_WORDS = 4 * MOST_WORDS + (1 << 16)
"""Bytes of the cache: each character may take four."""

_ARGUMENTS = 400
_EXCERPT = 160
_BEFORE = 40


class FoundSession(msgspec.Struct, frozen=True):
    """A session with all the words: `excerpt` is the line that has most of them, "" if only its title has them."""

    summary: SessionSummary
    excerpt: str


class _Stamped(msgspec.Struct, frozen=True):
    """The first line of the cache: the session, the state of its journal, and the number of characters."""

    id: str
    stamp: Stamp
    length: int


def search_sessions(catalog: Catalog, words: str, summaries: Iterable[SessionSummary]) -> Iterator[FoundSession]:
    """Yield the sessions that contain all the words, in any case and also within words, in their order.

    What is learnt about sessions that were not known is kept when the search ends, also early.
    """
    terms = tuple(words.casefold().split())
    if not terms:
        return
    index = WordIndex(catalog.word_index)
    bits = {term: bits_of([term]) for term in terms}
    try:
        for summary in summaries:
            session, stamp = summary.id, catalog.stamp(summary.id)
            head = f"{summary.title} {session} {summary.cwd} {summary.model}".casefold()
            needed = [bit for term in terms if term not in head for bit in bits[term]]
            if not index.may_have(session, stamp, needed):
                continue
            text, is_all = read_words(catalog.folder(session))
            folded = text.casefold()
            if (
                is_all
                and not index.has(session, stamp)
                and catalog.stamp(session) == stamp
                and has_rested(stamp, time.time())
            ):
                index.add(session, stamp, folded)
            if all(word in folded or word in head for word in terms):
                yield FoundSession(summary, _excerpt(text, terms))
    finally:
        index.save(catalog.names())


def _stamp(folder: Path) -> Stamp:
    try:
        return journal_stamp(folder)
    except OSError:  # the list of sessions shows why
        return ()


def session_words(folder: Path) -> str:
    """Return the text of a session, a line for each prompt, answer and call; "" if it cannot be read."""
    return read_words(folder)[0]


def read_words(folder: Path) -> tuple[str, bool]:
    """Return the text of a session, and whether it is all of it: of a damaged one nothing is kept."""
    stamp = _stamp(folder)
    cached = _cached(folder, stamp)
    if cached is not None:
        return cached, True
    from holdfast.session.storage.sqlite_store import read_copy  # fresh caches need no SQLite

    try:
        reading = read_copy(folder)
    except HoldfastError:  # the list of sessions shows the damage; the title can still be found
        return "", False
    text = "\n".join(searchable_lines(record.entry for record in reading.records))[:MOST_WORDS]
    text = text.encode("utf-8", "replace").decode()
    if reading.findings:
        return text, False
    head = msgspec.json.encode(_Stamped(folder.name, stamp, len(text))).decode()
    with contextlib.suppress(OSError):  # a full or read-only disk: it is rebuilt each time
        replace_file(folder / WORDS_FILE, f"{head}\n{text}".encode(), durable=False)
    return text, True


def searchable_lines(entries: Iterable[e.Entry]) -> Iterator[str]:
    """Yield each prompt, answer, call and title as one line, also those that were rewound or compacted later."""
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
    if line := " ".join(text[:LONGEST_TEXT].split()):
        yield line


def _readable(arguments: str) -> str:
    """Return the beginning of a call's arguments, with letters in place of their escapes."""
    with contextlib.suppress(ValueError, RecursionError):
        arguments = json.dumps(json.loads(arguments), ensure_ascii=False)
    return arguments[:_ARGUMENTS]


def _cached(folder: Path, stamp: Stamp) -> str | None:
    """Return the cached words, None if they are missing, unreadable or those of another state."""
    try:
        head, _, text = read_bounded(folder / WORDS_FILE, LARGEST_WORDS).decode().partition("\n")
        stamped = decode_json(head, _Stamped)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return text if stamped == _Stamped(folder.name, stamp, len(text)) else None


def _excerpt(text: str, terms: Sequence[str]) -> str:
    """Return the part around the first of the words, of the line in which most of them occur."""
    best, most = "", 0
    for line in text.split("\n"):
        count = sum(word in line.casefold() for word in terms)
        if count > most:
            best, most = line, count
            if most == len(terms):
                break
    folded = best.casefold()
    at = max(0, min((folded.find(word) for word in terms if word in folded), default=0) - _BEFORE)
    shown = best[at : at + _EXCERPT]
    return f"{'…' if at else ''}{shown}{'…' if at + _EXCERPT < len(best) else ''}"
