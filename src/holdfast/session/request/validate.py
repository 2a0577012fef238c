"""Checks every request against the provider's rules before it is sent, and repairs or refuses what breaks one.

How it works. `normalize` writes the conversation as this provider gets it. `OwnFormat` is a format like those of
`holdfast.history`: it projects the normalized messages to a shape and applies edits to them. `history.rules` checks the
shape with the provider's profile. If no rule is broken (normally: only a bug, or a text above the provider's length
limit, breaks one), the normalized conversation is sent as it is. Otherwise `history.repair` plans edits, they are
applied to a copy, texts that are still too long are shortened, and the copy is checked again. If it passes, the
repaired copy is sent and a `repaired` entry records the finding. If it does not, `InvalidRequest` is raised and nothing
is sent.

Why check at all, if the fold is valid by construction? The fold and the rules were written independently. A bug in one
of them would otherwise cost the whole session: a provider that rejects one message rejects every later request too. The
rules are those that `holdfast check` uses for other programs' histories, so both are tested by the same corpus.

Why not let the provider decide? Its error says neither which rule was broken nor where, it costs a request, and some
servers accept a broken history and answer nonsense.

Example: a bug gives two results to call A. The rule `duplicate-result` names the message, the repair removes the second
result, the request is sent, and the user reads which rule was broken.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.errors import InvalidRequest
from holdfast.history import rules
from holdfast.history.formats.format import RequestFacts, project_messages
from holdfast.history.formats.strings import invalid_strings
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import Role, Shape
from holdfast.session.conversation import conversation as c
from holdfast.session.request.normalize import Normalizer, normalize
from holdfast.session.request.own_format import OwnFormat, shortened

FULL_CHECK = 50
"""One request in so many is checked in full, the others only from the last valid request on."""

_EARLIER = c.UserMessage((), ("(The conversation before.)",))
"""A stand-in for the messages before the window that is checked."""


class ValidRequest(msgspec.Struct, frozen=True):
    """A conversation that its provider accepts, and the broken rules that were repaired; normally none."""

    conversation: c.Conversation
    violations: tuple[Violation, ...]


def validate_request(conversation: c.Conversation, profile: Profile) -> ValidRequest:
    """Return the conversation to send, all of it checked.

    Raises `InvalidRequest` if it breaks a rule that no repair restores, or if a rule itself fails.
    """
    return RequestValidator().validate(conversation, profile)


class RequestValidator:
    """Validates the requests of one session. Messages of a valid request are not normalized or checked again.

    How it works. A conversation that begins with the messages of the last valid request is normalized from there on.
    Only a window is checked: the last response of that request and everything after it, with one message in place of
    the rest. Rules look at a message, at its neighbours, or at a call and its result, and the window has all of these.
    Some rules count over the whole conversation (call ids, images): messages that such a rule concerns lead to a full
    check. So does any broken rule, any other beginning (a rewind, a compaction, another model), and every
    `FULL_CHECK`th request.

    With `always_full` every request is checked in full.
    """

    def __init__(self, *, always_full: bool = False) -> None:
        self._always_full = always_full
        self._normalizer: Normalizer | None = None  # of the last valid request
        self._known: tuple[c.ConversationMessage, ...] = ()
        self._calls: set[str] = set()
        self._left = 0

    def validate(self, conversation: c.Conversation, profile: Profile) -> ValidRequest:
        """Return the conversation to send. Raise `InvalidRequest` as `validate_request` does."""
        try:
            return self._check_added(conversation, profile) or self._check_all(conversation, profile)
        except InvalidRequest:
            raise
        except Exception as error:
            raise InvalidRequest(
                f"{could_not_check(error)}. Nothing was sent. Rewind to an earlier prompt, "
                "try another model, or export the conversation.",
                rule="",
            ) from error

    def _check_added(self, conversation: c.Conversation, profile: Profile) -> ValidRequest | None:
        """Return the valid request if it continues the last one, None if it needs a full check."""
        normalizer, self._normalizer = self._normalizer, None
        known = len(self._known)
        if (
            normalizer is None
            or self._left == 0
            or not normalizer.serves(conversation, profile)
            or conversation.messages[:known] != self._known
        ):
            return None
        messages = normalizer.messages
        begin = next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], c.AssistantMessage)), 0)
        count = len(messages)
        normalizer.add(conversation.messages[known:])
        if normalizer.pending is not None or not self._is_local(messages[count:]):
            return None
        sent = normalizer.normalized(conversation)
        window = messages[begin:] if begin == 0 else [_EARLIER, *messages[begin:]]
        form = OwnFormat(profile, conversation.model)
        if rules.check_shape(_shape(form, form.written(window), sent), profile):
            return None
        self._remember(normalizer, conversation, self._left - 1)
        return ValidRequest(sent, ())

    def _is_local(self, messages: Sequence[c.ConversationMessage]) -> bool:
        """Return whether no rule that counts over the whole conversation applies to them; remember their calls."""
        for message in messages:
            if isinstance(message, c.UserMessage):
                if message.images:
                    return False
                continue
            for call in message.calls:
                if call.id in self._calls:
                    return False
                self._calls.add(call.id)
        return True

    def _check_all(self, conversation: c.Conversation, profile: Profile) -> ValidRequest:
        normalizer = Normalizer(conversation, profile)
        normalizer.add(conversation.messages)
        valid = _checked(normalizer.normalized(conversation), profile)
        if not valid.violations and normalizer.pending is None and not self._always_full:
            responses = (each for each in normalizer.messages if isinstance(each, c.AssistantMessage))
            self._calls = {call.id for response in responses for call in response.calls}
            self._remember(normalizer, conversation, FULL_CHECK - 1)
        return valid

    def _remember(self, normalizer: Normalizer, conversation: c.Conversation, left: int) -> None:
        self._normalizer, self._known, self._left = normalizer, conversation.messages, left


def could_not_check(error: Exception) -> str:
    """Return the finding for a rule that failed."""
    return f"Conversation could not be checked: {type(error).__name__}: {error}"


def _checked(sent: c.Conversation, profile: Profile) -> ValidRequest:
    form = OwnFormat(profile, sent.model)
    messages = form.written(sent.messages)
    shape = _shape(form, messages, sent)
    violations = rules.check_shape(shape, profile)
    if not violations:
        return ValidRequest(sent, ())
    from holdfast.history.apply_edits import apply
    from holdfast.history.repair import repair_shape

    repaired = apply(form, messages, shape, repair_shape(shape, profile)).messages
    left = rules.check_shape(_shape(form, repaired, sent), profile)
    if long := {each.path for each in left if each.rule in ("text-too-long", "arguments-too-long")}:
        repaired = [shortened(index, raw, long, profile.texts) for index, raw in enumerate(repaired)]
        left = rules.check_shape(_shape(form, repaired, sent), profile)
    if left:
        raise InvalidRequest(
            f"Conversation breaks the rule {left[0].rule!r} of {profile.name} and cannot be repaired: "
            f"{left[0].position}: {left[0].sentence} Nothing was sent. "
            "Rewind to an earlier prompt, try another model, or export the conversation.",
            rule=left[0].rule,
        )
    return ValidRequest(msgspec.structs.replace(sent, messages=tuple(form.read(repaired))), violations)


def arranged(sent: c.Conversation, profile: Profile) -> list[tuple[Role, c.ConversationMessage]]:
    """Return the messages as the provider counts them, with their roles: the numbering that violations use."""
    form = OwnFormat(profile, sent.model)
    return [(form.role(message), message) for message in form.written(sent.messages)]


def violations(conversation: c.Conversation, profile: Profile) -> tuple[Violation, ...]:
    """Return the rules that the conversation would break if it were sent with the next prompt."""
    sent = _prompted(normalize(conversation, profile))
    form = OwnFormat(profile, sent.model)
    return rules.check_shape(_shape(form, form.written(sent.messages), sent), profile)


def left_broken(conversation: c.Conversation, profile: Profile) -> str:
    """Return the rule that prevents sending the next prompt, "" if repair restores all."""
    try:
        _checked(_prompted(normalize(conversation, profile)), profile)
    except InvalidRequest as error:
        return error.rule
    return ""


def _prompted(sent: c.Conversation) -> c.Conversation:
    if sent.messages and isinstance(sent.messages[-1], c.UserMessage):
        return sent
    return msgspec.structs.replace(sent, messages=(*sent.messages, c.UserMessage((), ("The next prompt.",))))


def violation_sentence(violation: Violation) -> str:
    """Return a violation as a sentence for the journal and the user."""
    return f"The conversation broke the rule {violation.rule!r} at {violation.position}: {violation.sentence}"


def _shape(form: OwnFormat, messages: Sequence[object], conversation: c.Conversation) -> Shape:
    opened = conversation.opened
    tools = frozenset(tool.name for tool in opened.tools) if opened else None
    shape = project_messages(form, messages, RequestFacts(tools=tools))
    return msgspec.structs.replace(shape, invalid_strings=tuple(invalid_strings({"system": conversation.system}, ())))
