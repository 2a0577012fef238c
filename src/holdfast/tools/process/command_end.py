"""How a command ended, and what the model reads of its output.

The output is always read from the file that it was spooled to, so recovery sees what the model would have seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from holdfast.text import valid_unicode
from holdfast.tools.printed_text import printed_text
from holdfast.tools.process.end_record import open_regular_file
from holdfast.tools.process.orphans import OrphanReport
from holdfast.tools.process.supervised_command import SPOOL_MARK
from holdfast.tools.truncation import beginning

HEAD = 10_000
TAIL = 20_000
WALL_WORDS = 400
"""Bytes of the beginning and of the end of an output that the model reads."""
LARGEST_OUTPUT = 4_000_000
"""Bytes of a file that are read; a spool has fewer."""


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class RefusedHost(msgspec.Struct, frozen=True):
    """An address that a confined command asked for and did not get."""

    host: str = ""
    port: int = 0
    why: str = ""


class CommandEnded(msgspec.Struct, frozen=True, tag="ended", tag_field="kind"):
    """The command ended by itself or was ended. `unkept` says why output is missing in the spool.

    `has_begun` is False if the wall around it could not be built, so that nothing was run. `refused` are the addresses
    that it was not allowed to reach, `moved` the files that it put where git obeys them. `wall` is what confined it.
    """

    call: str
    cause: Literal["exit", "timeout", "stop", "signalled", "unguarded"]
    status: Annotated[int, msgspec.Meta(ge=-255, le=255)] | None
    seconds: float
    seen: _Count
    unkept: str
    leftovers: _Count
    survivors: _Count
    has_begun: bool = True
    refused: tuple[RefusedHost, ...] = ()
    wall: str = ""
    moved: tuple[str, ...] = ()


class CommandFinished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended.

    `cause` is what ended it: itself, its timeout, a stop, or the supervisor: it received a signal (`signalled`), its
    watchdog died (`unguarded`), or it died itself (`lost`). One of `code` and `signal` is set unless it is lost.
    `leftovers` counts leftover processes that were ended, `survivors` those that could not be; None if unknown.
    `unkept` says why output is missing from `text`, or is ""; `is_cut` whether `text` leaves out a part of a long one.
    `refused`, `wall` and `moved` are as in `CommandEnded`.
    """

    cause: Literal["exit", "timeout", "stop", "signalled", "unguarded", "lost"]
    code: int | None
    signal: int | None
    seconds: float
    text: str
    leftovers: int = 0
    survivors: int | None = 0
    unkept: str = ""
    is_cut: bool = False
    refused: tuple[RefusedHost, ...] = ()
    wall: str = ""
    moved: tuple[str, ...] = ()


def stored_output(spool: Path) -> str:
    """Return the stored output of a command, truncated for the model; "" if there is none."""
    try:
        return _excerpt(spool, seen=0)
    except OSError:
        return ""  # a command without output looks like one that never started


def is_cut(spool: Path) -> bool:
    """Return whether `stored_output` leaves out a part of the stored output. Never raises."""
    try:
        return spool.stat().st_size > HEAD + TAIL
    except OSError:
        return False


def _excerpt(spool: Path, *, seen: int) -> str:
    """Return what a line printer would keep of the file: its beginning and its end, and how much is cut in between.

    `seen` is how many bytes the command printed; the file has dropped some in its middle if it has fewer.
    """
    with open_regular_file(spool) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        raw = file.read(LARGEST_OUTPUT)
        if size > LARGEST_OUTPUT:  # another program has written into it: a spool is smaller
            file.seek(-TAIL, os.SEEK_END)
            raw += file.read(TAIL)
    # What the cursor reaches ends at the mark: else a program that goes up would draw over it.
    text = f"\n{_MARK}\n".join(map(printed_text, raw.decode(errors="replace").split(f"\n{_MARK}\n", 1)))
    printed = text.encode(errors="replace")
    if len(printed) <= HEAD + TAIL:
        return valid_unicode(text.replace(_MARK, _cut_note(seen - size), 1) if seen > size else text)
    # A character cut in two is dropped, not shown as damage.
    head = beginning(printed[:HEAD])
    tail = printed[-TAIL:][:3].lstrip(bytes(range(0x80, 0xC0))) + printed[-TAIL + 3 :]
    cut = max(len(printed), seen - (size - len(printed))) - HEAD - TAIL
    return valid_unicode(f"{head}\n{_cut_note(cut)}\n{tail.decode(errors='replace')}")


_MARK = SPOOL_MARK.decode().strip()


def _cut_note(count: int) -> str:
    return f"[... {count} bytes of output were cut here ...]"


def command_result(ended: CommandEnded, spool: Path) -> CommandFinished:
    """Return how a command ended, with the output for the model."""
    unkept = ended.unkept
    try:
        text = _excerpt(spool, seen=ended.seen)
    except OSError as error:  # the command may have deleted the file itself
        text, unkept = "", str(error)
    exited = ended.status is not None and ended.status >= 0
    return CommandFinished(
        cause=ended.cause,
        code=ended.status if exited else None,
        signal=-ended.status if ended.status is not None and not exited else None,
        seconds=ended.seconds,
        text=text,
        leftovers=ended.leftovers,
        survivors=ended.survivors,
        unkept=unkept,
        is_cut=ended.seen > HEAD + TAIL,
        refused=ended.refused,
        wall=ended.wall,
        moved=ended.moved,
    )


def never_begun(ended: CommandEnded, spool: Path) -> str:
    """Return the sentence about a command whose wall ended before it ran."""
    words = command_result(ended, spool).text.strip()[:WALL_WORDS]
    killed = f"its wall was ended by signal {-ended.status}" if ended.status is not None and ended.status < 0 else ""
    return f"The command could not be confined: {words or killed or 'the wall said nothing'}. Nothing was run."


def lost_command(seconds: float, spool: Path, found: OrphanReport, *, sure: bool) -> CommandFinished:
    """Return the end of a command whose supervisor died; `sure` is whether nothing of it can be left."""
    return CommandFinished(
        cause="lost",
        code=None,
        signal=None,
        seconds=seconds,
        text=stored_output(spool),
        leftovers=len(found.ended),
        survivors=0 if sure else len(found.left) or None,
        is_cut=is_cut(spool),
    )
