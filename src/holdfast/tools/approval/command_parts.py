"""The simple commands of a line, as an approval sees them. `command_analysis` finds them."""

from __future__ import annotations

import msgspec


class CommandPart(msgspec.Struct, frozen=True, kw_only=True):
    """A simple command of a line.

    `texts` are its assignments and words in one line, as written and quoted again. `words` are these words if bash
    passes exactly them to the program, else (). `more` says in a few words why it does more than read, "" if it only
    reads. `outside` is a path outside the workspace that it reads, None if there is none. `reads` are absolute paths.
    `finds` are the files that it may find below the folders it is given. `secrets` are the files with secrets that it
    names or may find. `leads_out` is a word that names, through a link, a place outside, "" if none does. `writes` are
    the files of its redirections: relative to the workspace, or absolute outside it; `unknown` says in a few words
    which of them only bash knows, "" if none. `dangers` are phrases for the user. `fed` is whether the line gives it
    something to read on standard input, which may be a program.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...] = ()
    more: str = ""
    outside: str | None = None
    reads: tuple[str, ...] = ()
    finds: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    leads_out: str = ""
    writes: tuple[str, ...] = ()
    unknown: str = ""
    dangers: tuple[str, ...] = ()
    fed: bool = False

    @property
    def only_reads(self) -> bool:
        """Return whether it writes nothing and starts nothing; what it reads may be outside the workspace."""
        return not (self.more or self.writes or self.unknown)


class CommandParts(msgspec.Struct, frozen=True, kw_only=True):
    """The simple commands of a line, in order.

    `unclear` is a sentence why some may be missing, "" if none are. `outside` is a folder outside the workspace in
    which some of them may run, None if there is none. `all_texts` are the texts that deny rules check: those of all
    commands, also without assignments, without the folder of a program, and after programs that start others.
    """

    parts: tuple[CommandPart, ...]
    unclear: str = ""
    outside: str | None = None
    all_texts: tuple[str, ...] = ()

    @property
    def only_reads(self) -> bool:
        """Return whether the line writes nothing and starts nothing."""
        return not self.unclear and bool(self.parts) and all(part.only_reads for part in self.parts)
