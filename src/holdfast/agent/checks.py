"""When the conversation is checked: before each send and on loading; in debug also after each step, before each append.

Two rules. What cannot be sent is not sent, and says which rule it breaks. A check never keeps an entry from the journal
nor a person from their session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.agent.events import Event, Finding
from holdfast.agent.providers import PROVIDERS, Providers, profile_of
from holdfast.errors import Unsendable
from holdfast.session.conversation import Conversation
from holdfast.session.gate import admit, finding, violations


class Checks:
    """The checks of one session: each finding is given once. `emit` is told what only debug looks for."""

    def __init__(self, *, debug: bool, emit: Callable[[Event], None], providers: Providers = PROVIDERS) -> None:
        self._debug = debug
        self._emit = emit
        self._providers = providers
        self._told: set[str] = set()  # in the journal
        self._shown: set[str] = set()  # in debug

    def knows(self, findings: Iterable[str]) -> None:
        """Remember what the journal says was found."""
        self._told.update(findings)

    def found(self, conversation: Conversation) -> tuple[str, ...]:
        """Return what the provider would refuse if the conversation were sent with the next prompt."""
        return _new(self._found(conversation), self._told)

    def admit(self, conversation: Conversation) -> tuple[Conversation, tuple[str, ...]]:
        """Return what may be sent, and what had to be mended for that; raises `Unsendable`."""
        try:
            admitted = admit(conversation, profile_of(conversation.model, self._providers))
        except Unsendable:
            raise
        except Exception as error:
            raise Unsendable(
                f"{_could_not(error)}. Nothing was sent. Go back to an earlier prompt (/rewind), "
                "try another model, or export the conversation and take it elsewhere.",
                rule="",
            ) from error
        return admitted.conversation, _new(map(finding, admitted.violations), self._told)

    def watch(self, conversation: Callable[[], Conversation], when: str) -> None:
        """Tell what is found `when` something is done or about to be; nothing unless in debug."""
        if self._debug:
            for message in _new(self._found(conversation()), self._shown):
                self._emit(Finding(f"{when}: {message}"))

    def _found(self, conversation: Conversation) -> tuple[str, ...]:
        try:
            return tuple(map(finding, violations(conversation, profile_of(conversation.model, self._providers))))
        except Exception as error:  # noqa: BLE001 - a fault of ours in a rule is told in place of what the rule says
            return (_could_not(error),)


def _new(findings: Iterable[str], told: set[str]) -> tuple[str, ...]:
    """Return those that were not told before; now they are."""
    new = tuple(each for each in findings if each not in told)
    told.update(new)
    return new


def _could_not(error: Exception) -> str:
    return f"Conversation could not be checked, {type(error).__name__}: {error}"
