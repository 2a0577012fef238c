"""The journals of the corpus, the requests that they replay to, and how those are sent today.

A journal is a file of entries, written once by a holdfast of its day. A situation is what is sent of it: its own last
request, what follows at each model, a summary. Its record has the exact body, the target and the headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.agent.context import summary_request
from holdfast.providers.model import Model
from holdfast.providers.registry import profile_of
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import fold
from holdfast.session.journal.entries import Entry, ModelChanged, PromptAccepted, RequestStarted, decode
from holdfast.session.request.validate import validate_request
from provider_situations import MODELS, OTHERS
from socket_servers import Received, Recorder

HERE = Path(__file__).parent / "corpus"
JOURNALS = HERE / "journals"
REQUESTS = HERE / "requests"
EVERYBODY = (*MODELS, *OTHERS)

HEADS = (
    "openai:gpt-4o",
    "openai:gpt-4.1-mini",
    "openai:o3",
    "openai:o4-mini",
    "openai:gpt-5",
    "openai:gpt-5-codex",
    "openai:gpt-5.1",
    "openai:gpt-5.4",
    "openai:gpt-5.6",
    "openai:codex-mini-latest",
    "openai:m",
    "openai-chat:gpt-4o",
    "openai-chat:gpt-5.5",
    "openai-chat:o3",
    "anthropic:claude-3-haiku-20240307",
    "anthropic:claude-3-5-haiku-latest",
    "anthropic:claude-3-7-sonnet-latest",
    "anthropic:claude-haiku-4-5",
    "anthropic:claude-opus-4-0",
    "anthropic:claude-opus-4-5",
    "anthropic:claude-sonnet-4-0",
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-sonnet-5-5",
    "bedrock:anthropic.claude-sonnet-5-5",
    "bedrock:anthropic.claude-haiku-4-5",
    "google:gemini-2.0-flash",
    "google:gemini-2.5-pro",
    "google:gemini-3-pro-preview",
    "google:gemini-3.8-flash",
    "google:gemma-3",
    "mistral:mistral-medium-latest",
    "mistral:magistral-medium-latest",
    "openrouter:anthropic/claude-sonnet-5.5",
    "openrouter:deepseek/deepseek-r1",
    "openrouter:google/gemini-3-pro",
    "openrouter:openai/gpt-5.5",
    "ollama:qwen3",
    "ollama:gpt-oss:20b",
)
"""Models by whose names a request may differ: the journal `short` is sent to each."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is sent: of a journal, to a model, and when."""

    journal: str
    model: str
    when: str  # "last", "next" or "summary"

    def __str__(self) -> str:
        return f"{self.journal}, {self.when}, {self.model}"


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went over the wire, without the headers that name the socket."""

    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """A situation, and both forms in which it was sent when it was recorded."""

    situation: Situation
    streamed: Sent
    in_one_piece: Sent


def journal_names() -> list[str]:
    """Return the names of all journals."""
    return sorted(path.stem for path in JOURNALS.glob("*.jsonl"))


def journal(name: str) -> list[Entry]:
    """Return the entries of a journal."""
    return [decode(line) for line in (JOURNALS / f"{name}.jsonl").read_bytes().splitlines()]


def situations(name: str) -> Iterator[Situation]:
    """Yield what is sent of a journal."""
    entries = journal(name)
    yield Situation(name, next(e.model for e in reversed(entries) if isinstance(e, RequestStarted)), "last")
    if name.startswith("tour"):  # they differ little, so together they go to everybody
        last_model = fold(entries).model
        at = EVERYBODY.index(last_model)
        for model in (last_model, *(EVERYBODY[(at + further) % len(EVERYBODY)] for further in (1, 3, 6))):
            yield Situation(name, model, "next")
        yield Situation(name, last_model, "summary")
    else:
        for model in (*EVERYBODY, *(HEADS if name == "short" else ())):
            yield Situation(name, model, "next")


def conversation(situation: Situation) -> Conversation:
    """Return the conversation that is sent, by today's fold and today's rules."""
    entries = journal(situation.journal)
    match situation.when:
        case "last":
            folded = fold(entries[: max(at for at, e in enumerate(entries) if isinstance(e, RequestStarted))])
        case "next":
            turn = fold(entries).turns + 1
            folded = fold([*entries, ModelChanged(situation.model), PromptAccepted(turn=turn, text="go on")])
        case _:
            complete = fold(entries)
            folded = summary_request.request(complete, complete.messages, room=4_000, wish="the names of files")
    assert folded.model == situation.model
    return validate_request(folded, profile_of(folded.model)).conversation


async def send(model: Model, sent: Conversation, recorder: Recorder) -> tuple[Sent, Sent]:
    """Send the conversation streamed and whole, and return what the server received."""
    for non_streaming in (False, True):
        async with model.stream(sent, non_streaming=non_streaming) as events:
            async for _ in events:
                pass
    streamed, in_one_piece = (_sent(request) for request in recorder.requests[-2:])
    return streamed, in_one_piece


MACHINE = ("user-agent", "x-goog-api-client", "x-stainless-")
"""Headers that tell of this machine or of a library's version: only that they are sent is recorded."""


