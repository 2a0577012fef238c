"""The debug log: what it holds, what it never holds, and that without one nothing is done for it."""

from __future__ import annotations

import asyncio
import datetime as dt
import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from urllib.parse import quote

import httpx2
import pytest

from agent_harness import WITNESSES, Rig, says, waits
from holdfast.agent.agent import Agent
from holdfast.agent.debug_log.log import LONGEST_FIELD, Log
from holdfast.agent.debug_log.log_file import KEPT, LogFile
from holdfast.agent.debug_log.stream_stats import Counts
from holdfast.agent.events import CheckFinding, Event, LiveCall
from holdfast.agent.turn.states import Signal, State
from holdfast.providers.connect import open_model
from holdfast.providers.credentials.redaction import HIDDEN, redact, secrets_of, strip_credentials
from holdfast.providers.model import Model
from holdfast.providers.registry import PROVIDERS, resolve_endpoint
from holdfast.session.conversation.conversation import UserContent, UserMessage
from holdfast.session.journal.store import MemoryStore
from holdfast.session.request import normalize
from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.script import Call, Fail, Hold, Ping, Reply, Say, Think
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.testing.toolbox import FunctionTool, FunctionToolbox
from holdfast.testing.virtual_loop import VirtualLoop, run_virtual

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
KEY = 'special"key/+%with\\everything'
WIRES = ("openai", "openai-chat", "anthropic", "google")


class Logged:
    """An agent with a log, over a rig's parts; `model` or a provider answers."""

    def __init__(self, model: Model, tools: Sequence[FunctionTool] = (), *, secrets: tuple[str, ...] = ()) -> None:
        self.lines: list[str] = []
        self.events: list[Event] = []
        self.stop_at: type[Event] | None = None
        self.log = Log(self.lines.append, session="s1", secrets=secrets, now=lambda: NOON)
        self.rig = Rig(ScriptedModel(), tools)

        async def connect(name: str) -> Model:
            del name
            return model

        self.agent = Agent(
            store=self.rig.store,
            toolbox=FunctionToolbox(tools),
            connect=connect,
            mode="yolo",
            emit=self.receive,
            ends_with_listener=True,
            limits=self.rig.limits,
            log=self.log,
        )

    def receive(self, event: Event) -> None:
        self.events.append(event)
        if self.stop_at is not None and isinstance(event, self.stop_at):
            self.agent.stop()

    def records(self, kind: str | None = None) -> list[dict[str, object]]:
        return [record for line in self.lines if (record := json.loads(line))["kind"] == (kind or record["kind"])]


def scripted(*script: Reply) -> ScriptedModel:
    return ScriptedModel(script)


async def test_a_turn_is_logged_from_its_prompt_to_its_end() -> None:
    logged = Logged(scripted((Think("hm"), Call("look", {"at": "it"})), (Say("done"),)), [says("look")])
    await logged.agent.run("secret prompt")
    heads = [(record["kind"], record["turn"], record["step"]) for record in logged.records()]
    assert heads[0] == ("entry", 1, None)
    assert ("outgoing", 1, 1) in heads
    assert ("stream", 1, 2) in heads
    assert {record["session"] for record in logged.records()} == {"s1"}
    assert {record["at"] for record in logged.records()} == {"2026-01-02T12:00:00+00:00"}
    entries = [record["entry"] for record in logged.records("entry")]
    assert entries == [
        "prompt-accepted",
        "request-started",
        "response-ended",
        "call-started",
        "call-ended",
        "request-started",
        "response-ended",
        "turn-ended",
    ]
    assert [record["seq"] for record in logged.records("entry")] == list(range(2, 10))
    assert [record["bytes"] for record in logged.records("entry")] == [size for _, size in sizes(logged.rig.store)[1:]]
    moves = [(record["state"], record["signal"], record["to"]) for record in logged.records("move")]
    assert moves[0] == (State.IDLE.value, Signal.SEND.value, State.REQUESTING.value)
    assert moves[-1] == (State.SETTLING.value, Signal.SETTLED.value, State.IDLE.value)
    started, ended = (record for record in logged.records("entry") if "call" in record)
    assert (started["effect"], ended["outcome"]) == ("read", "ok")
    assert not any(word in "".join(logged.lines) for word in ("secret prompt", "SYSTEM", 'hm"', 'done"', '\\"at\\"'))


def sizes(store: object) -> list[tuple[float, int]]:
    assert isinstance(store, MemoryStore)
    return [(at, len(body)) for at, body in store._rows]


