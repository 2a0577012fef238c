"""Who may do what on the local server: every request of every caller, against the rights that the page promises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx2
from launching import World
from page_server import Served

from holdfast.ui.service.access import RIGHTS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "http-api.md"
ROW = re.compile(r"^\| `(GET|POST) (/[^`]*)` \| `?(\w+)`? \|", re.MULTILINE)
KINDS: dict[str, dict[str, str]] = {
    "prompt": {"text": "x"},
    "steer": {"text": "x"},
    "later": {"text": "x"},
    "stop": {},
    "model": {"model": "openai:gpt-5.5"},
    "rename": {"title": "x"},
    "recall": {"id": "q1"},
    "answer": {"question": "c", "choice": "once"},
    "mode": {"mode": "ask"},
}
RUN: dict[str, Any] = {"threadId": "t-1", "runId": "r", "messages": [{"role": "user", "content": "x"}]}
RESUME: dict[str, Any] = {
    "threadId": "t-1",
    "runId": "r",
    "resume": [{"interruptId": "c", "status": "resolved", "payload": {"choice": "once"}}],
}

ORIGINS = ("http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that needs a right. Its body would do something; that of `useless`, where there is one, would not."""

    method: str
    path: str
    right: str
    body: Any = None
    useless: Asked | None = None


def requests_of(session: str) -> list[Asked]:
    """Return a request for each route of the page, and for each kind of body with its own right."""
    found: list[Asked] = []
    for method, path, right in ROW.findall(PAGE.read_text("utf-8")):
        where = path.format(session=session)
        match method, path:
            case _ if right == "none":
                continue
            case "POST", "/sessions/{session}/inbox":
                for kind, more in KINDS.items():
                    body, of_kind = {"kind": kind, **more}, "answer" if kind in {"answer", "mode"} else str(right)
                    useless = Asked(method, path.format(session="none"), of_kind, body)
                    found.append(Asked(method, where, of_kind, body, useless))
            case "POST", "/ag-ui":
                useless = Asked(method, where, right, {**RUN, "messages": []})
                found.append(Asked(method, where, right, RUN, useless))
                found.append(Asked(method, where, "answer", RESUME, Asked(method, where, "answer", RESUME)))
            case "POST", _:
                found.append(Asked(method, where, right, {"prompt": "x"}, Asked(method, where, right, {"prompt": 1})))
            case _:
                found.append(Asked(method, where, right))
    return found


def test_each_request_needs_its_right_and_one_that_is_refused_does_nothing(one_world: World, tmp_path: Path) -> None:
    world = one_world
    world.one_past = False
    roles = [each for count in range(1, len(RIGHTS) + 1) for each in combinations(RIGHTS, count)]
    tokens = {"-".join(role): f"{'-'.join(role)}-{'x' * 30}" for role in roles}
    file = tmp_path / "tokens.toml"
    file.write_text(
        "".join(
            f'[tokens.{name}]\ntoken = "{tokens[name]}"\nrights = {list(role)!r}\n'.replace("'", '"')
            for name, role in zip(tokens, roles, strict=True)
        )
    )
    file.chmod(0o600)
    served = Served(world)
    session = served.begin()
    served.stop()
    served.arguments = ("--tokens", str(file))
    served.start()
    asked = requests_of(session)
    assert len(asked) == 21
    every = {"authorization": f"Bearer {tokens['-'.join(RIGHTS)]}"}
    tried = 0
    with httpx2.Client(base_url=served.address, trust_env=False, timeout=60) as client:

        def status(each: Asked, headers: dict[str, str]) -> int:
            with client.stream(each.method, each.path, json=each.body, headers=headers) as response:
                return response.status_code

        def seen() -> object:
            inbox = client.get(f"/sessions/{session}/inbox", headers=every).json()
            listed = client.get("/sessions", headers=every).json()["sessions"]
            return inbox, [(each["id"], each["length"], each["title"], each["model"]) for each in listed]

        def cookie(name: str) -> dict[str, str]:
            answer = client.post("/login", json={"token": tokens[name]})
            client.cookies.clear()
            return {"cookie": answer.headers["set-cookie"].partition(";")[0]}

        before = seen()
        nobody: list[dict[str, str]] = [
            {},
            {"authorization": ""},
            {"authorization": "Bearer"},
            {"authorization": f"Bearer {'y' * 40}"},
            {"authorization": f"Basic {tokens['read']}"},
            {"authorization": f"Bearer {tokens['read'][:-1]}"},
            {"cookie": f"holdfast={tokens['read']}"},
            {**cookie("-".join(RIGHTS)), "authorization": "Bearer none"},
        ]
        for each in asked:
            for headers in nobody:
                assert status(each, headers) == 401, (each, headers)
                tried += 1
        for name, role in zip(tokens, roles, strict=True):
            for headers in ({"authorization": f"Bearer {tokens[name]}"}, cookie(name)):
                for each in asked:
                    admitted = each.right in role
                    found = status(each.useless or each if admitted else each, headers)
                    expected = {403} if not admitted else {200} if each.useless is None else {400, 404}
                    assert found in expected, (each, role, found)
                    tried += 1
                    if admitted or "cookie" not in headers:
                        continue
                    assert status(each, {**headers, "origin": ORIGINS[tried % len(ORIGINS)]}) == 403
                    tried += 1
        assert seen() == before  # neither what was refused nor what was no use has begun or written anything
    assert tried >= 474
    assert served.stop().code == 0
