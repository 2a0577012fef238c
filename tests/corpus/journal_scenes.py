"""The sessions whose journals are the corpus: real agents, on every wire, in every situation that a request may be in.

They are played once, by `write_journals.py`, with the holdfast of that day; nothing of this runs in a test.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from agent_harness import says
from holdfast.agent.agent import Agent
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.copies import fork_entries
from holdfast.session.journal.entries import Entry
from holdfast.session.journal.store import MemoryStore
from holdfast.testing.protocols import signatures
from holdfast.testing.protocols.protocol import Incoming, ResponseHead, WireEvent
from holdfast.testing.script import Call, Cut, Fail, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from provider_situations import MODELS, OTHERS, Session, killed_mid_tool, look, stop_mid_stream, stop_mid_tool
from shown_images import picture

SPACED = ' {"path" : "a.txt",\n "n": 1.0,\t"u": "\\u00e9\\/", "big": 12345678901234567890 } '
"""Arguments as some model may write them: legal JSON of which another writer would change nearly each byte."""

THOUGHT = "Grüße 🌊: a thought\nof two lines"
LINE = "what the file says, at some length. "
LITTLE = ContextSettings(prune_protect=0, prune_least=1, prune_turns=1)
Scene = Callable[["Played", Agent], Awaitable[None]]
Json = dict[str, object]


@dataclass
class Played(Session):
    """A session with tools for every kind of result."""

    context: ContextSettings = field(
        default_factory=lambda: ContextSettings(prune="off", compact="off", compact_keep=20)
    )
    lines: int = 2  # in a file

    def __post_init__(self) -> None:
        super().__post_init__()
        more = says("fails", "Error: no such file\nat line 2", ok=False), FunctionTool("look", "read", look)
        mine = says("read", LINE * self.lines), says("list", "a, b and c"), says("bash", "all clean", effect="execute")
        (waits,) = (tool for tool in self.tools.tool_list if tool.schema.name == "wait")
        self.tools = FunctionToolbox((*mine, *more, waits))

    def replaced(self, entries: Sequence[Entry]) -> None:
        """Continue from other entries, as another process would find them."""
        self.store = MemoryStore()
        self.store.append(entries, expected=0)


class Unruly(ScriptedProvider):
    """A provider without rules: it answers with these streams, one after another."""

    def __init__(self, streams: Sequence[bytes]) -> None:
        super().__init__()
        self._streams = streams

    def _response(self, incoming: Incoming, number: int) -> Iterator[WireEvent]:
        del incoming
        return iter((ResponseHead(200, (("content-type", "text/event-stream"),)), self._streams[number - 1]))


# --- a session of everything -----------------------------------------------------------------------------------------


async def tour(session: Played, agent: Agent) -> None:
    """Think, call in parallel, write arguments and names wrong, show and be shown images, fail, stop, steer."""
    several = (Call("read", SPACED), Call("list", '{"path": "a.txt", "n": 1}'), Call("fails", {}))
    session.provider.extend([Think(THOUGHT), Say("I will look. "), Say("All at once."), *several], [Say("One failed.")])
    await done(agent, "Grüße 🌊, look at “it” \\ and </this>\n\tplease\u2028")
    wrong = (Call("read", '{"path": "a'), Call("read", "[1, 2]"), Call("read", ""), Call("list", {}))
    session.provider.extend([*wrong], [Say("Again, then.")])
    await agent.run("write it wrong")
    names = (Call("read", {}), Call("functions.read", {"a": None}), Call("läs fil", {}), Call("x" * 80, {}))
    session.provider.extend([Say("By other names."), *names], [Say("")])
    await agent.run("call what is not there")
    session.provider.extend(
        [Say("I will look."), Call("look", {}), Call("read", {})], [Think("hm"), Say("It is blue.")]
    )
    await done(agent, "what is in @shot.png?", picture("shot.png"), picture("wide.png", width=3000))
    await agent.shell("git status", share=True)
    session.provider.extend([Fail(529)], [Think("so"), Say("At the second attempt.")])
    await done(agent, "try")
    session.provider.extend([Say("half"), Cut()])
    await agent.run("try again")
    session.happened.clear()
    await stop_mid_tool(session, agent)
    session.happened.clear()
    await stop_mid_stream(session, session.agent())
    agent = session.agent()
    session.provider.extend([Fail(401)])
    await agent.run("try this")
    session.provider.extend([Think(THOUGHT), Call("read", {})], [Think(""), Say("Welcome.")])
    await done(agent, "thanks")


async def short(session: Played, agent: Agent) -> None:
    session.provider.extend([Say("yes")])
    await done(agent, "is it?")


# --- what changes a conversation -------------------------------------------------------------------------------------


async def turns(session: Played, agent: Agent, count: int = 3) -> None:
    for turn in range(count):
        calls = (Call("read", SPACED), Call("look", {}))
        session.provider.extend([Think(THOUGHT), Say(f"Step {turn}."), *calls], [Think("hm"), Say(f"answer {turn}")])
        await done(agent, f"request {turn}, and @shot.png", picture())


async def compacted(session: Played, agent: Agent) -> None:
    await turns(session, agent)
    session.provider.extend([Say("the summary")])
    assert await agent.compact("the names of files") is not None
    await last(session, agent)


async def compacted_again(session: Played, agent: Agent) -> None:
    await compacted(session, agent)
    await turns(session, agent)
    session.provider.extend([Say("the second summary")])
    assert await agent.compact() is not None
    await last(session, agent)


async def uncompacted(session: Played, agent: Agent) -> None:
    await compacted(session, agent)
    await agent.uncompact()
    await last(session, agent)


async def pruned(session: Played, agent: Agent) -> None:
    session.context = LITTLE
    agent = session.agent()
    await turns(session, agent, 2)
    await last(session, agent)


async def rewound(session: Played, agent: Agent) -> None:
    await turns(session, agent)
    await agent.rewind(2)
    await last(session, agent)


async def forked(session: Played, agent: Agent) -> None:
    await turns(session, agent, 1)
    session.replaced(fork_entries(session.store.read(), "another"))
    await last(session, session.agent())


async def killed(session: Played, agent: Agent) -> None:
    await turns(session, agent, 1)
    session.happened.clear()
    await killed_mid_tool(session, agent)
    await last(session, session.agent())


async def switched(session: Played, agent: Agent) -> None:
    """Go through every provider, and back to the first."""
    for model in (*MODELS, *OTHERS, MODELS[0]):
        agent.use_model(model)
        session.provider.extend([Think(THOUGHT), Say("I look."), Call("read", SPACED), Call("look", {})], [Say("ok")])
        await done(agent, f"and you, {model}?")


async def last(session: Played, agent: Agent) -> None:
    session.provider.extend([Think(THOUGHT), Call("list", {})], [Think("so"), Say("so it is")])
    await done(agent, "and now?")


async def done(agent: Agent, prompt: str, *images: object) -> None:
    """Run a turn that must reach its end."""
    ended = await agent.run(prompt, images=images)  # pyright: ignore[reportArgumentType] - images of `picture`
    assert ended.reason == "end_turn", ended.detail


# --- what no script can say ------------------------------------------------------------------------------------------


async def two_prompts(agent: Agent) -> None:
    """Be given three answers: two in one turn, and the last to another prompt."""
    await done(agent, "look")
    await done(agent, "thanks")


def sse(*events: Json | str, named: bool = False) -> bytes:
    """Return the events as a server sends them."""
    lines: list[str] = []
    for event in events:
        name = f"event: {event['type']}\n" if named and isinstance(event, dict) else ""
        lines.append(f"{name}data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines).encode()


def messages(*blocks: tuple[Json, Sequence[Json]], why: str) -> bytes:
    """Return a stream of Anthropic's Messages: blocks with their deltas."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    message: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[Json] = [{"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        for delta in deltas:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})  # noqa: PERF401 - its type is known so
        events.append({"type": "content_block_stop", "index": index})
    ending: Json = {"stop_reason": why, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return sse(*events, named=True)


def thinking(text: str, *, place: int) -> tuple[Json, Sequence[Json]]:
    signature = signatures.sign(text, place=place)
    return (
        {"type": "thinking", "thinking": "", "signature": ""},
        [{"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": signature}],
    )


def says_text(text: str) -> tuple[Json, Sequence[Json]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]


def uses(name: str, call_id: str, *pieces: str) -> tuple[Json, Sequence[Json]]:
    start: Json = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    return start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


SEALED: tuple[Json, Sequence[Json]] = ({"type": "redacted_thinking", "data": "RW5jcnlwdGVkIHRob3VnaHQ+/w=="}, [])
REDACTED = (
    messages(
        thinking("first", place=0),
        SEALED,
        thinking("third", place=2),
        says_text("I look."),
        uses("read", "toolu_1", "", SPACED[:9], SPACED[9:]),
        uses("list", "toolu_2", ""),
        why="tool_use",
    ),
    messages(SEALED, says_text("It is there."), why="end_turn"),
    messages(says_text("Welcome."), why="end_turn"),
)


def responses(*items: Json) -> bytes:
    """Return a stream of Responses whose items come whole."""
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    usage |= {"input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 3}}
    response: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5.5", "output": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    events: list[Json] = [{"type": "response.created", "response": response | {"status": "in_progress"}}]
    for place, item in enumerate(items):
        begun: Json = dict(item, summary=list[Json]()) if item["type"] == "reasoning" else item
        events.append({"type": "response.output_item.added", "output_index": place, "item": begun})
        events += list(_inside(place, item))
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    completed = response | {"status": "completed", "output": [*items], "usage": usage}
    events.append({"type": "response.completed", "response": completed})
    return sse(*({**event, "sequence_number": at} for at, event in enumerate(events)), named=True)


def _inside(place: int, item: Json) -> Iterator[Json]:
    where: Json = {"item_id": item["id"], "output_index": place}
    if item["type"] == "reasoning":
        for at, part in enumerate(cast("list[Json]", item["summary"])):
            spot = where | {"summary_index": at}
            kind = "response.reasoning_summary_"
            yield {"type": f"{kind}part.added", **spot, "part": {"type": "summary_text", "text": ""}}
            yield {"type": f"{kind}text.delta", **spot, "delta": part["text"]}
            yield {"type": f"{kind}part.done", **spot, "part": part}
    elif item["type"] == "message":
        for at, part in enumerate(cast("list[Json]", item["content"])):
            spot = where | {"content_index": at}
            yield {"type": "response.output_text.delta", **spot, "delta": part["text"], "logprobs": []}


def reasoning(item_id: str, *summaries: str, sealed: bool = True) -> Json:
    seal = signatures.sign("".join(summaries), place=0) if sealed else None
    parts: list[Json] = [{"type": "summary_text", "text": text} for text in summaries]
    return {"type": "reasoning", "id": item_id, "summary": parts, "encrypted_content": seal}


def message(item_id: str, text: str) -> Json:
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}


def function(item_id: str, name: str, arguments: str) -> Json:
    fields: Json = {"call_id": f"call_{item_id}", "name": name, "arguments": arguments}
    return {"type": "function_call", "id": item_id, "status": "completed", **fields}


SUMMARIES = (
    responses(
        reasoning("rs_1", "**One**\n\nfirst", "**Two**\n\nsecond", "third"),
        message("msg_1", "I look."),
        reasoning("rs_2"),
        function("fc_1", "read", SPACED),
        function("fc_2", "list", ""),
    ),
    responses(reasoning("rs_3", "not sealed", sealed=False), message("msg_2", "It is there.")),
    responses(message("msg_3", "Welcome.")),
)


def chat(*deltas: Json, why: str) -> bytes:
    """Return a stream of Chat Completions."""

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    return sse(*map(chunk, deltas), chunk({}, why), "[DONE]")


def tool(index: int, name: str, arguments: str) -> Json:
    function: Json = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]}


