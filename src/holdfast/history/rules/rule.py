"""A rule, and what is found when it is broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from holdfast.history.shape import Item, Message, Path, position

Severity = Literal["violation", "warning"]

_CALLED = {"other": "content", "media": "image or file"}
"""What messages call items, where that is not the name of their kind."""


class Rule(msgspec.Struct, frozen=True):
    """One thing a provider insists on.

    `errors` are the words it is refused with, by who says them: the name of a profile, and behind a slash the format,
    the service or the case that they belong to (`deepseek/anthropic`, `openai-compatible/Moonshot`). Only words that a
    provider said stand here.
    """

    id: str
    says: str
    errors: Mapping[str, str]

    def refusal(self, profile: str, form: str) -> tuple[str, str]:
        """Return who says what: the provider's own words where they are known, else another's to the same, else ""."""
        own = (each for each in self.errors if each.startswith(f"{profile}/"))
        for by in (f"{profile}/{form}", profile, *own, form, *self.errors):
            if by in self.errors:
                return by, self.errors[by]
        return "", ""


class Found(NamedTuple):
    """A place where a rule is broken; `what` is a sentence about it without its full stop.

    `which` counts the images of an item, `fit` tells that it would be taken if it were declared or spelled as it is,
    `names` are the fields that are meant, `said` those of them that say something, `size` is how long what is too long
    is. `named` tells that `what` goes on from the title of the item: most findings are repaired, and never said.
    """

    rule: str
    path: Path
    what: str
    item: Item | None = None
    which: int = 0
    fit: bool = False
    names: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    size: int = 0
    named: bool = False

    @property
    def sentence(self) -> str:
        """Return the whole sentence about it, without its full stop."""
        return f"{item_title(self.item)} {self.what}" if self.named and self.item is not None else self.what


class Violation(msgspec.Struct, frozen=True, gc=False):
    """A place where a conversation breaks a rule of a provider, and the error it answers with.

    `error_by` is the source of the words of `error`: the provider itself, or another that answers so to the same where
    its own words are not known; "" if none are.
    """

    rule: str
    path: Path
    message: int
    sentence: str
    error: str
    error_by: str
    severity: Severity = "violation"

    @property
    def position(self) -> str:
        """Return the position in readable form: `messages[4].tool_calls[0]`."""
        return position(self.path)


def about(rule: str, item: Item, what: str) -> Found:
    """Return a finding about an item."""
    return Found(rule, item.path, what, item, named=True)


def in_message(rule: str, message: Message, what: str) -> Found:
    """Return a finding about a message."""
    return Found(rule, (message.index,), f"The {message.role} message {what}")


def item_title(item: Item) -> str:
    """Return the kind of the item, with its name and id if it has them."""
    named = ""
    if item.name:
        before = {"call": "", "other": "of the type "}.get(item.kind, "of ")
        named = f" {before}{quoted_name(item.name) if item.kind == 'other' else item.name}"
    known = f" ({quoted_name(item.id)})" if item.id else ""
    return f"The {_CALLED.get(item.kind, item.kind).replace('-', ' ')}{named}{known}"


def quoted_name(text: str) -> str:
    """Return the text in quotes, truncated if it is long."""
    return repr(text if len(text) <= 48 else f"{text[:45]}...")  # noqa: PLR2004 - as much as tells one id from another
