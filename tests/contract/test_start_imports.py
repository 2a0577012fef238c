"""What a start imports: packages by a list with reasons, our own modules by what must wait and by their number.

Looked at in real processes that find only what a clean install has: `--version`, `-p` when its first request has come,
and the screen when its prompt is shown.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from source_tree import ROOT, expect_none

import screen
from holdfast.testing.script import Hold
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import HANGS, eventually

PROGRAM = Path(__file__).with_name("start_program.py")

# --- what may be imported --------------------------------------------------------------------------------------------

REQUEST = {
    "anyio": "httpcore2 waits and locks with it",
    "h11": "httpcore2 speaks HTTP with it",
    "socksio": "httpcore2 speaks SOCKS with it, and imports it if it is installed",
    "httpcore2": "httpx2's connections",
    "httpx2": "sends the request",
    "idna": "httpx2 reads the host of an address with it",
    "msgspec": "settings, entries and requests are read and written with it",
    "platformdirs": "the folders of the user",
    "truststore": "httpx2 verifies certificates with it",
    "typing_extensions": "anyio and httpx2 import it for old Pythons",
}
"""The packages that may be loaded when `-p` sends its first request, and why."""

SCREEN = {
    "msgspec": REQUEST["msgspec"],
    "platformdirs": REQUEST["platformdirs"],
    "rich": "Textual measures and styles text with it",
    "textual": "the screen",
    "tree_sitter": "Textual looks for it when it is imported (`textual._tree_sitter`); commands are read with it",
    "typing_extensions": "Textual imports it for old Pythons",
}
"""The packages that may be loaded when the screen shows its prompt, and why; no request is sent by then."""

LATER = {
    "holdfast.fleet": "an extra, and other commands",
    "holdfast.history.apply_edits": "only repaired documents need it",
    "holdfast.history.formats.pydantic_ai": "only import, export and `check` read these documents",
    "holdfast.providers.pydantic_ai": "an extra",
    "holdfast.session.transfer": "only import, export and fork need it",
    "holdfast.session.verify": "only `verify` needs it",
    "holdfast.testing": "no product",
    "holdfast.tools.builtin": "a tool is imported when it is called",
    "holdfast.tools.mcp": "no server is configured",
    "holdfast.tools.shell": "only a command is read and judged with it",
    "holdfast.tools.process": "only a command starts a process",
    "holdfast.ui.commands": "other commands",
    "holdfast.ui.demo": "another command",
    "holdfast.ui.export": "only an export needs it",
    "tomllib": "there is no config file to read",
}
"""What must not be loaded by then, with all that is in it, and when it is needed."""

NEEDED = frozenset(
    {
        "holdfast.tools.builtin",
        "holdfast.tools.builtin.declarations",  # sent to the model
        "holdfast.tools.process",
        "holdfast.tools.process.environment",  # what no command may see is taken out at the start
        "holdfast.tools.process.process_table",  # the process that holds a session
    }
)
"""The modules in them that are needed."""

EXTRAS = (
    "anthropic",
    "dbos",
    "genai_prices",
    "google",
    "keyring",
    "mcp",
    "openai",
    "psycopg",
    "pydantic",
    "pydantic_ai",
    "sqlalchemy",
    "starlette",
    "uvicorn",
)
"""Packages of the extras, which no start may look for: an install that has them would pay for them at every start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start of the product: what may be loaded at its moment."""

    name: str
    packages: Mapping[str, str]
    later: Mapping[str, str]
    most: int
    """How many of holdfast's modules; raise it for a module that a start needs, and for nothing else."""


