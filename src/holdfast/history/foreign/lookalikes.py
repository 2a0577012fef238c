"""Recognize conversations in unsupported formats, so that they are not mistaken for a supported one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from holdfast.errors import DamageError
from holdfast.history.formats.format import Json, as_array, as_object, is_array, is_object


class Lookalike(msgspec.Struct, frozen=True):
    """An unsupported format: its name, advice, and tests that recognize its messages.

    `mark` recognizes a message that only this format can have, `hint` a message that other programs may have too, and
    `fits` any message that is possible in this format.
    """

    name: str
    to_do: str
    mark: Callable[[Json], bool]
    hint: Callable[[Json], bool]
    fits: Callable[[Json], bool]


def lookalike(document: object, *, marked: bool) -> Lookalike | None:
    """Return the unsupported format that the document looks like, None if none.

    With `marked`, a `mark` is required: a hint may belong to another program.
    """
    messages = list(_messages(document))
    if not messages or len(messages) != len(_listed(document)):
        return None
    for each in LOOKALIKES:
        recognizes = each.mark if marked else each.hint
        if all(each.fits(raw) for raw in messages) and any(recognizes(raw) for raw in messages):
            return each
    return None


def refuse_lookalike(document: object, *, marked: bool = True) -> None:
    """Raise `DamageError` if the document is a conversation in an unsupported format; `marked` as in `lookalike`."""
    if (found := lookalike(document, marked=marked)) is not None:
        raise DamageError(f"The document is in an unsupported format: it looks like {found.name}. {found.to_do}")


def _listed(document: object) -> Sequence[object]:
    return as_array(document) or as_array(as_object(document).get("messages"))


def _messages(document: object) -> Iterator[Json]:
    yield from (each for each in _listed(document) if is_object(each))


def _blocks(raw: Json, key: str) -> list[Json]:
    return [each for each in as_array(raw.get(key)) if is_object(each)]


_CONVERSE_MARKS = frozenset({"toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent"})
_CONVERSE = _CONVERSE_MARKS | {"text", "image", "document", "video", "citationsContent", "searchResult"}


def _is_converse(raw: Json) -> bool:
    blocks = _blocks(raw, "content")
    return "role" in raw and bool(blocks) and all(len(each) == 1 and each.keys() <= _CONVERSE for each in blocks)


def _has_converse(raw: Json) -> bool:
    return any(each.keys() & _CONVERSE_MARKS for each in _blocks(raw, "content"))


def _is_ai_sdk(raw: Json) -> bool:
    return "role" in raw and ("parts" not in raw or _has_typed_parts(raw))


def _has_typed_parts(raw: Json) -> bool:
    """Return whether every part has a type field, which Gemini's parts never have."""
    parts = _blocks(raw, "parts")
    return _has_ai_sdk(raw) or (bool(parts) and all(isinstance(each.get("type"), str) for each in parts))


def _has_ai_sdk(raw: Json) -> bool:
    """Return whether a part has a type field and a field that only this SDK uses."""
    blocks = [*_blocks(raw, "parts"), *_blocks(raw, "content")]
    return any("type" in each and each.keys() & {"toolCallId", "toolInvocation"} for each in blocks)


def _is_opencode(raw: Json) -> bool:
    return is_object(raw.get("info")) and is_array(raw.get("parts"))


def _is_transcript(raw: Json) -> bool:
    message = as_object(raw.get("message"))
    return isinstance(raw.get("type"), str) and ("role" in message or "uuid" in raw or "sessionId" in raw)


def _has_transcript(raw: Json) -> bool:
    return raw.get("type") in ("user", "assistant") and "role" in as_object(raw.get("message"))


def _is_langchain(raw: Json) -> bool:
    return (
        ("lc" in raw and is_object(raw.get("kwargs")))
        or (isinstance(raw.get("type"), str) and is_object(raw.get("data")) and "content" in as_object(raw["data"]))
        or (isinstance(raw.get("type"), str) and {"content", "additional_kwargs"} <= raw.keys())
    )


def _is_adk(raw: Json) -> bool:
    return isinstance(raw.get("author"), str) and bool(raw.keys() & {"invocation_id", "invocationId"})


LOOKALIKES = (
    Lookalike(
        "Bedrock's Converse",
        "Convert it to Anthropic Messages, and check that with --profile bedrock.",
        _has_converse,
        _is_converse,
        _is_converse,
    ),
    Lookalike(
        "opencode",
        "Use the body of a request that it sends.",
        _is_opencode,
        _is_opencode,
        _is_opencode,
    ),
    Lookalike(
        "Vercel's AI SDK",
        "Use the body of the request that the SDK sends to the provider.",
        _has_ai_sdk,
        _has_typed_parts,
        _is_ai_sdk,
    ),
    Lookalike(
        "Claude Code",
        "Extract `message` from each record of type user or assistant, and pass --format anthropic.",
        _has_transcript,
        _has_transcript,
        _is_transcript,
    ),
    Lookalike(
        "LangChain",
        "Use it to convert the messages to OpenAI's format.",
        _is_langchain,
        _is_langchain,
        _is_langchain,
    ),
    Lookalike(
        "Google's ADK",
        "Extract `content` from each event, and pass --format gemini.",
        _is_adk,
        _is_adk,
        _is_adk,
    ),
)
"""In the order in which they are tried."""
