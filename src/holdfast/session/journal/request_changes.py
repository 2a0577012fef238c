"""What later requests leave out or write in another way because a provider refused one, as an entry of the journal."""

from __future__ import annotations

from typing import Literal

import msgspec

RequestChange = Literal[
    "thinking",  # the model's thinking and the provider's data on its calls are left out
    "reasoning",  # each message with calls has its reasoning, empty if there is none
    "markers",  # control tokens such as `<|channel|>` are broken with spaces, wherever they are
    "tools",  # some tools are no longer declared
    "one_call",  # each message has at most one call
]


class RequestsChanged(msgspec.Struct, frozen=True, tag_field="kind", tag="requests-changed", omit_defaults=True):
    """Later requests to `model` differ by `change`, because its provider would refuse them again and again.

    Appended with the failure of the refused request, before any further one. It stays in force for the rest of the
    session, on any branch. `refusal` is the row of the table of refusals (docs/reference/refusals.md), `reason` the
    provider's text, `tools` are those that are no longer declared.
    """

    model: str
    change: RequestChange
    refusal: str
    reason: str
    tools: tuple[str, ...] = ()
