"""Shared by all formats that read messages: reads the forms of a content, and flags empty ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holdfast.history.formats.format import as_object, as_text, block_text, is_array
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
