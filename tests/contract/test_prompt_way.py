"""The way of a prompt from Enter to the socket does not grow; decision 0085 says how it is measured."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from prompt_way import Call, Traced, Way, traced
from trace_program import DEPTH, MARKER, SOURCE, Trace, holds_marker, object_holds_marker

MOST_OUT = (103, 46)
"""The most functions and files on the way to the provider; lower them when it gets shorter."""

MOST_DRAWN = (51, 18)
"""The most functions and files that draw the prompt."""


def is_short(found: Traced) -> bool:
    """Return whether both ways were found, and neither is longer than it may be."""
    out, drawn = ((way.functions, way.files) for way in (found.out, found.drawn))
    short = all(most >= number for most, number in zip((*MOST_OUT, *MOST_DRAWN), (*out, *drawn), strict=True))
    return found.sent and found.out.functions > 20 and found.drawn.functions > 10 and short


def test_the_way_of_a_prompt_does_not_grow(tmp_path: Path) -> None:
    """Run `PYTHONPATH=tests:bench python tests/contract/prompt_way.py` for the list of the functions.

    A frame that the screen draws just then adds to a way, and one that it draws before the agent has the prompt is
    counted on the way out: the shortest of five counts.
    """
    found = traced(tmp_path / "first")
    for attempt in ("second", "third", "fourth", "fifth"):
        if not is_short(found):
            found = traced(tmp_path / attempt)
    sizes = f"out {found.out.functions}, {found.out.files}; drawn {found.drawn.functions}, {found.drawn.files}"
    assert is_short(found), f"{sizes}; the bytes of the prompt were {'' if found.sent else 'not '}seen on their way out"


@pytest.mark.parametrize(
    "value",
    [
        f"say {MARKER}",
        f"say {MARKER}".encode(),
        [{"content": (MARKER,)}],
        deque([MARKER]),
        Call(MARKER, "f"),
    ],
)
def test_a_value_with_the_marker_is_found(value: object) -> None:
    assert holds_marker(value, DEPTH)


@pytest.mark.parametrize("value", ["say hello", b"", None, 5, Call, [["hello"]]])
def test_a_value_without_the_marker_is_not(value: object) -> None:
    assert not holds_marker(value, DEPTH)


HOUSE = """
class Box:
    def __init__(self, content):
        self.content = content

    def pass_on(self):
        self.look("nothing")

    @staticmethod
    def look(text): ...
"""


def test_a_trace_lists_what_is_handed_the_prompt_until_it_is_sent() -> None:
    inside: dict[str, type] = {}
    outside: dict[str, Callable[[bytes], None]] = {}
    exec(compile(HOUSE, f"{SOURCE}box.py", "exec"), inside)
    exec(compile("def write(data): ...", "/elsewhere/http.py", "exec"), outside)
    trace = Trace()

    def work() -> None:
        sys.setprofile(trace)
        box = inside["Box"](f"say {MARKER}")
        box.pass_on()
        outside["write"](MARKER.encode())
        box.pass_on()
        sys.setprofile(None)

    for on in (False, True):
        trace.on = on
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert trace.sent is on
    assert trace.rows == [("box.py", "Box.__init__", "out"), ("box.py", "Box.pass_on", "out")]


def test_an_object_that_was_given_the_marker_is_found() -> None:
    assert object_holds_marker(SimpleNamespace(content=[MARKER]))
    assert not object_holds_marker(SimpleNamespace(content="hello"))


def test_a_longer_way_is_found() -> None:
    def way(functions: int, files: int) -> Way:
        return Way([Call(f"m{at % files}.py", f"f{at}") for at in range(functions)])

    assert is_short(Traced(sent=True, out=way(*MOST_OUT), drawn=way(*MOST_DRAWN)))
    assert not is_short(Traced(sent=True, out=way(MOST_OUT[0] + 1, MOST_OUT[1]), drawn=way(*MOST_DRAWN)))
    assert not is_short(Traced(sent=True, out=way(*MOST_OUT), drawn=way(MOST_DRAWN[0], MOST_DRAWN[1] + 1)))
