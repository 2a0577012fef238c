"""Valid documents of every format as they go over the wire, and what can be done to a document that is JSON.

What people and tools say in them are words of their own, `wUSER1.`, so that none can be lost unseen.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

from hypothesis import strategies as st

from holdfast.history.formats.format import Json, is_array, is_object
from holdfast.history.shape import Path
from pdf_documents import compressed, paper, told

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
_URL = f"data:image/png;base64,{_PNG}"
_ASKED = '{"x": "y"}'


def _function(call_id: str, name: str = "f", arguments: str = _ASKED) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _returned(call_id: str, content: object) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


_CHAT: list[object] = [
    {"role": "system", "content": "wSYS1."},
    {"role": "user", "content": "wUSER1.", "name": "bob"},
    {
        "role": "assistant",
        "content": "wSAID1.",
        "reasoning_content": "hm",
        "tool_calls": [_function("a"), _function("b", "g", "{}")],
    },
    _returned("a", "wDONE1."),
    {**_returned("b", [{"type": "text", "text": "wDONE2."}]), "name": "g"},
    {"role": "assistant", "content": "wSAID2.", "audio": {"id": "x"}},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "wUSER2."},
            {"type": "image_url", "image_url": {"url": _URL}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "f"}},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": ""}}],
    },
    _returned("c", "wDONE3."),
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "wDONE4."},
    {"role": "assistant", "content": [{"type": "text", "text": "wSAID3."}], "refusal": None},
    {"role": "user", "content": "wUSER3."},
]


def _use(call_id: str, name: str = "f") -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"x": "y"}}


def _result(call_id: str, content: object, **more: object) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def _text(text: str, **more: object) -> Json:
    return {"type": "text", "text": text, **more}


_IMAGE: Json = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PNG}}
_FILE: Json = {"type": "document", "source": {"type": "url", "url": "https://example.org/f.pdf"}}
_ANTHROPIC: list[object] = [
    {"role": "user", "content": "wUSER1."},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            _text("wSAID1."),
            _use("a"),
            _use("b", "g"),
        ],
    },
    {
        "role": "user",
        "content": [
            _result("a", [_text("wDONE1."), _IMAGE]),
            _result("b", [_text("wDONE2.")], is_error=True),
            _text("wUSER2.", cache_control={"type": "ephemeral"}),
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []},
            _text("wSAID2.", citations=[]),
        ],
    },
    {"role": "user", "content": [_text("wUSER3."), _IMAGE, _FILE]},
    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, _use("c")]},
    {"role": "user", "content": [_result("c", [{"type": "tool_reference", "tool_name": "f"}, _text("wDONE3.")])]},
    {"role": "assistant", "content": "wSAID3."},
    {"role": "user", "content": "wUSER4."},
]


def _item(kind: str, **more: object) -> Json:
    return {"type": kind, **more}


_RESPONSES: list[object] = [
    {"role": "system", "content": "wSYS1."},
    {
        "role": "user",
        "content": [_item("input_text", text="wUSER1."), _item("input_image", image_url=_URL)],
    },
    _item("reasoning", id="rs_1", summary=[_item("summary_text", text="hm")], encrypted_content="e"),
    _item("message", role="assistant", id="msg_1", content=[_item("output_text", text="wSAID1.", annotations=[])]),
    _item("function_call", id="fc_1", call_id="a", name="f", arguments=_ASKED),
    _item("function_call", id="fc_2", call_id="b", name="g", arguments="{}"),
    _item("function_call_output", call_id="a", output="wDONE1."),
    _item("function_call_output", call_id="b", output=[_item("input_text", text="wDONE2.")]),
    _item("web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "x"}),
    _item("message", role="assistant", content=[_item("output_text", text="wSAID2.")]),
    {"role": "user", "content": "wUSER2."},
    _item("custom_tool_call", call_id="c", name="h", input="x"),
    _item("custom_tool_call_output", call_id="c", output="wDONE3."),
    _item(
        "local_shell_call",
        id="lsh_1",
        call_id="d",
        status="completed",
        action={"type": "exec", "command": ["ls"], "env": {}},
    ),
    _item("local_shell_call_output", call_id="d", id="lsh_o", output="wDONE4."),
    {"role": "assistant", "content": "wSAID3."},
    {"role": "user", "content": "wUSER3."},
]


def _call(name: str, **more: object) -> Json:
    return {"functionCall": {"name": name, "args": {"x": "y"}, **more}}


def _response(name: str, **more: object) -> Json:
    return {"functionResponse": {"name": name, **more}}


_BLOB = {"mimeType": "image/png", "data": _PNG}
_GEMINI: list[object] = [
    {"role": "user", "parts": [{"text": "wUSER1."}, {"inlineData": _BLOB}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"text": "wSAID1."},
            {**_call("f"), "thoughtSignature": "AAAA"},
            _call("f"),
            _call("g", id="q"),
        ],
    },
    {
        "role": "user",
        "parts": [
            _response("f", response={"output": "wDONE1."}),
            _response("f", response={"result": "wDONE2."}),
            _response("g", id="q", response={"error": "wDONE3."}, parts=[{"inlineData": _BLOB}]),
        ],
    },
    {"role": "model", "parts": [{"text": "wSAID2."}, {"executableCode": {"language": "PYTHON", "code": "1"}}]},
    {"role": "user", "parts": [{"text": "wUSER2."}, {"fileData": {"mimeType": "x/y", "fileUri": "u"}}]},
    {"role": "model", "parts": [{**_call("g"), "thoughtSignature": "AAAA"}]},
    {"role": "function", "parts": [_response("g", response={"output": "wDONE4."})]},
    {"role": "model", "parts": [{"text": "wSAID3."}]},
    {"role": "user", "parts": [{"text": "wUSER3."}]},
]


def _part(kind: str, **more: object) -> Json:
    return {"part_kind": kind, **more}


def _tool(kind: str, call_id: str, **more: object) -> Json:
    return {"part_kind": kind, "tool_name": "f", "tool_call_id": call_id, **more}


def _request(*parts: Json) -> Json:
    return {"kind": "request", "parts": list(parts), "instructions": "x", "run_id": "r"}


def _answer(*parts: Json, **more: object) -> Json:
    return {"kind": "response", "parts": list(parts), "model_name": "m", **more}


_PYDANTIC: list[object] = [
    _request(_part("system-prompt", content="wSYS1."), _part("user-prompt", content="wUSER1.")),
    _answer(
        _part("thinking", content="hm", signature="s", provider_name="anthropic"),
        _part("text", content="wSAID1."),
        _tool("tool-call", "a", args={"x": "y"}),
        _tool("tool-call", "b", args="{}"),
        _tool("tool-call", "c", args=None),
    ),
    _request(
        _tool("tool-return", "a", content="wDONE1."),
        _tool("retry-prompt", "b", content="wDONE2."),
        _tool("tool-return", "c", content={"k": "wDONE3."}),
        _part(
            "user-prompt",
            content=[
                "wUSER2.",
                {"kind": "image-url", "url": "http://x"},
                {"kind": "binary", "data": _PNG, "media_type": "image/png"},
            ],
        ),
    ),
    _answer(
        _tool("builtin-tool-call", "s", args={}, provider_name="anthropic"),
        _tool("builtin-tool-return", "s", content="x", provider_name="anthropic"),
        _part("text", content="wSAID2."),
        _part("file", content={"kind": "binary", "data": _PNG, "media_type": "image/png"}),
        usage={"input_tokens": 5, "output_tokens": 5, "details": {"a": 5}},
    ),
    _request(_part("retry-prompt", content="wUSER3.", tool_name=None)),
    _answer(_tool("tool-call", "d", args="{}"), tool_calls=[_tool("tool-call", "d", args="{}")]),
    _request(_tool("tool-return", "d", content="wDONE4.")),
    _answer(_part("text", content="wSAID3.")),
    _request(_part("model-settings-delta", settings={"thinking": "high"}, top_level=True)),
    _request(
        _part("user-prompt", content="wUSER4."),
        _part("instruction-delta", id="agent", content="wTOLD1.", base_hash="a"),
        _part("instruction-baseline", instructions=[_part("instruction", content="x", dynamic=True)]),
    ),
]

DOCUMENTS = {
    "openai-chat": _CHAT,
    "anthropic": _ANTHROPIC,
    "openai-responses": _RESPONSES,
    "gemini": _GEMINI,
    "pydantic-ai": _PYDANTIC,
}

_VALUES: list[object] = json.loads(
    r"""[null, [], {}, 0, 1.5, true, "", " ", "user", "assistant", "tool", "text", "a", "a b", "\ud800x", [[]], [""]]"""
)
_DEEP: list[object] = json.loads("[" * 40 + "]" * 40)
_ANYTHING: list[object] = [
    *_VALUES,
    *(-1, 10**30, 1e308, False, "x\x00y", [None], [{}], {"a": 1}, {"type": "text"}, _DEEP),
    *("wNEW1.", ["wNEW2."], {"text": "wNEW3."}, {"type": "text", "text": "wNEW4."}),
]
_CHANGES = st.sampled_from(
    ["delete", "retype", "retype", "double", "swap", "copy", "graft", "part", "add", "refile", "think"]
)
_FILES = st.sampled_from(
    [told(each) for each in (paper(2), paper(101), paper(2, trailer=b"/Encrypt 9 0 R "), compressed(), b"<html>")]
)
_ADDED = st.sampled_from(
    ["id", "type", "metadata", "cache_control", "index", "usage", "tool_calls", "refusal", "text", "x"]
)
_places = st.integers(0, 10_000)
_values: st.SearchStrategy[object] = st.sampled_from(_VALUES)


def paths(raw: object, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every node in the document but its root."""
    for key, value in raw.items() if is_object(raw) else enumerate(raw) if is_array(raw) else ():
        yield (*path, key)
        yield from paths(value, (*path, key))


