"""Reads one page of a provider's list of models. Pure; the list comes from outside and may be anything.

An entry without a usable name is left out and counted. Other fields are used if they are valid: a list with a wrong
price still has names.

Sources: `GET /models` as OpenAI documents it, with what OpenRouter, Groq, Mistral and vLLM add; Anthropic's `GET
/v1/models`; Gemini's `GET /v1beta/models`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec

from holdfast.config.model_servers import ProtocolKind
from holdfast.text import valid_unicode

LONGEST_NAME = 200
"""Characters of a name; a longer one is no name of a model."""

_LARGEST_WINDOW = 2**40
_WINDOWS = (
    *("loaded_context_length", "context_length", "context_window"),
    *("max_context_length", "max_model_len", "max_input_tokens"),
)
_MILLION = 1_000_000

_Json = Mapping[str, object]


class ListedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model as its provider lists it. Prices are US dollars per million tokens; a `window` of 0 is not listed."""

    id: str
    title: str = ""
    window: int = 0
    input_price: float | None = None
    output_price: float | None = None


class ModelPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page: its models, how many entries were `unusable`, and the token for the `next` page, "" on the last."""

    models: tuple[ListedModel, ...]
    unusable: int = 0
    next: str = ""


def page_of(kind: ProtocolKind, body: bytes) -> ModelPage:
    """Return the page in `body`. Raise `ValueError` if it is not a list of models."""
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("the answer is not JSON") from error
    page = _object(value)
    entries: object = page.get("models" if kind == "gemini" else "data") if page else value
    if not isinstance(entries, list):
        raise ValueError("the answer has no list of models")  # noqa: TRY004 - about what came, not about an argument
    found: dict[str, ListedModel] = {}
    unusable = 0
    for entry in _objects(entries):  # pyright: ignore[reportUnknownArgumentType] - JSON from outside
        if not _generates_text(entry):
            continue
        model = _model(entry, kind)
        if model is None:
            unusable += 1
        else:
            found.setdefault(model.id, model)
    return ModelPage(models=tuple(found.values()), unusable=unusable, next=_next(page, kind))


def _objects(entries: list[object]) -> Iterator[_Json]:
    return map(_object, entries)


def _object(value: object) -> _Json:
    """Return the JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON from outside


def _generates_text(entry: _Json) -> bool:
    """Return whether the model generates text; True if the entry does not say."""
    methods = entry.get("supportedGenerationMethods")  # Gemini
    if isinstance(methods, list):
        return "generateContent" in methods
    return _object(entry.get("capabilities")).get("completion_chat") is not False  # Mistral


def _model(entry: _Json, kind: ProtocolKind) -> ListedModel | None:
    name = _text(entry.get("name" if kind == "gemini" else "id"))
    name = name.removeprefix("models/") if kind == "gemini" else name
    if not name.strip() or not name.isprintable():
        return None
    title = _text(entry.get("displayName" if kind == "gemini" else "display_name")) or _text(entry.get("name"))
    windows = ("inputTokenLimit",) if kind == "gemini" else _WINDOWS
    pricing = _object(entry.get("pricing"))
    return ListedModel(
        id=name,
        title="" if title.removeprefix("models/") == name else title,
        window=_window(_object(entry.get("meta")).get("n_ctx"))  # llama.cpp
        or next((window for each in windows if (window := _window(entry.get(each)))), 0),
        input_price=_price(pricing.get("prompt")),
        output_price=_price(pricing.get("completion")),
    )


def _text(value: object) -> str:
    """Return the text, "" for anything else and for one that is too long."""
    return valid_unicode(value) if isinstance(value, str) and len(value) <= LONGEST_NAME else ""


def _window(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST_WINDOW else 0


def _price(value: object) -> float | None:
    """Return US dollars per million tokens: OpenRouter has the price of one token as a text, -1 if it varies."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME:
        return None
    try:
        price = float(value) * _MILLION
    except ValueError:
        return None
    return round(price, 6) if math.isfinite(price) and 0 <= price <= _MILLION else None


def _next(page: _Json, kind: ProtocolKind) -> str:
    """Return the token of the next page, "" on the last."""
    if kind == "gemini":
        return _text(page.get("nextPageToken"))
    return _text(page.get("last_id")) if kind in ("anthropic", "bedrock") and page.get("has_more") is True else ""
