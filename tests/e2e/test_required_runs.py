"""A run that must show something ends with 6 if it does not, whatever its model says, and with 0 if it does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from launching import Ran, World, bash

from holdfast.testing.script import Call, Say
from skips import needs
from undo_rig import git

TEST = "python3 -m unittest -q test_ok"
CODE = "import unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        assert True\n"
CLAIM = (Say("All tests pass."),)


def required(world: World, *calls: Call) -> tuple[Ran, dict[str, Any]]:
    """Run a turn with these calls, whose tests have to pass and whose work has to be committed."""
    world.folder.mkdir(exist_ok=True)
    (world.folder / "test_ok.py").write_text(CODE)
    git(world.folder, "init", "-q")
    git(world.folder, "add", "-A")
    git(world.folder, "commit", "-qm", "first")
    world.script(calls, CLAIM)
    conditions = ("--require", "tests-pass", "--require", "committed")
    ran = world.ask("go on", "--yolo", *conditions, "--output-format", "json")
    return ran, json.loads(ran.out)


@needs("git")
def test_a_false_claim_ends_with_6(one_world: World) -> None:
    ran, result = required(one_world, bash(f"{TEST} | tail -1"), bash("echo 1 > new.py"))
    assert (ran.code, result["exit_code"], result["result"]) == (6, 6, "All tests pass.")
    assert [each.partition(":")[0] for each in result["unmet"]] == ["tests-pass", "committed"]
    assert "a pipe" in ran.err
    assert "new.py differs from the last commit" in ran.err
    assert result["receipt"]["tests"]["facts"]["why"] == "a pipe"
    assert "Whether the tests passed is not known" in one_world.results[0]


@needs("git")
def test_a_true_claim_ends_with_0(one_world: World) -> None:
    commit = "git -c user.name=t -c user.email=t@example.org commit -qam changed"
    ran, result = required(
        one_world,
        Call("write", {"path": "test_ok.py", "content": f"{CODE}# more\n"}),
        bash(f"{TEST} && echo ok"),
        bash(commit),
    )
    assert (ran.code, result["unmet"]) == (0, [])
    receipt = result["receipt"]
    assert (receipt["tests"]["facts"]["known"], receipt["files"]["changed"]) == (True, ["test_ok.py"])
    assert {each["by"] for each in receipt["approvals"]} == {"mode"}
    assert [each["why"] for each in receipt["requests"]][:1] == ["prompt"]
    assert receipt["cost"]["total"] is None or float(receipt["cost"]["total"]) >= 0


@pytest.mark.parametrize("condition", ["tests-passed", "ran:", "committed:x"])
def test_an_unknown_condition_is_refused_before_the_first_request(one_world: World, condition: str) -> None:
    ran = one_world.ask("go on", "--require", condition)
    assert (ran.code, len(one_world.provider.requests)) == (2, 0)
    assert condition in ran.err
