"""What a tool starts has no copy of the session's lock or of its journal: neither a command nor what keeps it."""

from __future__ import annotations

import pytest
from launching import World

from holdfast.testing.script import Call, Say

KEEPER = 'awk "/^PPid/ {print \\$2}" /proc/$PPID/status'
FORK = "import os; os.fork(); os.system('ls -l /proc/self/fd')"
LOOK = f'for p in self $PPID $({KEEPER}); do ls -l /proc/$p/fd; done; python3 -c "{FORK}"'


@pytest.mark.parametrize("background", [False, True])
def test_no_process_of_a_tool_holds_the_session(one_world: World, *, background: bool) -> None:
    world = one_world
    look = f"( {LOOK} ) > seen; touch done"
    call: dict[str, object] = {"command": f"{look}; sleep 600", "background": True} if background else {"command": look}
    wait: dict[str, object] = {"command": "until test -e done; do sleep 0.05; done"}
    world.script((Call("bash", call),), (Call("bash", wait),), (Say("Looked."),))
    assert world.ask("look").out == "Looked.\n"
    seen = "\n".join(world.lines("seen"))
    assert seen.count("/dev/null") > 1, seen
    assert f"{world.session}/lock" not in seen
    assert "session.db" not in seen
