"""What a provider accepts: name what is wrong with a conversation, and repair it without losing what was said.

from holdfast.history import check, repair

for violation in check(messages, format="openai-chat", profile="mistral"):
    print(violation.position, violation.sentence)
repaired = repair(messages, format="openai-chat", profile="mistral").messages
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack

import msgspec

from holdfast.history import repair as _repair  # first: importing it later would put the module over the function
from holdfast.history import rules as _rules
from holdfast.history.document import expect_data, messages_in, too_deep
from holdfast.history.formats import find_format
from holdfast.history.formats.format import Declared, Format, as_object, project_messages, spliced
from holdfast.history.formats.sent_messages import Parted, Unit, place_among, whereabouts
from holdfast.history.formats.strings import unclean
from holdfast.history.pairing import pair
from holdfast.history.profiles import find_profile
from holdfast.history.request import Request, with_request
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import NO_RESULT, Path, Shape, position

if TYPE_CHECKING:  # the modules of repair are imported once something needs repair
    from holdfast.history.edits import Edit, EditPlace

__all__ = [
    "NO_RESULT",
    "Edit",
    "Repair",
    "Request",
    "Violation",
    "check",
    "find_dangling_tool_call_ids",
    "repair",
    "validate_message_invariants",
]


def __getattr__(name: str) -> object:
    """Return `Edit`, whose module is imported with the other modules of repair."""
    if name == "Edit":
        from holdfast.history.edits import Edit  # noqa: PLC0415 - see above

        return Edit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Repair(msgspec.Struct, frozen=True):
    """A repaired conversation. Without edits, `messages` and `document` are the very objects that were given.

    `document` is the list of messages or the request body, as it was given; `remaining` is what no edit can repair.
    """

    messages: list[object]
    document: object
    edits: tuple[Edit, ...]
    remaining: tuple[Violation, ...]


def check(
    messages: object,
    *,
    format: str,  # noqa: A002 - the word of the glossary
    profile: str | None = None,
    hearsay: bool = False,
    **request: Unpack[Request],
) -> list[Violation]:
    """Return what the provider would refuse, in order; nothing if it accepts the conversation.

    `messages` is a list of messages or a whole request body; what only the caller knows of the request is passed by
    the names in `Request`. With `hearsay`, rules known by hearsay only are included, as warnings.
    """
    try:
        given = _Given(messages, format, profile, request, hearsay=hearsay)
        return list(given.told(_rules.check_shape(given.shape, given.profile, hearsay=hearsay)))
    except RecursionError as error:
        raise too_deep(messages) from error


def repair(
    messages: object,
    *,
    format: str,  # noqa: A002 - the word of the glossary
    profile: str | Profile | None = None,
    frozen: int = 0,
    **request: Unpack[Request],
) -> Repair:
    """Return the conversation as the provider accepts it, and the edits that make it so.

    The first `frozen` messages were sent before and are never edited. Messages that no edit touches are the same
    objects in the result. What only the caller knows of the request is said as in `check`. `profile` names a provider,
    or is a profile of the caller's own.
    """
    try:
        given = _Given(messages, format, profile, request)
        return _repaired(given, messages, frozen)
    except RecursionError as error:
        raise too_deep(messages) from error


def _repaired(given: _Given, messages: object, frozen: int) -> Repair:
    sent = given.sent_of(frozen)
    looked = _rules.inspect(given.shape, given.profile, frozen=sent)
    edits = _repair.edits_for(looked, frozen=sent)
    left: tuple[Violation, ...] = ()
    silent = tuple(index for index in given.unsent if index >= frozen)
    if not (edits or silent):
        left = given.told(_rules.check_shape(given.shape, given.profile) if sent else _rules.violations_found(looked))
        if not left:
            return Repair(given.messages, messages, (), left)
    from holdfast.history.edits import DropField  # noqa: PLC0415 - see above
    from holdfast.history.repairs.edit_positions import located  # noqa: PLC0415 - see above
    from holdfast.history.repairs.request import edits_of_request, repaired_request  # noqa: PLC0415 - see above
    from holdfast.history.repairs.text_limits import shorten_edits, with_shortened  # noqa: PLC0415 - see above

    listed = given.repaired(edits, frozen) if edits or silent else given.messages
    document, result = messages, given
    if edits or silent:
        document = listed
        if given.key is not None:
            document = repaired_request(as_object(messages), edits, key=given.key, messages=listed)
        if not given.is_valid_as(listed):
            result = given.again(document)
            left = result.told(_rules.check_shape(result.shape, given.profile))
    if cuts := tuple(shorten_edits(left, given.profile.texts, frozen=frozen)):
        listed = with_shortened(listed, cuts)
        whole = as_object(document)
        document = listed if given.key is None else repaired_request(whole, (), key=given.key, messages=listed)
        result = given.again(document)
        left = result.told(_rules.check_shape(result.shape, given.profile))
    if given.key is not None and (more := tuple(edits_of_request(result.shape, left))):
        document = repaired_request(as_object(document), more, key=given.key, messages=listed)
        result = given.again(document)
        left = result.told(_rules.check_shape(result.shape, given.profile))
        edits = (*edits, *more)
    if given.units is not None:
        edits = (
            *(located(edit, given.where, given.place) for edit in edits),
            *(DropField((index,), "mistyped") for index in silent),
        )
    return Repair(listed, document, (*edits, *cuts), left)


def validate_message_invariants(
    messages: object,
    *,
    format: str = "pydantic-ai",  # noqa: A002 - the word of the glossary
    profile: str | None = None,
) -> list[Violation]:
    """Return what `check` returns: the reasons why the messages cannot be sent, nothing if they can."""
    return check(messages, format=format, profile=profile)


def find_dangling_tool_call_ids(
    messages: object,
    *,
    format: str = "pydantic-ai",  # noqa: A002 - the word of the glossary
) -> list[str]:
    """Return the ids of the calls that have no result, in order; of a call without an id, its position.

    A call is answered by a result behind it that is paired with it, by position as well as by id: a second call of the
    same id is not answered by the result of the first.
    """
    given = _Given(messages, format, None, {})
    calls = (call for step in pair(given.shape).steps for call in step.calls if call.answer is None)
    return [call.item.id or position(given.where(call.item.path)) for call in calls]


class _Given:
    """The input of the caller, with its format and profile."""

    form: Format
    profile: Profile
    shape: Shape
    units: Sequence[Unit] | None = None  # what is sent of the messages, where that is not message for message
    unsent: Mapping[int, object] = MappingProxyType({})  # what is wrong though nothing of it is sent, as it is right

    def __init__(
        self, document: object, form: str, profile: str | Profile | None, request: Request, *, hearsay: bool = False
    ) -> None:
        self.form = find_format(form)
        self.profile = find_profile(profile or self.form.profile, form)
        found, self.key = messages_in(document, self.form)
        self.messages = found if isinstance(found, list) else list(found)
        expect_data(self.messages)
        body = as_object(document)
        said = self.form.declared(body) if self.key is not None else Declared()
        if said.thinking is None and (model := said.model or request.get("model")):
            said = msgspec.structs.replace(said, thinking=self.form.declared({"model": model}).thinking)
        self._request = request
        self.declared = with_request(said, request, makers=self.profile.makers)
        self.known = self.profile.known_fields(form, thinking=self.declared.thinking is True)
        self._limits = self.profile.looked_at(hearsay=hearsay)
        beside = {key: value for key, value in body.items() if key != self.key}
        self.sent: Sequence[object] = self.messages
        if isinstance(self.form, Parted):
            self.units = self.form.unfold(self.messages)
            self.sent = [unit.raw for unit in self.units]
            self.unsent = dict(self.form.unsent(self.messages))
        self.shape = msgspec.structs.replace(self._projected(self.sent), beside=tuple(unclean(beside, ())))

    def _projected(self, messages: Sequence[object], begin: int = 0) -> Shape:
        return project_messages(self.form, messages, self.declared, known=self.known, limits=self._limits, begin=begin)

    def again(self, document: object) -> _Given:
        """Return the same for the repaired document."""
        return _Given(document, self.form.name, self.profile, self._request)

    def where(self, path: Path) -> Path:
        """Return the position in the document of a position among the sent messages."""
        return path if self.units is None else whereabouts(path, self.units)

    def place(self, place: EditPlace) -> EditPlace:
        """Return the insertion place in the document for an insertion place among the sent messages."""
        return place if self.units is None else place_among(place, self.units)

    def told(self, violations: Iterable[Violation]) -> tuple[Violation, ...]:
        """Return the violations with their positions in the document."""
        if self.units is None:
            return tuple(violations)
        found = ((each, self.where(each.path)) for each in violations)
        told = [
            msgspec.structs.replace(each, path=path, message=path[0] if path and isinstance(path[0], int) else -1)
            for each, path in found
        ]
        told += [_rules.unsent_violation(index) for index in self.unsent]
        return tuple(sorted(told, key=lambda each: each.message) if self.unsent else told)

    def repaired(self, edits: Sequence[Edit], frozen: int) -> list[object]:
        """Return the messages with the edits applied, and with what is not sent as it is right."""
        messages = list(self.messages)
        for at, raw in self.unsent.items():
            if at >= frozen:
                messages[at] = raw
        if not edits:
            return messages
        from holdfast.history.apply_edits import apply  # noqa: PLC0415 - see above

        built = apply(self.form, self.sent, self.shape, edits, known=self.known)
        if self.units is None or not isinstance(self.form, Parted):
            return built
        return self.form.fold(built, self.units, messages, frozen=frozen)

    def is_valid_as(self, repaired: Sequence[object]) -> bool:
        """Return whether the repaired messages have no findings; False if only checking all of them could show it."""
        shape = spliced(self.form, repaired, of=self.sent, shape=self.shape, project=self._projected)
        if shape is None:
            return False
        enforced = self.profile.enforced(shape.grammar)
        return not any(found.rule in enforced for found in _rules.inspect(shape, self.profile).found)

    def sent_of(self, messages: int) -> int:
        """Return how many of the sent messages come from the first messages."""
        return messages if self.units is None else sum(unit.message < messages for unit in self.units)
