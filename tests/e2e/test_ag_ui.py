"""AG-UI over HTTP: every event is read by the protocol's own models, and a whole conversation is led through it."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from ag_ui.core import Event, RunAgentInput
from launching import World, bash
from page_server import Served, split_events
from pydantic import TypeAdapter

from holdfast.session.journal import entries as e
from holdfast.testing.script import Hold, Say, Think
from polling import HANGS, eventually

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
BETWEEN = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"}


def run(served: Served, **fields: Any) -> list[dict[str, Any]]:
    """Send a run as the protocol's model writes it, and return its events, each read and written by the models."""
    run_input: dict[str, Any] = {
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        "messages": [],
        **fields,
    }
    body = RunAgentInput.model_validate(run_input).model_dump_json(by_alias=True, exclude_none=True)
    found: list[dict[str, Any]] = []
    with served.client.stream("POST", "/ag-ui", content=body) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        for each in split_events(response.iter_bytes()):
            data = [line[6:] for line in each.decode().split("\n") if line.startswith("data: ")]
            for line in data:
                event = EVENT.validate_json(line)
                found.append(event.model_dump(mode="json", by_alias=True, exclude_none=True))
    return found


def judge(events: list[dict[str, Any]], *, thread: str, run_id: str) -> None:
    """Hold a run to the order that clients verify: one start, one end, calls begun before they end."""
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}
    assert [each["type"] for each in events if each["type"] in BETWEEN] == [events[0]["type"], events[-1]["type"]]
    assert (events[0]["threadId"], events[0]["runId"]) == (thread, run_id)
    open_: set[str] = set()
    for each in events:
        match each["type"]:
            case "TOOL_CALL_START":
                assert each["toolCallId"] not in open_
                open_.add(each["toolCallId"])
            case "TOOL_CALL_ARGS":
                assert each["toolCallId"] in open_
            case "TOOL_CALL_END":
                open_.remove(each["toolCallId"])
            case _:
                pass
    assert not open_


def texts(events: list[dict[str, Any]], role: str) -> list[str]:
    return [each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CHUNK" and each["role"] == role]


def test_a_conversation_with_a_question_over_ag_ui(one_world: World) -> None:
    world = one_world
    world.script(
        (Think("hm"), Say("I run it."), bash("touch ran")), (Say("It ran."),), (bash("touch no"),), (Say("Then not."),)
    )
    served = Served(world)
    user = {"id": "1", "role": "user", "content": "run it"}
    first = run(served, threadId="thread-1", runId="r1", messages=[user])
    judge(first, thread="thread-1", run_id="r1")
    assert texts(first, "user") == [], "the client shows its own message already"
    assert texts(first, "assistant") == ["I run it."]
    assert [each["delta"] for each in first if each["type"] == "REASONING_MESSAGE_CHUNK"] == ["hm"]
    outcome = first[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    (interrupt,) = outcome["interrupts"]
    assert interrupt["toolCallId"] == interrupt["id"]
    assert "is not known to only read" in interrupt["message"]
    assert not (world.folder / "ran").exists()

    allowed = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"choice": "once"}}]
    second = run(served, threadId="thread-1", runId="r2", resume=allowed)
    judge(second, thread="thread-1", run_id="r2")
    assert second[0]["parentRunId"] == "t1"
    assert second[-1]["outcome"] == {"type": "success"}
    assert second[-1]["result"] == {"reason": "end_turn", "cause": "finished"}
    (result,) = [each for each in second if each["type"] == "TOOL_CALL_RESULT"]
    assert result["toolCallId"] == interrupt["id"]
    outcomes = [each["value"] for each in second if each.get("name") == "holdfast.outcome"]
    assert outcomes == [{"call": interrupt["id"], "outcome": "ok"}]
    assert (world.folder / "ran").exists()

    # The same run again asks nothing new: its events come again.
    again = run(served, threadId="thread-1", runId="r1", messages=[user])
    assert again == first
    third = run(served, threadId="thread-1", runId="r3", messages=[user, {"id": "2", "role": "user", "content": "no"}])
    (interrupt,) = third[-1]["outcome"]["interrupts"]
    denied = [{"interruptId": interrupt["id"], "status": "cancelled"}]
    fourth = run(served, threadId="thread-1", runId="r4", resume=denied)
    judge(fourth, thread="thread-1", run_id="r4")
    assert [each["value"]["outcome"] for each in fourth if each.get("name") == "holdfast.outcome"] == ["denied"]
    late = run(served, threadId="thread-1", runId="r5", resume=allowed)
    judge(late, thread="thread-1", run_id="r5")
    assert late[-1]["type"] == "RUN_ERROR"
    assert "no open question" in late[-1]["message"]
    prompts = [entry.text for entry in world.entries() if isinstance(entry, e.PromptAccepted)]
    assert prompts == ["run it", "no"]

    # The whole session as a watcher sees it, in runs.
    watched: list[dict[str, Any]] = []
    for each in served.events("thread-1", query={"as": "ag-ui"}):
        watched.append(EVENT.validate_python(each.data).model_dump(mode="json", by_alias=True, exclude_none=True))
        if len([None for each in watched if each["type"] == "RUN_FINISHED"]) == 4:
            break
    runs = [each["runId"] for each in watched if each["type"] == "RUN_STARTED"]
    assert runs == ["t1", "t1.1", "t2", "t2.1"]
    assert texts(watched, "user") == ["run it", "no"]
    eventually(lambda: served.state("thread-1") == "idle")
    served.stop()


@pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}])
def test_a_stopped_run_is_cancelled_for_clients_that_know_the_word(one_world: World, version: dict[str, str]) -> None:
    """Clients say their version since 1.0; those from before break at an outcome that they do not know."""
    one_world.script((Say("half"), Hold("stop")))
    served = Served(one_world)
    message = {"id": "1", "role": "user", "content": "begin"}
    found: list[dict[str, Any]] = []
    running = Thread(
        target=lambda: found.extend(run(served, threadId="thread-1", runId="r1", messages=[message], **version))
    )
    running.start()
    one_world.provider.wait_for("stop", timeout=HANGS)
    served.ask("thread-1", "stop")
    running.join(HANGS)
    assert found[0]["protocolVersion"] == "1.0"
    assert found[-1]["result"] == {"reason": "cancelled", "cause": "user"}
    assert found[-1].get("outcome") == ({"type": "cancelled"} if version else None)
    served.stop()


def test_what_cannot_be_taken_is_refused(one_world: World) -> None:
    served = Served(one_world)
    picture = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
    message = {"id": "9", "role": "user", "content": [{"type": "text", "text": "this"}, picture]}
    for messages, why in (([], "text is empty"), ([message], "only text is supported")):
        refused = served.client.post("/ag-ui", json={"threadId": "thread-1", "runId": "r", "messages": messages})
        assert refused.status_code == 400
        assert why in refused.text
    assert served.get("/sessions")["sessions"] == []
    served.stop()
