"""What `make real` runs: twelve tasks by a small real model. It fails if an invariant breaks; skill is a number.

The invariants are holdfast's, whatever the model does: each run ends by itself, within few requests; its journal is
valid; no call is its answer; and a run that exits with 0 finished. MODEL=FILE.gguf names another model.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

sys.path.append(str(Path(__file__).parents[1]))  # of what the tests share

from tasks import TASKS, Seen, Task, prepare
from weights import ABOUT, weights

from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, RequestStarted, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import CallPart
from holdfast.session.storage.sqlite_store import read_copy
from llama_server import llama_server

MOST_REQUESTS = 40
LONGEST_ANSWER = 512
"""Tokens."""
LONGEST = 1_200.0
"""Seconds of one turn on two slow cores; it then counts as one that does not end."""

ENDED = {0: ("finished",), 1: ("loop", "periodic", "empty", "text_call", "max_tokens", "max_steps", "provider")}


class Outcome(msgspec.Struct, frozen=True):
    """How a task went: what broke, whether the work was done, and its size."""

    broken: tuple[str, ...]
    done: bool
    requests: int
    causes: tuple[str, ...]


@contextmanager
def served(model: Path, window: int) -> Generator[str]:
    """Serve the model and yield the address."""
    try:
        with llama_server(model, window=window, longest=LONGEST_ANSWER, temperature=0.0) as address:
            yield address
    except ChildProcessError as error:
        raise SystemExit(str(error)) from error


def holdfast(home: Path, folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start the program."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "HOLDFAST_HOME": str(home)}
    command = [sys.executable, "-m", "holdfast", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def play(task: Task, address: str, root: Path) -> Outcome:
    """Run a task and return how it went."""
    home, folder = root / "home", root / "work"
    home.mkdir()
    folder.mkdir()
    prepare(folder)
    limits = "limits = { first_event = 900, idle_event = 300 }"
    (home / "config.toml").write_text(
        f'[providers.real]\nkind = "openai-chat"\nbase_url = "{address}/v1"\n{limits}\n'
        f'[models."real:model"]\ncontext_window = {task.window}\n'
    )
    broken: list[str] = []
    causes: list[str] = []
    for number, prompt in enumerate(task.prompts):
        more = ["-c"] if number else ["-m", "real:model"]
        run = holdfast(home, folder, *more, "--yolo", "--max-steps", "15", "--output-format", "json", "-p", prompt)
        if task.killed and not number:
            time.sleep(20)
            run.send_signal(signal.SIGKILL)
        try:
            out, _ = run.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            run.kill()
            out, _ = run.communicate()
            broken.append(f"turn {number + 1} did not end")
        if out.strip():
            result = json.loads(out.splitlines()[-1])
            causes.append(result["cause"])
            if result["cause"] not in ENDED.get(run.returncode, ()):
                broken.append(f"exit code {run.returncode} with cause {result['cause']}")
    verify = holdfast(home, folder, "sessions", "verify")
    said, _ = verify.communicate(timeout=60)
    if "valid for all" not in said:
        broken.append(f"the journal is not valid: {said.strip()[:200]}")
    entries = [record.entry for each in home.rglob("session.db") for record in read_copy(each.parent).records]
    requests = sum(isinstance(entry, RequestStarted) for entry in entries)
    if requests > MOST_REQUESTS:
        broken.append(f"{requests} requests")
    broken += answers_that_are_calls(entries)
    return Outcome(tuple(broken), task.done(Seen(folder, tuple(carried_out(entries)))), requests, tuple(causes))


def answers_that_are_calls(entries: list[Entry]) -> Iterator[str]:
    """Yield a sentence for each turn that finished with a call written as text."""
    last = ""
    for entry in entries:
        if isinstance(entry, ResponseEnded):
            last = "".join(getattr(part, "text", "") for part in entry.parts)
        elif isinstance(entry, TurnEnded) and entry.cause == "finished" and last.lstrip().startswith("<tool_call>"):
            yield f"a call was the answer: {last[:80]!r}"


def carried_out(entries: list[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the tool and the result of each call that was started."""
    names = {
        part.id: part.name
        for entry in entries
        if isinstance(entry, ResponseEnded)
        for part in entry.parts
        if isinstance(part, CallPart)
    }
    started = {entry.call for entry in entries if isinstance(entry, CallStarted)}
    aliases = {"list": "glob", "list_files": "glob", "read_file": "read", "ls": "glob"}
    for entry in entries:
        if isinstance(entry, CallEnded) and entry.call in started:
            name = names.get(entry.call, "")
            yield aliases.get(name, name), entry.text


def main() -> int:
    """Run the tasks and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="a GGUF file; without it the pinned one")
    parser.add_argument("--cache", default=os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")))
    parser.add_argument("-k", dest="only", default="", help="only tasks with this in their name")
    options = parser.parse_args()
    model = Path(options.model) if options.model else weights(Path(options.cache) / "holdfast-real")
    if model is None:
        sys.stdout.write(
            "Skipped: the model cannot be downloaded now (it needs the network once). Nothing was tried.\n"
        )
        return 0
    sys.stdout.write(f"Model: {options.model or ABOUT}\n")
    failed = done = played = 0
    for task in (each for each in TASKS if options.only in each.name):
        began = time.monotonic()
        with served(model, task.window) as address, tempfile.TemporaryDirectory() as root:
            outcome = play(task, address, Path(root))
        played, done, failed = played + 1, done + outcome.done, failed + bool(outcome.broken)
        word = "done" if outcome.done else "not done"
        sys.stdout.write(
            f"{task.name:14} {word:9} {outcome.requests:3} requests {time.monotonic() - began:6.0f} s "
            f"{' '.join(outcome.causes)} {'; '.join(outcome.broken)}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"Skill: {done} of {played}. Broken invariants: {failed}.\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
