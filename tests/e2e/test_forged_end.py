"""A command writes down its own end, then kills all that would know better: the next start does not believe it."""

from __future__ import annotations

import json

from launching import World, bash

from ends import ENDED
from holdfast.testing.script import Say
from process_leaks import linux_only

KILLS_ALL = """
echo working
until grep -qs process-started {spool}/../session.db*; do sleep 0.1; done
for end in {spool}/*.out; do printf '%s' '{record}' > "$end.end"; done
watchdog=$(cut -d' ' -f4 /proc/$PPID/stat)
agent=$(cut -d' ' -f4 /proc/$watchdog/stat)
kill -STOP $agent $watchdog $PPID
(kill -KILL $PPID $watchdog $agent) &  # not this shell, which ends with the supervisor; who is frozen ends nothing
sleep 300
"""


@linux_only
def test_a_forged_end_is_not_believed(one_world: World) -> None:
    world = one_world
    forged = KILLS_ALL.format(spool=f"{world.home}/sessions/*/spool", record=json.dumps(ENDED))
    world.script([bash(forged)], [Say("I see.")])
    assert world.ask("work", cold=True).code == -9
    (end,) = (world.session / "spool").glob("*.end")
    assert end.read_text() == json.dumps(ENDED)
    world.go_on()
    (read,) = world.results
    assert "working" in read
    assert "exit code" not in read
    assert "how it ended is unknown" in read
