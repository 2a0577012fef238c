"""Runs lines in a wall: the process behind `walls.Wall.run`. Standard library and the package of the wall only."""

from __future__ import annotations

import json
import os
import sys

sys.path.append(sys.argv[1])

from holdfast.system.confinement.launch import Launch, confined_launch, launch_fields
from holdfast.system.confinement.machine import masks_of
from holdfast.system.confinement.survey import describe
from holdfast.system.confinement.trial import run_forked

INHERITED = 20


def main() -> None:
    request = json.load(sys.stdin)
    if request["inherited"]:  # an open secret, as a careless agent would hand it down
        os.dup2(os.open(request["inherited"], os.O_RDONLY), INHERITED, inheritable=True)
    results: list[dict[str, object]] = []
    for line in request["lines"]:
        described = describe(
            request["level"],
            cwd=request["cwd"],
            roots=tuple(request["roots"]),
            temporary=request["temporary"],
            placeholders=request["placeholders"],
            environ=request["environ"],
            masks=masks_of(request["masks"]),
            fixed=tuple(request["fixed"]),
            sees_disk=request["sees_disk"],
            programs=frozenset(request["programs"]),
        )
        environ = {**request["environ"], "AGENT": str(os.getpid())}
        if request["kind"] == "none":  # to see that the attempts would succeed
            launch = Launch("none", (), tuple({**environ, "TMPDIR": request["temporary"]}.items()), request["cwd"])
        else:
            launch = confined_launch(described, request["kind"], environ)
        result = run_forked(
            launch_fields(launch),
            ["/bin/bash", "-c", line],
            seconds=request["seconds"],
            hosts=request["hosts"],
            networks=request["networks"],
        )
        results.append(
            {
                "code": result.code,
                "output": result.output,
                "did_start": result.did_start,
                "timed_out": result.timed_out,
                "refused": result.refused,
            }
        )
    json.dump(results, sys.stdout)


main()
