"""Sessions whose commands run in containers, with podman or docker and an image that the machine has."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from worker_programs import Workers

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import eventually
from skips import needs

IMAGE = os.environ.get("HOLDFAST_TEST_IMAGE", "")
PROGRAM = shutil.which("podman") or shutil.which("docker")

pytestmark = needs("container image")


def containers() -> list[str]:
    """Return the containers of the image that run."""
    assert PROGRAM is not None
    words = [PROGRAM, "ps", "--quiet", "--filter", f"ancestor={IMAGE}"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


def test_commands_run_in_a_container_and_end_with_their_worker(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    first = workers.start()
    provider.extend(
        [Call("bash", {"command": f"echo in > a; touch {outside}/b || echo refused"})],
        [Say("did it")],
    )
    place = {"kind": "folder", "cwd": str(work), "around": "container", "image": IMAGE}
    session = workers.session(work, "begin", **place)
    workers.until(session, "idle", free=True)
    eventually(lambda: containers() == [])
    assert (work / "a").read_text() == "in\n"
    assert list(outside.iterdir()) == []

    provider.extend([Call("bash", {"command": "echo begun > begun; sleep 31415"})], [Say("looked, and went on")])
    workers.fleet.ask(session, "prompt", {"text": "again"})
    eventually((work / "begun").exists)
    (running,) = containers()
    first.send_signal(signal.SIGKILL)
    eventually(lambda: running not in containers())
    workers.start()
    workers.until(session, "idle", free=True)
    eventually(lambda: containers() == [])
    found = [record.entry for record in workers.fleet.reading(session).records]
    first_call, second_call = (entry for entry in found if isinstance(entry, e.CallEnded))
    assert (first_call.outcome, "refused" in first_call.text) == ("ok", True)
    assert second_call.outcome == "interrupted"
    assert "looked, and went on" in str(found[-2])
