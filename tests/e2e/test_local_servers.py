"""Local servers as they are: tools that the template drops, and a window that our own prompt fills."""

from __future__ import annotations

import json

from launching import World

from own_model_server import Local, serving


def answer(text: str, *, prompt_tokens: int) -> bytes:
    chunk = {"object": "chat.completion.chunk", "id": "c", "created": 1, "model": "m"}
    delta = {**chunk, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    no_choices: list[object] = []
    usage = {
        **chunk,
        "choices": no_choices,
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 3, "total_tokens": 9},
    }
    return b"".join(
        b"data: %s\n\n" % each for each in (json.dumps(delta).encode(), json.dumps(usage).encode(), b"[DONE]")
    )


def ask(world: World, local: Local) -> str:
    world.one_past = False
    with serving(local):
        environ = world.environ(LLAMACPP_BASE_URL=local.address)
        return world.run("-m", "llamacpp:m", "--yolo", "-p", "hi", environ=environ).err


def test_a_template_that_drops_the_tools_is_noticed(one_world: World) -> None:
    said = ask(one_world, Local({}, answer=answer("What is heldfast?", prompt_tokens=856)))
    assert "This server drops the tools" in said
    assert "--jinja" in said


def test_a_server_that_counts_them_is_believed(one_world: World) -> None:
    said = ask(one_world, Local({}, answer=answer("Hello.", prompt_tokens=3_329)))
    assert said.startswith("session ")
    assert len(said.splitlines()) == 1


def test_a_window_that_our_own_prompt_fills_is_said(one_world: World) -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "n_ctx": 2_048}
    error["message"] = "request (3100 tokens) exceeds the available context size (2048 tokens)"
    said = ask(one_world, Local({}, {"error": error}))
    assert "holdfast's own prompt and tools take about " in said
    assert "of this model's 2,048 tokens: start its server with a larger window." in said
