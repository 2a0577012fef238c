"""Write what is sent of the journals of the corpus: PYTHONPATH=tests python tests/corpus/write_requests.py [NAME ...]

A record is what a later holdfast is judged by (`tests/providers/test_replayed_requests.py`). So it is never written
again in passing: to do so on purpose, delete its file, and say in the commit which difference was meant.
"""

from __future__ import annotations

import asyncio
import sys

from holdfast.providers.connect import connect
from holdfast.providers.registry import resolve_endpoint
from replays import REQUESTS, Record, conversation, journal_names, send, situations, write_records
from socket_servers import Recorder, environ, listening


async def recorded(name: str) -> list[Record]:
    """Return the records of a journal, made now."""
    recorder = Recorder()
    records: list[Record] = []
    async with listening(recorder.serve) as port:
        for situation in situations(name):
            endpoint = resolve_endpoint(situation.model, environ(f"http://127.0.0.1:{port}"))
            model = await connect(endpoint)
            streamed, complete = await send(model, conversation(situation), recorder)
            await model.aclose()
            records.append(Record(situation, streamed, complete))
    return records


def main(names: list[str]) -> None:
    """Write the records of these journals, or of all; those that exist are left as they are."""
    for name in names or journal_names():
        path = REQUESTS / f"{name}.jsonl"
        if path.exists():
            print(f"{name}: exists, and stays as it is")  # noqa: T201 - a program for a shell
            continue
        write_records(name, asyncio.run(recorded(name)))
        print(f"{name}: {path.stat().st_size} bytes")  # noqa: T201 - a program for a shell


if __name__ == "__main__":
    main(sys.argv[1:])
