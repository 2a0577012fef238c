"""The formats of other programs: which are recognized though they are not supported, and what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from holdfast.errors import DamageError
from holdfast.history.formats import FORMATS, find_format
from holdfast.history.formats.format import Format, Json, as_array, as_object, as_text, is_array, is_object


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
    """Return whether a part has a type field and a field that only this SDK uses, or whether it has an id and parts."""
    blocks = [*_blocks(raw, "parts"), *_blocks(raw, "content")]
    if any("type" in each and each.keys() & {"toolCallId", "toolInvocation"} for each in blocks):
        return True
    parts = _blocks(raw, "parts")
    alone = isinstance(raw.get("id"), str) and "content" not in raw
    return alone and bool(parts) and all(isinstance(each.get("type"), str) for each in parts)


def _is_opencode(raw: Json) -> bool:
    return is_object(raw.get("info")) and is_array(raw.get("parts"))


def _is_record(raw: Json) -> bool:
    return isinstance(raw.get("type"), str) and "role" not in raw


def _has_transcript(raw: Json) -> bool:
    return raw.get("type") in ("user", "assistant") and "role" in as_object(raw.get("message"))


def _has_pi(raw: Json) -> bool:
    return raw.get("type") == "message" and "role" in as_object(raw.get("message"))


def _is_codex(raw: Json) -> bool:
    kinds = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
    return raw.get("type") in kinds and is_object(raw.get("payload"))


def _has_gemini_cli(raw: Json) -> bool:
    return raw.get("type") == "gemini" and "role" not in raw


def _is_own_journal(raw: Json) -> bool:
    return isinstance(raw.get("kind"), str) and "parts" not in raw


def _has_own_journal(raw: Json) -> bool:
    return raw.get("kind") in ("session-opened", "prompt-accepted", "request-started", "response-ended")


def _is_langchain(raw: Json) -> bool:
    return (
        ("lc" in raw and is_object(raw.get("kwargs")))
        or (isinstance(raw.get("type"), str) and is_object(raw.get("data")) and "content" in as_object(raw["data"]))
        or (isinstance(raw.get("type"), str) and {"content", "additional_kwargs"} <= raw.keys())
        or (as_text(raw.get("type")) in _LANGCHAIN_KINDS and "content" in raw and "role" not in raw)
    )


_LANGCHAIN_KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat", "remove"})


def _has_langchain(raw: Json) -> bool:
    plain = raw.get("type") in ("human", "ai")
    return _is_langchain(raw) and (plain or bool(raw.keys() & {"lc", "data", "additional_kwargs"}))


def _is_adk(raw: Json) -> bool:
    return isinstance(raw.get("author"), str) and bool(raw.keys() & {"invocation_id", "invocationId"})


def _has_llama_index(raw: Json) -> bool:
    return any("block_type" in each for each in _blocks(raw, "blocks"))


def _is_llama_index(raw: Json) -> bool:
    return "role" in raw and ("blocks" in raw or "additional_kwargs" in raw)


def _is_autogen(raw: Json) -> bool:
    kind = raw.get("type")
    return isinstance(raw.get("source"), str) and isinstance(kind, str) and kind.endswith(("Message", "Event"))


def _is_assistants(raw: Json) -> bool:
    return raw.get("object") == "thread.message"


def _is_goose(raw: Json) -> bool:
    return "role" in raw and ("created" in raw or _has_goose(raw)) and is_array(raw.get("content"))


def _has_goose(raw: Json) -> bool:
    return any(each.get("type") in ("toolRequest", "toolResponse") for each in _blocks(raw, "content"))


def _is_share_gpt(raw: Json) -> bool:
    return isinstance(raw.get("from"), str) and isinstance(raw.get("value"), str)


def _is_semantic_kernel(raw: Json) -> bool:
    return "role" in raw and any("content_type" in each for each in _blocks(raw, "items"))


def _is_run_item(raw: Json) -> bool:
    return is_object(raw.get("raw_item")) and isinstance(raw.get("type"), str)


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
        _is_record,
    ),
    Lookalike(
        "Codex",
        "Extract `payload` from each response_item, and pass --format openai-responses.",
        _is_codex,
        _is_codex,
        _is_codex,
    ),
    Lookalike(
        "a session of pi",
        "Extract `message` from each record of type message.",
        _has_pi,
        _has_pi,
        _is_record,
    ),
    Lookalike(
        "Gemini CLI",
        "Use the body of a request that it sends.",
        _has_gemini_cli,
        _has_gemini_cli,
        _is_record,
    ),
    Lookalike(
        "holdfast's own journal",
        "Export the session with `holdfast sessions export ID`.",
        _has_own_journal,
        _has_own_journal,
        _is_own_journal,
    ),
    Lookalike(
        "LangChain",
        "Use it to convert the messages to OpenAI's format.",
        _has_langchain,
        _has_langchain,
        _is_langchain,
    ),
    Lookalike(
        "LlamaIndex",
        "Use the body of the request that it sends to the provider.",
        _has_llama_index,
        _has_llama_index,
        _is_llama_index,
    ),
    Lookalike(
        "AutoGen", "Use the body of the request that it sends to the provider.", _is_autogen, _is_autogen, _is_autogen
    ),
    Lookalike(
        "OpenAI's Assistants",
        "Convert the messages to OpenAI's Responses.",
        _is_assistants,
        _is_assistants,
        _is_assistants,
    ),
    Lookalike("goose", "Use the body of a request that it sends.", _has_goose, _has_goose, _is_goose),
    Lookalike("ShareGPT", "Convert the messages to OpenAI's format.", _is_share_gpt, _is_share_gpt, _is_share_gpt),
    Lookalike(
        "Semantic Kernel",
        "Use the body of the request that it sends.",
        _is_semantic_kernel,
        _is_semantic_kernel,
        _is_semantic_kernel,
    ),
    Lookalike(
        "OpenAI's Agents SDK", "Use to_input_list() of the run's result.", _is_run_item, _is_run_item, _is_run_item
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


# --- Recognize conversations in unsupported formats, so that they are not mistaken for a supported one ---


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
    body = as_object(document)
    return as_array(document) or next((found for key in _HOLDERS if (found := as_array(body.get(key)))), ())


_HOLDERS = ("messages", "events", "conversations", "history", "data")
"""The keys of a document that programs give to its messages."""


def _messages(document: object) -> Iterator[Json]:
    yield from (each for each in _listed(document) if is_object(each))


# --- other formats ---

_NO_MESSAGE = frozenset({"unknown-role", "malformed"})
_LEAST = 2


def refuse_other_format(messages: Sequence[object], form: Format) -> None:
    """Raise `DamageError` if none of the messages is one in this format, and each is one in another.

    A single message says too little: it may be a damaged one.
    """
    if len(messages) < _LEAST or any(_is_message(form, index, raw) for index, raw in enumerate(messages)):
        return
    for name in FORMATS:
        other = find_format(name)
        if all(_is_message(other, index, raw) for index, raw in enumerate(messages)):
            raise DamageError(
                f"The document is not a conversation in the format {form.name}: none of its messages is one, but each"
                f" is one in the format {name}. Pass that format."
            )


def _is_message(form: Format, index: int, raw: object) -> bool:
    return not form.message(index, raw).flags & _NO_MESSAGE
