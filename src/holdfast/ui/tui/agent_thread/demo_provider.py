"""The model of users without a configured one: `demo`, scripted, in this process; no key, no network, no cost.

It uses the same provider code, over a real socket, as any other model.
"""

from __future__ import annotations

from holdfast.testing.script import Action, Call, ReceivedRequest, Reply, Say, Think
from holdfast.testing.scripted_provider import ScriptedProvider

_PACE = 0.02

_ANSWER = """\
That was a real command, run in your folder after you allowed it. What I say is not real: I am a script, \
so that you can try the screen before you configure a model.

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
    """Return the demo's reply: first it runs two commands, then it explains."""
    newest = request.messages[-3:]  # results, perhaps queued messages, and a message between them
    ran = any(message.get("role") == "tool" for message in newest)
    if ran and not any(str(message.get("content")).startswith(_ANSWER[:20]) for message in newest):
        return [Say(_ANSWER, chunk=6, delay=_PACE)]
    actions: list[Action] = [
        Think("The user wants to see how this looks. A listing and a short command are enough.", delay=_PACE),
        Say("I am the demo model: my answers were written in advance. I look around first.", chunk=6, delay=_PACE),
        Call("glob", {"pattern": "*"}),
        Call("bash", {"command": "for i in 1 2 3; do echo step $i; sleep 1; done"}),
    ]
    return actions
