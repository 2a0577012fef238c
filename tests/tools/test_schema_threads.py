"""Arguments are parsed in several threads at once, also the first ones of their kind."""

from __future__ import annotations

import subprocess
import sys

RACE = """
import sys, threading, types
from holdfast.tools.schema import parse_arguments
sys.setswitchinterval(1e-6)
SOURCE = "import msgspec\\n" + "".join(f"class I{i}(msgspec.Struct):\\n    a: int = 0\\n" for i in range(30))
SOURCE += "class S(msgspec.Struct):\\n" + "".join(f"    f{i}: 'I{i} | None' = None\\n" for i in range(30))
RAW = "{" + ",".join(f'"f{i}": {{"a": 1}}' for i in range(30)) + "}"

def race(number):
    module = sys.modules[f"m{number}"] = types.ModuleType(f"m{number}")
    exec(SOURCE, module.__dict__)
    gate = threading.Barrier(6)
    def parse():
        gate.wait()
        assert parse_arguments(RAW, module.S, tool="t").f0.a == 1
        done.append(number)
    threads = [threading.Thread(target=parse) for _ in range(6)]
    for each in threads: each.start()
    for each in threads: each.join()

done = []
for number in range(40): race(number)
assert len(done) == 240, len(done)
"""


def test_the_first_arguments_of_a_kind_are_parsed_in_many_threads_at_once() -> None:
    ran = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
