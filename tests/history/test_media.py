"""Images and files that hold nothing are reported and repaired."""

from __future__ import annotations

import base64
import json

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import Json
from holdfast.history.media.images import inspect_base64
from holdfast.history.profiles import PAIRS

HOLLOW = {
    "openai-chat": """[{"type": "image_url"}, {"type": "image_url", "image_url": {"url": ""}}, {"type": "file"},
        {"type": "file", "file": {}}, {"type": "input_audio"}]""",
    "anthropic": """[{"type": "image"}, {"type": "image", "source": {}}, {"type": "document", "source": {}},
        {"type": "document", "source": {"type": "text"}}]""",
    "openai-responses": """[{"type": "input_image"}, {"type": "input_image", "image_url": ""},
        {"type": "input_file"}]""",
    "gemini": """[{"inlineData": {}}, {"fileData": {}}, {"inlineData": {"mimeType": "image/png"}}]""",
    "pydantic-ai": """[{"kind": "image-url"}, {"kind": "binary", "media_type": "image/png"},
        {"kind": "uploaded-file"}]""",
}


@pytest.mark.parametrize(
    ("form", "profile", "part"),
    [(form, profile, part) for form in PAIRS for profile in PAIRS[form] for part in json.loads(HOLLOW[form])],
)
def test_an_image_or_a_file_that_is_nowhere_is_reported(form: str, profile: str, part: Json) -> None:
    message: Json = {"role": "user", "parts" if form == "gemini" else "content": [part]}
    if form == "pydantic-ai":
        message = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": [part]}]}
    assert {each.rule for each in check([message], format=form, profile=profile)} & {"foreign-content", "media-invalid"}
    assert repair([message], format=form, profile=profile).remaining == ()


@pytest.mark.parametrize("before", [0, 1_000, 40_000, 65_000])
def test_the_size_of_a_jpeg_is_found_behind_other_data(before: int) -> None:
    other = b"\xff\xe1" + (before + 2).to_bytes(2, "big") + b"\0" * before  # what a camera writes, a preview with it
    size = b"\xff\xc0\x00\x11\x08" + (3_000).to_bytes(2, "big") + (9_000).to_bytes(2, "big") + b"\x03" + b"\0" * 9
    data = base64.b64encode(b"\xff\xd8" + other + size + b"\0" * 200_000).decode()
    found = inspect_base64("image/jpeg", data)
    assert (found.found, found.width, found.height) == ("image/jpeg", 9_000, 3_000)


@pytest.mark.parametrize("profile", ["openai-chat"])
def test_a_sound_of_chat_is_base64_alone(profile: str) -> None:
    """A data URL is refused there (UKGovernmentBEIS/inspect_ai#1512)."""
    source = {"data": "data:audio/wav;base64,UklGRg==", "format": "wav"}
    message: Json = {"role": "user", "content": [{"type": "input_audio", "input_audio": source}]}
    assert [each.rule for each in check([message], format="openai-chat", profile=profile)] == ["media-invalid"]
    done = repair([message], format="openai-chat", profile=profile)
    assert done.remaining == ()
    assert done.messages == [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}]}
    ]
    assert check(done.messages, format="openai-chat", profile=profile) == []
