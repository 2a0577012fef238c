"""Message objects of LangChain go in and come out, with the real library of `make kills`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from needs import KILLS
from polling import HANGS
from skips import require

SOURCE = Path(__file__).parents[2] / "src"

CODE = """
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from holdfast.history import check, repair

usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
calls = [{"name": "deploy", "args": {"step": each}, "id": each} for each in ("c1", "c2")]
asked = AIMessage("Now.", tool_calls=calls, usage_metadata=usage, id="run-1")
messages = [SystemMessage("s"), HumanMessage("Go"), asked, ToolMessage("x", tool_call_id="c1"), HumanMessage("Go on")]
assert [each.rule for each in check(messages)] == ["call-without-result"]
repaired = repair(messages, results={"c2": "two"})
assert [each is one for each, one in zip(repaired.messages[:4], messages[:4], strict=True)] == [True] * 4
assert repaired.messages[4] == ToolMessage("two", tool_call_id="c2")
assert repaired.messages[5] is messages[4]
assert repair(repaired.messages).edits == ()

long = AIMessage("", tool_calls=[{"name": "deploy", "args": {}, "id": "c" * 80}], usage_metadata=usage, id="run-1")
one, two, three = repair([HumanMessage("Go"), long, ToolMessage("x", tool_call_id="c" * 80)]).messages
assert len(two.tool_calls[0]["id"]) <= 40
assert (two.id, two.usage_metadata, three.tool_call_id) == ("run-1", usage, two.tool_calls[0]["id"])
assert long.tool_calls[0]["id"] == "c" * 80

wrong = AIMessage("", invalid_tool_calls=[{"name": "deploy", "args": '{"a', "id": "c9", "error": "x"}])
found = repair([HumanMessage("Go"), wrong, HumanMessage("Go on")]).messages
assert found[1] is wrong
assert found[2].tool_call_id == "c9"
print("done")
"""


def test_objects_of_langchain() -> None:
    require("kills")
    done = subprocess.run(
        [str(KILLS / "langgraph/bin/python"), "-c", CODE],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
