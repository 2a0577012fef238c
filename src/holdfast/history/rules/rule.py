"""A rule, the finding that it is broken, and the violation reported for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from holdfast.history.shape import Item, Message, Path, position

Severity = Literal["violation", "warning"]

_CALLED = {"other": "content", "media": "image or file"}
"""The words for kinds of items that have no readable name."""


class Rule(msgspec.Struct, frozen=True):
    """One requirement of providers.

    `errors` are the texts of providers' refusals. The key is the name of a profile, optionally followed by a slash and
    the format, service or case (`deepseek/anthropic`, `openai-compatible/Moonshot`). All are real texts of providers.
    """

    id: str
    requirement: str
    errors: Mapping[str, str]

    def refusal(self, profile: str, form: str) -> tuple[str, str]:
        """Return the key and text of the provider's error, else another provider's for the same rule, else ""."""
        variants = (each for each in self.errors if each.startswith(f"{profile}/"))
        for by in (f"{profile}/{form}", profile, *variants, form, *self.errors):
            if by in self.errors:
                return by, self.errors[by]
        return "", ""


class RuleFinding(msgspec.Struct, frozen=True, gc=False):
    """A place where a rule is broken; `description` is a sentence without its full stop.

    `which` is the index of an image in the item. `rewritable`: it would be accepted if correctly declared or spelled.
    `names` are the faulty fields, `with_text` those of them with content, `size` is the length of a text that is too
    long. `with_title`: `description` continues the title of the item, which is made only if the finding is shown.
    `setting` is what other blocks of the request have: the kind of block, and on or off. `unknown` are the kinds that
    the provider does not know, `after` is the message behind which the item may stand.
    """

    rule: str
    path: Path
    description: str
    item: Item | None = None
    which: int = 0
    rewritable: bool = False
    names: tuple[str, ...] = ()
    with_text: tuple[str, ...] = ()
    size: int = 0
    with_title: bool = False
    setting: tuple[str, bool] | None = None
    unknown: frozenset[str] = frozenset()
    after: int = -1

    @property
    def sentence(self) -> str:
        """Return the complete sentence about the place, without its full stop."""
        return (
            f"{item_title(self.item)} {self.description}"
            if self.with_title and self.item is not None
            else self.description
        )


class Violation(msgspec.Struct, frozen=True, gc=False):
    """A place where a conversation breaks a rule of a provider, and the provider's error message.

    `error_by` is the source of the text in `error`: the provider itself or, if its own text is unknown, another one
    that enforces the rule; "" if no text is known.
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


def item_finding(rule: str, item: Item, description: str) -> RuleFinding:
    """Return a finding about an item."""
    return RuleFinding(rule, item.path, description, item, with_title=True)


def message_finding(rule: str, message: Message, description: str) -> RuleFinding:
    """Return a finding about a message."""
    return RuleFinding(rule, (message.index,), f"The {message.role} message {description}")


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
    return repr(text if len(text) <= 48 else f"{text[:45]}...")  # noqa: PLR2004 - enough to distinguish ids
