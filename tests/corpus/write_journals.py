"""Write the journals of the corpus, each once: PYTHONPATH=tests python tests/corpus/write_journals.py [NAME ...]

A journal that exists is what a holdfast of its day wrote, and every later one must read it. So it is never written
again: to do so on purpose, delete its file, and its requests (`write_requests.py`), and say in the commit why.
"""

from __future__ import annotations

import asyncio
import sys

from corpus import journal_scenes as scenes
from holdfast.session.journal.entries import encode
from provider_situations import MODELS, OTHERS
from replays import JOURNALS

SCRIPTED: dict[str, tuple[scenes.Scene, str]] = {
    **{f"tour-{model.partition(':')[0]}": (scenes.tour, model) for model in (*MODELS, *OTHERS)},
    "short": (scenes.short, "openai-chat:m"),
    "compacted-anthropic": (scenes.compacted, "anthropic:m"),
    "compacted-openai": (scenes.compacted, "openai:gpt-5.5"),
    "compacted-again-google": (scenes.compacted_again, "google:gemini-3-m"),
    "uncompacted-openai-chat": (scenes.uncompacted, "openai-chat:m"),
    "pruned-anthropic": (scenes.pruned, "anthropic:m"),
    "pruned-ollama": (scenes.pruned, "ollama:m"),
    "rewound-openai": (scenes.rewound, "openai:gpt-5.5"),
    "rewound-mistral": (scenes.rewound, "mistral:m"),
    "forked-google": (scenes.forked, "google:gemini-3-m"),
    "forked-bedrock": (scenes.forked, "bedrock:anthropic.m"),
    "killed-anthropic": (scenes.killed, "anthropic:m"),
    "killed-openrouter": (scenes.killed, "openrouter:m"),
    "switched": (scenes.switched, "openai:gpt-5.5"),
}
RAW: dict[str, tuple[tuple[bytes, ...], str]] = {
    "redacted-anthropic": (scenes.REDACTED, "anthropic:m"),
    "redacted-bedrock": (scenes.REDACTED, "bedrock:anthropic.m"),
    "summaries-openai": (scenes.SUMMARIES, "openai:gpt-5.5"),
    "reasoning-openrouter": (scenes.reasoned(reasoning="hm"), "openrouter:m"),
    "reasoning-content-openrouter": (scenes.reasoned(reasoning_content="hm"), "openrouter:m"),
    "reasoning-both-ollama": (scenes.reasoned(reasoning="hm", reasoning_content="hm"), "ollama:m"),
    "reasoning-openai-chat": (scenes.reasoned(reasoning_content="hm"), "openai-chat:m"),
    "signed-google": (scenes.SIGNED, "google:gemini-3-m"),
}

LINES: dict[scenes.Scene, int] = {scenes.tour: 2, scenes.switched: 2, scenes.pruned: 30}
"""How much a file holds, of which a conversation gets long or not."""


async def written(name: str) -> bytes:
    """Return the journal of that name, played now."""
    if name in SCRIPTED:
        scene, model = SCRIPTED[name]
        session = scenes.Played(lines=LINES.get(scene, 12))
        await scene(session, session.begin(model))
    else:
        streams, model = RAW[name]
        session = scenes.Played(provider=scenes.Unruly(streams))
        await scenes.two_prompts(session.begin(model))
    return b"".join(encode(entry) + b"\n" for entry in session.entries)


def main(names: list[str]) -> None:
    """Write the journals of these names, or all; those that exist are left as they are."""
    for name in names or [*SCRIPTED, *RAW]:
        path = JOURNALS / f"{name}.jsonl"
        if path.exists():
            print(f"{name}: exists, and stays as it is")  # noqa: T201 - a program for a shell
            continue
        path.write_bytes(asyncio.run(written(name)))
        print(f"{name}: {path.stat().st_size} bytes")  # noqa: T201 - a program for a shell


if __name__ == "__main__":
    main(sys.argv[1:])
