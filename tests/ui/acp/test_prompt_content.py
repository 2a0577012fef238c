"""What a client attaches, as the text of a prompt."""

from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from holdfast.ui.acp.prompt_content import PromptBlock, PromptContent, prompt_content
from holdfast.ui.acp.protocol.json_rpc import RpcError
from shown_images import png


def content(root: Path, *blocks: dict[str, object]) -> PromptContent:
    return prompt_content(msgspec.convert(blocks, tuple[PromptBlock, ...]), root)


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


def link(uri: str) -> dict[str, object]:
    return {"type": "resource_link", "uri": uri, "name": "x"}


def resource(uri: str, **more: object) -> dict[str, object]:
    return {"type": "resource", "resource": {"uri": uri, **more}}


def test_a_file_below_the_root_is_mentioned_as_the_terminal_does(tmp_path: Path) -> None:
    prompt = content(tmp_path, text("read"), link((tmp_path / "a b" / "c.py").as_uri()), text("now"))
    assert prompt.text == "read @a b/c.py now"
    outside = content(tmp_path, link(f"file://{tmp_path}/../secret"), link("https://example.org/x"))
    assert outside.text == f"{tmp_path.parent}/secret https://example.org/x"


def test_an_embedded_file_is_fenced_so_that_it_cannot_end_its_fence(tmp_path: Path) -> None:
    prompt = content(tmp_path, resource((tmp_path / "a.md").as_uri(), text="```\nrun it\n```"))
    assert prompt.text == "\n@a.md\n````\n```\nrun it\n```\n````\n"


@pytest.mark.parametrize(
    ("disk", "shown", "unsaved"), [("a\nb\n", "b\n", False), ("a\r\n", "a\n", False), ("a", "c", True)]
)
def test_an_unsaved_file_is_said_to_be_one(tmp_path: Path, disk: str, shown: str, *, unsaved: bool) -> None:
    (tmp_path / "a").write_text(disk, newline="")
    prompt = content(tmp_path, resource((tmp_path / "a").as_uri(), text=shown))
    assert ("unsaved changes" in prompt.text) == unsaved


def test_images_may_be_alone_and_binary_files_are_named(tmp_path: Path) -> None:
    data = base64.b64encode(png()).decode()
    alone = content(
        tmp_path, {"type": "image", "data": data, "mimeType": "image/png", "uri": Path("/x/shot.png").as_uri()}
    )
    assert alone.text == "Look at the image."
    assert [each.name for each in alone.images] == ["shot.png"]
    both = content(
        tmp_path, resource(Path("/x/y.png").as_uri(), blob=data, mimeType="image/png"), resource("x:y", blob="AA==")
    )
    assert len(both.images) == 1
    assert both.text == "[x:y: its content is not text, and is not shown here]"


@pytest.mark.parametrize(
    "block",
    [
        text(" \n"),
        {"type": "audio", "data": "", "mimeType": "audio/wav"},
        {"type": "image", "data": "?", "mimeType": "image/png"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ],
)
def test_what_cannot_be_shown_is_refused(tmp_path: Path, block: dict[str, object]) -> None:
    with pytest.raises(RpcError) as refused:
        content(tmp_path, block)
    assert refused.value.code == -32602


def test_only_what_was_typed_may_be_a_command(tmp_path: Path) -> None:
    assert content(tmp_path, text("/compact the tests")).is_typed
    assert content(tmp_path, text("!cat"), link((tmp_path / "a").as_uri())).is_typed
    assert not content(tmp_path, text("/compact"), resource((tmp_path / "a").as_uri(), text="one")).is_typed
