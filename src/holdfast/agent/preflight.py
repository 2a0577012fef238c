"""When the conversation is checked: before each request and on loading; with --debug also after each step and append.

An invalid conversation is not sent, and the error names the rule it breaks. A check never keeps an entry out of the
journal or the user out of their session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.agent.events import CheckFinding, Event
from holdfast.errors import Unsendable
from holdfast.providers.registry import PROVIDERS, Providers, profile_of
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.request.validate import validate_request, violation_sentence, violations


class Checks:
    """The checks of one session. Each finding is reported once; `emit` gets those that only --debug finds."""

    def __init__(self, *, debug: bool, emit: Callable[[Event], None], providers: Providers = PROVIDERS) -> None:
        self._debug = debug
        self._emit = emit
        self._providers = providers
        self._told: set[str] = set()  # reported in the journal
        self._shown: set[str] = set()  # reported by --debug

    def knows(self, findings: Iterable[str]) -> None:
        """Remember findings that the journal already reports."""
        self._told.update(findings)

    def found(self, conversation: Conversation) -> tuple[str, ...]:
        """Return what the provider would reject if the conversation were sent with the next prompt."""
        return _new(self._found(conversation), self._told)

    def admit(self, conversation: Conversation) -> tuple[Conversation, tuple[str, ...]]:
        """Return the conversation to send and the repairs it needed; raises `Unsendable`."""
        try:
            admitted = validate_request(conversation, profile_of(conversation.model, self._providers))
        except Unsendable:
            raise
        except Exception as error:
            raise Unsendable(
                f"{_could_not(error)}. Nothing was sent. Rewind to an earlier prompt (/rewind), "
                "try another model, or export the conversation.",
                rule="",
            ) from error
        return admitted.conversation, _new(map(violation_sentence, admitted.violations), self._told)

    def watch(self, conversation: Callable[[], Conversation], when: str) -> None:
        """With --debug, check the conversation and emit findings; `when` says at which point."""
        if self._debug:
            for message in _new(self._found(conversation()), self._shown):
                self._emit(CheckFinding(f"{when}: {message}"))

    def _found(self, conversation: Conversation) -> tuple[str, ...]:
        try:
            return tuple(
                map(violation_sentence, violations(conversation, profile_of(conversation.model, self._providers)))
            )
        except Exception as error:  # noqa: BLE001 - a rule that fails is reported in place of its findings
            return (_could_not(error),)


def _new(findings: Iterable[str], told: set[str]) -> tuple[str, ...]:
    """Return the findings not reported before, and mark them as reported."""
    new = tuple(each for each in findings if each not in told)
    told.update(new)
    return new


def _could_not(error: Exception) -> str:
    return f"Conversation could not be checked: {type(error).__name__}: {error}"
