"""Which format a document is in, by its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.errors import DamageError, UsageError
from holdfast.history.document import messages_in
from holdfast.history.foreign import refuse_lookalike
from holdfast.history.formats import find_format, format_names
from holdfast.history.formats.format import Format, as_array, as_object
from holdfast.history.profiles import profiles_of

# Top-level keys that only requests of these formats have, for messages whose keys fit several formats.
_OF: Mapping[str, tuple[str, ...]] = {
    "system": ("anthropic",),
    "stop_sequences": ("anthropic",),
    "max_completion_tokens": ("openai-chat",),
    "response_format": ("openai-chat",),
    "stream_options": ("openai-chat",),
    "instructions": ("openai-responses",),
    "max_output_tokens": ("openai-responses",),
}
_NO_MESSAGE = frozenset({"unknown-role", "malformed"})
_UNUSUAL = frozenset({"foreign", "misplaced", "other-wire"})


def detected_formats(document: object, profile: str | None, *, option: str = "--format") -> tuple[str, ...]:
    """Return the formats that fit the document best, in the order of `format_names`. Raise if none fits.

    A conversation of plain text fits several; the caller says which was chosen. `option` is how a format is named.
    """
    unusual: dict[str, int] = {}
    for name in format_names():
        form = find_format(name)
        try:
            messages, _ = messages_in(document, form)
        except DamageError:
            continue  # not this format
        count = unusual_content(form, messages)
        if count is not None:
            unusual[name] = count + _unusual_fields(form, as_object(document))
    least = min(unusual.values(), default=0)
    refuse_lookalike(document, marked=False)
    if not unusual:
        raise no_conversation(
            list(format_names()), f"Extract the list of messages, or choose the format with {option}."
        )
    best = [name for name, count in unusual.items() if count == least]
    legal = [name for name in best if profile is None or profile in _profiles(name)]
    if not legal:
        takes = [name for name in format_names() if profile in _profiles(name)]
        raise UsageError(
            f"Profile {profile!r} does not accept documents in the format {best[0]}. Choose one of"
            f" {', '.join(_profiles(best[0]))}, or pass {option} if the document is {' or '.join(takes)}."
        )
    return tuple(legal)


def no_conversation(forms: Sequence[str], to_do: str) -> DamageError:
    """Return the error for a document that has no message in one of the formats."""
    return DamageError(
        f"The document is not a conversation: it has no message in the format {' or '.join(forms)} (expected a list of"
        f" messages or a request body). {to_do}"
    )


def unusual_content(form: Format, messages: Sequence[object]) -> int | None:
    """Return the number of unknown fields in the messages, None if no message fits the format."""
    unknown = unusual = 0
    for index, raw in enumerate(messages):  # one at a time: together they need half the document's memory
        message = form.message(index, raw)
        unknown += bool(message.flags & _NO_MESSAGE)
        unusual += not message.items
        unusual += sum(1 for item in message.items if item.flags & _UNUSUAL)
    return None if messages and unknown == len(messages) else unknown + unusual


def _profiles(name: str) -> tuple[str, ...]:
    return profiles_of(name, find_format(name).profile)


def _unusual_fields(form: Format, body: Mapping[str, object]) -> int:
    """Return the number of unknown fields next to the messages."""
    foreign = sum(1 for key in body if key in _OF and form.name not in _OF[key])
    return foreign + (as_array(body.get("tools")) != () and not form.request_facts(body).tools)
