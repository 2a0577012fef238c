"""`holdfast sessions show --requests`: each request, and how much of it the provider could have cached."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TextIO

import msgspec

from holdfast.agent.model_request.prefix_history import SentRequest, sent_requests
from holdfast.errors import EXIT_OK
from holdfast.providers.registry import Providers
from holdfast.session.journal.store import Reading
from holdfast.ui.view.columns import row, single_line, widths

_HEAD = ("ENTRY", "REQUEST", "BYTES", "AS BEFORE", "INPUT", "CACHED", "MODEL")


def show_requests(reading: Reading, *, providers: Providers, as_json: bool, stdout: TextIO) -> int:
    """Print the requests of the journal. Return the exit code."""
    found = list(sent_requests(reading.records, providers))
    if as_json:
        rows = [{**msgspec.to_builtins(each), "same_bytes": each.same_bytes} for each in found]
        print(json.dumps(rows, indent=2), file=stdout)
    else:
        for line in _lines(found):
            print(line, file=stdout)
    return EXIT_OK


def _lines(found: Sequence[SentRequest]) -> Iterator[str]:
    if not found:
        yield "No requests were sent."
        return
    table = [_HEAD, *(_cells(each) for each in found)]
    sizes = widths(table)
    yield row(_HEAD, sizes)
    for each, cells in zip(found, table[1:], strict=True):
        yield row(cells, sizes)
        if each.changed:
            yield f"  {single_line(each.changed)}"
        if each.same_bytes is False:
            yield "  this version of holdfast would send different bytes"


def _cells(request: SentRequest) -> tuple[str, ...]:
    prefix = request.journalled or request.written
    usage = request.usage
    return (
        f"{request.seq:,}",
        f"{request.step}" if request.attempt == 1 else f"{request.step}, attempt {request.attempt}",
        f"{prefix.bytes:,}" if prefix else "?",
        f"{request.unchanged_bytes:,}" if request.written else "?",
        f"{usage.input_tokens:,}" if usage else "",
        f"{usage.cache_read_tokens:,}" if usage else "",
        single_line(request.model),
    )
