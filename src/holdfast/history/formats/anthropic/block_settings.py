"""The settings of Anthropic's blocks that must agree in a whole request: markers of the prompt cache, and citations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from holdfast.history.formats.content import BLANK
from holdfast.history.formats.format import Json, as_array, as_object, as_text, is_array, is_object
from holdfast.history.shape import LONG_LIVED, NO_FLAGS, SHORT_LIVED, Item

_CITED = frozenset({"document", "search_result"})


def request_blocks(body: Mapping[str, object]) -> Iterator[Item]:
    """Yield the blocks of the system prompt, and the tools, that have cache markers or are blank."""
    for holder in ("tools", "system"):
        for number, raw in enumerate(as_array(body.get(holder))):
            text = as_object(raw).get("text")
            blank = holder == "system" and isinstance(text, str) and not text.strip()
            if (found := lifetimes_in(raw)) or blank:
                flags = BLANK if blank else NO_FLAGS
                yield Item("text", "system", (holder, number), flags=flags, marks=len(found), lifetimes=found)
    if (mark := body.get("cache_control")) is not None:  # which Anthropic puts on the last block, as one of the four
        yield Item("text", "system", ("cache_control",), marks=1, lifetimes=(_lifetime_of(mark),))


def has_no_settings(block: object) -> bool:
    """Return whether the block has no settings, and no blocks in it that may have some."""
    if not is_object(block) or "cache_control" in block or block.get("type") in ("document", "search_result"):
        return not is_object(block)
    return not is_array(block.get("content"))


def lifetimes_in(block: object) -> tuple[str, ...]:
    """Return how long each cache marker of the block holds, in the order in which they count: inner ones first."""
    raw = as_object(block)
    inner = tuple(each for part in as_array(raw.get("content")) for each in lifetimes_in(part))
    mark = raw.get("cache_control")
    return inner if mark is None else (*inner, _lifetime_of(mark))


def _lifetime_of(mark: object) -> str:
    """Return how long a cache marker holds."""
    return LONG_LIVED if as_object(mark).get("ttl") == LONG_LIVED else SHORT_LIVED


def unmarked(block: object) -> object:
    """Return the block without its cache markers."""
    return _with_marks(block, lambda _: None)


def short_lived(block: object) -> object:
    """Return the block with cache markers that hold for five minutes, as they do without a `ttl`."""
    return _with_marks(block, short_mark)


def short_mark(mark: object) -> object:
    """Return the cache marker without its `ttl`."""
    return {key: value for key, value in mark.items() if key != "ttl"} if is_object(mark) else mark


def _with_marks(block: object, change: Callable[[object], object]) -> object:
    if not lifetimes_in(block):
        return block
    raw = dict(as_object(block))
    if (mark := raw.pop("cache_control", None)) is not None and (changed := change(mark)) is not None:
        raw["cache_control"] = changed
    if is_array(content := raw.get("content")):
        raw["content"] = [_with_marks(part, change) for part in content]
    return raw


def citing_in(block: object) -> Iterator[tuple[str, bool]]:
    """Yield the kind of each document in the block, and whether it is cited."""
    raw = as_object(block)
    kind = as_text(raw.get("type")) or ""
    if kind in _CITED:
        yield kind, _is_cited(raw)
    elif kind == "tool_result":
        for part in as_array(raw.get("content")):
            yield from citing_in(part)


def _is_cited(document: Json) -> bool:
    return as_object(document.get("citations")).get("enabled") is True


def with_citations(block: object, kind: str, *, enabled: bool) -> object:
    """Return the block, with its documents of that kind cited or not."""
    raw = as_object(block)
    if raw.get("type") == kind:
        if _is_cited(raw) == enabled:
            return block
        plain = {key: value for key, value in raw.items() if key != "citations"}
        return {**plain, "citations": {"enabled": True}} if enabled else plain
    if raw.get("type") == "tool_result" and is_array(content := raw.get("content")):
        return {**raw, "content": [with_citations(part, kind, enabled=enabled) for part in content]}
    return block