@st.composite
def mutations(draw: st.DrawFn, form: str) -> list[object]:
    """Return a valid document of the format with up to three nodes lost, doubled, swapped, retyped, grafted, added."""
    document = copy.deepcopy(DOCUMENTS[form])
    for _ in range(draw(st.integers(1, 3))):
        known = list(paths(document))
        if not known:
            break
        if draw(st.booleans()):  # as often a message or a block as a field of one
            known = [path for path in known if len(path) <= len((1, "content", 0))]
        _change(document, known[draw(_places) % len(known)], draw)
    return document


@st.composite
def free_mutations(draw: st.DrawFn, form: str) -> list[object]:
    """Return a valid document of the format with one or two nodes of it, wherever, lost or anything else."""
    document = copy.deepcopy(DOCUMENTS[form])
    for _ in range(draw(st.integers(1, 2))):
        known = list(paths(document))
        path = known[draw(_places) % len(known)]
        holder, key = _at(document, path[:-1]), path[-1]
        if draw(st.integers(0, 7)) == 0:
            _delete(holder, key)
        else:
            _set(holder, key, copy.deepcopy(draw(st.sampled_from(_ANYTHING))))
    return document


def _change(document: list[object], path: Path, draw: st.DrawFn) -> None:
    holder, key = _at(document, path[:-1]), path[-1]
    change = draw(_CHANGES)
    if change == "part" and is_array(document) and isinstance(path[0], int):
        document[path[0] : path[0] + 1] = in_records(document[path[0]])
    elif change == "delete":
        _delete(holder, key)
    elif change == "retype":
        _set(holder, key, copy.deepcopy(draw(_values)))
    elif change == "refile":
        _refile(document, draw)
    elif change == "think":
        _think(document, draw)
    elif change == "graft":
        _graft(document, path, draw)
    elif change == "add":
        node = _at(document, path)
        if is_object(node) and (name := draw(_ADDED)) not in node:
            node[name] = copy.deepcopy(draw(_values))
    elif change in ("double", "swap") and is_array(holder) and isinstance(key, int):
        other = draw(_places) % len(holder)
        if change == "double":
            holder.insert(other, copy.deepcopy(holder[key]))
        else:
            holder[key], holder[other] = holder[other], holder[key]
    else:
        known = list(paths(document))
        _set(holder, key, copy.deepcopy(_at(document, known[draw(_places) % len(known)])))


