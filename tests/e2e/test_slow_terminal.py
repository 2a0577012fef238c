"""A terminal that is behind, or whose answers are lost, shows everything in the end; the user can type until then."""

from __future__ import annotations

import pytest
from launching import World
from test_terminal import screen

from holdfast.testing.script import Call, Say
from tiers import DEEP

PROMPT = "Ask holdfast to do something"


@pytest.mark.parametrize("flags", [[], ["--inline"]], ids=["full", "inline"])
def test_a_slow_terminal_shows_everything_in_the_end(one_world: World, flags: list[str]) -> None:
    one_world.script(
        [Call("bash", {"command": "touch one"})],
        [Say("".join(f"Line {n}.\n\n" for n in range(9))), Say("Both.")],
        [Say("Again.")],
    )
    with screen(one_world, "-m", one_world.model, "--yolo", *flags) as terminal:
        terminal.wait_text(PROMPT)
        terminal.answers_after = 0.4
        terminal.line("go")
        terminal.wait_text(r"✓ bash touch one(.|\n)*Line 8\.(.|\n)*Both\.")
        terminal.send("next")
        terminal.wait_text("▌ next")
        terminal.line("")
        terminal.wait_text(r"▌ next(.|\n)*Again\.")


@pytest.mark.deep
@pytest.mark.skipif(not DEEP, reason="it waits until the terminal's answer counts as lost")
@pytest.mark.parametrize("flags", [[], ["--inline"]], ids=["full", "inline"])
def test_a_terminal_that_stops_answering_is_drawn_to_again(one_world: World, flags: list[str]) -> None:
    one_world.script([Call("bash", {"command": "touch one"})], [Say("Both.")])
    with screen(one_world, "-m", one_world.model, "--yolo", *flags) as terminal:
        terminal.wait_text(PROMPT)
        terminal.answers_after = 0.4
        terminal.send("go")
        terminal.wait_text("▌ go")
        terminal.answers_after = None
        terminal.send("\r")
        terminal.wait_text(r"✓ bash touch one(.|\n)*Both\.")
