"""How much of a long conversation is sent."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Tokens = Annotated[int, msgspec.Meta(ge=0)]


class ContextSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which part of a long conversation is sent.

    `prune` leaves out old tool outputs if that saves at least `prune_least` tokens. The newest `prune_protect` tokens
    of outputs and those of the newest `prune_turns` turns always stay. `compact` summarizes everything older than the
    newest `compact_keep` tokens when the conversation fills `compact_at` of the window, less room for an answer.
    `window` is used for models whose context window is unknown (0: unknown).
    """

    prune: Literal["auto", "off"] = "auto"
    prune_protect: _Tokens = 40_000
    prune_least: _Tokens = 20_000
    prune_turns: _Count = 2
    compact: Literal["auto", "off"] = "auto"
    window: _Tokens = 0
    compact_at: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.85
    compact_keep: _Tokens = 20_000
