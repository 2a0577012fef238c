"""What each surface shows of the sandbox: the level of a question, its choices, and the wall around a call."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from editor_client import Editor
from launching import World, bash
from page_server import Served
from terminal import Key
from test_ag_ui import run
from test_live_page import enter, shown, sign_in
from test_plain import PlainTerminal
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked, CallEnded, CallStarted
from holdfast.testing.script import Call, Say
from process_leaks import linux_only
from skips import needs
from tiers import sampled

pytestmark = [linux_only, needs("bubblewrap")]

HOST = "api.example.org"
REACHING = Call("bash", {"command": "touch reached", "network": [HOST]})
LEAVING = Call("bash", {"command": "touch left", "outside": "It needs the display."})
SIZES = [(80, 24), (60, 18), (120, 40)]


def confined(world: World) -> list[str]:
    return [entry.confined for entry in world.entries() if isinstance(entry, CallStarted)]


def levels(world: World) -> list[str]:
    return [entry.level for entry in world.entries() if isinstance(entry, ApprovalAnswered)]


def outcomes(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]


@pytest.mark.parametrize(("columns", "lines"), sampled(SIZES, 1))
def test_the_screen_shows_the_levels(one_world: World, columns: int, lines: int) -> None:
    """The level and the hosts are in the choices; the card of a call has its wall."""
    world = one_world
    world.script([bash("ls")], [bash("touch made")], [REACHING], [LEAVING], [Say("Done.")])
    with screen(world, "-m", world.model, columns=columns, lines=lines) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("1  Allow once, in the sandbox: no network")
        assert "confined: read" in terminal.text()
        terminal.send("y")
        terminal.wait_text(f"1  Allow once, reaching {HOST}")
        if lines > min(least for _, least in SIZES):  # else the list scrolls
            terminal.wait_text("Allow once, outside the sandbox")
        terminal.send("y")
        terminal.wait_text("Run this command outside the sandbox")
        terminal.wait_text("1  Allow once, but in the sandbox")
        terminal.wait_text("2  Allow once, outside the sandbox")
        assert "Always allow" not in terminal.text(), "leaving is asked about each time"
        terminal.send("2")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        assert "confined: network" in terminal.text()
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert confined(world) == ["read", "workspace", "network", ""]
    assert levels(world) == ["workspace", "network", "outside"]


def test_the_screen_says_which_sandbox_works_and_that_yolo_has_none(one_world: World) -> None:
    world = one_world
    world.script([Say("Hello.")])
    with screen(world, "-m", world.model, "--permission-mode", "yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.wait_text("yolo  · not confined")
        terminal.line("/status")
        terminal.wait_text("auto: bubblewrap, levels read, workspace, network; mode yolo: not")
        terminal.wait_text("Esc to close")  # a panel is drawn in several frames
        terminal.send(Key.ESC)
        terminal.wait_absent("Esc to close")
        terminal.line("/permissions")
        terminal.wait_text("show the sandbox")
        terminal.send(Key.ESC)
        terminal.wait_absent("show the sandbox")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_yolo_with_require_is_confined_and_does_not_say_otherwise(one_world: World) -> None:
    world = one_world
    world.script([bash("touch made")], [Say("Done.")])
    with screen(world, "-m", world.model, "--yolo", "--sandbox", "require") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        assert "not confined" not in terminal.text()
        assert "confined: workspace" in terminal.text()
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert confined(world) == ["workspace"]


def test_plain_mode_shows_the_levels(one_world: World) -> None:
    world = one_world
    world.script([bash("ls")], [REACHING], [LEAVING], [Say("All done.")])
    with PlainTerminal(world, "-m", world.model, "--plain") as terminal:
        terminal.wait_text("Plain mode")
        terminal.type("go")
        terminal.wait_text(r"bash ls \(confined: read\)")
        terminal.wait_text(rf"1\. Allow once, reaching `{HOST}`")
        terminal.type("yes")
        terminal.wait_text("Question: Run this command outside the sandbox")
        terminal.wait_text("Why: it needs the display")
        terminal.type("yes")
        terminal.wait_text("Type a number from 1 to 3:")
        terminal.type("inside")
        terminal.wait_text("All done")
        terminal.type("/status")
        terminal.wait_text("Sandbox auto: bubblewrap, levels read, workspace, network")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert confined(world) == ["read", "network", "workspace"]


def test_a_script_reads_the_level_of_each_call(one_world: World) -> None:
    """A level that no user can grant is a denial that names it, and the option that it names allows the call."""
    world = one_world
    world.one_past = False
    steps = ([bash("ls")], [REACHING], [Say("Done.")])
    world.script(*steps, *steps, [LEAVING], [Say("Done.")])
    asks = ("-m", world.model, "-p", "go", "--on-approval", "deny", "--output-format", "stream-json")
    ran = world.run(*asks)
    assert [each.get("confined") for each in ran.of("tool_start")] == ["read"]
    (asked,) = ran.of("approval")
    assert (asked["level"], asked["hosts"]) == ("network", [HOST])
    denied = ran.of("tool_result")[1]["content"]
    assert f"approval for level network to {HOST}" in denied
    option = f"--allow 'Bash(touch *)' --allow 'WebFetch(domain:{HOST})'"
    assert option in str(ran.of("result"))
    again = world.run(*asks, *shlex.split(option))
    assert [each.get("confined") for each in again.of("tool_start")] == ["read", "network"]
    left = world.run(*asks)
    assert "to run outside the sandbox" in left.of("tool_result")[0]["content"]


def test_an_editor_gets_an_option_for_each_level(one_world: World) -> None:
    world = one_world
    world.script((REACHING,), (LEAVING,), (LEAVING,), (Say("Done."),))
    editor = Editor(world)
    session = editor.opened()
    request = editor.prompt(session, "go")
    first = editor.permission(1)
    options: list[list[tuple[str, str]]] = []
    options.append([(each["optionId"], each["kind"]) for each in first["params"]["options"]])
    editor.choose(first, "outside")
    second = editor.permission(2)
    options.append([(each["optionId"], each["kind"]) for each in second["params"]["options"]])
    assert "It needs the display." in str(second["params"]["toolCall"]["content"])
    editor.choose(second, "inside")
    editor.choose(editor.permission(3), "no")
    assert editor.answer(request)["result"]["stopReason"] == "end_turn"
    editor.leave()
    always = [("session", "allow_always"), ("project", "allow_always")]
    once, outside, no = ("once", "allow_once"), ("outside", "allow_once"), ("no", "reject_once")
    assert options == [[once, *always, outside, no], [("inside", "allow_once"), outside, no]]
    assert confined(world) == ["", "workspace"]
    assert outcomes(world) == ["ok", "ok", "denied"]


def test_ag_ui_and_the_inbox_carry_the_level(one_world: World) -> None:
    world = one_world
    world.script((REACHING,), (LEAVING,), (Say("Done."),))
    served = Served(world)
    user = {"id": "1", "role": "user", "content": "go"}
    first = run(served, threadId="thread-1", runId="r1", messages=[user])
    (interrupt,) = first[-1]["outcome"]["interrupts"]
    metadata = interrupt["metadata"]
    assert (metadata["level"], metadata["hosts"]) == ("network", [HOST])
    assert next((each["name"], each.get("level")) for each in metadata["question"]["choices"]) == ("once", "network")
    refused = run(served, threadId="thread-1", runId="r2", resume=[answer(interrupt, "inside")])
    assert "'inside' is not offered" in refused[-1]["message"]
    second = run(served, threadId="thread-1", runId="r3", resume=[answer(interrupt, "once")])
    (interrupt,) = second[-1]["outcome"]["interrupts"]
    assert interrupt["metadata"]["level"] == "outside"
    run(served, threadId="thread-1", runId="r4", resume=[answer(interrupt, "inside")])
    served.stop()
    assert confined(world) == ["network", "workspace"]
    assert levels(world) == ["network", "workspace"]


def answer(interrupt: dict[str, Any], choice: str) -> dict[str, Any]:
    payload = {"choice": choice}
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def test_the_first_question_says_that_nothing_confines(one_world: World) -> None:
    """With no bubblewrap on PATH only Landlock is left, or nothing: the first question says so, the second does not."""
    world = one_world
    programs = world.folder.parent / "programs"
    programs.mkdir()
    for name, target in {
        "python3": sys.executable,
        "touch": "/usr/bin/touch",
        "sh": "/bin/sh",
        "bash": "/bin/bash",
    }.items():
        (programs / name).symlink_to(target)
    world.script([bash("ls")], [bash("touch a")], [bash("touch b")], [Say("Done.")])
    with screen(world, "-m", world.model, cold=True, PATH=str(programs)) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("Run this command")
        terminal.wait_text("confined")
        terminal.send("y")
        terminal.wait_text("touch b")
        terminal.wait_text("1  Allow once")
        terminal.send("y")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    first, second = [entry for entry in world.entries() if isinstance(entry, ApprovalAsked)]
    assert "bubblewrap is not installed" in first.notice
    assert second.notice == ""


@needs("browser")
def test_the_page_offers_the_levels(one_world: World, tmp_path: Path) -> None:
    """Its answer grants the level of the button that was pressed."""
    world = one_world
    world.script((REACHING,), (LEAVING,), (Say("All done."),))
    served = Served(world)
    with Browser(tmp_path / "profile") as browser:
        browser.do("Emulation.setFocusEmulationEnabled", enabled=True)
        sign_in(browser, served)
        enter(browser, "go")
        browser.until(shown("ask"))
        buttons = "[...document.querySelectorAll('#ask-choices button')].map(each => each.textContent).join('; ')"
        assert f"1 Allow once, reaching `{HOST}`" in str(browser.value(buttons))
        browser.value("document.querySelector('#ask-choices button').click()")
        browser.until("/but in the sandbox/.test(document.getElementById('ask-choices').textContent)")
        browser.value("document.querySelector('#ask-choices button').click()")
        browser.until("/All done/.test(document.getElementById('log').textContent)")
    served.stop()
    assert confined(world) == ["network", "workspace"]
