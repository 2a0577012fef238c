"""A row of the table of refusals, and how an error is compared with it."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal

import msgspec

from holdfast.session.journal.request_changes import RequestChange

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


class RefusalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row: the `codes` and the `words` of one refusal, who says it, an `example` and its `source`.

    An error is this refusal if it has one of the codes, or if its text has the words; in both cases only with one of
    the `statuses`, or, if it is `often_unstated`, without a status. With `bare`, an error without a code or any text is
    it; with `any_words`, one with any text.
    """

    id: str
    speaker: str
    recovery: RefusalRecovery
    example: str
    source: str
    words: re.Pattern[str] | None = None
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
        return self.words is not None and self.words.search(text[:LONGEST_ERROR_TEXT]) is not None


def row_words(pattern: str) -> re.Pattern[str]:
    """Return the words of a row, of which upper and lower case do not matter."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
