"""`/context` and `/cost` in a real terminal: what fills the window, and what each model and turn has cost."""

from __future__ import annotations

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Call, Say


def test_where_the_tokens_go(one_world: World) -> None:
    (one_world.folder / "big.txt").write_text("line\n" * 1500)
    one_world.script([Call("read", {"path": "big.txt"})], [Say("I read it.")], [Say("Again.")])
    with screen(one_world, "-m", one_world.model, columns=120, lines=40) as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("/context")
        terminal.wait_text("Nothing yet: the next request")
        terminal.send(Key.ESC)
        terminal.wait_absent("Nothing yet")
        terminal.line("read the file")
        terminal.wait_text("I read it")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/context")
        terminal.wait_text(r"tokens of [\d.]+[kM] \(<?\d+ %\)")
        terminal.wait_text(r"results of read +━+─* +[\d.]+k +\d+ %")
        terminal.wait_text(r"system prompt +━+─* +\d+")
        terminal.wait_text(r'Largest results\s+[\d.]+k  read \{"path": ?"big\.txt"\}')
        terminal.send(Key.ESC)
        terminal.wait_absent("Largest results")
        terminal.line("/status")
        terminal.wait_text(r"usage +[\d.]+k? in, [\d.]+k? out · context [\d.]+k")
        terminal.wait_text(r"MCP servers +none")
        terminal.wait_text(r"journal\s+\S+/sessions/")
        terminal.wait_text(r"debug log +off \(begin with --debug\)")
        terminal.wait_text("Esc to close")
        terminal.send(Key.ESC)
        terminal.wait_absent("debug log")
        terminal.line("once more")
        terminal.wait_text(r"Again\.")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/cost")
        terminal.wait_text(r"in all +3 ")
        terminal.wait_text(rf"By model\s+requests.*\n.*{one_world.model} +3 ")
        terminal.wait_text(r"1 +2 .*read the file")
        terminal.wait_text(r"2 +1 .*once more")
