"""The table of refusals in the order in which its rows are tried, and which row an error is.

How it works. A provider refuses a request with a status, a code and a sentence. Few codes say what is wrong, and
statuses say it even less: Ollama refuses a long conversation with 500, Bedrock throttles with 400. So the rows come
before the classes of statuses. The first row that fits counts. The order is from what passes by itself (throttling), to
what is too long, to the part that the text names.

Why a table of words? No provider documents these texts, and no two agree. Each row has an example and its source, and
docs/reference/refusals.md shows them all. A text that no row knows is not guessed at: the turn ends with it.

Example: 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens." is the row
`maximum-prompt-length`. Its recovery is to compact the conversation and send it once more.

Laws (`tests/providers/refusals/test_table_laws.py`): each row's example is that row, with and without the model's name
before it, and wrapped as gateways do.
"""

from __future__ import annotations

from collections.abc import Collection

from holdfast.providers.refusals.contents import CONTENT_ROWS, TOOL_ROWS
from holdfast.providers.refusals.images import IMAGE_ROWS
from holdfast.providers.refusals.limits import LIMIT_ROWS
from holdfast.providers.refusals.refusal import RefusalRow

ROWS: tuple[RefusalRow, ...] = (*TOOL_ROWS, *LIMIT_ROWS, *CONTENT_ROWS, *IMAGE_ROWS)


def find_refusal(codes: Collection[str], text: str, status: int | None) -> RefusalRow | None:
    """Return the row of an error with these codes, this text and this status, None if no row knows it."""
    found = frozenset(codes)
    return next((row for row in ROWS if row.is_said_by(found, text, status)), None)


def refusal_named(name: str) -> RefusalRow | None:
    """Return the row with this id, None if there is none."""
    return next((row for row in ROWS if row.id == name), None)
