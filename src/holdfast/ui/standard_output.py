"""Standard output to a file or a pipe: that it cannot be written is a sentence for the user, wherever it is written."""

from __future__ import annotations

import os
from io import FileIO, TextIOWrapper

from holdfast import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from holdfast.errors import StateError


class StandardOutput(TextIOWrapper):
    """Standard output whose errors are `StateError`; only a reader that went away is still a `BrokenPipeError`."""

    def write(self, text: str, /) -> int:
        """Write the text; raises `StateError` if that fails."""
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(self, error) from error

    def flush(self) -> None:
        """Write what is buffered; raises `StateError` if that fails."""
        try:
            super().flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise unwritable(self, error) from error


def standard_output(stream: TextIOWrapper) -> StandardOutput:
    """Return a stream that writes where this one does, to a file or a pipe, as it does."""
    unbuffered = isinstance(stream.buffer, FileIO)  # PYTHONUNBUFFERED
    return StandardOutput(
        open(stream.fileno(), "wb", buffering=0 if unbuffered else -1, closefd=False),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def unwritable(stream: TextIO, error: OSError) -> StateError:
    """Return the failure for standard output that cannot be written."""
    from holdfast.errors import StateError

    write_nowhere(stream)
    return StateError(
        f"Cannot write to standard output: {error.strerror}. Free some disk space, or redirect it elsewhere."
    )


def write_nowhere(stream: TextIO) -> None:
    """Redirect the stream to /dev/null: at exit, Python would try again, complain, and exit with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
