"""Becomes an MCP server: joins the socket it is given, reads there what to run, and runs it in its own place.

The server then has the socket as its stdin and stdout: no process stands between it and the agent, and it has the
parent, the session and the environment that a supervised command has. Its secrets come over the socket, not on a
command line that others can read. Imports the standard library only, to start fast.
"""

from __future__ import annotations

import json
import os
import socket
import sys

_LENGTH = 8  # bytes of the number that says how many follow
_NOT_RUN = 127


def main(path: str) -> int:
    """Run what comes over the socket at `path`; return only if that fails."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    what = json.loads(_exactly(connection, int.from_bytes(_exactly(connection, _LENGTH), "big")))
    argv, environ = what["argv"], {**os.environ, **what["env"]}
    try:
        os.chdir(what["cwd"])
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        os.execvpe(argv[0], argv, environ)  # noqa: S606 - the command of a server is a program, not a line for a shell
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{argv[0]}: {error}\n")
    return _NOT_RUN


def _exactly(connection: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        if not (data := connection.recv(size - len(read))):
            raise EOFError
        read += data
    return read


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
