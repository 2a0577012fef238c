"""What `holdfast check` and `holdfast repair` take a document for: a format that fits, or none, and then why not."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from test_check import AGAIN, CALLS, REPAIRED, STUCK, USER, put, run

from holdfast.errors import DamageError
from holdfast.history.document import read_document
from holdfast.history.formats import FORMATS
from holdfast.ui.commands.input_document import open_document

CONVERSE: list[object] = [
    {"role": "user", "content": [{"text": "Which files are there?"}]},
    {"role": "assistant", "content": [{"text": "Wait."}, {"toolUse": {"toolUseId": "a", "name": "ls", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "a.txt"}]}}]},
]
SAID_IN_CONVERSE: list[object] = CONVERSE[:1]
AI_SDK: list[object] = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Which files are there?"}]},
    {
        "id": "m2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "tool-ls", "toolCallId": "a", "state": "output-available", "input": {}, "output": "a.txt"},
        ],
    },
]
SAID_IN_AI_SDK: list[object] = AI_SDK[:1]
AI_SDK_CORE: list[object] = [
    {"role": "user", "content": "Which files are there?"},
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {}}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "ls", "output": {}}]},
]
OPENCODE: dict[str, object] = {
    "info": {"id": "ses_1", "title": "x"},
    "messages": [
        {"info": {"id": "msg_1", "role": "user"}, "parts": [{"type": "text", "text": "Which files are there?"}]},
        {
            "info": {"id": "msg_2", "role": "assistant"},
            "parts": [{"type": "tool", "callID": "a", "tool": "ls", "state": {"status": "completed", "output": "x"}}],
        },
    ],
}
CLAUDE_CODE: list[object] = [
    {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Which files are there?"}},
    {
        "type": "assistant",
        "uuid": "2",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "a.txt"}]},
    },
]
LANGCHAIN: list[object] = [
    {"type": "human", "data": {"content": "Which files are there?"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"id": "a", "name": "ls", "args": {}}]}},
]
FOREIGN: dict[str, tuple[object, str]] = {
    "converse": (CONVERSE, "Bedrock's Converse"),
    "converse-body": ({"modelId": "m", "messages": CONVERSE}, "Bedrock's Converse"),
    "converse-text": (SAID_IN_CONVERSE, "Bedrock's Converse"),
    "ai-sdk": (AI_SDK, "Vercel's AI SDK"),
    "ai-sdk-text": (SAID_IN_AI_SDK, "Vercel's AI SDK"),
    "ai-sdk-core": (AI_SDK_CORE, "Vercel's AI SDK"),
    "opencode": (OPENCODE, "opencode"),
    "opencode-list": (OPENCODE["messages"], "opencode"),
    "claude-code": (CLAUDE_CODE, "Claude Code"),
    "langchain": (LANGCHAIN, "LangChain"),
}
STRONG = [name for name in FOREIGN if not name.endswith("-text")]


@pytest.mark.parametrize("command", ["check", "repair"])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_document_of_a_format_that_is_not_read_is_refused_with_its_name(
    tmp_path: Path, command: str, name: str
) -> None:
    document, message = FOREIGN[name]
    ran = run(tmp_path, command, put(tmp_path, document))
    assert (ran.code, ran.out) == (4, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", STRONG)
def test_naming_another_format_does_not_make_quoted_text_of_it(tmp_path: Path, name: str) -> None:
    document, message = FOREIGN[name]
    file = str(tmp_path / put(tmp_path, document))
    for form in FORMATS:
        with pytest.raises(DamageError, match=message):
            open_document(file, form, profile=None)


def test_naming_another_format_writes_nothing(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", "--format", "openai-chat", put(tmp_path, OPENCODE))
    assert (ran.code, ran.out) == (4, "")
    assert "opencode" in ran.err


def test_text_alone_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", "--format", "openai-chat", put(tmp_path, SAID_IN_CONVERSE))
    assert (ran.code, json.loads(ran.out)) == (0, [{"role": "user", "content": "Which files are there?"}])


@pytest.mark.parametrize("form", ["openai-chat", "anthropic", "openai-responses", "gemini", "pydantic-ai"])
def test_a_named_format_in_which_nothing_is_a_message_is_refused(tmp_path: Path, form: str) -> None:
    unknown = [{"speaker": "bob", "says": "Which files are there?"}, {"speaker": "eve", "says": "None."}]
    ran = run(tmp_path, "repair", "--format", form, put(tmp_path, unknown))
    assert (ran.code, ran.out) == (4, "")
    assert f"no message in the format {form}" in ran.err


def test_one_message_among_others_that_are_none_is_enough_for_a_named_format(tmp_path: Path) -> None:
    ran = run(tmp_path, "repair", "--format", "openai-chat", put(tmp_path, [*STUCK, {"speaker": "bob"}]))
    assert ran.code == 0
    assert json.loads(ran.out)[: len(REPAIRED)] == REPAIRED


@pytest.mark.parametrize("profile", ["gemini", "anthropic", "bedrock", "openai-responses"])
def test_a_profile_that_takes_no_documents_of_the_format_is_refused_with_the_format(
    tmp_path: Path, profile: str
) -> None:
    for command in ("check", "repair"):
        ran = run(tmp_path, command, "--profile", profile, put(tmp_path, STUCK))
        assert (ran.code, ran.out) == (2, "")
        assert f"Profile {profile!r} does not accept documents in the format openai-chat" in ran.err
        assert "no message in" not in ran.err


def test_a_profile_tells_what_a_text_is_written_for(tmp_path: Path) -> None:
    ran = run(
        tmp_path, "check", "--profile", "bedrock", put(tmp_path, [USER, {"role": "assistant", "content": "x"}, AGAIN])
    )
    assert (ran.code, ran.out) == (0, "a.json: valid for bedrock (format anthropic)\n")


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"role": "assistant", "parts": [{"text": "x"}]}, "This is not a message of this format."),
        ("hello", "This is not a message of this format."),
        (
            {"role": "narrator", "content": "x"},
            "The message has the role 'narrator', which the provider does not know.",
        ),
        ({"content": "x"}, "The message has no role that the provider knows."),
        ({"role": "model", "content": "x"}, "The assistant message has a role that the provider does not know."),
    ],
)
def test_what_is_no_message_is_not_said_to_be_somebodys(tmp_path: Path, message: object, sentence: str) -> None:
    ran = run(tmp_path, "check", "--format", "openai-chat", put(tmp_path, [USER, CALLS, message]))
    assert f"  {sentence}" in ran.out


def test_to_tell_a_format_takes_no_memory_beside_the_document(tmp_path: Path) -> None:
    messages = [
        {"role": role, "content": f"{role} {number}"} for number in range(5_000) for role in ("user", "assistant")
    ]
    path = tmp_path / "long.json"
    path.write_text(json.dumps(messages))
    open_document(str(path), None, profile=None)  # loads the readers of the formats, which take memory of their own
    read_alone = _peak(lambda: read_document(path.read_bytes()))
    assert _peak(lambda: open_document(str(path), None, profile=None)) < 1.3 * read_alone


def _peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
