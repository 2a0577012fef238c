"""Commands that do not want to end. Each says `ready` when it has done its worst, and would then run for minutes."""

from __future__ import annotations

import shlex
import sys

# Its first thread ends, so that it looks like a zombie; its second goes on.
_HEADLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(0)
"""

NASTY = {
    "waits": "echo ready; sleep 300; echo after",
    "works in the background": "sleep 300 & echo ready; wait",
    "has a child in another session": "setsid sleep 300 & echo ready; wait",
    "has a daemon": "(setsid sleep 300 >/dev/null 2>&1 </dev/null &); echo ready; sleep 300",
    "has a daemon without a mark": '(env -i setsid tail -f /dev/null "/no/$HOLDFAST_CALL" &); echo ready; sleep 300',
    "is deaf to SIGTERM": "trap '' TERM; echo ready; while :; do sleep 1; done",
    "comes back on SIGTERM": "f() { (trap f TERM; echo ready; while :; do sleep 0.05; done) & }; f; wait; sleep 300",
    "lets go of its children": "nohup sleep 300 >/dev/null 2>&1 & disown; echo ready; sleep 300",
    "writes for ever": "echo ready; yes",
    "stops itself": "echo ready; kill -STOP $$; sleep 300",
    "closes its output": "echo ready; exec >/dev/null 2>&1; sleep 300",
    "starts more and more": "echo ready; while :; do sleep 300 & sleep 0.01; done",
    "lost its first thread": f"{sys.executable} -I -S -c {shlex.quote(_HEADLESS)} & sleep 300",
    "runs in a pipe": "(echo ready; sleep 300) | cat",
}
