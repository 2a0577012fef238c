"""Compare a request with the one that was recorded, field by field, and know which differences are meant.

`OWN_WIRES` are the differences that requests of holdfast's wires may have from those that the vendors' SDKs wrote. Each
names its providers, its place and what must still be the same; what it is not found at, it need not allow.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from replays import Sent, Situation

Json = dict[str, object]

ABSENT = "<absent>"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two requests differ: `place` is its path, of names and numbers."""

    situation: Situation
    place: str
    was: object
    now: object

    def __str__(self) -> str:
        was, now = (json.dumps(value, ensure_ascii=False)[:200] for value in (self.was, self.now))
        return f"{self.situation}: {self.place}\n    was {was}\n    now {now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """A difference that is meant, and why: to these providers, at places that `place` matches, if `same` holds."""

    why: str
    providers: frozenset[str]
    place: str
    same: Callable[[object, object], bool]

    def covers(self, difference: Difference) -> bool:
        """Return whether this is that difference."""
        if difference.situation.model.partition(":")[0] not in self.providers:
            return False
        return re.fullmatch(self.place, difference.place) is not None and self.same(difference.was, difference.now)


def differences(situation: Situation, was: Sent, now: Sent) -> Iterator[Difference]:
    """Yield each place at which the requests differ, their bodies compared as the JSON they are."""
    if was.target != now.target:
        yield Difference(situation, "target", was.target, now.target)
    for name in sorted({*was.headers, *now.headers}):
        before, after = was.headers.get(name, ABSENT), now.headers.get(name, ABSENT)
        if before != after:
            yield Difference(situation, f"header {name}", before, after)
    for place, before, after in _within("body", json.loads(was.body), json.loads(now.body)):
        yield Difference(situation, place, before, after)


def unmeant(found: Sequence[Difference], meant: Sequence[Meant]) -> list[str]:
    """Return the differences that are not meant, as sentences."""
    return [str(each) for each in found if not any(known.covers(each) for known in meant)]


def idle(found: Sequence[Difference], meant: Sequence[Meant]) -> list[str]:
    """Return a sentence for each difference that is meant and found nowhere."""
    unused = [known.why for known in meant if not any(known.covers(each) for each in found)]
    return [f"Nothing differs any more, so it need not be meant: {why}" for why in unused]


def _within(place: str, was: object, now: object) -> Iterator[tuple[str, object, object]]:
    """Yield what differs; a name that is written another way, above the same value, is one difference."""
    match was, now:
        case dict(), dict():
            before, after = cast("Json", was), cast("Json", now)
            renamed = {name: _camel(name) for name in before if name not in after and _camel(name) in after}
            yield from ((f"{place}.{name}", name, other) for name, other in renamed.items())
            after = {name: after[renamed.get(name, name)] for name in before if renamed.get(name, name) in after} | {
                name: value for name, value in after.items() if name not in renamed.values()
            }
            for name in {**before, **after}:
                yield from _within(f"{place}.{name}", before.get(name, ABSENT), after.get(name, ABSENT))
        case list(), list() if len(cast("list[object]", was)) == len(cast("list[object]", now)):
            pairs = zip(cast("list[object]", was), cast("list[object]", now), strict=True)
            for at, (one, other) in enumerate(pairs):
                yield from _within(f"{place}.{at}", one, other)
        case _ if type(was) is not type(now) or was != now:
            yield place, was, now
        case _:
            pass


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return "".join([first, *(word.capitalize() for word in rest)])


# --- what our own wires may do otherwise ------------------------------------------------------------------------------

_CHAT = frozenset({"openai-chat", "mistral", "openrouter", "ollama"})
_STAINLESS = frozenset({"openai", "openai-chat", "anthropic"})
_CLAUDE = frozenset({"anthropic", "bedrock"})
_GOOGLE = frozenset({"google"})


def _same_json(was: object, now: object) -> bool:
    return json.loads(str(was)) == json.loads(str(now))


def _same_bytes(was: object, now: object) -> bool:
    return ABSENT not in (was, now) and _unpacked(str(was)) == _unpacked(str(now))


def _unpacked(text: str) -> bytes:
    bare = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4))


def _left_out(was: object, now: object) -> bool:
    return was != ABSENT and now == ABSENT


OWN_WIRES = (
    Meant(
        why="A call's arguments go back as the model wrote them; pydantic-ai wrote them anew.",
        providers=_CHAT | {"openai"},
        place=r"body\.(messages\.\d+\.tool_calls\.\d+\.function|input\.\d+)\.arguments",
        same=_same_json,
    ),
    Meant(
        why="Google's own names of fields are in camel case; its SDK wrote some in snake case, which it also takes.",
        providers=_GOOGLE,
        place=r"body\..*\.(mime_type|parameters_json_schema)",
        same=lambda was, now: was != ABSENT and now == _camel(str(was)),
    ),
    Meant(
        why="A signature goes back in the alphabet and with the padding it came in, and images in the usual alphabet.",
        providers=_GOOGLE,
        place=r"body\.contents\.\d+\.parts\.\d+\.(thoughtSignature|inlineData\.data)",
        same=_same_bytes,
    ),
    Meant(
        why="The headers in which an SDK tells of itself and of the machine are its own.",
        providers=_STAINLESS,
        place=r"header x-stainless-[a-z-]+",
        same=_left_out,
    ),
    Meant(
        why="The header in which Google's SDK tells of itself is its own.",
        providers=_GOOGLE,
        place="header x-goog-api-client",
        same=_left_out,
    ),
    Meant(
        why="The version of the protocol is the one whose rules our wire was written by, not the SDK's.",
        providers=_CLAUDE,
        place="header anthropic-version",
        same=lambda was, now: ABSENT not in (was, now),
    ),
    Meant(
        why="Anthropic documents x-api-key for an API key; the SDK sent it as a bearer token.",
        providers=frozenset({"anthropic"}),
        place="header (authorization|x-api-key)",
        same=lambda was, now: (was, now) in (("Bearer test-key", ABSENT), (ABSENT, "test-key")),
    ),
    Meant(
        why="What a response may be is said: events where they are asked for, else JSON.",
        providers=_CHAT | _CLAUDE | _GOOGLE | frozenset({"openai"}),
        place="header accept",
        same=lambda was, now: was in ("*/*", "application/json") and now in ("text/event-stream", "application/json"),
    ),
    Meant(
        why="A request for one piece is one: Anthropic's SDK streamed it in secret where a model may write much.",
        providers=frozenset({"bedrock"}),
        place=r"body\.stream",
        same=lambda was, now: (was, now) == (True, ABSENT),
    ),
    Meant(
        why="A request for one piece does not say that it is not to be streamed, which is the default.",
        providers=_CHAT | _CLAUDE | frozenset({"openai"}),
        place=r"body\.stream",
        same=lambda was, now: (was, now) == (False, ABSENT),
    ),
    Meant(
        why="Only `reasoning_content` is wanted beside calls without thinking, by DeepSeek and Moonshot.",
        providers=frozenset({"ollama"}),
        place=r"body\.messages\.\d+\.reasoning",
        same=lambda was, now: (was, now) == ("", ABSENT),
    ),
    Meant(
        why="Models that bind thinking to the conversation are told to drop what no longer fits, in place of refusing.",
        providers=frozenset({"anthropic"}),
        place=r"header anthropic-beta|body\.thinking",
        same=lambda was, now: was == ABSENT and now != ABSENT,
    ),
)
