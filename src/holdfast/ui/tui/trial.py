"""The model for those who have none yet: `demo`, scripted, in this process; no key, no network, and nothing billed.

It goes through the same provider code, over a real socket, as any other.
"""

from __future__ import annotations

from holdfast.testing.provider import ScriptedProvider
from holdfast.testing.script import Action, Call, Reply, Request, Say, Think

_PACE = 0.02

_ANSWER = """\
That was a real command, run in your folder after you allowed it. What I say is not real: I am a script, \
so that you can try the screen before you set up a model.

## Things to try

- **ESC** while I write, or while a command runs. What was finished is kept; the next message works.
- **Enter** while I work gives me your words at the next safe point; **Alt+Enter** keeps them for later.
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


def provider() -> ScriptedProvider:
    """Return the provider, not yet begun."""
    return ScriptedProvider(key="demo", one_system=False, after=_reply)


def _reply(request: Request) -> Reply:
    """Return what the demo says: first it looks around, then it explains."""
    newest = request.messages[-3:]  # results, perhaps words that were queued meanwhile, and what parts the two
    ran = any(message.get("role") == "tool" for message in newest)
    if ran and not any(str(message.get("content")).startswith(_ANSWER[:20]) for message in newest):
        return [Say(_ANSWER, chunk=6, delay=_PACE)]
    looking: list[Action] = [
        Think("The person wants to see how this looks. A listing and a short command will do.", delay=_PACE),
        Say("I am the demo model: my answers were written in advance. I look around first.", chunk=6, delay=_PACE),
        Call("glob", {"pattern": "*"}),
        Call("bash", {"command": "for i in 1 2 3; do echo step $i; sleep 1; done"}),
    ]
    return looking
