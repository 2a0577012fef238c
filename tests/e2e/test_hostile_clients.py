"""A client of `mcp serve` or of `acp` that sends what cannot be read or used: each request has its answer, with its id.

No answer speaks of a bug, and the next request works.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from launching import World
from line_reader import LineReader

from launcher import PRODUCT

DIGITS = "9" * 4_301


def request(number: object, method: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"method":"{method}","params":{params}}}'.encode()


def tool(number: int, name: str, arguments: str) -> bytes:
    return request(number, "tools/call", f'{{"name":"{name}","arguments":{arguments}}}')


def both(*numbers: int) -> list[bytes]:
    """Return what is no message of either protocol."""
    one, two, three, four, five = numbers
    return [
        request(one, "x", f'{{"n":{DIGITS}}}'),
        request(two, "x", '{"n":1e400}'),
        request(three, "x", "[" * 50_000),
        request(four, r"\ud800", "{}"),
        request(five, "x", "{}").replace(b'"x"', b'"\xff"'),
        request("half", "x", "{}").replace(b'"half"', rb'"\ud800"'),
        request(0, "x", "{}").replace(b'"id":0', b'"id":' + DIGITS.encode()),
        b"\0",
        b"\xff\xfe",
    ]


def mcp(world: World) -> tuple[list[bytes], bytes]:
    folder = json.dumps(str(world.folder))
    info = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}'
    return [
        request(1, "initialize", info),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        *both(2, 3, 4, 5, 6),
        tool(7, r"\ud800", "{}"),
        tool(8, "start_session", r'{"prompt":"x","cwd":"a\u0000b"}'),
        tool(9, "start_session", rf'{{"prompt":"a\u0000b","cwd":{folder}}}'),
        tool(10, "start_session", r'{"prompt":"x","cwd":"\ud800"}'),
        tool(11, "read_session", '{"session":"../../x"}'),
        tool(12, "read_session", r'{"session":"a\u0000b"}'),
        tool(13, "stop_session", f'{{"session":{DIGITS}}}'),
        tool(14, "continue_session", f'{{"session":"{"x" * 5000}","prompt":"x"}}'),
    ], request(15, "tools/list", "{}")


def acp(world: World) -> tuple[list[bytes], bytes]:
    folder = json.dumps(str(world.folder))

    def new(number: int, cwd: str, *servers: str) -> bytes:
        entries = ",".join(f'{{"name":"{each}","command":"true","args":[],"env":[]}}' for each in servers)
        return request(number, "session/new", f'{{"cwd":{cwd},"mcpServers":[{entries}]}}')

    return [
        request(1, "initialize", '{"protocolVersion":1,"clientCapabilities":{}}'),
        *both(2, 3, 4, 5, 6),
        new(7, r'"/a\u0000b"'),
        new(8, r'"/\ud800"'),
        new(9, folder, r"a\u0000b"),
        new(10, folder, "tracker__x"),
        new(11, folder, "a", "a"),
        new(12, DIGITS),
        request(13, "session/load", f'{{"sessionId":"../../x","cwd":{folder},"mcpServers":[]}}'),
        request(14, "session/prompt", r'{"sessionId":"\ud800","prompt":[{"type":"text","text":"\ud83d"}]}'),
    ], new(15, folder)


@pytest.mark.parametrize(("words", "conversation"), [(("mcp", "serve"), mcp), (("acp",), acp)], ids=["mcp", "acp"])
def test_each_request_has_its_answer_and_the_next_one_works(
    one_world: World, words: tuple[str, ...], conversation: Any
) -> None:
    lines, last = conversation(one_world)
    with subprocess.Popen(
        [sys.executable, "-c", PRODUCT, *words, "-m", one_world.model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=one_world.environ(),
        cwd=one_world.folder,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        reader = LineReader(program.stdout.fileno(), lambda _: None)
        program.stdin.write(b"\n".join([*lines, b""]))
        program.stdin.flush()
        for number in (*range(1, 15), "\ufffd"):
            reader.until(lambda line, number=number: line.get("id") == number and ("error" in line or "result" in line))
        program.stdin.write(last + b"\n")
        program.stdin.flush()
        assert "result" in reader.until(lambda line: line.get("id") == 15)
        program.stdin.close()
        assert program.wait() == 0
        assert program.stderr.read() == b""
    answers = [line for line in reader.lines if "method" not in line]
    assert sum(line.get("id") is None for line in answers) == 3
    assert len({json.dumps(line.get("id")) for line in answers}) == len(answers) - 2
    for line in answers:
        assert not re.search(r"\bbug\b|sys\.|Traceback", json.dumps(line))
        if line.get("id") not in (1, 15):
            assert "error" in line or line["result"]["isError"], line
