"""What a process that took its keys out of its environment still has, and shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from holdfast.tools.process.process_table import CALL_VARIABLE
from process_leaks import linux_only

PROGRAM = """
import json, os, subprocess
from pathlib import Path
from holdfast.providers.credentials.process_environment import take_environment
environ = take_environment()
child = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout.splitlines()
shown = Path("/proc/self/environ").read_text() if os.geteuid() == 0 else None
print(json.dumps({"taken": dict(environ), "left": dict(os.environ), "child": child, "shown": shown}))
"""


@linux_only
def test_keys_are_in_what_is_returned_and_nowhere_else() -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "OPENAI_API_KEY": "a key",
        "GITHUB_TOKEN": "a token",
        "PLAIN": "plain = words",
        CALL_VARIABLE: "call-1",
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert {name: found["taken"][name] for name in environ} == environ
    assert {"OPENAI_API_KEY", "GITHUB_TOKEN"} & found["left"].keys() == set()
    assert found["left"]["PLAIN"] == "plain = words"
    assert "PLAIN=plain = words" in found["child"]  # the C library's own view of it is as before
    assert not any("a key" in line or "a token" in line for line in found["child"])
    if found["shown"] is not None:
        assert [each for each in found["shown"].split("\0") if each] == [f"{CALL_VARIABLE}=call-1"]
