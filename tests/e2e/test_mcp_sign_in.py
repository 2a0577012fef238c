"""Signing in at an MCP server, through the real program and a real authorization server."""

from __future__ import annotations

import json
import re
import stat
import urllib.request
from pathlib import Path

from launching import Agent, World
from test_mcp import outcomes

from authorization_server import Authorization, authorization_server
from holdfast.testing.script import Call, Say
from polling import eventually


def configure(world: World, state: Authorization) -> None:
    (world.home / "mcp.json").write_text(
        json.dumps({"mcpServers": {"srv": {"type": "http", "url": f"{state.url}/mcp"}}})
    )


def stored(world: World) -> list[Path]:
    return list(world.home.rglob("holdfast-keys.json.mcp-*"))


def page_of(login: Agent) -> str:
    eventually(lambda: "/authorize?" in login.so_far.out)
    (page,) = re.findall(r"http://\S+/authorize\?\S+", login.so_far.out)
    return page


def visit(page: str) -> str:
    with urllib.request.urlopen(page) as answer:
        return answer.read().decode()


def signed_in(world: World) -> Path:
    """Sign in, and return the file of it."""
    login = world.start("mcp", "login", "srv")
    assert "signed in" in visit(page_of(login))
    done = login.wait()
    assert done.code == 0, done.err
    assert "Signed in to srv." in done.out
    (file,) = stored(world)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file


def test_nothing_is_stored_before_a_sign_in_is_finished(one_world: World) -> None:
    world = one_world
    with authorization_server() as state:
        configure(world, state)
        refused = world.run("mcp", "test", "srv")
        assert refused.code == 1
        assert "It needs sign-in: run `holdfast mcp login srv`." in refused.err
        assert "authorize" not in state.log
        assert "register" not in state.log

        killed = world.start("mcp", "login", "srv")  # in the middle: nothing is stored
        page_of(killed)
        killed.kill()
        assert stored(world) == []

        state.refuses = True
        denied = world.start("mcp", "login", "srv")
        assert "not signed in" in visit(page_of(denied))
        failed = denied.wait()
        assert failed.code == 1
        assert "access_denied" in failed.err
        assert stored(world) == []
        state.refuses = False

        file = signed_in(world)
        before = file.read_bytes()
        again = world.start("mcp", "login", "srv")
        page_of(again)
        again.kill()
        assert file.read_bytes() == before


def test_a_sign_in_is_used_renewed_and_deleted(one_world: World) -> None:
    world = one_world
    with authorization_server() as state:
        configure(world, state)
        signed_in(world)
        world.script([Call("mcp__srv__echo", {})], [Say("1")])
        ran = world.ask("go", "--yolo")
        assert ran.code == 0, ran.err
        assert not any("refresh_token" in each for each in state.log)

        state.revokes = True  # in the middle of a session, before its time: renewed without a user
        world.script([Call("mcp__srv__echo", {})], [Call("mcp__srv__echo", {})], [Say("2")])
        ran = world.run("-c", "-p", "again", "--yolo")
        assert ran.code == 0, ran.err
        assert outcomes(world) == [("ok", "echoed")] * 3
        assert state.log.count("token refresh_token") >= 1

        state.access, state.refresh = set(), set()  # nothing is left but to ask the user, whom a run does not ask
        authorized = state.log.count("authorize")
        world.script([Call("mcp__srv__echo", {})], [Say("3")])
        assert world.run("-c", "-p", "once more", "--yolo").code == 0
        outcome, text = outcomes(world)[-1]
        assert outcome == "failed"
        assert "needs sign-in: run `holdfast mcp login srv`" in text
        assert state.log.count("call") == 3
        assert state.log.count("authorize") == authorized

        assert "Signed out of srv." in world.run("mcp", "logout", "srv").out
        assert "access" not in "".join(each.read_text() for each in stored(world))
        assert "You were not signed in" in world.run("mcp", "logout", "srv").out
    world.verify()
