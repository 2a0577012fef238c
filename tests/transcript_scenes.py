"""Scripted sessions for tests of the transcript, rolls without an application, and an application that is one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from rich.style import Style
from textual.app import App, ComposeResult

from holdfast.agent.events import Event, Fact, LiveOutput, LiveText, LiveThinking
from holdfast.questions import older_question
from holdfast.session.journal.entries import (
    ApprovalAsked,
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    SessionOpened,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.tool_calls import Effect, Outcome
from holdfast.ui.tui.render.lexers import Lexers
from holdfast.ui.tui.render.lines import MARK_WIDTH
from holdfast.ui.tui.render.styles import styles_of
from holdfast.ui.tui.render.virtual_list import VirtualList
from holdfast.ui.tui.themes import DARK, LIGHT
from holdfast.ui.tui.widgets.transcript import Transcript
from holdfast.ui.view.view import View

ANSWER = """The handler returned `None` for requests without a body, so every caller had to guess. It now **always** \
returns a `Response`:

```python
def handler(request: Request) -> Response:
    \"\"\"Answer a request; never returns None.\"\"\"
    body = request.body or b""  # an empty body is one too
    return Response(status=200, body=body[:4096])
```

What changed, in order of importance:

1. `handler` answers an empty request with an empty body.
2. The tests say so:
   - one for a body,
   - one without, see [the guide](https://example.org/guide#empty).
3. Nothing else.

| file | lines | note |
| --- | ---: | --- |
| src/app.py | 4 | the handler |
| tests/test_app.py | 12 | two tests, one of them for the empty request that nobody had thought of |

> A response without a body is a response.

### What is left

The retry in `client.py` still waits *forever*; tell me if you want a bound there too.
"""


def call(call_id: str, name: str, **arguments: object) -> CallPart:
    return CallPart(id=call_id, name=name, arguments=json.dumps(arguments))


class Script:
    """A journal as it is written, entry by entry."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._steps = 0
        self._turns = 0

    def fact(self, entry: Entry) -> None:
        self.events.append(Fact(len(self.events) + 1, entry))

    def prompt(self, text: str) -> None:
        self._turns += 1
        self.fact(PromptAccepted(turn=self._turns, text=text))

    def request(self) -> int:
        self._steps += 1
        self.fact(RequestStarted(step=self._steps, attempt=1, model="m"))
        return self._steps

    def response(self, *parts: TextPart | ThinkingPart | CallPart) -> None:
        step = self.request()
        self.fact(ResponseEnded(step=step, model="m", parts=parts, usage=Usage()))

    def ran(
        self, call_id: str, text: str, *, effect: Effect = "read", outcome: Outcome = "ok", seconds: float = 0.1
    ) -> None:
        self.fact(CallStarted(call=call_id, effect=effect))
        self.fact(CallEnded(call=call_id, outcome=outcome, text=text, seconds=seconds))

    def end(self, **fields: str) -> None:
        ending = {"reason": "end_turn", "cause": "finished", **fields}
        self.fact(TurnEnded(turn=self._turns, **ending))  # pyright: ignore[reportArgumentType] - a test's own words


def busy_day() -> list[Event]:
    """Return a session with something of everything, a command running at its end."""
    script = Script()
    script.fact(
        SessionOpened(session="s1", cwd="~/code/shop", model="anthropic:sonnet", system="", tools=(), version="0")
    )
    script.prompt("The handler sometimes returns None. Find out when, fix it, and make the whole suite pass.")
    script.response(
        ThinkingPart("The handler returns None when there is no body.\n\nLet me look at the tests first."),
        TextPart("I'll look at the handler and its tests first."),
        call("a", "read", path="src/app.py"),
        call("b", "read", path="tests/test_app.py"),
        call("c", "grep", pattern="def handler", path="src"),
    )
    script.ran("a", "1\timport http\n" * 42)
    script.ran("b", "1\timport app\n" * 118)
    script.ran("c", "src/app.py:12: def handler(request):\nsrc/old.py:3: def handler(r):")
    script.response(
        call(
            "d",
            "edit",
            path="src/app.py",
            old="def handler(request):\n    if not request.body:\n        return None\n    return Response(body)\n",
            new="def handler(request):\n    body = request.body or b''\n    return Response(200, body[:4096])\n",
        ),
        call("e", "bash", command="pytest -q tests/test_app.py"),
    )
    script.ran("d", "Edited src/app.py: 1 replacement at line 41 (+2 -3 lines).", effect="write")
    output = "..F." + "\n" + "\n".join(f"tests/test_app.py::test_{n} PASSED" for n in range(30))
    output += "\nE   AssertionError: assert None == Response(200)\n1 failed, 31 passed in 2.11s\n(exit code 1, 3.4 s)"
    script.ran("e", output, effect="execute", outcome="failed", seconds=3.4)
    step = script.request()
    script.fact(
        RequestFailed(step=step, attempt=1, fault="overloaded", message="529 overloaded", retry_in=2.0, attempts=4)
    )
    script.response(call("f", "bash", command="git push --force origin main"), call("g", "bash", command="make test"))
    script.fact(ApprovalAsked(call="f", question=older_question("f", "run: git push --force origin main")))
    script.fact(CallEnded(call="f", outcome="denied", text="Denied by the user; not started. They said: never force."))
    script.ran(
        "g", "\n".join(f"line {n}" for n in range(80)) + "\n(exit code 0, 75.2 s)", effect="execute", seconds=75.2
    )
    script.response(TextPart(ANSWER))
    script.end()
    script.prompt("And now the client:\n- bound the retry\n- say so in the docs")
    step = script.request()
    script.events.append(LiveThinking(step, "A bound for the retry"))
    script.events.append(LiveText(step, "The retry is in `client.py`. I'll bound it at **30 s**"))
    script.end(reason="cancelled", cause="user")
    script.prompt("Go on. 日本語のテキスト 👩‍👩‍👧 and a word")
    script.response(TextPart("Running the suite once more."), call("h", "bash", command="make test 2>&1 | tail -n 40"))
    script.fact(CallStarted(call="h", effect="execute"))
    script.events.append(LiveOutput("h", "\n".join(f"tests/test_client.py::test_bound[{n}] PASSED" for n in range(25))))
    return script.events


def long_session(messages: int) -> Iterator[Event]:
    """Yield the facts of a session of about so many messages."""
    script = Script()
    for number in range(messages // 4):
        script.prompt(f"Question {number}: what about the {number % 7}th of them?")
        script.response(TextPart("Looking."), call(f"c{number}", "bash", command=f"grep -rn word{number} src"))
        script.ran(f"c{number}", "\n".join(f"src/{n}.py: word" for n in range(12)), effect="execute", seconds=1.2)
        script.response(TextPart(ANSWER if number % 3 else f"It is **{number}**, as `src/{number}.py` says.\n\nSo."))
        script.end()
    yield from script.events


def plain(columns: int = 80, *, rows: int = 24, view: View | None = None) -> VirtualList:
    """Return a roll without an application, its languages loaded."""
    lexers = Lexers()
    for name in ("python", "bash"):
        lexers.load(name)
    roll = VirtualList(styles_of(lambda _: Style(), lexers), clock=lambda: 12.0)
    roll.load(view or View())
    roll.fit(roll.styles, columns, rows)
    roll.settle()
    return roll


def shown(roll: VirtualList) -> list[str]:
    """Return the rows in sight, each with its mark."""
    rows = [roll.line(y) for y in range(roll.top, min(roll.total, roll.top + roll.height))]
    return [((row.mark[0] if row.mark else "").ljust(MARK_WIDTH) + row.strip.text).rstrip() for row in rows]


class Stage(App[None]):
    """An application that is a transcript and nothing else."""

    CSS = "Screen { background: $background; } Transcript { background: $background; }"

    def __init__(self, view: View, *, dark: bool = True, clock: Callable[[], float] = lambda: 12.0) -> None:
        super().__init__()
        self.view = view
        self._dark = dark
        self.transcript = Transcript(clock=clock)

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = "holdfast-dark" if self._dark else "holdfast-light"
        self.transcript.load(self.view)


def viewed(events: list[Event]) -> View:
    view = View()
    for event in events:
        view.take(event, at=0.0)
    return view
