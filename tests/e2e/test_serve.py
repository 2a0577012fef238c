"""The local server over HTTP: turns, questions, stops, steers, and what `kill -9` leaves of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import httpx2
from launching import World, bash
from page_server import Sent, Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Hold, Say
from holdfast.ui.service.application import ROUTES as SERVED
from polling import eventually


def prompts(world: World) -> list[str]:
    return [entry.text for entry in world.entries() if isinstance(entry, e.PromptAccepted)]


def outcomes(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, e.CallEnded)]


def causes(world: World) -> list[str]:
    return [entry.cause for entry in world.entries() if isinstance(entry, e.TurnEnded)]


def test_a_turn_with_a_question_a_steer_and_a_refusal(world: World) -> None:
    world.script(
        (Say("I look. "), bash("touch first")),
        (bash("touch second"),),
        (Say("Done."),),
        (Say("Second turn."), Hold("never")),
    )
    served = Served(world)
    session = served.begin("do it")
    call = served.wait_for_question(session)
    steered = served.ask(session, "steer", text="and be quick")
    later = served.ask(session, "prompt", text="next")
    assert served.state(session) == "asking"
    served.ask(session, "answer", question=call, choice="once")
    eventually(lambda: served.get(f"/sessions/{session}")["asking"] not in ([], [call]))
    second = served.wait_for_question(session)
    refused = served.ask(session, "answer", question=second, choice="no", words="not this one")
    eventually(lambda: served.row(session, refused["id"])["done"])
    again = served.ask(session, "answer", question=second, choice="once")
    eventually(lambda: served.row(session, again["id"])["refused"])
    assert "no open question" in served.row(session, again["id"])["refused"]
    eventually(lambda: world.checkpointed().endswith("Second turn."))
    stop = served.ask(session, "stop")
    eventually(lambda: served.row(session, stop["id"])["done"])
    served.finished(session)
    assert (world.folder / "first").exists()
    assert not (world.folder / "second").exists()
    assert prompts(world) == ["do it", "next"]
    assert outcomes(world) == ["ok", "denied"]
    assert causes(world) == ["finished", "user"]
    assert any("and be quick" in each for each in world.provider.requests[1].raw.decode().split('"'))
    steers = [entry for entry in world.entries() if isinstance(entry, e.Steered)]
    assert [each.text for each in steers] == ["and be quick"]
    rows = {each["id"]: each for each in served.inbox(session)}
    assert isinstance(world.entries()[rows[steered["id"]]["seq"] - 1], e.Queued)
    assert isinstance(world.entries()[rows[later["id"]]["seq"] - 1], e.PromptAccepted)
    assert {each["sender"] for each in rows.values()} == {"me"}
    ran = served.stop()
    assert ran.code == 0, ran.err
    assert ran.err == ""


def test_the_same_key_is_recorded_once_and_a_killed_server_goes_on(one_world: World) -> None:
    world = one_world
    world.script((Say("one"), Hold("never")), (Say("two"),), (Say("three"),))
    served = Served(world)
    key = {"idempotency-key": "again"}
    ids = [served.client.post("/sessions", json={"prompt": "first"}, headers=key).json()["id"] for _ in range(3)]
    assert len(set(ids)) == 1
    session = ids[0]
    eventually(lambda: world.checkpointed() == "one")
    rows = [served.ask(session, "prompt", key="k", text="second") for _ in range(3)]
    assert [each["id"] for each in rows] == [rows[0]["id"]] * 3
    assert [each["new"] for each in rows] == [True, False, False]
    served.kill()
    assert prompts(world) == ["first"]
    served.start()  # what waits is done, and the turn that was running is settled first
    eventually(lambda: prompts(world) == ["first", "second"])
    served.finished(session)
    assert causes(world) == ["crash", "finished"]
    assert not served.ask(session, "prompt", key="k", text="second")["new"]

    # A crash between an entry and its mark: the next server finds the entry by its name.
    served.kill()
    with sqlite3.connect(world.home / "service" / "inbox.db") as inbox:
        assert inbox.execute("UPDATE inbox SET done = NULL, seq = NULL").rowcount == 2
    inbox.close()
    served.start()
    eventually(lambda: all(each["done"] for each in served.inbox(session)))
    assert [each["refused"] for each in served.inbox(session)] == ["", ""]
    assert prompts(world) == ["first", "second"]
    served.stop()


def test_a_question_is_asked_again_after_a_kill_and_its_answer_waits_for_it(one_world: World) -> None:
    world = one_world
    world.script((bash("touch ran"),), (Say("Done."),))
    served = Served(world)
    session = served.begin("go")
    call = served.wait_for_question(session)
    served.kill()
    with sqlite3.connect(world.home / "service" / "inbox.db") as inbox:  # an answer right before the kill
        inbox.execute(
            "INSERT INTO inbox (name, session, kind, body, sender, at) VALUES ('n', ?, 'answer', ?, 'me', 0)",
            (session, f'{{"question": "{call}", "choice": "once"}}'),
        )
    inbox.close()
    served.start()
    eventually(lambda: causes(world) == ["finished"])
    assert (world.folder / "ran").exists()
    questions = [entry for entry in world.entries() if isinstance(entry, e.ApprovalAsked)]
    answered = [entry for entry in world.entries() if isinstance(entry, e.ApprovalAnswered)]
    assert len(questions) == len(answered) == 1
    served.finished(session)
    assert served.stop().code == 0


def test_a_session_of_a_terminal_is_shown_and_its_message_waits(one_world: World) -> None:
    world = one_world
    world.script((Say("from the terminal"), Hold("terminal")), (Say("from the page"),))
    elsewhere = world.start("-m", world.model, "--yolo", "-p", "one")
    eventually(lambda: bool(world.sessions) and world.checkpointed() == "from the terminal")
    served = Served(world)
    (shown,) = served.get("/sessions")["sessions"]
    assert shown["state"] == "held"
    assert f"pid {elsewhere.pid} on" in shown["held"]
    session = shown["id"]
    assert [each.data["entry"]["kind"] for each in served.until(session, "response-checkpoint")][-1]
    row = served.ask(session, "prompt", text="two")
    assert served.row(session, row["id"])["done"] is None
    assert prompts(world) == ["one"]
    world.provider.release("terminal")
    assert elsewhere.wait().code == 0
    eventually(lambda: prompts(world) == ["one", "two"])
    served.finished(session)
    assert len(served.get(f"/sessions/{session}/export", form="json")["records"]) == len(world.entries())
    served.stop()


def test_a_stream_that_is_cut_at_every_event_has_no_hole_and_no_twin(one_world: World) -> None:
    world = one_world
    world.script((Say("I write. "), Call("write", {"path": "a", "content": "1"})), (Say("Done."),))
    served = Served(world, ("--permission-mode", "accept-edits"))
    session = served.begin("write a")
    served.finished(session)
    for name, ends in (("holdfast", '"turn-ended"'), ("stream-json", '"result"'), ("ag-ui", '"RUN_FINISHED"')):
        expected = list(_up_to(served.raw(session, query={"as": name}), ends))
        first = next((each for each in expected if each.startswith(b"id: ")), b"")
        assert first, expected
        for cut in range(len(expected)):
            before = expected[:cut]
            seen = [int(each.split(b"\n")[0][4:]) for each in before if each.startswith(b"id: ")]
            received = before[: max((at + 1 for at, each in enumerate(before) if each.startswith(b"id: ")), default=0)]
            after = list(_up_to(served.raw(session, last=seen[-1] if seen else 0, query={"as": name}), ends))
            if name == "holdfast":
                assert received + after == expected
            elif name == "stream-json":  # each connection begins with the line `init`
                assert received[1:] + after[1:] == expected[1:]
            else:  # a run that was cut comes again from its beginning
                assert after == expected
    ids = [each.id for each in _entries(served, session)]
    assert all(later == earlier + 1 for earlier, later in pairwise(each for each in ids if each is not None))
    served.stop()


def _up_to(events: Iterator[bytes], ends: str) -> Iterator[bytes]:
    for each in events:
        yield each
        if ends.encode() in each:
            return


def _entries(served: Served, session: str) -> list[Sent]:
    return served.until(session, "turn-ended")


ROUTES = [
    ("GET", "/me", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/status", "read"),
    ("GET", "/sessions", "read"),
    ("POST", "/sessions", "ask"),
    ("GET", "/sessions/{session}", "read"),
    ("GET", "/sessions/{session}/inbox", "read"),
    ("POST", "/sessions/{session}/inbox", "ask"),
    ("GET", "/sessions/{session}/events", "read"),
    ("GET", "/sessions/{session}/receipt", "read"),
    ("GET", "/sessions/{session}/export", "read"),
    ("POST", "/ag-ui", "ask"),
]


def test_every_route_refuses_who_has_no_right_to_it(one_world: World, tmp_path: Path) -> None:
    assert [(each.method, each.path, each.right) for each in SERVED if each.right] == ROUTES
    tokens = {right: f"{right}-{'x' * 30}" for right in ("read", "ask", "answer")}
    file = tmp_path / "tokens.toml"
    listed = "".join(f'[tokens.{name}]\ntoken = "{token}"\nrights = ["{name}"]\n' for name, token in tokens.items())
    file.write_text(listed)
    file.chmod(0o600)
    served = Served(one_world)
    session = served.begin()
    served.stop()
    served.arguments = ("--tokens", str(file))
    served.start()
    open_ = [(each.method, each.path) for each in SERVED if each.right is None]
    assert open_ == [("GET", "/"), ("POST", "/login"), ("POST", "/logout"), ("GET", "/healthz")]
    with httpx2.Client(base_url=served.address, trust_env=False) as anyone:
        for method, path, right in ROUTES:
            where = path.format(session=session)
            assert anyone.request(method, where).status_code == 401
            for wrong in ("Bearer nothing", "Basic abc", f"Bearer {tokens[right][:-1]}"):
                answer = anyone.request(method, where, headers={"authorization": wrong})
                assert answer.status_code == 401, (path, wrong)
            assert anyone.request(method, where, headers={"cookie": "holdfast=read.abc"}).status_code == 401
            for other, token in tokens.items():
                if other == right or (other == "answer" and (method, right) == ("POST", "ask") and path != "/sessions"):
                    continue
                answer = anyone.request(method, where, headers={"authorization": f"Bearer {token}"})
                assert answer.status_code == 403, (path, other)
                assert f"no right to {right}" in answer.json()["error"]
        asker, answerer = ({"authorization": f"Bearer {tokens[each]}"} for each in ("ask", "answer"))
        inbox = f"/sessions/{session}/inbox"
        for kind, body in (("answer", {"question": "c", "choice": "once"}), ("mode", {"mode": "ask"})):
            assert anyone.post(inbox, json={"kind": kind, **body}, headers=asker).status_code == 403
            assert anyone.post(inbox, json={"kind": kind, **body}, headers=answerer).status_code == 202
        for kind in ("prompt", "steer", "later", "stop", "model", "rename", "recall"):
            assert anyone.post(inbox, json={"kind": kind, "text": "x"}, headers=answerer).status_code == 403
        # The file is read again when it changes: a token that is taken out of it is refused at once.
        file.write_text(listed.replace("[tokens.read]", "[tokens.other]").replace(tokens["read"], "y" * 30))
        reads = {"authorization": f"Bearer {tokens['read']}"}
        assert anyone.get("/sessions", headers=reads).status_code == 401
        file.chmod(0o644)  # any user of this machine may have read it
        assert anyone.get("/sessions", headers={"authorization": f"Bearer {'y' * 30}"}).status_code == 401
    served.stop()
    one_world.one_past = False


def test_only_this_machine_and_the_own_page_may_ask(one_world: World) -> None:
    served = Served(one_world)
    get = served.client.get
    assert get("/healthz", headers={"host": "evil.example"}).status_code == 421
    assert get("/", headers={"host": "evil.example:4747"}).status_code == 421
    assert get("/sessions", headers={"origin": "http://evil.example"}).status_code == 403
    assert get("/sessions", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert served.client.post("/login", json={"token": "x"}, headers={"origin": "null"}).status_code == 403
    host = served.address.removeprefix("http://")
    assert get("/sessions", headers={"origin": served.address}).status_code == 200
    assert get("/sessions", headers={"origin": f"http://{host.split(':')[0]}:1"}).status_code == 403
    assert get("/nowhere").status_code == 404
    assert served.client.delete("/sessions").status_code == 405
    page = get("/")
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-frame-options"] == "DENY"

    # The cookie is exchanged for a token, is none itself, and no script and no other site has it.
    with httpx2.Client(base_url=served.address, trust_env=False) as browser:
        assert browser.post("/login", json={"token": "wrong" * 8}).status_code == 401
        answer = browser.post("/login", json={"token": served.token}, headers={"origin": served.address})
        assert answer.json()["rights"] == ["read", "ask", "answer"]
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert served.token.lower() not in cookie
        assert browser.get("/sessions").status_code == 200
        value = browser.cookies["holdfast"]
        assert get("/sessions", headers={"authorization": f"Bearer {value}"}).status_code == 401
        assert browser.post("/logout").status_code == 204
        assert browser.get("/sessions").status_code == 401

    # Two servers of the same sessions: the second says so. Sessions begin only where the server was told.
    second = one_world.start("serve", "--port", "0", "-m", one_world.model).wait()
    assert second.code == 1
    assert f"serves these sessions already (pid {served.pid} on" in second.err
    outside = served.client.post("/sessions", json={"place": {"cwd": "/"}})
    assert outside.status_code == 400
    assert "--root" in outside.json()["error"]
    assert served.client.post("/sessions", json={"model": "nothing:x"}).status_code == 400
    assert served.client.post("/sessions", content=b"{" * 33_600_000).status_code == 413
    assert served.client.get("/sessions/none/events").status_code == 404
    metrics = get("/metrics").text
    assert 'holdfast_sessions{state="idle"} 0' in metrics
    assert "holdfast_workers 1" in metrics
    assert 'route="/sessions",status="400"} 2' in metrics
    served.stop()


def test_a_token_file_that_others_can_read_is_refused(one_world: World) -> None:
    file = one_world.home / "holdfast-tokens.toml"
    created = one_world.run("serve", "--new-token", "bot", "--rights", "read")
    assert created.out.strip() in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert one_world.run("serve", "--new-token", "bot").code == 2
    file.chmod(0o640)
    ran = one_world.run("serve", "--port", "0")
    assert ran.code == 2
    assert "can be read by others" in ran.err


def test_a_list_that_did_not_change_is_not_sent_again(one_world: World) -> None:
    world = one_world
    world.script((Say("Hello."),))
    served = Served(world)
    session = served.begin("a prompt")
    served.finished(session)
    eventually(lambda: served.state(session) == "idle")

    def asked(tag: str) -> tuple[int, str, bytes]:
        answer = served.client.get("/sessions", headers={"if-none-match": tag})
        return answer.status_code, answer.headers["etag"], answer.content

    _, tag, first = asked("")
    eventually(lambda: asked(tag)[0] == 304 or asked("")[1] != tag)
    code, tag, body = asked("")
    assert (code, session in body.decode()) == (200, True)
    assert asked(tag) == (304, tag, b"")
    assert asked('"another"')[0] == 200
    renamed = served.ask(session, "rename", title="another title")
    eventually(lambda: served.row(session, renamed["id"])["done"])
    eventually(lambda: "another title" in asked(tag)[2].decode())
    assert first != asked("")[2]
    assert served.stop().code == 0
