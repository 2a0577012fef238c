"""The required fields of an inbox row's body, by kind."""

from __future__ import annotations

from holdfast.errors import UsageError
from holdfast.fleet.record import InboxBody, InboxKind

_BODIES: dict[InboxKind, dict[str, type | tuple[type, ...]]] = {
    "prompt": {"text": str},
    "steer": {"text": str},
    "later": {"text": str},
    "stop": {},
    "answer": {"question": str, "choice": str},
    "model": {"model": str},
    "mode": {"mode": str},
    "rename": {"title": str},
    "recall": {"id": (str, int)},
}


def check_body(kind: InboxKind, body: InboxBody) -> None:
    """Raise `UsageError` unless the body has the fields that its kind needs."""
    for name, expected in _BODIES[kind].items():
        if not isinstance(body.get(name), expected):
            raise UsageError(f"A {kind!r} needs {name!r} in its body. Add it.")
    text = body.get("text")
    if isinstance(text, str) and not text.strip():
        raise UsageError("The text is empty. Say what you want done.")
