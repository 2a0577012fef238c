"""What several test modules share of `test_pydantic_ai`."""

from __future__ import annotations

import json
from typing import cast

from pydantic_ai import messages as pai

Json = dict[str, object]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x02\xff\xff\xfe"


def retry(content: object, **fields: object) -> Json:
    return {"part_kind": "retry-prompt", "content": content, **fields}


def parts(message: object) -> list[Json]:
    return cast("list[Json]", cast("Json", message)["parts"])


def every_part() -> list[object]:
    """Return what the library itself writes: every kind of part and of content, and all that old versions had."""
    files = [
        pai.ImageUrl("https://example.org/x.png"),
        pai.AudioUrl("https://example.org/x.mp3"),
        pai.DocumentUrl("https://example.org/x.pdf"),
        pai.VideoUrl("https://example.org/x.mp4"),
        pai.BinaryContent(PNG, media_type="image/png"),
        pai.BinaryContent(b"sound", media_type="audio/wav"),
        pai.UploadedFile("file-1", provider_name="openai"),
    ]
    prompt = ["a text", pai.TextContent("with metadata", metadata={"from": "us"}), *files, pai.CachePoint()]
    written = [
        pai.ModelRequest(
            [pai.SystemPromptPart("be good"), pai.UserPromptPart([*prompt, pai.StructuredContent({"a": 1})])],
            instructions="be brief",
            run_id="run",
            conversation_id="conversation",
        ),
        pai.ModelResponse(
            [
                pai.ThinkingPart("hm", signature="c2ln", provider_name="openai", id="rs_1"),
                pai.TextPart("looking", id="msg_1", provider_name="openai"),
                pai.FilePart(pai.BinaryContent(PNG, media_type="image/png")),
                pai.CompactionPart("shorter", provider_name="anthropic"),
                pai.NativeToolCallPart("web_search", {"q": 1}, "n1", provider_name="openai"),
                pai.NativeToolReturnPart("web_search", {"r": 1}, "n1", provider_name="openai"),
                pai.SpeechPart(speaker="assistant", transcript="spoken"),
                pai.ToolCallPart("f", '{"a": 1}', "c1", id="fc_1", provider_name="openai"),
                pai.ToolCallPart("g", {"a": 1}, "c2"),
                pai.ToolCallPart("h", None, "c3"),
                pai.ToolSearchCallPart(args={"queries": ["x"]}, tool_call_id="c4"),
            ],
            provider_name="openai",
            model_name="m",
        ),
        pai.ModelRequest(
            [
                pai.ToolReturnPart("f", {"x": [1, None]}, "c1"),
                pai.ToolReturnPart("g", ["t", *files], "c2", outcome="failed"),
                pai.ToolReturnPart("h", "no", "c3", outcome="retried"),
                pai.ToolReturnPart("search_tools", "none", "c4"),
                pai.RetryFeedbackPart("again", retry=pai.RetryInfo(cause="model_retry")),
                pai.CompactionPart("what was before"),
                pai.SpeechPart(speaker="user", transcript="said"),
                pai.ToolAvailabilityDeltaPart(),
                pai.CapabilityLoadDeltaPart(),
            ],
        ),
        pai.ModelRequest(
            [
                pai.ModelSettingsDeltaPart(settings={"thinking": "high"}),
                pai.InstructionDeltaPart(id=None, content="shorter still"),
                pai.InstructionBaselinePart(instructions=[pai.InstructionPart("be brief", on_change="append")]),
            ]
        ),
    ]
    messages: list[object] = json.loads(pai.ModelMessagesTypeAdapter.dump_json(written))
    parts(messages[2]).append(retry("old feedback", tool_call_id="never asked"))
    return messages
