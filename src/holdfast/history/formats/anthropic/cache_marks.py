"""Counts and removes the markers of Anthropic's prompt cache on blocks."""

from __future__ import annotations

from holdfast.history.formats.format import as_array, as_object, is_array


def marks_in(block: object) -> int:
    """Return the number of cache markers of the block and of the blocks in it."""
    raw = as_object(block)
    return (raw.get("cache_control") is not None) + sum(map(marks_in, as_array(raw.get("content"))))


def unmarked(block: object) -> object:
    """Return the block without its cache markers."""
    if not marks_in(block):
        return block
    raw = {key: value for key, value in as_object(block).items() if key != "cache_control"}
    if is_array(content := raw.get("content")):
        raw["content"] = [unmarked(part) for part in content]
    return raw
