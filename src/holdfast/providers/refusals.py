"""The table of refusals, `refusals.toml`, in the order in which its rows are tried, and which row an error is.

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

import re
from collections.abc import Collection
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.session.journal.request_changes import RequestChange
from holdfast.typed_data import decode_toml

RefusalRecovery = Literal[
    RequestChange,
    "wait",  # the same request may be accepted later
    "shorten",  # the conversation is compacted
    "no_images",  # this model gets no images from then on
    "bad_images",  # nor those of the last message
    "none",  # known, and nothing that holdfast could leave out
]
"""What is done after a refusal."""

REFUSING = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,  # Ollama and llama.cpp
        HTTPStatus.NOT_IMPLEMENTED,
        HTTPStatus.BAD_GATEWAY,  # gateways around a server that refuses
    }
)
"""The statuses with which a provider may refuse a request for what is in it."""

LONGEST_ERROR_TEXT = 4_096
"""Characters of an explanation to compare: some quote the whole request."""


class RefusalRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row: the `codes` and the `words` of one refusal, who says it, an `example` and its `source`.

    An error is this refusal if it has one of the codes, or if its text has the words; in both cases only with one of
    the `statuses`, or, if it is `often_unstated`, without a status. With `bare`, an error without a code or any text is
    it; with `any_words`, one with any text. The pieces of `words` are one regular expression.
    """

    id: str
    speaker: str
    recovery: RefusalRecovery
    example: str
    source: str
    words: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    statuses: frozenset[int] = REFUSING
    often_unstated: bool = True
    bare: bool = False
    any_words: bool = False

    def is_said_by(self, codes: frozenset[str], text: str, status: int | None) -> bool:
        """Return whether an error with these codes, this text and this status is this refusal."""
        if not self.often_unstated if status is None else status not in self.statuses:
            return False
        if self.codes & codes:
            return True
        if self.bare:
            return not codes and not text.strip()
        if self.any_words:
            return True
        return bool(self.words) and _pattern(self.words).search(text[:LONGEST_ERROR_TEXT]) is not None


@cache
def _pattern(pieces: tuple[str, ...]) -> re.Pattern[str]:
    """Return the words of a row, of which upper and lower case do not matter."""
    return re.compile("".join(pieces), re.IGNORECASE | re.DOTALL)


class RefusalTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of the file."""

    rows: tuple[RefusalRow, ...]


REFUSAL_TABLE = Path(__file__).with_name("refusals.toml")

ROWS = decode_toml(REFUSAL_TABLE.read_bytes(), RefusalTable).rows


def find_refusal(codes: Collection[str], text: str, status: int | None) -> RefusalRow | None:
    """Return the row of an error with these codes, this text and this status, None if no row knows it."""
    found = frozenset(codes)
    return next((row for row in ROWS if row.is_said_by(found, text, status)), None)


def refusal_named(name: str) -> RefusalRow | None:
    """Return the row with this id, None if there is none."""
    return next((row for row in ROWS if row.id == name), None)
