"""The MCP servers of a client: used as they are, or refused with the reason, as those of a config file are."""

from __future__ import annotations

import pytest

from holdfast.ui.acp.client_servers import MOST_SERVERS, client_servers
from holdfast.ui.json_rpc.messages import RpcError


def stdio(name: str = "srv", **fields: object) -> dict[str, object]:
    return {"name": name, "command": "x", "args": [], "env": [], **fields}


def test_servers_are_read() -> None:
    http: dict[str, object] = {
        "type": "http",
        "name": "b",
        "url": "https://x",
        "headers": [{"name": "A", "value": "1"}],
    }
    one, two = client_servers([stdio("a", env=[{"name": "K", "value": "v"}]), http])
    assert (one.name, one.env, two.url, two.headers) == ("a", {"K": "v"}, "https://x", {"A": "1"})


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([stdio("")], "its name is not 1 to 40 printable characters"),
        ([stdio("x" * 41)], "its name is not 1 to 40 printable characters"),
        ([stdio("a\nb")], "its name is not 1 to 40 printable characters"),
        ([stdio("tracker__x")], "two underscores in a row"),
        ([stdio("_x")], "one at an end"),
        ([stdio("a b"), stdio("A.B")], "'a b' and 'A.B' cannot be used together"),
        ([stdio("a"), stdio("a")], "'a' and 'a' cannot be used together"),
        ([stdio(command="")], "neither a command nor a url"),
        ([stdio(command="a\0b")], "a NUL"),
        ([stdio(args=["x" * 100_001])], "more than 100000 characters"),
        ([stdio(env=[{"name": "A=B", "value": ""}])], "has a '='"),
        ([{"type": "http", "name": "a", "url": "ftp://x"}], "does not begin with http"),
        (
            [{"type": "http", "name": "a", "url": "http://x", "headers": [{"name": "A", "value": "1\r\nB: 2"}]}],
            "line break",
        ),
        ([stdio(f"s{number}") for number in range(MOST_SERVERS + 1)], f"at most {MOST_SERVERS}"),
        (["hello"], "cannot be used"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused(entries: list[object], why: str) -> None:
    with pytest.raises(RpcError, match=why):
        client_servers(entries)