async def test_the_list_before_each_request_has_places_roles_parts_sizes_and_calls() -> None:
    logged = Logged(scripted((Call("look", {"at": "it"}),), (Say("done"),)), [says("look", "seen")])
    await logged.agent.run("go")
    first, second = logged.records("outgoing")
    assert first["messages"] == [{"index": 0, "role": "user", "pieces": [{"kind": "text", "size": 2}]}]
    assert (second["attempt"], second["open_calls"], second["system"]) == (1, [], len("SYSTEM"))
    rows: list[dict[str, list[dict[str, object]]]] = second["messages"]  # pyright: ignore[reportAssignmentType] - as JSON gives it
    assert [row["role"] for row in rows] == ["user", "assistant", "tool"]
    assert [piece["kind"] for row in rows for piece in row["pieces"]] == ["text", "call", "result"]
    assert rows[1]["pieces"][0]["call"] == rows[2]["pieces"][0]["call"] != ""
    assert rows[2]["pieces"][0]["size"] == len("seen")


async def test_at_a_stop_the_stream_is_counted() -> None:
    logged = Logged(scripted((Think("hmm"), Say("half"), Call("look", {"a": 1}), Hold("never"))), [says("look")])
    logged.stop_at = LiveCall
    await logged.agent.run("go")
    (stream,) = logged.records("stream")
    assert stream["how"] == "CancelledError"
    assert (stream["text"], stream["thinking"], stream["arguments"]) == (4, 3, len('{"a": 1}'))
    assert isinstance(stream["ms_to_first_event"], int)
    assert isinstance(stream["ms_since_last_event"], int)
    kinds = [record["kind"] for record in logged.records()]
    assert kinds.index("stream") < len(kinds) - 1 - kinds[::-1].index("entry"), "before the turn's end"


async def test_a_model_that_does_not_end_is_counted_once() -> None:
    logged = Logged(scripted((Say("x"),)))
    counts = logged.log.record_request(logged.agent.conversation)
    logged.log.stream_ended(counts, "left")
    logged.log.stream_ended(counts, "ended")
    newer = logged.log.record_request(logged.agent.conversation)
    logged.log.stream_ended(counts, "ended")
    assert [record["how"] for record in logged.records("stream")] == ["left"]
    logged.log.stream_ended(newer, "ended")
    assert len(logged.records("stream")) == 2


async def test_a_stopped_tool_is_logged_without_its_output() -> None:
    started = asyncio.Event()
    logged = Logged(scripted((Call("wait", {}),)), [waits("wait", started=started)])
    turn = asyncio.ensure_future(logged.agent.run("go"))
    await started.wait()
    logged.agent.stop()
    await turn
    ended = [record for record in logged.records("entry") if record["entry"] == "call-ended"]
    assert [record["outcome"] for record in ended] == ["interrupted"]
    assert "half of it" not in "".join(logged.lines)


