"""Chaos: real workers over a real record, killed, stopped and cut off at once; then every journal is judged.

`python -m tests.fleet.chaos --sessions 60 --prompts 3 --workers 4 --kills 40 --stops 10 --server 3 --full 3`

The model is a script that asks for two commands per turn. Each command writes its own mark into a file of what really
happened, so journals are judged against the world and not against themselves. A violation is: a prompt that was
recorded twice or never, a turn without exactly one end, a call without exactly one outcome or with two starts, an
effect of a call that is said not to have started, an `ok` without an effect, an effect that happened twice, a hole or a
twin in a journal, a conversation that breaks a rule of its provider, a row that was never done, a session that was put
on hold although no worker died in it.

`--full` and `--read-only` leave the server without room on its disk, or let it refuse writes, for some seconds.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from servers import Server, fresh_database, own_server  # noqa: E402 - run as a program, the folder comes first

from holdfast.fleet.postgres.database import Database  # noqa: E402 - likewise
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet  # noqa: E402 - likewise
from holdfast.history.profiles import PROFILES  # noqa: E402 - likewise
from holdfast.session.conversation.fold import fold  # noqa: E402 - likewise
from holdfast.session.journal import entries as e  # noqa: E402 - likewise
from holdfast.session.journal.parts import CallPart  # noqa: E402 - likewise
from holdfast.session.journal.store import Reading  # noqa: E402 - likewise
from holdfast.session.request.validate import violations  # noqa: E402 - likewise
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Wait  # noqa: E402 - likewise
from holdfast.testing.scripted_provider import ScriptedProvider  # noqa: E402 - likewise


class Chaos:
    """One run: the sessions, the workers, and who ends them."""

    def __init__(
        self, url: str, server: Server | None, options: argparse.Namespace, folder: Path, model_url: dict[str, str]
    ) -> None:
        self.url = url
        self.server = server
        self.options = options
        self.folder = folder
        self.environ = {**os.environ, **model_url, "HOLDFAST_HOME": str(folder / "home")}
        self.random = random.Random(options.seed)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.fleet = PostgresFleet(url)
        self.sessions: list[str] = []
        self.takeovers: list[float] = []
        self.not_taken_over = 0
        self.deeds: Counter[str] = Counter()
        self.waits: list[str] = []
        self.log = (folder / "workers.log").open("wb")

    def start_worker(self) -> None:
        words = [
            "worker",
            "--store",
            self.url,
            "--slots",
            str(self.options.slots),
            "--ttl",
            str(self.options.ttl),
            "--yolo",
            "--root",
            str(self.folder),
        ]
        self.workers.append(
            subprocess.Popen(
                [sys.executable, "-m", "holdfast", *words, "--grace", "2"],
                env=self.environ, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True,
            )
        )  # fmt: skip

    def wait_for_workers(self) -> None:
        """Wait until each has started: a start during a fault ends, and a service manager would try it again."""
        until = time.monotonic() + 120
        while len(self.fleet.status().workers) < len(self.workers):
            assert time.monotonic() < until, "the workers do not start"
            time.sleep(0.1)

    def ask(self) -> None:
        for number in range(self.options.sessions):
            cwd = self.folder / f"work-{number}"
            cwd.mkdir()
            session = self.fleet.create(
                model="openai-chat:chaos", place={"kind": "folder", "cwd": str(cwd)}, sender="chaos"
            )
            self.sessions.append(session)
            for prompt in range(self.options.prompts):
                for _ in range(2):  # asked twice by a client that did not hear the answer
                    self.fleet.ask(session, "prompt", {"text": f"work {number}.{prompt}"}, key=f"p{prompt}")

    def torment(self) -> None:
        deeds = ["kill"] * self.options.kills + ["stop"] * self.options.stops + ["server"] * self.options.server
        deeds += ["full"] * self.options.full + ["read-only"] * self.options.read_only
        self.random.shuffle(deeds)
        for deed in deeds:
            if self.is_done():
                break
            time.sleep(self.random.uniform(0.3, self.options.pause))
            live = [worker for worker in self.workers if worker.poll() is None]
            assert live, f"every worker has ended:\n{(self.folder / 'workers.log').read_text()[-4000:]}"
            victim = self.random.choice(live)
            match deed:
                case "kill":
                    self.kill(victim)
                case "stop":
                    victim.send_signal(signal.SIGSTOP)
                    threading.Timer(self.options.ttl * 1.7, victim.send_signal, [signal.SIGCONT]).start()
                case "full" if self.server is not None:
                    with self.server.full_log() if self.random.random() < 0.5 else self.server.full_disk():
                        time.sleep(self.random.uniform(1, 4 * self.options.ttl))
                case "read-only" if self.server is not None:
                    with self.server.read_only():
                        time.sleep(self.random.uniform(1, 4 * self.options.ttl))
                case "server" if self.server is not None:
                    self.server.restart()
                case _:
                    pass
            self.deeds[deed] += 1
            print(f"{deed}: {dict(self.deeds)}", flush=True)

    def kill(self, victim: subprocess.Popen[bytes]) -> None:
        """Kill a worker, start another, and measure until a peer has taken each of its sessions."""
        holders: list[tuple[str, str]] = []
        database = Database(self.url)
        with suppress(Exception):
            rows = database.call(
                "select s.id, w.id from holdfast.session s join holdfast.worker w on w.id = s.holder "
                "where (w.about ->> 'pid')::int = %s",
                victim.pid,
            )
            holders = [(str(session), str(worker)) for session, worker in rows]
        victim.kill()
        since = time.monotonic()
        self.start_worker()
        victim.wait()
        if holders:
            threading.Thread(target=self.measure, args=(database, holders, since), daemon=True).start()
        else:
            database.close()

    def measure(self, database: Database, holders: list[tuple[str, str]], since: float) -> None:
        waiting = dict(holders)
        with suppress(Exception):
            while waiting and time.monotonic() < since + 30:
                rows = database.call("select id, holder from holdfast.session where id = any(%s)", list(waiting))
                for session, holder in rows:
                    if holder == waiting[str(session)]:
                        continue
                    if holder is not None:  # None: it was given back in the moment before
                        self.takeovers.append(time.monotonic() - since)
                    del waiting[str(session)]
                time.sleep(0.02)
            self.not_taken_over += len(waiting)
        database.close()

    def is_done(self) -> bool:
        with suppress(Exception):
            return all(each.state == "idle" for each in self.fleet.sessions(limit=10_000))
        return False

    def wait(self) -> None:
        until, shown = time.monotonic() + self.options.within, 0.0
        while not self.is_done():
            assert time.monotonic() < until, self.fleet.status()
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                with suppress(Exception):
                    print(self.fleet.status().sessions, flush=True)
            with suppress(Exception):
                for each in self.fleet.sessions("held"):
                    if "workers died in it" not in each.held:
                        self.waits.append(f"{each.id} waits for a user: {each.held}")
                    # five workers died in it: the user looks, and lets it go on
                    self.fleet.ask(each.id, "prompt", {"text": "I have looked. Go on."})
                    self.deeds["held"] += 1
            time.sleep(0.3)

    def end(self) -> None:
        for worker in self.workers:
            with suppress(ProcessLookupError):
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(30)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()

    def judged(self) -> Iterator[str]:
        yield from self.waits
        for number, session in enumerate(self.sessions):
            done = (
                (self.folder / f"work-{number}" / "effects").read_text().split()
                if (self.folder / f"work-{number}" / "effects").exists()
                else []
            )
            reading = self.fleet.reading(session)
            for fault in faults(reading, Counter(done), self.options.prompts, number):
                yield f"{session}: {fault}"
            for row in self.fleet.inbox(session, limit=1000):
                if row.done is None:
                    yield f"{session}: row {row.id} was never done"


def faults(reading: Reading, done: Counter[str], prompts: int, number: int) -> Iterator[str]:
    """Yield what is wrong with a journal; `done` counts what each call really did."""
    yield from (finding.what for finding in reading.findings)
    entries = [record.entry for record in reading.records]
    if [record.seq for record in reading.records] != list(range(1, len(entries) + 1)):
        yield "a hole or a twin"
    texts = Counter(entry.text for entry in entries if isinstance(entry, e.PromptAccepted))
    for prompt in range(prompts):
        if texts[f"work {number}.{prompt}"] != 1:
            yield f"prompt {prompt} was recorded {texts[f'work {number}.{prompt}']} times"
    began = Counter(entry.turn for entry in entries if isinstance(entry, e.PromptAccepted))
    ended = Counter(entry.turn for entry in entries if isinstance(entry, e.TurnEnded))
    if began != ended or any(count != 1 for count in ended.values()):
        yield f"turns began {began} and ended {ended}"
    responses = [entry for entry in entries if isinstance(entry, e.ResponseEnded)]
    calls = [part for entry in responses for part in entry.parts if isinstance(part, CallPart)]
    starts = Counter(entry.call for entry in entries if isinstance(entry, e.CallStarted))
    outcomes = Counter(entry.call for entry in entries if isinstance(entry, e.CallEnded))
    fate = {entry.call: entry.outcome for entry in entries if isinstance(entry, e.CallEnded)}
    for call in calls:
        marker = str(call.arguments).partition("effect-")[2].partition(" ")[0]
        if outcomes[call.id] != 1 or starts[call.id] > 1:
            yield f"call {call.id} has {starts[call.id]} starts and {outcomes[call.id]} outcomes"
        if done[marker] > 1:
            yield f"call {call.id} ran {done[marker]} times"
        if fate.get(call.id) == "not_started" and done[marker]:
            yield f"call {call.id} is said not to have started, and ran"
        if fate.get(call.id) == "ok" and not done[marker]:
            yield f"call {call.id} is said to be ok, and did not run"
    conversation = fold(entries)
    if conversation.is_open:
        yield "something is open"
    for found in violations(conversation, PROFILES["openai-chat"]):
        yield f"breaks {found.rule}"


_COUNT = iter(range(10**9))
_LOCK = threading.Lock()


def reply(request: ReceivedRequest) -> Reply:
    """Return two commands for a prompt, and an answer after their results."""
    if request.messages[-1]["role"] == "user":
        with _LOCK:
            first, second = next(_COUNT), next(_COUNT)
        return (
            Wait(0.05),
            Call("bash", {"command": f"echo effect-{first} >/dev/null; echo {first} >> effects; sleep 0.2"}),
            Call("bash", {"command": f"echo effect-{second} >/dev/null; echo {second} >> effects"}),
        )
    return (Wait(0.05), Say("Done."))


def main() -> int:
    """Run the chaos and return how many violations were found, at most 99."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    signal.signal(
        signal.SIGTERM, lambda _number, _frame: sys.exit(143)
    )  # as `timeout` sends it: workers and server are ended
    for name, default in (
        ("sessions", 60),
        ("prompts", 3),
        ("workers", 4),
        ("kills", 40),
        ("stops", 10),
        ("server", 3),
        ("full", 0),
        ("read-only", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--ttl", type=float, default=3.0)
    parser.add_argument("--pause", type=float, default=2.5, help="longest seconds between two deeds")
    parser.add_argument("--within", type=float, default=600.0, help="seconds for the rest, after the last deed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-chaos-")))
        provider = stack.enter_context(ScriptedProvider(after=reply))
        server = (
            None
            if (server_url := os.environ.get("HOLDFAST_TEST_PG"))
            else stack.enter_context(own_server(megabytes=1000 if options.full else 0))
        )
        url = stack.enter_context(fresh_database(server_url or server.url, engine=True))  # pyright: ignore[reportOptionalMemberAccess] - one of them is there
        chaos = Chaos(url, server, options, folder, provider.environ())
        since = time.monotonic()
        try:
            for _ in range(options.workers):
                chaos.start_worker()
            chaos.wait_for_workers()
            chaos.ask()
            chaos.torment()
            chaos.wait()
        finally:
            chaos.end()
        found = list(chaos.judged())
        report(chaos, found, time.monotonic() - since)
        chaos.fleet.close()
    return min(99, len(found))


def report(chaos: Chaos, found: list[str], seconds: float) -> None:
    entries = [r.entry for session in chaos.sessions for r in chaos.fleet.reading(session).records]
    ends = Counter(entry.cause for entry in entries if isinstance(entry, e.TurnEnded))
    outcomes = Counter(entry.outcome for entry in entries if isinstance(entry, e.CallEnded))
    times = sorted(chaos.takeovers)
    p50 = f"{times[len(times) // 2]:.2f} s of {len(times)} ({times[0]:.2f} to {times[-1]:.2f})" if times else "none"
    print(f"{len(chaos.sessions)} sessions, {len(chaos.sessions) * chaos.options.prompts} prompts, {dict(chaos.deeds)}")
    late = f", {chaos.not_taken_over} not within 30 s" if chaos.not_taken_over else ""
    print(f"turns ended {dict(ends)}; calls ended {dict(outcomes)}; {seconds:.0f} s; takeover p50 {p50}{late}")
    print(f"{len(found)} violations")
    for each in found[:50]:
        print(f"  {each}")


if __name__ == "__main__":
    sys.exit(main())
