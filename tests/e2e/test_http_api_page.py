"""The examples of docs/reference/http-api.md, run as they are written: each command prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from launching import World
from page_server import Served

from holdfast.testing.script import Hold, Say
from skips import needs

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "http-api.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Return each command of the page, and what it prints there."""
    found: list[tuple[str, str]] = []
    for match in _BLOCK.finditer(PAGE.read_text("utf-8")):
        block: str = match[1]
        for part in block.split("$ ")[1:] if block.startswith("$ ") else []:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def matches(printed: str, expected: str) -> bool:
    """Return whether the output begins with what the page shows; "…" stands for anything, numbers for any number."""
    pattern = re.escape(expected.strip()).replace(re.escape("…"), ".*?")
    pattern = re.sub(r"1795527575\\\.28", r"[0-9.]+", pattern)
    pattern = re.sub(r"k\-0f5b|k\\-0f5b", r"k-[0-9a-f]{4}", pattern)
    return re.match(pattern, printed.strip(), re.DOTALL) is not None


def test_what_the_examples_must_match_is_not_anything() -> None:
    assert matches('{"id":"k-12ab99"}\n', '{"id":"k-0f5b…"}\n')
    assert not matches('{"error":"No."}\n', '{"id":"k-0f5b…"}\n')
    assert not matches('{"id":2,"kind":"stop"}', '{"id":2,"kind":"steer",…}')


@needs("curl")
def test_the_examples_of_the_page_do_what_they_say(one_world: World) -> None:
    world = one_world
    world.script((Say("I look. "), Hold("never")))
    served = Served(world)
    environ = {**os.environ, "TOKEN": served.token, "ADDRESS": served.address, "no_proxy": "*"}
    listed = examples()
    assert [command.partition(" ")[0] for command, _ in listed] == ["curl"] * 3
    for command, expected in listed:
        words = command.replace("curl ", "curl -s ", 1)
        if " -N " in words:  # a stream does not end by itself: it is read for a while
            words = words.replace("curl ", "curl --max-time 3 ", 1)
        ran = subprocess.run(["sh", "-c", words], env=environ, capture_output=True, text=True, check=False)
        assert matches(ran.stdout, expected), (command, ran)
        if "ID" not in environ:
            environ["ID"] = re.findall(r'"id":"([^"]+)"', ran.stdout)[0]
    assert served.stop().code == 0