async def test_a_repair_is_logged_as_one_record(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = Logged(scripted((Call("look", {}),), (Say("done"),)), [says("look")])

    def loses_results(_: object, content: tuple[UserContent, ...], *__: object) -> Iterator[UserMessage]:
        yield UserMessage((), content or ("(lost)",))

    monkeypatch.setattr(normalize, "user_messages", loses_results)
    await logged.agent.run("go")
    (repair,) = logged.records("repair")
    assert "call-without-result" in str(repair["finding"])
    assert [record["seq"] for record in logged.records("entry") if record["entry"] == "repaired"] == [repair["seq"]]


async def test_a_retry_is_logged() -> None:
    logged = Logged(scripted((Fail(529, "busy"),), (Say("done"),)))
    await logged.agent.run("go")
    (failed,) = (record for record in logged.records("entry") if record["entry"] == "request-failed")
    assert (failed["fault"], failed["status"], failed["attempt"]) == ("overloaded", 529, 1)
    assert [record["attempt"] for record in logged.records("outgoing")] == [1, 2]


# --- the wire --------------------------------------------------------------------------------------------------------


def wired(kind: str, *script: Reply) -> Logged:
    """Return a logged agent whose model is a provider's own client."""
    provider = ScriptedProvider(script, key=KEY)
    known = PROVIDERS[kind]
    address = "http://provider.test:81/v1" if kind.startswith("openai") else "http://provider.test:81"
    assert known.key_variable is not None
    assert known.address_variable is not None
    environ = {known.key_variable: KEY, known.address_variable: address}
    logged = Logged(ScriptedModel(), secrets=secrets_of(environ))

    async def connect(name: str) -> Model:
        del name
        created = open_model(
            resolve_endpoint(f"{kind}:m", environ),
            http=lambda: httpx2.AsyncClient(transport=ScriptedTransport(provider), timeout=5),
            log=logged.log,
        )
        return await logged.log.wrap_connect(lambda _: asyncio.sleep(0, created))(created.name)

    logged.agent._connection._connect = connect
    logged.agent.use_model(f"{kind}:m")
    return logged


@pytest.mark.parametrize("kind", WIRES)
async def test_each_request_and_each_response_status_is_logged(kind: str) -> None:
    logged = wired(kind, (Ping(3), Say("hello")))
    assert (await logged.agent.run("go")).cause == "finished"
    (request,), (response,), (stream,) = (logged.records(kind) for kind in ("request", "response", "stream"))
    assert (request["method"], request["attempt"], request["step"]) == ("POST", 1, 1)
    assert str(request["address"]).startswith("http://provider.test:81/v1")
    assert request["bytes"] > 50  # pyright: ignore[reportOperatorIssue] - a number
    assert (response["status"], isinstance(response["ms"], int)) == (200, True)
    if kind != "google":  # which sends none, and whose library takes none for what it is
        assert stream["keep_alives"] >= 3  # pyright: ignore[reportOperatorIssue] - a number
    assert stream["bytes"] > 50  # pyright: ignore[reportOperatorIssue] - a number
    assert stream["text"] == 5
    assert "hello" not in "".join(logged.lines)


@pytest.mark.parametrize("kind", WIRES)
async def test_of_an_error_the_body_is_kept_and_not_much_of_it(kind: str) -> None:
    logged = wired(kind, (Fail(400, "no such thing " * 1000),))
    assert (await logged.agent.run("go")).cause == "provider"
    (body,) = logged.records("error-body")
    assert (body["status"], len(str(body["body"]))) == (400, LONGEST_FIELD + 1)
    assert "no such thing" in str(body["body"])
    assert max(map(len, logged.lines)) < 2000


@pytest.mark.parametrize("kind", WIRES)
async def test_a_key_is_nowhere_wherever_it_is_planted(kind: str) -> None:
    planted = f"Key {KEY} (Authorization: Bearer {KEY}; x-api-key: {KEY}) is refused. " + "x" * 400 + KEY
    logged = wired(kind, (Fail(401, planted),), (Call("look", {KEY: KEY}), Say(KEY)), (Say("done"),))
    assert (await logged.agent.run(KEY)).cause == "provider"
    await logged.agent.run(KEY)
    url = f"http://{quote(KEY, safe='')}:{KEY}@provider.test/v1/{quote(KEY, safe='')}?key={KEY}"
    logged.log.request_sent("POST", url, 1)
    logged.log.wrap_emit(lambda _: None)(CheckFinding(KEY))
    logged.log.record("any", nested=[{"deep": (KEY, quote(KEY, safe=""))}])
    text = "".join(logged.lines)
    assert logged.records("error-body")
    assert HIDDEN in text
    for spelt in (KEY, json.dumps(KEY)[1:-1], quote(KEY, safe=""), json.dumps(json.dumps(KEY))[3:-3]):
        assert spelt not in text, spelt


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-********wxyz. See",
        "{'authorization': 'Bearer abcdefgh12345678'}",
        "Authorization: abcdefgh12345678",
        "Basic dXNlcjpwYXNzd29yZA==",
        "https://host/v1?alt=sse&key=abcdefgh12345678",
        "cannot connect to https://svc:abcdefgh@gw.example/v1",
        "via http://me:abc@defgh:wxyz@proxy:3128, the only one",
        "git+https://abcdefgh@github.com/x/y@v1",
    ],
)
def test_what_looks_like_a_key_is_hidden_too(text: str) -> None:
    assert HIDDEN in redact(text, ())
    assert not any(part in redact(text, ()) for part in ("wxyz", "abcdefgh", "dXNlcjpw"))


def test_ordinary_words_stay() -> None:
    for text in (
        "basic training",
        "the bearer of news",
        "a task-oriented, risk-free disk-based key=value",
        "x" * 600,
        "https://pypi.org/x@1 a@b.c",
    ):
        assert redact(text, secrets_of({"OPENAI_API_KEY": "none"})) == text
    assert secrets_of({"HOME": "/somewhere", "GITHUB_TOKEN": "12345678", "MY_SECRET": "short"}) == ("12345678",)
    assert strip_credentials("https://user:pass@host:8/v1/x?key=1#frag") == "https://host:8/v1/x?…"


def test_keep_alives_are_counted_however_they_are_cut() -> None:
    stream = b': a\n\nevent: ping\ndata: {}\n\n: b\r\n\r\ndata: {"x": "event: ping"}\n\nevent:ping\n\n'
    for size in range(1, len(stream) + 1):
        counts = Counts(began=0)
        for start in range(0, len(stream), size):
            counts.chunk(stream[start : start + size])
        assert (counts.keep_alives, counts.bytes) == (4, len(stream)), size


# --- without one, and when it fails ----------------------------------------------------------------------------------


