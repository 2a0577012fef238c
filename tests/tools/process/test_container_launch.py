"""The supervisor in a container: it is started by the container's own Python, wherever podman or docker lies."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from holdfast.fleet.places.local_places import container
from holdfast.tools.process.launch import launch_supervisor
from polling import HANGS
from process_leaks import linux_only

pytestmark = linux_only
IMAGE = "python:3.13"
RUN = """#!/bin/sh
printf '%s\\n' "$@" > '{folder}/words'
while [ "$1" != {image} ]; do shift; done
shift
PATH='{folder}/inside' exec "$@"
"""
"""Runs what the container would run, with no other program on the search path than the container's Python."""


@pytest.mark.parametrize("name", ["podman", "docker"])
def test_the_program_in_a_container_is_its_own_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/python3").symlink_to(sys.executable)
    (tmp_path / "bin" / name).write_text(RUN.format(folder=tmp_path, image=IMAGE))
    (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    for folder in ("work", "session"):
        (tmp_path / folder).mkdir()
    wrap = container(tmp_path / "work", tmp_path / "session", image=IMAGE, network=False)
    assert wrap[0] == f"{tmp_path}/bin/{name}"

    async def run() -> None:
        async with asyncio.timeout(HANGS):
            launched = await launch_supervisor(tmp_path / "session", contained=False, wrap=wrap)
            assert launched.process.stdin is not None
            launched.process.stdin.close()  # it ends with the agent
            await launched.both_ended()

    asyncio.run(run())
    words = (tmp_path / "words").read_text().splitlines()
    assert words[words.index(IMAGE) + 1] == "python3"