def _think(document: list[object], draw: st.DrawFn) -> None:
    """Let an answer begin with thinking as Mistral has it."""
    answers = [each for each in document if is_object(each) and each.get("role") == "assistant"]
    if not answers:
        return
    answer = answers[draw(_places) % len(answers)]
    raw = answer.get("content")
    content = raw if is_array(raw) else [{"type": "text", "text": raw}] if isinstance(raw, str) and raw else []
    answer["content"] = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, *content]


def _refile(document: list[object], draw: st.DrawFn) -> None:
    """Let a file or an image have the bytes of another, and be declared a PDF."""
    files = [path for path in paths(document) if path[-1] == "data" and is_object(_at(document, path[:-1]))]
    if not files:
        return
    path = files[draw(_places) % len(files)]
    _set(_at(document, path[:-1]), "data", draw(_FILES))
    for key in ("mimeType", "media_type"):
        if key in (holder := _object_at(document, path[:-1])):
            holder[key] = "application/pdf"
    if _object_at(document, path[:-2]).get("type") == "image":
        _set(_at(document, path[:-2]), "type", "document")


def _object_at(document: list[object], path: Path) -> Json:
    value = _at(document, path)
    return value if is_object(value) else {}


def _graft(document: list[object], path: Path, draw: st.DrawFn) -> None:
    """Give an object a field that another one has."""
    fields = [each for each in paths(document) if isinstance(each[-1], str)]
    target = next((at for end in range(len(path), 0, -1) if is_object(at := _at(document, path[:end]))), None)
    if fields and is_object(target):
        chosen = fields[draw(_places) % len(fields)]
        target[str(chosen[-1])] = copy.deepcopy(_at(document, chosen))


def in_records(message: object) -> list[object]:
    """Return the message as a log has it that writes one block a record: several, each with a part of its content."""
    if not is_object(message) or message.get("role") == "tool":
        return [message]
    for key in ("content", "parts"):
        if is_array(blocks := message.get(key)) and len(blocks) > 1:
            return [{**message, key: [block]} for block in blocks]
    if is_array(calls := message.get("tool_calls")) and message.get("role") == "assistant":
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        thought = {key: rest.pop(key) for key in ("reasoning_content",) if key in rest}
        first: list[object] = [{"role": "assistant", "content": None, **thought}] if thought else []
        answer: list[object] = [rest] if rest.get("content") else []
        return [*first, *answer, *({"role": "assistant", "content": None, "tool_calls": [call]} for call in calls)]
    return [message]


def _delete(holder: object, key: str | int) -> None:
    if is_object(holder):
        del holder[str(key)]
    elif is_array(holder):
        del holder[int(key)]


def _set(holder: object, key: str | int, value: object) -> None:
    if is_object(holder):
        holder[str(key)] = value
    elif is_array(holder):
        holder[int(key)] = value


def _at(raw: object, path: Path) -> object:
    for key in path:
        raw = raw[str(key)] if is_object(raw) else raw[int(key)] if is_array(raw) else None
    return raw
