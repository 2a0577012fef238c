"""Checks the conversation on loading and, with --debug, after each step and before each append.

A check never keeps an entry out of the journal or the user out of their session. Requests are checked by
`session/request/validate.py`; this module knows which of its repairs the journal has not reported yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.agent.events import CheckFinding, Event
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.providers.protocols.setting_notes import setting_notes
from holdfast.providers.registry import PROVIDERS, Providers, profile_of, reads_text_calls
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.request.validate import (
    RequestValidator,
    could_not_check,
    violation_sentence,
    violations,
)


class Checks:
    """The checks of one session. Each finding is reported once; `emit` gets those that only --debug finds.

    `requests` validates each request.
    """

    def __init__(self, *, debug: bool, emit: Callable[[Event], None], providers: Providers = PROVIDERS) -> None:
        self._debug = debug
        self._emit = emit
        self._providers = providers
        self.requests = RequestValidator(always_full=debug)
        self._journalled: set[str] = set()
        self._shown: set[str] = set()  # reported by --debug
        self._setting_notes: set[str] = set()  # of the last request
        self._notes: set[str] = set()  # said once in a run

    def profile(self, conversation: Conversation) -> Profile:
        """Return the rules of the conversation's model."""
        return profile_of(conversation.model, self._providers)

    def reads_text_calls(self, model: str) -> bool:
        """Return whether calls that this model writes as text are calls."""
        return reads_text_calls(model, self._providers)

    def emit_note(self, message: str) -> None:
        """Emit a note for the user, once in a run."""
        if message not in self._notes:
            self._notes.add(message)
            self._emit(CheckFinding(message))

    def add_journalled(self, findings: Iterable[str]) -> None:
        """Remember findings that are in the journal."""
        self._journalled.update(findings)

    @property
    def journalled(self) -> tuple[str, ...]:
        """Return the findings that are in the journal."""
        return tuple(sorted(self._journalled))

    def new_findings(self, conversation: Conversation) -> tuple[str, ...]:
        """Return new findings: what the provider would reject if the conversation were sent with the next prompt."""
        return _new_ones(self._journalled, self._found(conversation))

    def not_journalled(self, findings: Iterable[str]) -> tuple[str, ...]:
        """Return the findings that are not in the journal."""
        return _new_ones(self._journalled, findings)

    def unreported_findings(self, repaired: Iterable[Violation]) -> tuple[str, ...]:
        """Return a finding for each of these violations that is not in the journal yet."""
        return _new_ones(self._journalled, map(violation_sentence, repaired))

    def check(self, conversation: Callable[[], Conversation], when: str) -> None:
        """With --debug, check the conversation and emit findings; `when` says at which point."""
        if self._debug:
            new = _new_ones(self._shown, self._found(conversation()))
            self._shown.update(new)
            for message in new:
                self._emit(CheckFinding(f"{when}: {message}"))

    def emit_setting_notes(self, conversation: Conversation) -> None:
        """Emit which settings are not sent as the user set them, unless that was emitted for the last request."""
        notes = setting_notes(conversation, self._providers)
        for message in _new_ones(self._setting_notes, notes):
            self._emit(CheckFinding(message))
        self._setting_notes = set(notes)

    def _found(self, conversation: Conversation) -> tuple[str, ...]:
        try:
            return tuple(map(violation_sentence, violations(conversation, self.profile(conversation))))
        except Exception as error:  # noqa: BLE001 - a rule that fails is reported in place of its findings
            return (could_not_check(error),)


def _new_ones(known: set[str], findings: Iterable[str]) -> tuple[str, ...]:
    """Return the findings not reported before, each once."""
    return tuple(dict.fromkeys(each for each in findings if each not in known))
