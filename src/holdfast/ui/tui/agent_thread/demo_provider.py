"""The model of users without a configured one: `demo`, scripted, in this process; no key, no network, no cost.

It uses the same provider code, over a real socket, as any other model. Its first turn shows what a newcomer came for:
questions, a change of a file, and a command.
"""

from __future__ import annotations

from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider

_PACE = 0.02

FOLDER = "holdfast-demo"
_PROGRAM = f"{FOLDER}/hello.sh"
_TYPO = "# prints a greeting\necho Hello, wrold\n"

_REAL = f"""\
That was real: `{_PROGRAM}` is in your folder now; delete it when you like. holdfast asked before each step that does \
more than read. """
_REFUSED = """\
You said no, so that step was not done, and a real model would have read your reason. """
_LOOKED = """\
That was a real command, run in your folder. It only reads, so holdfast did not ask. """
_ANSWER = """\
What I say is not real: I am a script, so that you can try the screen before you configure a model.

## Things to try

- **ESC** while I write, or while a command runs. Finished work is saved; the next message works.
- **Enter** while I work steers me at the next safe point; **Tab** queues for the next turn.
- Kill this process with `kill -9`, then start `holdfast -c`.
- `/help` lists the keys and the commands.

```python
def promise(conversation):
    # every call has exactly one result, whatever happened in between
    return all(call.outcome is not None for call in conversation.calls)
```

A model of your own is one command away:

| provider | set this | then type |
|---|---|---|
| OpenAI | `OPENAI_API_KEY` | `/model openai:gpt-5.5` |
| Anthropic | `ANTHROPIC_API_KEY` | `/model anthropic:claude-sonnet-5-5` |
"""


def demo_provider() -> ScriptedProvider:
    """Return the provider, not started yet."""
    return ScriptedProvider(key="demo", one_system=False, after=_reply)


def _reply(request: ReceivedRequest) -> Reply:
    """Return the demo's reply.

    In the first turn it writes a program, repairs it and runs it, of which each asks; later it only looks around. Then
    it explains.
    """
    answered = any(_ANSWER[:20] in str(message.get("content")) for message in request.messages)
    since = _since_prompt(request.messages)
    results = [str(message.get("content")) for message in since if message.get("role") == "tool"]
    if any(each.startswith("Denied") for each in results):
        return _explained(_REFUSED)
    if answered:
        return _explained(_LOOKED) if results else _look()
    match len(results):
        case 0:
            return [
                Think(
                    "The user wants to see how this looks. A small program will do: write it, and run it.", delay=_PACE
                ),
                Say(
                    "I am the demo model: my answers were written in advance. I write a small program.",
                    chunk=6,
                    delay=_PACE,
                ),
                Call("write", {"path": _PROGRAM, "content": _TYPO}),
            ]
        case 1:
            words = "That has a typing error. I correct it: you see the line before and after."
            change: dict[str, object] = {"path": _PROGRAM, "old": "wrold", "new": "world"}
            return [Say(words, chunk=6, delay=_PACE), Call("edit", change)]
        case 2:
            return [Say("Now I run it.", chunk=6, delay=_PACE), Call("bash", {"command": f"sh {_PROGRAM}"})]
        case _:
            return _explained(_REAL)


def _since_prompt(messages: tuple[dict[str, object], ...]) -> tuple[dict[str, object], ...]:
    """Return what follows the newest prompt: a message of the user that does not stand behind a result."""
    prompts = [
        place
        for place, message in enumerate(messages)
        if message.get("role") == "user" and (place == 0 or messages[place - 1].get("role") != "tool")
    ]
    return messages[prompts[-1] :] if prompts else messages


def _look() -> Reply:
    return [
        Think("The user wants to see more. A listing and a short command are enough.", delay=_PACE),
        Say("I look around.", chunk=6, delay=_PACE),
        Call("glob", {"pattern": "*"}),
        Call("bash", {"command": "for i in 1 2 3; do echo step $i; sleep 1; done"}),
    ]


def _explained(beginning: str) -> Reply:
    return [Say(beginning + _ANSWER, chunk=6, delay=_PACE)]
