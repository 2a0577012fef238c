"""llama.cpp's server with a model file, greedy and with a fixed seed: `python serve.py MODEL.gguf WINDOW`.

It prints its address, and ends when its standard input does.
"""

from __future__ import annotations

import importlib
import os
import sys


def serve(path: str, window: int) -> None:
    """Serve the model until standard input ends."""
    llama = importlib.import_module("xllamacpp")
    how = llama.CommonParams()
    how.model.path = path
    how.hostnames = ["127.0.0.1"]
    how.port = 0
    how.n_ctx = window
    how.n_predict = 512
    how.n_parallel = 1
    how.use_jinja = True
    how.cpuparams.n_threads = 1  # one more spins and waits
    how.cpuparams_batch.n_threads = os.cpu_count() or 1
    how.sampling.seed = 1
    how.sampling.temp = 0.0
    how.warmup = False
    how.verbosity = -1
    server = llama.Server(how)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
