"""Many threads decode a type for the first time at once: msgspec alone ends the process, and through the door it lives.

In processes of their own, for the crash is real. Threads change often, and each round has types that nothing has seen.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import msgspec
import pytest

from holdfast.typed_data import convert_value, decode_fault, decode_json, decode_toml, exact_value, json_decoder
from polling import HANGS

RACE = """
import sys, threading, types
import msgspec
from holdfast import typed_data
from holdfast.tools.schema import parse_arguments

sys.setswitchinterval(1e-6)
WAY, ROUNDS = sys.argv[1], int(sys.argv[2])
SOURCE = "import msgspec\\n" + "".join(f"class I{i}(msgspec.Struct):\\n    a: int = 0\\n" for i in range(30))
SOURCE += "class S(msgspec.Struct):\\n" + "".join(f"    f{i}: 'I{i} | None' = None\\n" for i in range(30))
OBJECT = {f"f{i}": {"a": 1} for i in range(30)}
JSON = msgspec.json.encode(OBJECT)
TOML = "\\n".join(f"f{i} = {{ a = 1 }}" for i in range(30))
WAYS = {
    "msgspec.json.decode": lambda kind: msgspec.json.decode(JSON, type=kind),
    "msgspec.json.Decoder": lambda kind: msgspec.json.Decoder(kind).decode(JSON),
    "msgspec.convert": lambda kind: msgspec.convert(OBJECT, kind),
    "decode_json": lambda kind: typed_data.decode_json(JSON, kind),
    "decode_json, within": lambda kind: typed_data.decode_json(b"[" + JSON + b"]", list[kind])[0],
    "decode_toml": lambda kind: typed_data.decode_toml(TOML, kind),
    "convert_value": lambda kind: typed_data.convert_value(OBJECT, kind),
    "json_decoder": lambda kind: typed_data.json_decoder(kind).decode(JSON),
    "parse_arguments": lambda kind: parse_arguments(JSON.decode(), kind, tool="t"),
}
DOORS = [name for name in WAYS if not name.startswith("msgspec.")]

def race(number):
    module = sys.modules[f"m{number}"] = types.ModuleType(f"m{number}")
    exec(SOURCE, module.__dict__)
    ways = [WAYS[each] for each in (DOORS if WAY == "all doors" else [WAY] * 6)]
    gate = threading.Barrier(len(ways))
    def parse(way):
        gate.wait()
        assert way(module.S).f29.a == 1
        done.append(number)
    threads = [threading.Thread(target=parse, args=[way]) for way in ways]
    for each in threads: each.start()
    for each in threads: each.join()

done = []
for number in range(ROUNDS): race(number)
assert len(done) == 6 * ROUNDS, len(done)
"""


def raced(way: str, *, rounds: int) -> tuple[int, str]:
    """Return how a process ended in which six threads decode new types this way, and what it complained of."""
    command = (sys.executable, "-c", RACE, way, str(rounds))
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("way", ["msgspec.json.decode", "msgspec.convert"])
def test_msgspec_alone_ends_the_process(way: str) -> None:
    """Where it no longer does, `holdfast.typed_data` can go, and its contract."""
    if not msgspec.__version__.startswith("0.22."):
        pytest.skip(f"msgspec {msgspec.__version__} is not the one that was found to crash (0.22)")
    code, complaint = raced(way, rounds=2_000)
    assert code == -signal.SIGSEGV, complaint


def test_every_door_is_safe_on_many_threads_at_once() -> None:
    assert raced("all doors", rounds=60) == (0, "")


class Inner(msgspec.Struct):
    a: int


class Outer(msgspec.Struct):
    inner: Inner | None = None


VALUE = Outer(Inner(1))


def test_the_doors_decode_as_msgspec_does() -> None:
    assert decode_json('{"inner": {"a": 1}}', Outer) == VALUE
    assert decode_toml("inner = { a = 1 }", Outer) == VALUE
    assert convert_value({"inner": {"a": 1}}, Outer) == VALUE
    assert json_decoder(Outer).decode(b'{"inner": {"a": 1}}') == VALUE
    assert decode_json("[1]", tuple[int, ...]) == (1,)
    assert convert_value({1: 2}, dict[int, int]) == {1: 2}


@pytest.mark.parametrize("raw", ["{", '{"inner": 1}', '{"inner": {}}'])
def test_what_does_not_fit_is_refused(raw: str) -> None:
    for _ in range(2):  # also when the type is known
        with pytest.raises(msgspec.DecodeError):
            decode_json(raw, Outer)


def test_a_number_with_very_many_digits_is_named_without_advice_for_programmers() -> None:
    with pytest.raises(msgspec.DecodeError, match=r"^Exceeds the limit \(4300 digits\).*has 5000 digits$"):
        decode_toml("a = " + "9" * 5000, dict[str, int])
    assert decode_fault(ValueError("it is none")) == "it is none"


class Held(msgspec.Struct):
    inner: tuple[Inner, ...] = ()
    data: bytes = b""
    text: str = ""


class OwnText(str):
    """A subclass of `str`, as authors have them."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Held(inner=5), r"Expected `array`, got `int` - at `\$.inner`"),  # pyright: ignore[reportArgumentType] - what a program may pass
        (Held(inner=({"a": 1},)), r"Expected `Inner`, got `dict` - at `\$.inner\[0\]`"),  # pyright: ignore[reportArgumentType] - likewise
        (Held(data="AAAA"), r"Expected `bytes`, got `str` - at `\$.data`"),  # pyright: ignore[reportArgumentType] - likewise
        (Held(text=object()), "is unsupported|holds object"),  # pyright: ignore[reportArgumentType] - likewise
        ({"text": "x"}, "Expected `Held`, got `dict`"),
    ],
)
def test_a_struct_with_a_field_of_another_type_is_refused(value: object, why: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=why):
        exact_value(value, Held)


def test_a_struct_of_its_types_is_the_same_and_a_list_may_stand_for_a_tuple() -> None:
    value = Held(inner=(Inner(1),), data=b"\xff", text="x")
    assert exact_value(value, Held) == value
    listed = Held(inner=[Inner(1)], data=b"\xff", text=OwnText("x"))  # pyright: ignore[reportArgumentType] - what a program may pass
    exact = exact_value(listed, Held)
    assert (exact, type(exact.text), type(exact.inner)) == (value, str, tuple)


def test_a_value_within_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(msgspec.ValidationError, match="nested too deeply"):
        exact_value(endless, list[object])