async def test_without_a_log_nothing_is_done_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def recorder(name: str) -> Callable[..., None]:
        return lambda *_, **__: done.append(name)  # pyright: ignore[reportUnknownLambdaType] - whatever it is called with

    for kind in (Log, Counts):
        for name in (name for name, value in list(vars(kind).items()) if isinstance(value, FunctionType)):
            monkeypatch.setattr(kind, name, recorder(name))
    for name in ("outline", "arranged", "redact", "encode"):
        monkeypatch.setattr(f"holdfast.agent.debug_log.log.{name}", recorder(name))
    rig = Rig(scripted((Think("hm"), Call("look", {})), (Fail(529),), (Say("done"),)), [says("look")])
    assert (await rig.agent.run("go")).cause == "finished"
    assert rig.agent._connection._model is rig.model, "what is driven is the model itself"
    (witness,) = WITNESSES
    assert rig.agent.journal._emit == witness.told, "and who is told is whoever asked"
    assert done == []


async def test_a_log_changes_nothing_of_a_turn() -> None:
    script: tuple[Reply, ...] = ((Think("hm"), Call("look", {})), (Fail(529),), (Say("done"),))
    plain = Rig(scripted(*script), [says("look")])
    logged = Logged(scripted(*script), [says("look")])
    await plain.agent.run("go")
    await logged.agent.run("go")

    def timeless(entries: Sequence[object]) -> list[str]:
        return [re.sub(r"seconds=[\d.e-]+", "", str(entry)) for entry in entries]

    assert timeless(logged.rig.entries) == timeless(plain.entries)
    assert len(logged.events) == len(plain.events)


async def stopped_at(number: int | None, how: Callable[[Agent, asyncio.Task[object]], object]) -> tuple[Logged, int]:
    """Return a logged turn to which something happened before a callback, and how many callbacks it took."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    model = scripted((Think("hm"), Call("look", {})), (Fail(529),), (Say("done", chunk=1),))
    logged = Logged(model, [says("look")])
    begun = loop.callbacks
    turn: asyncio.Task[object] = asyncio.ensure_future(logged.agent.run("go"))
    if number is not None:
        loop.at(begun + number, lambda: how(logged.agent, turn))
    await asyncio.wait({turn})
    await logged.agent.close()
    return logged, loop.callbacks - begun


def stop(agent: Agent, turn: asyncio.Task[object]) -> None:
    del turn
    agent.stop()


def cancel(agent: Agent, turn: asyncio.Task[object]) -> None:
    del agent
    turn.cancel()


@pytest.mark.parametrize("how", [stop, cancel])
def test_wherever_a_turn_is_stopped_its_records_are_whole(
    how: Callable[[Agent, asyncio.Task[object]], object],
) -> None:
    _, callbacks = run_virtual(stopped_at(None, how))
    assert callbacks > 30
    for number in range(callbacks):
        logged, _ = run_virtual(stopped_at(number, how))
        kinds = [record["kind"] for record in logged.records()]
        assert kinds.count("outgoing") == kinds.count("stream"), number
        entries = [record["seq"] for record in logged.records("entry")]
        assert entries == list(range(2, logged.rig.store.length + 1)), number
        if entries:
            assert logged.records("entry")[-1]["entry"] == "turn-ended", number
            assert logged.records("move")[-1]["to"] == State.IDLE.value, number


async def test_a_log_that_cannot_be_written_says_so_once_and_ends_itself() -> None:
    logged = Logged(scripted((Call("look", {}),), (Say("done"),)), [says("look")])
    written: list[str] = []

    def full(line: str) -> None:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(line)

    logged.log._write = full
    assert (await logged.agent.run("go")).cause == "finished"
    messages = [event.message for event in logged.events if isinstance(event, CheckFinding)]
    assert messages == ["The debug log can no longer be written: No space left on device. The session is not affected."]


# --- the file --------------------------------------------------------------------------------------------------------


def test_a_full_file_is_turned_over_and_the_oldest_goes(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "debug.log", largest=100)
    for number in range(100):
        file.write(json.dumps({"number": number}))
    file.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["debug.log", "debug.log.1", "debug.log.2"]
    assert len(names) == KEPT
    assert all(path.stat().st_mode & 0o777 == 0o600 and path.stat().st_size <= 100 for path in tmp_path.iterdir())
    lines = [line for name in reversed(names) for line in (tmp_path / name).read_text().splitlines()]
    numbers = [json.loads(line)["number"] for line in lines]
    assert numbers == list(range(100 - len(numbers), 100)), "the last ones, in order"


def test_a_file_is_gone_on_with_and_a_link_is_not_followed(tmp_path: Path) -> None:
    for line in ("one", "two"):
        file = LogFile(tmp_path / "debug.log")
        file.write(line)
        file.close()
        file.close()
    assert (tmp_path / "debug.log").read_text() == "one\ntwo\n"
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "linked.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        LogFile(tmp_path / "linked.log")
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write("after the end")