def _sent(request: Received) -> Sent:
    assert request.method == "POST"
    headers = {
        name: "…" if name.startswith(MACHINE) else value
        for name, value in request.headers.items()
        if name not in ("host", "content-length")
    }
    return Sent(request.target, headers, request.body)


# --- records as they are stored --------------------------------------------------------------------------------------


class _Streamed(msgspec.Struct):
    target: str
    headers: int
    body: str


class _Whole(msgspec.Struct):
    """What differs from the streamed form: all but its `first` and its `last` bytes."""

    target: str
    headers: int
    first: int
    between: str
    last: int


class _Stored(msgspec.Struct):
    when: str
    model: str
    streamed: _Streamed
    whole: _Whole


class Headers:
    """The headers of all records, each set once: a line of a file."""

    def __init__(self) -> None:
        self._path = REQUESTS / "headers.jsonl"
        lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        self._known = [msgspec.json.decode(line, type=dict[str, str]) for line in lines]

    def __getitem__(self, number: int) -> dict[str, str]:
        return self._known[number]

    def number(self, headers: Mapping[str, str]) -> int:
        """Return the number of the line that has these headers, a new one if none has."""
        if dict(headers) not in self._known:
            self._known.append(dict(headers))
            self._path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in self._known))
        return self._known.index(dict(headers))


def records(name: str) -> list[Record]:
    """Return what was recorded of a journal."""
    known = Headers()
    lines = (REQUESTS / f"{name}.jsonl").read_bytes().splitlines()
    return [_read(name, msgspec.json.decode(line, type=_Stored), known) for line in lines]


def _read(name: str, stored: _Stored, known: Headers) -> Record:
    streamed, in_one_piece = stored.streamed, stored.whole
    body = streamed.body.encode()
    other = body[: in_one_piece.first] + in_one_piece.between.encode() + body[len(body) - in_one_piece.last :]
    return Record(
        Situation(name, stored.model, stored.when),
        Sent(streamed.target, known[streamed.headers], body),
        Sent(in_one_piece.target, known[in_one_piece.headers], other),
    )


def write_records(name: str, recorded: Iterable[Record]) -> None:
    """Store the records of a journal."""
    known = Headers()
    lines = [msgspec.json.encode(_stored(record, known)) + b"\n" for record in recorded]
    (REQUESTS / f"{name}.jsonl").write_bytes(b"".join(lines))


def _stored(record: Record, known: Headers) -> _Stored:
    streamed, in_one_piece = record.streamed, record.in_one_piece
    first = _alike(streamed.body, in_one_piece.body)
    last = _alike(streamed.body[first:][::-1], in_one_piece.body[first:][::-1])
    between = in_one_piece.body[first : len(in_one_piece.body) - last].decode()
    return _Stored(
        record.situation.when,
        record.situation.model,
        _Streamed(streamed.target, known.number(streamed.headers), streamed.body.decode()),
        _Whole(in_one_piece.target, known.number(in_one_piece.headers), first, between, last),
    )


def _alike(one: bytes, other: bytes) -> int:
    """Return how many bytes are the same from the beginning."""
    least = min(len(one), len(other))
    return next((at for at in range(least) if one[at] != other[at]), least)