def reasoned(**fields: object) -> tuple[bytes, ...]:
    """Return answers whose reasoning is in these fields."""
    return (
        chat(
            {"role": "assistant", **fields},
            {"content": "I look."},
            tool(0, "read", SPACED),
            tool(1, "list", ""),
            why="tool_calls",
        ),
        chat({"role": "assistant", "content": "", **fields}, {"content": "It is there."}, why="stop"),
        chat({"content": "Welcome."}, why="stop"),
    )


def gemini(*parts: Json) -> bytes:
    """Return a stream of Gemini with one part in each chunk."""
    usage: Json = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 16, "thoughtsTokenCount": 2}
    chunks: list[Json] = [
        {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]} for part in parts
    ]
    end: Json = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}
    return sse(*chunks, {"candidates": [end], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"})


def called(name: str, arguments: Json, **more: object) -> Json:
    return {"functionCall": {"name": name, "args": arguments, **more}}


SIGNED = (
    gemini(
        {"text": "thought one", "thought": True},
        {"text": "I look.", "thoughtSignature": "c2lnbmF0dXJlIG9uIGEgdGV4dA=="},
        {**called("read", {"path": "a.txt", "n": 1.0, "u": "é/"}, id="fc_1"), "thoughtSignature": "-_8BAgM="},
        called("list", {}, id="fc_2"),
        {**called("read", {}, id="fc_3"), "thoughtSignature": "AAECAw"},
    ),
    gemini(
        {"text": "thought two", "thought": True},
        {"text": "It is "},
        {"text": "there."},
        {"text": "", "thoughtSignature": "ZW5k+/8="},
    ),
    gemini({"text": "Welcome."}),
)
