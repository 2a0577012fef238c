"""llama.cpp's server with a model file and a fixed seed.

`python llama_server.py MODEL WINDOW LONGEST TEMPERATURE BATCH` prints its address, and ends when its standard input
does. LONGEST is how many tokens an answer has at most (-1: no limit), BATCH how many of a prompt are read at once (0:
as it likes).
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

UNLIMITED = -1


@contextmanager
def llama_server(
    model: Path, *, window: int, longest: int = UNLIMITED, temperature: float = 0.8, batch: int = 0
) -> Generator[str]:
    """Serve the model and yield the address; raises `ChildProcessError` if the server does not start."""
    numbers = (window, longest, temperature, batch)
    command = [sys.executable, __file__, str(model), *map(str, numbers)]
    environ = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}  # on shared cores its threads spin
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address.startswith("http://127.0.0.1:"):
            raise ChildProcessError(f"llama.cpp's server did not start with {model}.")
        yield address


def serve(path: str, *, window: int, longest: int, temperature: float, batch: int) -> None:
    """Serve the model, one request at a time, until standard input ends."""
    llama = importlib.import_module("xllamacpp")
    how = llama.CommonParams()
    how.model.path = path
    how.hostnames = ["127.0.0.1"]
    how.port = 0
    how.n_ctx = window
    how.n_predict = longest
    how.n_parallel = 1
    how.use_jinja = True
    how.cpuparams.n_threads = 1  # one more spins and waits
    how.cpuparams_batch.n_threads = os.cpu_count() or 1
    if batch:
        how.n_batch = how.n_ubatch = batch
    how.sampling.seed = 1
    how.sampling.temp = temperature
    how.warmup = False
    how.verbosity = -1
    server = llama.Server(how)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(
        sys.argv[1],
        window=int(sys.argv[2]),
        longest=int(sys.argv[3]),
        temperature=float(sys.argv[4]),
        batch=int(sys.argv[5]),
    )
