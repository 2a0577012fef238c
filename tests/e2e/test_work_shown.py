"""What happens, in a real terminal: the start, thinking as it streams, output while a command runs, to-do, tasks."""

from __future__ import annotations

from launching import World, bash
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Call, Hold, Say, Think

CTRL_T = b"\x14"
TODO = [
    {"text": "step 1", "state": "done"},
    {"text": "step 2", "state": "doing"},
    {"text": "step 3", "state": "open"},
]
PRINTS = "for i in $(seq 1 40); do echo line $i; done; while [ ! -e go ]; do sleep 0.05; done; echo over"


def test_what_happens_is_seen(one_world: World) -> None:
    thoughts = "".join(f"idea {number}\n" for number in range(1, 12))
    one_world.script(
        [Hold("first"), Think(thoughts), Hold("thought"), Call("todo", {"items": TODO})],
        [Call("bash", {"command": "sleep 600", "background": True})],
        [bash(PRINTS)],
        [Say("All seen.")],
    )
    with screen(one_world, "-m", one_world.model, "--yolo", columns=90, lines=40) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("/thinking on")
        terminal.wait_text("shown as it streams")
        terminal.line("begin")
        terminal.wait_text("waiting for|starting")
        one_world.provider.release("first")
        terminal.wait_text(r"✻ thinking, \d+ s\n +idea 6\n(.*\n)+? +idea 11")
        assert "idea 5" not in terminal.text()
        one_world.provider.release("thought")
        terminal.wait_text(r"▸ 1/3 step 2 +ctrl\+t: all")
        terminal.wait_absent("idea 11")
        terminal.wait_text(r"● \w+ +sleep 600")
        terminal.wait_text(r"… 32 lines above(.*\n)+?.*line 33\n(.*\n)+?.*line 40")  # while it runs
        assert "over" not in terminal.text().split("line 40")[1]
        terminal.send(CTRL_T)
        terminal.wait_text(r"To do 1/3 +ctrl\+t: less\n.*✓ step 1\n.*▸ step 2\n.*○ step 3")
        terminal.send(CTRL_T)
        terminal.wait_text(r"▸ 1/3 step 2 +ctrl\+t: all")
        terminal.resize(60, 14)
        terminal.wait_text(r"▸ 1/3 step 2")
        terminal.resize(90, 40)
        (one_world.folder / "go").touch()
        terminal.wait_text(r"All seen\.")
        terminal.send(Key.ESC)
        terminal.line("/rewind")
        terminal.wait_text("Rewind to before")
        terminal.send(Key.ENTER)
        terminal.wait_absent(r"ctrl\+t: all")  # the list was written on what is left behind now
        terminal.wait_text(r"● \w+ +sleep 600")  # the task still runs
