"""One door per dependency, and modules that decide without touching the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest
from source_tree import Source, complaints, dotted, expect_none, files, imported, nodes, source, sources, within

# What is behind each door: the only files that may name it. Patterns match paths within the package.
DOORS: dict[str, tuple[str, ...]] = {
    "sqlite3": ("session/storage/database.py", "ui/service/local/inbox_file.py", "ledger/call_file.py"),
    "starlette": ("ui/service/*",),
    "uvicorn": ("ui/service/server.py", "ui/service/connections.py"),
    "opentelemetry": ("fleet/traces/turn_traces.py",),
    "pydantic_ai": (
        "providers/pydantic_ai/inferred_model.py",
        "providers/pydantic_ai/messages.py",
        "ledger/pydantic_ai_agent.py",
    ),
    "textual": ("ui/tui/*", "ui/tui.py"),
    "markdownify": ("tools/builtin/html_to_markdown.py",),
    "bs4": ("tools/builtin/html_to_markdown.py",),
    "tree_sitter": ("tools/shell/parse.py", "tools/shell/parts.py"),
    "tree_sitter_bash": ("tools/shell/parse.py", "tools/shell/parts.py"),
    "keyring": ("providers/credentials/provider_keys.py",),
    "psycopg": ("fleet/postgres/database.py",),
    "dbos": ("fleet/worker/engine.py",),
    "sqlalchemy": ("fleet/worker/engine.py",),
    "mcp": ("tools/mcp/sdk/*", "ui/mcp_server/sdk_server.py", "ui/mcp_server/line_streams.py"),
    "mcp_types": ("tools/mcp/sdk/*", "ui/mcp_server/sdk_server.py", "ui/mcp_server/line_streams.py"),
    "processes": (
        "system/confinement/entry.py",
        "system/confinement/network/proxy_process.py",
        "system/confinement/probe.py",
        "system/confinement/trial.py",
        "testing/store_faults.py",
        "tools/process/launch.py",
        "tools/process/server_relay.py",
        "tools/process/supervisor.py",
        "tools/process/watchdog.py",
    ),
}

# A file that goes round a door, and why it must. Empty is the aim.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("fleet/places/worktree.py", "processes"): "git, which makes, saves and restores worktrees, between turns",
    ("ui/main.py", "processes"): "no process: the switch that says how all of them are started",
    ("ui/demo/story.py", "processes"): "the demo stops and kills real agents, which only another process can do",
    (
        "ui/tui/prompt/clipboard_image.py",
        "processes",
    ): "the desktop's own program, with a time limit",
    ("ui/settings/config_editor.py", "processes"): "the user's own editor, likewise",
    ("ui/tui/prompt/external_editor.py", "processes"): "the user's own editor, which has the terminal while it runs",
    (
        "ui/tui/environment/status_command.py",
        "processes",
    ): "the user's own command for the status line, which only prints a line",
    (
        "ui/mcp_server/session_worker.py",
        "processes",
    ): "holdfast itself, as a run that must outlive the server that starts it",
    ("tools/workspace/file_list.py", "processes"): "git, which lists the files for the composer and has a time limit",
    ("undo/private_git.py", "processes"): "git, which keeps the files from before a command and has a time limit",
    ("ui/view/repository.py", "processes"): "git, which reads the working tree and has a time limit",
    (
        "ui/tui/terminal/terminal_restore.py",
        "processes",
    ): "only a child that outlives us can give the terminal back after SIGKILL",
}

PROCESS_MODULES = (
    "subprocess",
    "multiprocessing",
    "pty",
    "asyncio.subprocess",
    "concurrent.futures.ProcessPoolExecutor",
)
PROCESS_CALLS = ("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell")
PROCESS_OS = ("fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp")
PROCESS_OS_PREFIXES = ("exec", "spawn")


def round_the_door(module: Source) -> Iterator[str]:
    """Yield a sentence for each use of something whose door is elsewhere."""
    for door, line in sorted(set(_uses(module.tree))):
        allowed = any(fnmatch(module.inner, pattern) for pattern in DOORS[door])
        if not allowed and (module.inner, door) not in EXCEPTIONS:
            yield f"line {line} uses {door}, whose door is {' and '.join(DOORS[door])}"


def _uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for name, line in imported(tree):
        for door in DOORS:
            if within(name, door):
                yield door, line
        if any(within(name, module) for module in PROCESS_MODULES) or _starts_a_process(name):
            yield "processes", line
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and (node.attr in PROCESS_CALLS or _starts_a_process(dotted(node))):
            yield "processes", node.lineno


def _starts_a_process(name: str) -> bool:
    module, _, function = name.rpartition(".")
    if module == "asyncio":
        return function in PROCESS_CALLS
    return module == "os" and (function in PROCESS_OS or function.startswith(PROCESS_OS_PREFIXES))


def test_every_dependency_is_used_through_its_door() -> None:
    expect_none(complaints(round_the_door, sources("src")))


def test_no_exception_outlives_its_file() -> None:
    assert [path for path, _ in EXCEPTIONS if f"src/holdfast/{path}" not in files()] == []


@pytest.mark.parametrize(
    "text",
    [
        "import sqlite3",
        "from sqlite3 import connect",
        "def f():\n    import subprocess",
        "import os\nos.fork()",
        "from os import execv",
        "import os\nos.spawnvp(0, 'a', [])",
        "import asyncio\nasyncio.create_subprocess_exec('a')",
        "from asyncio import create_subprocess_shell",
        "import pydantic_ai.models.openai",
        "import importlib\nimportlib.import_module('pydantic_ai')",
        "from textual.app import App",
    ],
)
def test_going_round_a_door_is_found(text: str) -> None:
    assert list(round_the_door(source("src/holdfast/agent/agent.py", text)))


# --- typed decoding --------------------------------------------------------------------------------------------------

TYPED = "typed_data.py"
DECODING = ("json", "toml", "yaml", "msgpack")
FORBIDDEN = {"convert", *DECODING}


def names_a_type_to_msgspec(module: Source) -> Iterator[str]:
    """Yield a sentence for each decoding to a type past its door: two first ones at once would end the process."""
    if module.inner == TYPED:
        return
    for node in nodes(module.tree):
        match node:
            case ast.Attribute() if dotted(node) == "msgspec.convert":
                named = "msgspec.convert"
            case ast.Call(func=function, args=args, keywords=keywords) if _decodes(dotted(function)):
                if not keywords and len(args) == (0 if dotted(function).endswith("Decoder") else 1):
                    continue  # to what the text says itself, which needs no type
                named = dotted(function)
            case ast.ImportFrom(module="msgspec", names=names) if {each.name for each in names} & {
                "convert",
                *DECODING,
            }:
                named = "a name of msgspec"
            case ast.ImportFrom(module=str(name)) if name.startswith("msgspec.") and name[8:] in DECODING:
                named = f"a name of {name}"
            case ast.Import(names=names) if any(each.name.startswith("msgspec") and each.asname for each in names):
                named = "msgspec by another name"
            case _:
                continue
        yield f"line {node.lineno} uses {named}: holdfast.typed_data decodes to a type, safely on any thread"


def _decodes(name: str) -> bool:
    return name in {f"msgspec.{each}.{what}" for each in DECODING for what in ("decode", "Decoder")}


def test_types_are_named_to_msgspec_at_one_door() -> None:
    expect_none(complaints(names_a_type_to_msgspec, sources("src")))


@pytest.mark.parametrize(
    "text",
    [
        "import msgspec\nmsgspec.convert(1, int)",
        "import msgspec\nf = partial(msgspec.convert, type=int)",
        "import msgspec\nmsgspec.json.decode(b'', type=int)",
        "import msgspec\ndef f():\n    return msgspec.toml.decode(b'', type=int)",
        "import msgspec\n_decoder = msgspec.json.Decoder(int)",
        "import msgspec\n_decoder = msgspec.msgpack.Decoder(type=int)",
        "from msgspec import convert",
        "from msgspec import json",
        "from msgspec.json import Decoder",
        "import msgspec as m",
        "import msgspec.json as j",
    ],
)
def test_a_type_named_past_the_door_is_found(text: str) -> None:
    assert list(names_a_type_to_msgspec(source("src/holdfast/agent/agent.py", text)))


@pytest.mark.parametrize(
    "text", ["import msgspec\nmsgspec.json.decode(b'1')", "import msgspec\nd: msgspec.json.Decoder[int]"]
)
def test_decoding_without_a_type_is_right(text: str) -> None:
    assert not list(names_a_type_to_msgspec(source("src/holdfast/agent/agent.py", text)))


# --- pure modules ----------------------------------------------------------------------------------------------------

PURE = (
    "errors.py",
    "tool_calls.py",
    "questions.py",
    "text.py",
    "typed_data.py",
    "history/*",
    "session/journal/entries.py",
    "session/conversation/fold.py",
    "session/model_notices.py",
    "agent/turn/states.py",
    "agent/recovery/settle.py",
    "tools/approval/decision.py",
    "tools/shell/*",
)
WORLD = ("asyncio", "os", "pathlib", "socket", "sqlite3", "subprocess", "time", "random")


def touches_the_world(module: Source) -> Iterator[str]:
    """Yield a sentence for each import that a pure module must not have."""
    if any(fnmatch(module.inner, pattern) for pattern in PURE):
        for name, line in imported(module.tree):
            if any(within(name, each) for each in WORLD):
                yield f"line {line} imports {name}, but this module only decides; hand it the value it needs"


def test_pure_modules_touch_nothing() -> None:
    expect_none(complaints(touches_the_world, sources("src")))


def test_every_pure_module_is_there() -> None:
    inner = [path.removeprefix("src/holdfast/") for path in files()]
    assert [pattern for pattern in PURE if not any(fnmatch(path, pattern) for path in inner)] == []


@pytest.mark.parametrize("path", ["text.py", "history/rules.py", "history/formats/gemini.py", "agent/turn/states.py"])
@pytest.mark.parametrize("text", ["import time", "from pathlib import Path", "def f():\n    import random"])
def test_a_pure_module_that_touches_the_world_is_found(path: str, text: str) -> None:
    assert list(touches_the_world(source(f"src/holdfast/{path}", text)))
