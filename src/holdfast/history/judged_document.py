"""A document that is checked or repaired: its messages, with format, profile and shape.

It stands apart from `holdfast.history`, whose import is part of the start of many small programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import msgspec

from holdfast.history import rules as _rules
from holdfast.history.document import expect_data, messages_in, too_deep
from holdfast.history.foreign import refuse_lookalike, refuse_other_format
from holdfast.history.formats import find_format
from holdfast.history.formats.format import Format, RequestFacts, as_array, as_object, project_messages, spliced
from holdfast.history.formats.sent_messages import SplitFormat, Unit, document_path, document_place
from holdfast.history.formats.strings import invalid_strings
from holdfast.history.pairing import pair
from holdfast.history.profiles import find_profile, profile_of_model
from holdfast.history.repair import edits_for
from holdfast.history.repair_result import Repair
from holdfast.history.request import Request, checked_request, with_request
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import Profile
from holdfast.history.shape import Path, Shape, position

if TYPE_CHECKING:  # the modules of objects and of repair are imported once something needs them
    from holdfast.history.apply_edits import EditedMessages
    from holdfast.history.edit_places import EditPlace
    from holdfast.history.edits import Edit
    from holdfast.history.objects import MessageObjects
    from holdfast.history.repairs.known_results import Results


def violations_of(
    messages: object, form: str | None, profile: str | None, request: Request, *, hearsay: bool
) -> list[Violation]:
    """Return the violations, as `check` does."""
    if (objects := _objects(messages)) is not None:
        form, messages = objects.format_for(form), objects.data
    try:
        refuse_lookalike(messages)
        form = form or _detected(messages, profile)
        conversation = JudgedDocument(messages, form, profile, request, hearsay=hearsay)
        refuse_other_format(conversation.messages, conversation.form)
        return list(
            conversation.in_document(_rules.check_shape(conversation.shape, conversation.profile, hearsay=hearsay))
        )
    except RecursionError as error:
        raise too_deep(messages) from error


def repaired_document(
    messages: object,
    form: str | None,
    profile: str | Profile | None,
    request: Request,
    *,
    frozen: int,
    results: Results | None,
) -> Repair:
    """Return the repaired document, as `repair` does."""
    if (objects := _objects(messages)) is not None:
        form = objects.format_for(form)
        repaired = repaired_document(objects.data, form, profile, request, frozen=frozen, results=results)
        if not repaired.edits:
            return Repair(objects.messages, messages, (), repaired.remaining)
        found = objects.with_data(repaired.messages)
        return Repair(found, found, repaired.edits, repaired.remaining)
    try:
        refuse_lookalike(messages)
        form = form or _detected(messages, profile if isinstance(profile, str) else None)
        conversation = JudgedDocument(messages, form, profile, request)
        if not frozen:  # what was sent is in this format
            refuse_other_format(conversation.messages, conversation.form)
        return _repaired(conversation, messages, frozen, results)
    except RecursionError as error:
        raise too_deep(messages) from error


def dangling_calls(messages: object, form: str) -> list[str]:
    """Return the ids of the calls without a result, as `find_dangling_tool_call_ids` does."""
    conversation = JudgedDocument(messages, form, None, {})
    calls = (call for step in pair(conversation.shape).steps for call in step.calls if call.answer is None)
    return [call.item.id or position(conversation.path_in_document(call.item.path)) for call in calls]


def _objects(messages: object) -> MessageObjects | None:
    """Return the messages as data, if they are objects of an SDK or a framework."""
    if not isinstance(messages, list | tuple) or all(type(each) is dict for each in cast("list[object]", messages)):
        return None
    from holdfast.history.objects import message_objects

    return message_objects(cast("list[object]", messages))


def _detected(document: object, profile: str | None) -> str:
    """Return the format that fits best, of several the first: they differ in nothing that these messages have."""
    from holdfast.history.formats.detection import detected_formats

    expect_data(as_array(document))
    return detected_formats(document, profile, option="format=…")[0]


def _repaired(conversation: JudgedDocument, messages: object, frozen: int, results: Results | None) -> Repair:
    sent = conversation.sent_count(frozen)
    inspection = _rules.inspect(conversation.shape, conversation.profile, frozen=sent)
    edits = edits_for(inspection, frozen=sent)
    if results is not None and edits:
        from holdfast.history.repairs.known_results import with_results

        edits = with_results(edits, conversation.shape, results)
    remaining: tuple[Violation, ...] = ()
    unsent = tuple(index for index in conversation.unsent if index >= frozen)
    if not (edits or unsent):
        remaining = conversation.in_document(
            _rules.check_shape(conversation.shape, conversation.profile)
            if sent
            else _rules.violations_found(inspection)
        )
        if not remaining:
            return Repair(conversation.messages, messages, (), remaining)
    from holdfast.history.edits import DropField
    from holdfast.history.repairs.limits import shorten_edits, with_shortened
    from holdfast.history.repairs.new_ids import located
    from holdfast.history.repairs.request import edits_of_request, repaired_request

    new_messages = conversation.messages
    document, result = messages, conversation
    if edits or unsent:
        edited = conversation.apply_edits(edits, frozen)
        document = new_messages = edited.messages
        if conversation.key is not None:
            document = repaired_request(as_object(messages), edits, key=conversation.key, messages=new_messages)
        if not conversation.is_valid_after(edited):
            result = conversation.with_document(document)
            remaining = result.in_document(_rules.check_shape(result.shape, conversation.profile))
    if cuts := tuple(shorten_edits(remaining, conversation.profile.texts, frozen=frozen)):
        new_messages = with_shortened(new_messages, cuts)
        body = as_object(document)
        document = (
            new_messages
            if conversation.key is None
            else repaired_request(body, (), key=conversation.key, messages=new_messages)
        )
        result = conversation.with_document(document)
        remaining = result.in_document(_rules.check_shape(result.shape, conversation.profile))
    if conversation.key is not None and (more := tuple(edits_of_request(result.shape, remaining))):
        document = repaired_request(as_object(document), more, key=conversation.key, messages=new_messages)
        result = conversation.with_document(document)
        remaining = result.in_document(_rules.check_shape(result.shape, conversation.profile))
        edits = (*edits, *more)
    if conversation.units is not None:
        edits = (
            *(located(edit, conversation.path_in_document, conversation.place_in_document) for edit in edits),
            *(DropField((index,), "mistyped") for index in unsent),
        )
    return Repair(new_messages, document, (*edits, *cuts), remaining)


class JudgedDocument:
    """The caller's conversation, with its format, profile and shape."""

    form: Format
    profile: Profile
    shape: Shape
    units: Sequence[Unit] | None = None  # the messages as they are sent, if those differ from the document's
    unsent: Mapping[int, object] = MappingProxyType(
        {}
    )  # by index, corrected versions of invalid messages that are not sent

    def __init__(
        self, document: object, form: str, profile: str | Profile | None, request: Request, *, hearsay: bool = False
    ) -> None:
        self.form = find_format(form)
        self.profile = find_profile(profile or self.form.profile, form, default=self.form.profile)
        found, self.key = messages_in(document, self.form)
        self.messages = found if isinstance(found, list) else list(found)
        expect_data(self.messages)
        body = as_object(document)
        request = checked_request(request, lambda tools: self.form.request_facts({"tools": tools}).tools or frozenset())
        facts = self.form.request_facts(body) if self.key is not None else RequestFacts()
        if facts.thinking is None and (model := facts.model or request.get("model")):
            facts = msgspec.structs.replace(facts, thinking=self.form.request_facts({"model": model}).thinking)
        self._request = request
        self.facts = with_request(facts, request, makers=self.profile.makers)
        self.profile = profile_of_model(self.profile, self.facts.model)
        self.known = self.profile.known_fields(form, thinking=self.facts.thinking is True)
        self._limits = self.profile.limits_to_check(hearsay=hearsay)
        other_fields = {key: value for key, value in body.items() if key != self.key}
        self.sent: Sequence[object] = self.messages
        if isinstance(self.form, SplitFormat):
            self.units = self.form.unfold(self.messages)
            self.sent = [unit.raw for unit in self.units]
            self.unsent = dict(self.form.unsent(self.messages, self.units))
        self.shape = msgspec.structs.replace(
            self._projected(self.sent), invalid_strings=tuple(invalid_strings(other_fields, ()))
        )

    def _projected(self, messages: Sequence[object], begin: int = 0) -> Shape:
        return project_messages(self.form, messages, self.facts, known=self.known, limits=self._limits, begin=begin)

    def with_document(self, document: object) -> JudgedDocument:
        """Return the repaired document as a conversation with the same format, profile and request."""
        return JudgedDocument(document, self.form.name, self.profile, self._request)

    def path_in_document(self, path: Path) -> Path:
        """Return the position in the document of a position among the sent messages."""
        return path if self.units is None else document_path(path, self.units)

    def place_in_document(self, place: EditPlace) -> EditPlace:
        """Return the insertion place in the document for an insertion place among the sent messages."""
        return place if self.units is None else document_place(place, self.units)

    def in_document(self, violations: Iterable[Violation]) -> tuple[Violation, ...]:
        """Return the violations with their positions in the document."""
        if self.units is None:
            return tuple(violations)
        found = ((each, self.path_in_document(each.path)) for each in violations)
        located = [
            msgspec.structs.replace(each, path=path, message=path[0] if path and isinstance(path[0], int) else -1)
            for each, path in found
        ]
        located += [_rules.unsent_violation(index) for index in self.unsent]
        return tuple(sorted(located, key=lambda each: each.message) if self.unsent else located)

    def apply_edits(self, edits: Sequence[Edit], frozen: int) -> EditedMessages:
        """Return the messages with the edits applied, and with the unsent ones corrected."""
        messages = list(self.messages)
        for at, raw in self.unsent.items():
            if at >= frozen:
                messages[at] = raw
        from holdfast.history.apply_edits import EditedMessages, apply

        if not edits:
            return EditedMessages(messages, None)
        edited = apply(self.form, self.sent, self.shape, edits, known=self.known)
        if self.units is None or not isinstance(self.form, SplitFormat):
            return edited
        return EditedMessages(self.form.fold(edited.messages, self.units, messages, frozen=frozen), None)

    def is_valid_after(self, edited: EditedMessages) -> bool:
        """Return whether the edited messages have no findings; False if only checking all of them could show it."""
        if edited.sources is None:
            return False
        known = edited.known_projections(self.shape)
        shape = spliced(self.form, edited.messages, known, shape=self.shape, project=self._projected)
        if shape is None:
            return False
        enforced = self.profile.enforced(shape.grammar)
        return not any(found.rule in enforced for found in _rules.inspect(shape, self.profile).findings)

    def sent_count(self, messages: int) -> int:
        """Return how many of the sent messages come from the first messages."""
        return messages if self.units is None else sum(unit.message < messages for unit in self.units)
