"""Workers as real processes, over the record and the model of a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kept_open import close_later

from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.record import FleetState
from polling import eventually


class Workers:
    """A fleet with workers that a test starts, stops and kills."""

    def __init__(self, url: str, home: Path, environ: Mapping[str, str], *, ttl: float = 3.0) -> None:
        self.url = url
        self.home = home
        self.fleet = close_later(PostgresFleet(url))
        self._environ = {**os.environ, **environ}
        self._ttl = ttl
        self.running: list[subprocess.Popen[bytes]] = []
        self.errors = home / "workers.txt"

    def start(
        self, *words: str, host: str = "", mode: str = "--yolo", home: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a worker, and return once it is alive in the record."""
        known = {each.id for each in self.fleet.status().workers}
        argv = ["worker", "--store", self.url, "--ttl", str(self._ttl), "--slots", "4", mode, *words]
        argv += ["--root", str(self.home.parent)]
        with self.errors.open("ab") as errors:
            worker = subprocess.Popen(
                [sys.executable, "-m", "holdfast", *argv, *(["--host", host] if host else [])],
                env={**self._environ, "HOLDFAST_HOME": str(home or self.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self.running.append(worker)
        eventually(lambda: worker.poll() is not None or {each.id for each in self.fleet.status().workers} - known)
        assert worker.poll() is None, self.errors.read_text()
        return worker

    def use(self, environ: Mapping[str, str]) -> None:
        """Have workers that are started from now on use another model."""
        self._environ.update(environ)

    def session(self, cwd: Path, /, *prompts: str, **place: object) -> str:
        cwd.mkdir(exist_ok=True)
        session = self.fleet.create(
            model="openai-chat:m", place=place or {"kind": "folder", "cwd": str(cwd)}, sender="test"
        )
        for prompt in prompts:
            self.fleet.ask(session, "prompt", {"text": prompt})
        return session

    def until(self, session: str, state: FleetState, *, free: bool = False) -> None:
        def reached() -> bool:
            now = self.fleet.session(session)
            return now.state == state and not (free and now.holder)

        eventually(reached)

    def close(self) -> None:
        for worker in self.running:
            with suppress(ProcessLookupError):
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        threads = [threading.Thread(target=end, args=(worker,)) for worker in self.running]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def end(worker: subprocess.Popen[bytes]) -> None:
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
