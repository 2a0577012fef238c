"""Reads how much of the prompt a server has read, as llama.cpp tells it in its stream before the answer. Pure.

A request asks for it with `return_progress`; then each batch sends a chunk with `prompt_progress: {total, cache,
processed, time_ms}` (tools/server/README.md of llama.cpp).
"""

from __future__ import annotations

import msgspec

from holdfast.typed_data import decode_json

_FIELD = b'"prompt_progress"'
_MOST = 64 * 1024
"""Bytes of a chunk that is looked at: one about progress has a few hundred."""


class _Progress(msgspec.Struct):
    total: int
    processed: int


class _Chunk(msgspec.Struct):
    prompt_progress: _Progress


def share_read(data: bytes) -> float | None:
    """Return the share of the prompt that has been read, from 0 to 1, None if the event does not say."""
    if len(data) > _MOST or _FIELD not in data:
        return None
    try:
        progress = decode_json(data, _Chunk).prompt_progress
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if progress.total <= 0 or progress.processed < 0:
        return None
    return min(progress.processed / progress.total, 1.0)
