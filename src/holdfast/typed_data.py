"""JSON, TOML and parsed data as values of a type, on any thread: the one door to msgspec's typed decoding.

When msgspec meets a struct for the first time it prepares it: it evaluates the annotations, which is Python code, so
another thread may run in the middle. msgspec 0.22 stores a prepared type before it has finished. A second thread that
decodes the same struct then reads half of it, and the process ends by SIGSEGV. A prepared type never changes and is
only read. So types are prepared here, by one thread at a time, and `tests/contract/test_doors.py` lets no other module
name a type to msgspec.

Preparing imports nothing, decodes nothing and calls nothing of holdfast, so a thread that waits here waits for no other
lock. Whether a type is prepared is checked without the lock: for a known type that costs one set lookup.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast, overload

import msgspec

T = TypeVar("T")

_TOO_DEEP = "It is nested too deeply"

_PREPARING = threading.Lock()
_prepared: set[object] = set()


@overload
def decode_json(raw: bytes | str, kind: type[T]) -> T: ...
@overload
def decode_json(raw: bytes | str, kind: object) -> Any: ...  # noqa: ANN401 - `type` has no room for a union
def decode_json(raw: bytes | str, kind: Any) -> Any:
    """Return the value of the JSON text; raises `msgspec.DecodeError` or `UnicodeDecodeError`."""
    _prepare(kind)
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError as error:
        raise msgspec.DecodeError(_TOO_DEEP) from error


def decode_toml(raw: bytes | str, kind: type[T]) -> T:
    """Return the value of the TOML text; raises `msgspec.DecodeError` or `UnicodeDecodeError`."""
    _prepare(kind)
    try:
        return msgspec.toml.decode(raw, type=kind)
    except (UnicodeDecodeError, msgspec.MsgspecError):
        raise
    except RecursionError as error:
        raise msgspec.DecodeError(_TOO_DEEP) from error
    except ValueError as error:
        raise msgspec.DecodeError(decode_fault(error)) from error


def decode_fault(error: ValueError | RecursionError) -> str:
    """Return why text cannot be decoded. Of a number with too many digits, Python's advice is for programmers."""
    return str(error).partition("; use sys.")[0]


@overload
def convert_value(value: object, kind: type[T]) -> T: ...
@overload
def convert_value(value: object, kind: object) -> Any: ...  # noqa: ANN401 - the same
def convert_value(value: object, kind: Any) -> Any:
    """Return the value converted to that type; raises `msgspec.ValidationError`."""
    _prepare(kind)
    try:
        return msgspec.convert(value, kind)
    except RecursionError as error:
        raise msgspec.ValidationError(_TOO_DEEP) from error


@overload
def exact_value(value: object, kind: type[T]) -> T: ...
@overload
def exact_value(value: object, kind: object) -> Any: ...  # noqa: ANN401 - the same
def exact_value(value: object, kind: Any) -> Any:
    """Return the value if it, and all within it, has the types that `kind` declares; raises `msgspec.ValidationError`.

    For structs that code of others made, whose fields no type checker may have seen. A list may stand for a tuple; a
    dict never for a struct.
    """
    _prepare(kind)
    try:
        plain = msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_plain_text)
        exact = msgspec.convert(plain, kind)
    except TypeError as error:
        raise msgspec.ValidationError(str(error)) from error
    except RecursionError as error:
        raise msgspec.ValidationError(_TOO_DEEP) from error
    _expect_same_structs(value, exact, "$")
    return exact


def _plain_text(value: object) -> object:
    """Return the text of a subclass of `str`; raises `TypeError` for anything else that has no data type."""
    if isinstance(value, str):
        return str.__getitem__(value, slice(None))
    raise TypeError(f"It holds {type(value).__name__}, which is no data")


def _expect_same_structs(value: object, exact: object, place: str) -> None:
    """Raise `msgspec.ValidationError` unless every struct and all bytes were there before the conversion."""
    if isinstance(exact, (msgspec.Struct, bytes)):
        if type(value) is not type(exact):
            raise msgspec.ValidationError(
                f"Expected `{type(exact).__name__}`, got `{type(value).__name__}` - at `{place}`"
            )
        for name in exact.__struct_fields__ if isinstance(exact, msgspec.Struct) else ():
            within = cast("tuple[object, object]", (getattr(value, name), getattr(exact, name)))  # of the same struct
            _expect_same_structs(*within, f"{place}.{name}")
    elif isinstance(exact, (tuple, list)):
        elements = cast("tuple[object, ...]", tuple(cast("Any", value)))
        for number, (each, of) in enumerate(zip(elements, cast("tuple[object, ...]", exact), strict=True)):
            _expect_same_structs(each, of, f"{place}[{number}]")


@overload
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: object) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder for that type, for values that are decoded often."""
    _prepare(kind)
    return msgspec.json.Decoder(kind)


def _prepare(kind: object) -> None:
    """Have msgspec prepare every struct within the type, unless it has already."""
    if kind not in _prepared:
        with _PREPARING:
            msgspec.msgpack.Decoder(cast("Any", kind))  # of the decoders, the one that takes every type
        _prepared.add(kind)
