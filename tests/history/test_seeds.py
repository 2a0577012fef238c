"""A repair is the same in every process: nothing of it hangs on the order that a set happens to have in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws import law
from wire_documents import DOCUMENTS, mutations

_REPAIRED = """
import json, sys
from holdfast.history import check, repair
from holdfast.history.profiles import PAIRS
for form, document in json.load(open(sys.argv[1])):
    for profile in PAIRS[form]:
        told = [each.sentence for each in check(document, format=form, profile=profile)]
        mended = repair(document, format=form, profile=profile)
        print(json.dumps([form, profile, told, mended.messages, [each.sentence for each in mended.edits]]))
"""
"""Sets of strings are ordered by a seed that is drawn for each process, unless PYTHONHASHSEED says it."""

_USER = {"role": "user", "content": "x"}
_CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
_HELD = [{"type": "bogus", "k": ""}, {"type": "text", "text": ""}]
_SEVERAL: list[tuple[str, object]] = [
    ("openai-chat", [_USER, {"role": "user", "content": "x", "tool_calls": [{**_CALL, "type": "bogus"}]}]),
    (
        "openai-chat",
        [
            _USER,
            {"role": "assistant", "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "a", "content": _HELD, "name": 5, "tool_calls": [1]},
        ],
    ),
    ("openai-responses", [_USER, {"type": "reasoning", "content": "", "id": 5, "encrypted_content": "e"}]),
    ("anthropic", [_USER, {"role": "user", "content": [{"type": "tool_use", "name": "f", "input": "x"}]}]),
    (
        "anthropic",
        [
            _USER,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": _HELD}]},
        ],
    ),
    ("gemini", [{"role": "user", "parts": [{"functionCall": {"name": "f", "args": 5, "id": 4}, "thought": "x"}]}]),
]
"""One thing with several faults."""


def test_a_repair_is_the_same_under_every_seed_of_sets(tmp_path: Path) -> None:
    drawn = list(_SEVERAL)

    @settings(law(), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(data=st.data(), form=st.sampled_from(list(DOCUMENTS)))
    def draw(data: st.DataObject, form: str) -> None:
        drawn.append((form, data.draw(mutations(form))))

    draw()
    documents, script = tmp_path / "documents.json", tmp_path / "repaired.py"
    documents.write_text(json.dumps(drawn), "utf-8")
    script.write_text(_REPAIRED, "utf-8")
    outputs = [_lines(script, documents, seed) for seed in ("0", "1", "2", "3")]
    assert len(outputs[0]) > len(drawn)
    assert all(lines == outputs[0] for lines in outputs)


def _lines(script: Path, documents: Path, seed: str) -> list[str]:
    run = [sys.executable, str(script), str(documents)]
    done = subprocess.run(run, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True)
    return done.stdout.splitlines()
