"""The content of a message, as several formats read and write it.

Values that no edit names are written unchanged. A note replaces whatever is left out and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import msgspec

from holdfast.history.draft_messages import DraftPart
from holdfast.history.formats.format import as_array, as_object, as_text, block_text, is_array, is_object, quoted, words
from holdfast.history.shape import NO_FLAGS, Flag, Item, MessageFlag, Path, Role

BLANK: frozenset[Flag] = frozenset({"blank"})
FOREIGN_BLOCKS: frozenset[Flag] = frozenset({"foreign"})


def content_of(path: Path, role: Role, content: object, part: Callable[[Path, Role, object], Item]) -> Iterator[Item]:
    """Yield the items of a content: a text, or parts that `part` reads; a string among parts is foreign."""
    if content is None:
        return
    if isinstance(content, str):
        yield Item("text", role, path, flags=NO_FLAGS if content.strip() else BLANK)
    elif is_array(content):
        for number, each in enumerate(content):
            yield foreign((*path, number), role, each) if isinstance(each, str) else part((*path, number), role, each)
    else:
        yield foreign(path, role, content)


def foreign(path: Path, role: Role, raw: object) -> Item:
    """Return an item for content that does not follow the format: a text if it is only a text."""
    text = raw if isinstance(raw, str) else block_text(raw)
    if text is None:
        return Item("other", role, path, name=as_text(as_object(raw).get("type")), flags=FOREIGN_BLOCKS)
    return Item("text", role, path, flags=FOREIGN_BLOCKS if text.strip() else FOREIGN_BLOCKS | BLANK)


def result_of_parts(path: Path, role: Role, call: str | None, flags: frozenset[Flag], parts: Sequence[Item]) -> Item:
    """Return the item of a result with these parts: its images and files, and where they are."""
    return Item(
        "result",
        role,
        path,
        call,
        flags=flags,
        media=tuple(each for part in parts for each in part.media),
        kind_names=tuple(word for part in parts for word in part.kind_names),
        media_at=tuple(part.path for part in parts for _ in part.media),
        files=tuple(part.path for part in parts if part.kind == "media"),
    )


def empty_flags(role: Role, items: Sequence[Item]) -> set[MessageFlag]:
    """Return the flags of a message without content: empty, or a blank answer."""
    content = [item for item in items if item.kind != "thinking"]
    if not content:
        return {"empty"}
    if role == "assistant" and all("blank" in item.flags for item in content):
        return {"blank-answer"}
    return set()


# --- content writer ---


def raw_at(path: Path, messages: Sequence[object]) -> object:
    """Return the value at the path."""
    raw: object = messages
    for key in path:
        raw = as_object(raw).get(key) if isinstance(key, str) else as_array(raw)[key]
    return raw


MOVED = "[An image or a file that was here follows in the user's message.]"
"""What stays in the place of an image or a file that moves."""


def note_block(left_out: Sequence[tuple[int, str]]) -> str:
    """Return the note that replaces something left out."""
    return "".join(f"[{why}, and was left out.]" for _, why in left_out)


def quote_fields(fields: Sequence[tuple[Path, Sequence[str]]], messages: Sequence[object]) -> str:
    """Return the text of fields that the provider does not know."""
    labels = (f"field {name}" for _, names in fields for name in names)
    values = (as_object(raw_at(path, messages)).get(name) for path, names in fields for name in names)
    return "\n\n".join(quoted(name, words(value)) for name, value in zip(labels, values, strict=True))


def edited_content(
    parts: Sequence[object], piece: DraftPart, *, is_media: Callable[[object], bool], text: Callable[[str], object]
) -> object:
    """Return the new content of a result: filled if nothing else is left, with a note in place of bad media."""
    reasons = dict(piece.left_out)
    moved = {path[-1] for path in piece.moved}
    which = -1
    result: list[object] = []
    for at, part in enumerate(parts):
        which += (media := is_media(part))
        if media and which in reasons:
            result.append(text(note_block([(which, reasons[which])])))
        elif at in moved:
            result.append(text(MOVED))
        elif piece.text is None or not _is_blank(part):
            result.append(part)
    return result if result or piece.text is None else piece.text


def content_as_text(
    content: object,
    piece: DraftPart,
    *,
    fits: Callable[[object], bool],
    is_media: Callable[[object], bool],
    text: Callable[[str], object],
) -> object:
    """Return the content with texts in place of all that does not fit: one text if there is nothing else."""
    if not is_array(content):
        return words(content)
    plain = msgspec.structs.replace(piece, text=None)
    parts = as_array(edited_content(content, plain, is_media=is_media, text=text))
    values = [part if fits(part) else words(part) for part in parts]
    if all(block_text(value) is not None or isinstance(value, str) for value in values):
        return "\n".join(words(value) for value in values)
    return [text(value) if isinstance(value, str) else value for value in values]


def _is_blank(part: object) -> bool:
    text = as_object(part).get("text") if is_object(part) else part
    return isinstance(text, str) and not text.strip()


def quote_result(label: str, content: object, fits: Callable[[object], bool]) -> Iterator[object]:
    """Yield a result as text, followed by each of its blocks that `fits` into a user message, unchanged."""
    values = list(_quotable_values(content if is_array(content) else [content], fits))
    lead = list(takewhile(lambda value: isinstance(value, str), values))
    yield quoted(label, "\n".join(map(words, lead))) if lead or not values else quoted(label, "").rstrip()
    yield from values[len(lead) :]


def _quotable_values(values: Sequence[object], fits: Callable[[object], bool]) -> Iterator[object]:
    for value in values:
        text = block_text(value) if is_object(value) else words(value) if value is not None else ""
        if value != {} and (text is None or text.strip()):
            yield value if fits(value) else words(value)
