"""Every exception that holdfast raises on purpose, grouped by cause.

    HoldfastError
    ├── UsageError                 the caller asked for something impossible      (exit 2)
    │   ├── ConfigInvalid          a setting is unreadable or not allowed
    │   ├── ModelUnusable          unknown model or provider, or no API key
    │   └── SessionUnknown         no session has this ID
    ├── StateError                 something outside holdfast prevents the operation (exit 1)
    │   ├── SessionBusy            another process holds the session             (exit 2)
    │   ├── AppendConflict         the journal has more entries than the writer assumed
    │   ├── LeaseLost              another worker has taken the session
    │   ├── CallRepeated           a ledger knows the call, and it must not run again
    │   └── StorageFailed          the journal cannot be written (disk full, I/O error)
    ├── ProviderFailed             the provider refused, failed or did not answer (exit 1 or 75)
    ├── InvalidRequest             the conversation breaks a rule of its provider (exit 1)
    ├── EntryInvalid               an entry could not be read again, so it was not written (exit 1)
    ├── DamageError                a document or journal is damaged               (exit 4)
    └── ToolFailed                 a tool failed; the model reads the message

Messages have one form: `What failed: why. What to do.` Where the last part depends on where the message is shown, the
error carries a `fault` instead, and `ui/advice.py` says what to do about it.
"""

from __future__ import annotations

from typing import Literal

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_APPROVAL = 3
EXIT_DAMAGE = 4
EXIT_MAX_COST = 5
EXIT_UNMET = 6  # the run ended well, and a condition of the caller is not met
EXIT_RETRYABLE = 75
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE, as of other programs

ProviderFault = Literal[
    "rejected",  # 4xx: the request itself; sending it again cannot help
    "too_long",  # the conversation exceeds the context window; a shorter one may fit
    "credentials",  # 401, 403
    "no_credit",  # 402, or words about it: waiting cannot help
    "not_available",  # the provider does not serve this account or region
    "rate_limited",  # 429
    "overloaded",  # 5xx, 529
    "unreachable",  # no connection, or it broke
    "certificate",  # TLS: signed by an authority that is not trusted here
    "certificate_host",  # TLS: for another host name
    "certificate_date",  # TLS: expired, or not valid yet
    "proxy_password",  # 407: the proxy wants another user and password
    "proxy_refused",  # the proxy does not allow this connection
    "silent",  # a deadline on events passed
    "cut",  # the stream ended without its terminal event
    "malformed",  # bytes that are not the provider's protocol
    "empty",  # a complete answer with neither text nor a call
    "periodic",  # an answer that repeats itself without an end
    "flood",  # more than one answer, or the answers of one turn, may have
    "redirected",  # 3xx: the server is elsewhere
    "web_page",  # a web page came in place of an answer: the address is not that of the API
    "not_loaded",  # the provider's library was not imported in time
]

Fault = Literal[
    ProviderFault,
    "no_key",  # the provider's API key is not set
    "no_session",  # no session has this ID
    "session_in_use",  # by another process
    "file_exists",  # and would be overwritten
    "nothing_to_compact",  # the conversation has no older messages
]
"""The kind of failure, from which a surface derives its advice."""

RETRYABLE: frozenset[ProviderFault] = frozenset(
    {"rate_limited", "overloaded", "unreachable", "silent", "cut", "malformed"}
)


class HoldfastError(Exception):
    """An error whose message is meant for the user, with the exit code of the command that it ends.

    The message says what to do, unless that depends on the surface: then `fault` is set.
    """

    exit_code = EXIT_FAILED

    def __init__(self, message: str, *, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault: Fault | None = fault


class UsageError(HoldfastError):
    """The caller asked for something that cannot be done."""

    exit_code = EXIT_USAGE


class ConfigInvalid(UsageError):
    """A setting is unreadable or not allowed."""


class ModelUnusable(UsageError):
    """The model or its provider is unknown, or the API key is missing."""


class SessionUnknown(UsageError):
    """No session has this ID."""


class StateError(HoldfastError):
    """Something outside holdfast prevents the operation."""


class SessionBusy(StateError):
    """Another process holds the session.

    `holder` is how that process describes itself ("pid 4711 on host, since …"), or "" if it does not.
    """

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, session: str, holder: str) -> None:
        super().__init__(message, fault="session_in_use")
        self.session = session
        self.holder = holder


class AppendConflict(StateError):
    """The journal has more entries than the writer assumed; nothing was appended."""

    def __init__(self, message: str, *, expected: int, found: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class LeaseLost(StateError):
    """This process lost the session's lease; nothing was appended, and it may append nothing more."""


class CallRepeated(StateError):
    """A ledger has this call, and running it again could do its work twice. `text` is what is known of it.

    `outcome` is how it ended: `ok`, `failed`, `interrupted`, `running` or `lost`.
    """

    def __init__(self, message: str, *, call: str, outcome: str, text: str) -> None:
        super().__init__(message)
        self.call = call
        self.outcome = outcome
        self.text = text


class StorageFailed(StateError):
    """The journal could not be written; entries appended before are safe."""


class ProviderFailed(HoldfastError):
    """The provider did not give a usable response.

    The retry policy and the advice to the user depend on `fault`. `status` is the HTTP status if there is one,
    `retry_after` the seconds the provider asked to wait. `refusal` is the row of the table of refusals that knows the
    error, "" if none does or none was looked up; `param` is the place in the request that the provider names.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: ProviderFault,
        status: int | None = None,
        retry_after: float | None = None,
        refusal: str = "",
        param: str = "",
    ) -> None:
        super().__init__(message)
        self.fault: ProviderFault = fault  # pyright: ignore[reportIncompatibleVariableOverride] - set only here
        self.status = status
        self.retry_after = retry_after
        self.refusal = refusal
        self.param = param

    def worded(self, message: str) -> ProviderFailed:
        """Return the same failure with another message."""
        return ProviderFailed(
            message,
            fault=self.fault,
            status=self.status,
            retry_after=self.retry_after,
            refusal=self.refusal,
            param=self.param,
        )

    @property
    def retryable(self) -> bool:
        """Return whether sending the same request again may help."""
        return self.fault in RETRYABLE


class InvalidRequest(HoldfastError):
    """The conversation breaks a rule of its provider and cannot be repaired; `rule` is the rule's ID."""

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class EntryInvalid(HoldfastError, ValueError):
    """An entry could not be read again from its journal, so nothing was appended: a bug in holdfast."""


class DamageError(HoldfastError):
    """A document or a journal is damaged; the message has the position."""

    exit_code = EXIT_DAMAGE


class ToolFailed(HoldfastError):
    """A tool failed; the model reads the message as the result."""


class ApprovalUnavailable(Exception):
    """A call needs approval and no user can be asked. The text is the question they would have seen."""
