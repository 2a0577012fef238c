"""Every exception holdfast raises on purpose, by whose fault it is.

    HoldfastError
    ├── UsageError                 the caller asked for something that cannot be  (exit 2)
    │   ├── ConfigInvalid          a setting that cannot be read or is not allowed
    │   ├── ModelUnusable          no such model or provider, or its key is missing
    │   └── SessionUnknown         no session has that id
    ├── StateError                 the world is not as the operation needs it     (exit 1)
    │   ├── SessionBusy            another process holds the session             (exit 2)
    │   ├── AppendConflict         the journal is longer than the writer believed
    │   └── StorageFailed          the journal cannot be written (disk full, I/O error)
    ├── ProviderFailed             the model's provider refused, failed or fell silent (exit 1 or 75)
    ├── Unsendable                 a conversation of ours that its provider would refuse (exit 1)
    ├── DamageError                a document or journal that is not what it should be (exit 4)
    └── ToolFailed                 a tool says, in words the model can use, why it did not work

Messages follow one form: `{Thing} {name!r} {what is}, {what was expected}. {What to do next.}`
"""

from __future__ import annotations

from typing import Literal

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_APPROVAL = 3
EXIT_DAMAGE = 4
EXIT_RETRYABLE = 75
EXIT_INTERRUPTED = 130

ProviderFault = Literal[
    "rejected",  # 4xx: the request itself; sending it again cannot help
    "too_long",  # the conversation is more than the model reads; a shorter one may do
    "credentials",  # 401, 403
    "rate_limited",  # 429
    "overloaded",  # 5xx, 529
    "unreachable",  # no connection, or it broke
    "silent",  # a deadline on events passed
    "cut",  # the stream ended without its terminal event
    "malformed",  # bytes that are not the provider's protocol
]

RETRYABLE: frozenset[ProviderFault] = frozenset(
    {"rate_limited", "overloaded", "unreachable", "silent", "cut", "malformed"}
)


class HoldfastError(Exception):
    """An error whose text is meant for a person, with the exit code it ends a command with."""

    exit_code = EXIT_FAILED


class UsageError(HoldfastError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = EXIT_USAGE


class ConfigInvalid(UsageError):
    """A setting that cannot be read or is not allowed."""


class ModelUnusable(UsageError):
    """A model name that means nothing here, or whose key is missing."""


class SessionUnknown(UsageError):
    """No session answers to that id."""


class StateError(HoldfastError):
    """The world is not as the operation needs it to be."""


class SessionBusy(StateError):
    """Another process holds the session.

    `holder` is what that process wrote about itself ("pid 4711 on host, since …"), or "" if it wrote nothing.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, session: str, holder: str) -> None:
        super().__init__(message)
        self.session = session
        self.holder = holder


class AppendConflict(StateError):
    """The journal holds more entries than the writer believed; nothing was appended."""

    def __init__(self, message: str, *, expected: int, found: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class StorageFailed(StateError):
    """The journal could not be written; what was appended before is safe."""


class ProviderFailed(HoldfastError):
    """The provider did not give a usable response.

    `fault` is the class the retry policy goes by, `status` the HTTP status if one came,
    `retry_after` the seconds the provider asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: ProviderFault,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault: ProviderFault = fault
        self.status = status
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Return whether sending the same request again may help."""
        return self.fault in RETRYABLE


class Unsendable(HoldfastError):
    """A conversation of ours breaks a rule of its provider, and no repair mends it; `rule` is the rule's id."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class DamageError(HoldfastError):
    """A document or a journal is not what it should be; the position is in the message."""

    exit_code = EXIT_DAMAGE


class ToolFailed(HoldfastError):
    """A tool could not do what was asked; the text is the result the model reads."""
