"""Commands that do not want to end. Each says `ready` when it has done its worst.

Two rules. What outlives the command itself would run for minutes. Whatever a process of a command does to hide, the
folder that the command began in stays in its environment, its arguments, its folder or its open files.
"""

from __future__ import annotations

import os
import shlex
import sys


def _python(program: str) -> str:
    return f"{shlex.quote(os.path.realpath(sys.executable))} -I -S -c {shlex.quote(program)}"


# Its first thread ends, so that it looks like a zombie; its second goes on.
_HEADLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(0)
"""
_ASKING = """
import time
print("ready", flush=True)
try:
    input("name? ")
except EOFError:
    time.sleep(300)
"""
_DEAF = "trap '' TERM INT HUP; while :; do sleep 0.2; done"

_WATCHDOG = "$(cut -d' ' -f4 /proc/$PPID/stat)"

SABOTAGE = {
    "kills its watchdog": (f"echo ready; kill -KILL {_WATCHDOG}; sleep 300", "unguarded"),
    "ends its watchdog": (f"echo ready; kill -TERM {_WATCHDOG}; sleep 300", "signalled"),
    "ends its supervisor": ("echo ready; kill -TERM $PPID; sleep 300", "signalled"),
    "hangs up on its supervisor": ("echo ready; kill -HUP $PPID; sleep 300", "signalled"),
    "kills its supervisor": ("echo ready; kill -KILL $PPID; sleep 300", "lost"),
}
"""Commands that end what runs them, and what is said of their end: they run alone, for they take others along."""

FORGERS = {
    "of text": """printf '{"kind": "ended"}' > "$end" """,
    "of a record": """printf '%s' "$record" > "$end" """,
    "of a pipe": 'mkfifo "$end"',
    "of a folder": 'mkdir "$end"',
    "of a folder with something in it": 'mkdir -p "$end/a/b"; echo c > "$end/a/b/c"',
    "of a link": 'ln -s /dev/zero "$end"',
    "of a file without end": 'truncate -s 1T "$end"',
}
"""Commands that put something at `$end`, where the record of their own end belongs; `$record` is an unsealed one."""

NASTY = {
    "waits": "echo ready; sleep 300; echo after",
    "works in the background": "sleep 300 & echo ready; wait",
    "has a grandchild": "bash -c 'bash -c \"echo ready; sleep 300; :\"; :'; :",
    "has a child in another session": "setsid sleep 300 & echo ready; wait",
    "has a daemon": "(setsid sleep 300 >/dev/null 2>&1 </dev/null &); echo ready; sleep 300",
    "has a daemon without an environment": '(env -i setsid tail -f /dev/null "$PWD/no" &); echo ready; sleep 300',
    "has a daemon elsewhere": (
        "exec 9>held; (cd /; exec env -i setsid -f sleep 300 >/dev/null 2>&1 </dev/null); echo ready; sleep 300"
    ),
    "has a deaf daemon": f'(setsid bash -c "{_DEAF}" >/dev/null 2>&1 &); echo ready; sleep 300',
    "is deaf to SIGTERM": "trap '' TERM; echo ready; while :; do sleep 1; done",
    "comes back on SIGTERM": "f() { (trap f TERM; echo ready; while :; do sleep 0.05; done) & }; f; wait; sleep 300",
    "walks from process to process": (
        # No scan of processes is sure to see it, so it ends by itself: once there is a file `ended`, or in minutes.
        """export N=0 W='sleep 0.02; [ -e ended ] || [ $((N += 1)) -gt 9999 ] || setsid bash -c "$W" &'; """
        """setsid bash -c "$W" & echo ready; sleep 300"""
    ),
    "lets go of its children": "nohup sleep 300 >/dev/null 2>&1 & disown; echo ready; sleep 300",
    "writes for ever": "echo ready; yes",
    "writes a line of 10 MB": "echo ready; head -c 10000000 /dev/zero | tr '\\0' x; echo; sleep 300",
    "writes what is no text": r"printf 'a\377\0\033]0;title\007\033[2J\n'; echo ready; sleep 300",
    "reads its input": "echo ready; cat; sleep 300",
    "asks for input": _python(_ASKING),
    "asks on the terminal": "echo ready; read -r answer </dev/tty; sleep 300",
    "stops itself": "echo ready; kill -STOP $$; sleep 300",
    "freezes its supervisor": 'echo ready; [ -z "$HOLDFAST_CALL" ] || kill -STOP $PPID; sleep 300',
    "closes its output": "echo ready; exec >/dev/null 2>&1; sleep 300",
    "starts more and more": "echo ready; while :; do sleep 300 & sleep 0.01; done",
    "lost its first thread": f"{_python(_HEADLESS)} & sleep 300",
    "runs in a pipe": "(echo ready; sleep 300) | cat",
    "names what is not there": "no-such-command-here; echo ready; sleep 300",
    "fails and leaves something": "setsid sleep 300 & echo ready; exit 7",
    "crashes and leaves something": "sleep 300 & echo ready; kill -SEGV $$",
}