VERSION = Start(name="--version", packages={}, later={}, most=4)
PRINT = Start(name="-p", packages=REQUEST, later={**LATER, "holdfast.ui.tui": "there is no screen"}, most=263)
TUI = Start(name="the screen", packages=SCREEN, later=LATER, most=256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """What a process reported: each module, or class, with the module that asked for it first."""

    loaded: Mapping[str, str] = field(default_factory=dict[str, str])
    requested: Mapping[str, str] = field(default_factory=dict[str, str])
    dataclasses: Mapping[str, str] = field(default_factory=dict[str, str])


def complaints(start: Start, seen: Imports) -> Iterator[str]:
    """Yield what `start` should not have imported."""
    ours = [name for name in seen.loaded if _top(name) == "holdfast"]
    for name, importer in seen.loaded.items():
        top = _top(name)
        if top not in start.packages and top != "holdfast" and top not in sys.stdlib_module_names and name == top:
            yield (
                f"{start.name} loads {top}, asked for by {importer}: no reason is listed. "
                f"Import it where it is first used, or list it with its reason."
            )
        for each, when in start.later.items():
            if name not in NEEDED and (name == each or name.startswith(f"{each}.")):
                yield (
                    f"{start.name} loads {name}, asked for by {importer}: too early, {when}. "
                    "Import it in the function that uses it."
                )
    for name, importer in seen.requested.items():
        if name in EXTRAS:
            yield (
                f"{start.name} looks for {name}, asked for by {importer}: it is of an extra. "
                "Import it in the function that uses it."
            )
    if len(ours) > start.most:
        yield (
            f"{start.name} loads {len(ours)} of our modules ({start.most} at most): {', '.join(sorted(ours))}. Import "
            "the new one where it is first used; if a start needs it, raise the number."
        )
    for name in seen.dataclasses:
        yield f"{start.name} makes the dataclass {name}: its methods are compiled each time. Make it a msgspec.Struct."


def _top(name: str) -> str:
    return name.partition(".")[0]


# --- what was imported -----------------------------------------------------------------------------------------------


@functools.cache
def clean() -> str:
    """Return the top-level names of holdfast and of all its dependencies, without its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [("", each) for each in project["dependencies"]]
    found: set[tuple[str, str]] = set()
    while waiting:
        extra, line = waiting.pop()
        needed = Requirement(line)
        if needed.marker and not needed.marker.evaluate({"extra": extra}):
            continue
        for each in ("", *needed.extras):
            if (needed.name, each) not in found:
                found.add((needed.name, each))
                waiting += [(each, more) for more in requires(needed.name) or ()]
    distributions = {_normal(name) for name, _ in found}
    tops = {top for top, names in packages_distributions().items() if distributions & set(map(_normal, names))}
    return ",".join(sorted(tops | {"holdfast"}))


def _normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def imports(report: Path) -> Imports:
    """Return what a process reported, as soon as it has."""
    eventually(report.exists)
    facts: dict[str, dict[str, str]] = {"loaded": {}, "asked": {}, "dataclass": {}}
    for line in report.read_text(encoding="utf-8").splitlines():
        kind, name, importer = line.split(" ", 2)
        facts[kind][name] = importer
    return Imports(loaded=facts["loaded"], requested=facts["asked"], dataclasses=facts["dataclass"])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a user who has no config file."""
    (tmp_path / "work").mkdir()
    return tmp_path


def words(home: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-P", str(PROGRAM), str(home / "report"), clean(), *arguments]


def environ(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    return {**inherited, "HOME": str(home), **more}


def expect_only(start: Start, seen: Imports) -> None:
    assert "holdfast.ui.main" in seen.loaded, "nothing of holdfast was reported: this test would pass whatever it loads"
    expect_none(complaints(start, seen))


def test_version_imports_nothing(home: Path) -> None:
    done = subprocess.run(
        words(home, "--version"), env=environ(home, {}), capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert done.stdout.startswith("holdfast ")
    seen = imports(home / "report")
    expect_only(VERSION, seen)
    assert {name for name in seen.loaded if _top(name) != "holdfast"} <= {"__future__"}


def test_a_request_imports_what_it_needs(home: Path) -> None:
    with ScriptedProvider(after=(Hold("for ever"),)) as provider:
        command = words(home, "-p", "What does this do?", "-m", "openai-chat:m", "--yolo")
        with subprocess.Popen(
            command, env=environ(home, provider.environ()), cwd=home / "work", stderr=subprocess.PIPE
        ) as child:
            try:
                provider.wait_requests(1, timeout=HANGS)
                child.send_signal(signal.SIGUSR1)
                seen = imports(home / "report")
            finally:
                child.kill()
    assert "httpx2" in seen.loaded
    expect_only(PRINT, seen)


def test_the_screen_imports_what_it_needs(home: Path) -> None:
    with ScriptedProvider(after=(Hold("for ever"),)) as provider:
        command = words(home, "-m", "openai-chat:m")
        with screen.Terminal(command, environ=environ(home, provider.environ()), cwd=home / "work") as terminal:
            terminal.seen(screen.PROMPT, timeout=HANGS)
            os.kill(terminal.pid, signal.SIGUSR1)
            seen = imports(home / "report")
    assert "textual" in seen.loaded
    expect_only(TUI, seen)


# --- what must be found ----------------------------------------------------------------------------------------------


def loaded(names: Iterable[str]) -> Imports:
    return Imports(loaded=dict.fromkeys(names, "holdfast.ui.main"))


@pytest.mark.parametrize(
    ("start", "seen"),
    [
        (PRINT, loaded(["rich"])),
        (PRINT, loaded(["textual"])),
        (PRINT, loaded(["holdfast.tools.builtin.bash"])),
        (PRINT, loaded(["holdfast.tools.process.supervisor"])),
        (PRINT, loaded(["holdfast.ui.export"])),
        (PRINT, loaded(["holdfast.ui.tui.app"])),
        (PRINT, loaded(["tomllib"])),
        (TUI, loaded(["httpx2"])),
        (TUI, loaded(["holdfast.session.transfer.export"])),
        (TUI, loaded(f"holdfast.module_{number}" for number in range(TUI.most + 1))),
        (VERSION, loaded(["msgspec"])),
        (PRINT, Imports(requested={"keyring": "holdfast.providers.credentials.provider_keys"})),
        (PRINT, Imports(requested={"pydantic_ai": "holdfast.providers.connect"})),
        (PRINT, Imports(dataclasses={"holdfast.text.Line": "holdfast.text"})),
    ],
)
def test_what_is_imported_too_early_is_found(start: Start, seen: Imports) -> None:
    assert len(list(complaints(start, seen))) == 1


@pytest.mark.parametrize("name", ["holdfast.tools.builtin.declarations", "asyncio", "httpx2._client", "msgspec"])
def test_what_a_request_needs_is_right(name: str) -> None:
    assert not list(complaints(PRINT, loaded([name])))


def test_a_clean_install_has_the_dependencies_and_no_extra() -> None:
    names = clean().split(",")
    assert {"holdfast", "httpx2", "h11", "textual", "rich", "linkify_it"} <= set(names)
    assert not {*EXTRAS, "pytest", "brotlicffi"} & set(names)
