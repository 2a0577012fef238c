"""Another size in every state of every drawn screen: the state is still there, and keys do what they did."""

from __future__ import annotations

import signal

import pytest
from launching import World
from screen_states import DRAWN, SEEN, left, shown
from test_killed_screens import assert_goes_on

from process_leaks import linux_only
from tiers import sampled

pytestmark = linux_only

SIZES = ((60, 20), (40, 12), (120, 40))


@pytest.mark.parametrize(("kind", "state"), sampled(DRAWN, 4))
def test_the_state_is_there_in_another_size(one_world: World, kind: str, state: str) -> None:
    with shown(one_world, kind, state) as (terminal, emulated):
        for columns, lines in SIZES:
            terminal.resize(columns, lines)
            terminal.wait_text(SEEN[state])
            assert all(len(row) <= columns for row in emulated.display)
        left(terminal, state)
        terminal.kill(signal.SIGTERM)
        assert terminal.wait() == -signal.SIGTERM
        assert_goes_on(one_world)
