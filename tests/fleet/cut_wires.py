"""A proxy in front of PostgreSQL that cuts the wire after so many bytes of an answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class WireCutter:
    """Listens in `folder` and passes everything on to the server in `target`; `cut_after` has it cut a connection."""

    def __init__(self, folder: Path, target: str) -> None:
        self._target = target
        self._left: int | None = None
        self._lock = threading.Lock()
        self.cuts = 0
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(folder / _NAME))
        self._server.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, count: int) -> None:
        """Cut the next connection that is answered, after `count` bytes of the answer."""
        with self._lock:
            self._left = count

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError), server, client:
            while data := server.recv(1 << 16):
                with self._lock:
                    left, self._left = self._left, None if self._left is None else max(0, self._left - len(data))
                    cut = left is not None and len(data) >= left
                    if cut:
                        self._left, self.cuts = None, self.cuts + 1
                client.sendall(data[:left] if cut else data)
                if cut:
                    client.shutdown(socket.SHUT_RDWR)
                    return
