"""The doctor asks a local server for the window of its model, and says what holdfast needs of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.ui.commands.doctor.findings import window_finding
from launcher import launcher
from own_model_server import Local, serving


@pytest.mark.parametrize(
    ("model", "window", "level", "todo"),
    [
        ("llamacpp:m", 32_768, "ok", ""),
        ("llamacpp:m", 4_096, "warn", "-c 32768"),
        ("ollama:m", 4_096, "warn", "num_ctx 32768"),
        ("home:m", 2_048, "fail", "No prompt fits."),
        ("ollama:m", 0, "warn", "OLLAMA_CONTEXT_LENGTH=32768"),
    ],
)
def test_the_room_beside_our_own_prompt(model: str, window: int, level: str, todo: str) -> None:
    found = window_finding(model, window=window, base=2_700)
    assert (found.name, found.level) == ("window", level)
    assert todo in found.todo
    assert "holdfast needs about 2,700 before your first word" in found.what


def test_the_doctor_of_a_machine_with_a_small_server(tmp_path: Path) -> None:
    pages = {"/v1/models": {"object": "list", "data": [{"id": "file.gguf", "meta": {"n_ctx": 3072}}]}}
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('model = "llamacpp:m"\n')
    with serving(Local(pages)) as local:
        environ = {"PATH": os.environ["PATH"], "HOLDFAST_HOME": str(home), "LLAMACPP_BASE_URL": local.address}
        ran = launcher().run(("doctor",), cwd=tmp_path, environ=environ)
    shown = ran.stdout.decode()
    assert "window" in shown
    assert "3,072 tokens; holdfast needs about " in shown
    assert "Start its server with a larger window" in shown
