"""The context windows that servers told this process, by PROVIDER:MODEL: in answers to questions, and in refusals.

They are kept for one process: the next start of a server may have another window.
"""

from __future__ import annotations

import re

LEAST_WINDOW, LARGEST_WINDOW = 256, 2**40

_learned: dict[str, int] = {}
_asked_names: set[str] = set()


def learned_window(name: str) -> int:
    """Return the window of PROVIDER:MODEL that its server told this process, 0 if none."""
    return _learned.get(name, 0)


def keep_window(name: str, window: int) -> None:
    """Keep what a server said about the window of PROVIDER:MODEL; what cannot be one is left out."""
    if LEAST_WINDOW <= window <= LARGEST_WINDOW:
        _learned[name] = window


def is_first_question(name: str) -> bool:
    """Return whether the server of PROVIDER:MODEL was not asked yet in this process; from now on it was."""
    first = name not in _asked_names
    _asked_names.add(name)
    return first


def forget_windows() -> None:
    """Forget everything that was learned, for tests."""
    _learned.clear()
    _asked_names.clear()


_IN_REFUSAL = re.compile(
    r'"n_ctx": ?(\d+)'  # llama.cpp
    r"|available context size \((\d+)"  # llama.cpp, before it had the field
    r"|(?:maximum|model's) context length (?:is |of )?\(?(\d+)"  # OpenAI, vLLM, SGLang
    r"|context length of (?:only )?(\d+)"  # LM Studio
    r"|max_new_tokens` must be <= (\d+)",  # Text Generation Inference
    re.IGNORECASE,
)


def window_in_refusal(body: bytes) -> int:
    """Return the window that a server names when it refuses a request as too long, 0 if it names none."""
    found = _IN_REFUSAL.search(body.decode("utf-8", "replace"))
    digits = next((group for group in found.groups() if group), "0") if found else "0"
    return int(digits) if len(digits) <= len(str(LARGEST_WINDOW)) else 0
