"""What a store must keep when a write fails: the disk is full for a moment, or the process is killed in the middle.

A limit on the size of files stands in for both, and needs no privilege. The kernel writes what fits below the limit and
fails the rest, as it does when the last block of a disk is taken: so a write is also cut at any byte. A process that
does not ignore the signal of the limit is killed there, with half of its write done.

The sizes that matter lie just below what the append needs, and only the store knows that size. So it is looked for: a
size below which the append fails and from which on it succeeds. Each failure on the way is a trial of the law, and the
last ones cut off single bytes.

A store that writes no file in this process (in memory, on a server) succeeds at any limit: these laws do not reach it.

Example: a store of JSON lines appends two lines, and the disk takes one and a half. It reports the failure, and the
next append goes behind the half line. Nothing looks wrong until the session is opened again, which never works.
"""

from __future__ import annotations

import os
import resource
import signal
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from holdfast.errors import StorageFailed
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Store


class Harness(Protocol):
    """A journal that can be closed and opened again."""

    def open(self) -> Store:
        """Open the journal: empty the first time, later with what it held when it was last closed."""
        ...


def prompt(text: str) -> e.PromptAccepted:
    """Return an entry with this text."""
    return e.PromptAccepted(turn=1, text=text)


def append(store: Store, *entries: e.Entry) -> None:
    """Append entries, and assert that the store says how long it is now."""
    before = store.length
    length = store.append(entries, expected=before)
    assert length == before + len(entries), f"append returned {length} (expected {before + len(entries)})"
    assert store.length == length, f"its length is {store.length} after append returned {length}"


def expect(store: Store, *entries: e.Entry) -> None:
    """Assert that the store holds exactly these entries, numbered from 1, without a finding."""
    reading = store.read()
    assert not reading.findings, f"it reported {reading.findings[0].what!r} in an undamaged journal"
    found = [record.entry for record in reading.records]
    assert len(found) == len(entries), f"{len(found)} entries were read (expected {len(entries)})"
    for seq, (record, entry) in enumerate(zip(reading.records, entries, strict=True), start=1):
        assert record.seq == seq, f"entry {seq} has the number {record.seq}"
        assert record.entry == entry, f"entry {seq} was read as {str(record.entry)[:200]}, not {str(entry)[:200]}"
    assert store.length == len(entries), f"its length is {store.length} (expected {len(entries)})"


# --- store faults ---

_KEPT = prompt("kept")
_NEW = (prompt("a" * 3_000), prompt("b" * 3_000))
_SMALLEST, _LARGEST = 256, 1 << 28

Try = Callable[[Harness, int], bool]
"""Tries to append under a limit, checks what is left, and returns whether the append succeeded."""


def loses_nothing_on_a_full_disk(make: Callable[[], Harness]) -> None:
    """Assert that an append which fails raises `StorageFailed`, changes nothing, and that the next one succeeds."""
    tried = 0

    def attempt(harness: Harness, size: int) -> bool:
        nonlocal tried
        tried += 1
        return _full(harness, size, reopen=tried % 2 == 0)

    below = _search(make, attempt)
    if below is not None:
        for reopen in (True, False):
            _full(make(), below, reopen=reopen)


def loses_nothing_when_killed_in_a_write(make: Callable[[], Harness]) -> None:
    """Assert that what was appended before a kill is read by the next process, which can append."""
    if not _succeeds(make(), 0):
        _search(make, _killed)


def _search(make: Callable[[], Harness], attempt: Try) -> int | None:
    """Return the largest size at which the append fails, None if it succeeds at any size."""
    if attempt(make(), 0):
        return None
    fails, size = 0, _SMALLEST
    while not attempt(make(), size):
        fails, size = size, size * 2
        assert size <= _LARGEST, f"its append of {len(_NEW)} small entries fails unless a file may have {size} bytes"
    while size - fails > 1:
        middle = (fails + size) // 2
        if attempt(make(), middle):
            size = middle
        else:
            fails = middle
    return fails


def _succeeds(harness: Harness, size: int) -> bool:
    """Return whether an append under the limit succeeds."""
    store = harness.open()
    append(store, _KEPT)
    succeeded = _append_limited(store, size)
    store.close()
    return succeeded


def _append_limited(store: Store, size: int) -> bool:
    with files_limited(size):
        try:
            store.append(_NEW, expected=1)
        except StorageFailed:
            return False
        except OSError as error:
            raise AssertionError(
                f"an append that fails raises {type(error).__name__} (expected StorageFailed)"
            ) from error
    return True


def _full(harness: Harness, size: int, *, reopen: bool) -> bool:
    """Append when no file may grow beyond `size`, then without a limit, in the same store or opened again."""
    store = harness.open()
    append(store, _KEPT)
    succeeded = _append_limited(store, size)
    entries = (_KEPT, *_NEW) if succeeded else (_KEPT,)
    if reopen:
        store.close()
        store = harness.open()
    expect(store, *entries)
    append(store, *_NEW)
    expect(store, *entries, *_NEW)
    store.close()
    store = harness.open()
    expect(store, *entries, *_NEW)
    store.close()
    return succeeded


def _killed(harness: Harness, size: int) -> bool:
    """Append in a process that is killed at `size`, and look at what the next one finds."""
    store = harness.open()
    append(store, _KEPT)
    store.close()

    def go_on() -> None:
        harness.open().append(_NEW, expected=1)

    killed = killed_at(size, go_on)
    store = harness.open()
    length = store.length
    assert length in ((1, 3) if killed else (3,)), f"{length} entries are left of 1 and 2 that were being appended"
    entries = (_KEPT, *_NEW)[:length]
    expect(store, *entries)
    append(store, *_NEW)
    store.close()
    store = harness.open()
    expect(store, *entries, *_NEW)
    store.close()
    return not killed


@contextmanager
def files_limited(size: int) -> Generator[None]:
    """Let no file of this process grow beyond `size` bytes within the block. Python ignores the signal of the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def killed_at(size: int, act: Callable[[], object]) -> bool:
    """Run `act` in a forked process that is killed once a file grows beyond `size` bytes; return whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads do not matter: the child runs only `act`
        pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
            with files_limited(size):
                act()
                os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status != 1, "it fails although no write failed yet"
    return status < 0
