"""A plug-in that is really installed: its tool, commands, provider, format and surface in the real program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from launching import World
from terminal import Key
from test_plain import PlainTerminal
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded, SessionOpened, Titled, ToolsChanged
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing.script import Call, Say
from polling import HANGS
from process_leaks import linux_only

pytestmark = linux_only

PACKAGE = Path(__file__).parents[1] / "plugin_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Install the package offline into a folder, and return that."""
    folder, copy = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("package") / "shop"
    for file in PACKAGE.rglob("*"):  # the build writes into its folder
        if file.suffix in (".py", ".toml"):
            (copy / file.relative_to(PACKAGE)).parent.mkdir(parents=True, exist_ok=True)
            (copy / file.relative_to(PACKAGE)).write_bytes(file.read_bytes())
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--target", str(folder), str(copy)], capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(folder)


@pytest.fixture
def shop(one_world: World, installed: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world whose user uses the plug-in."""
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (installed, inherited))))
    config = one_world.home / "config.toml"
    config.write_text(f'{config.read_text()}[plugins]\nuse = ["shop"]\n')
    return one_world


def fresh(world: World, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the product in a fresh process, which finds what is installed."""
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        env=world.environ(),
        cwd=world.folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )


def test_the_model_calls_its_tool_and_a_session_goes_on_without_it(shop: World) -> None:
    shop.script([Call("shop_stock", {"article": "nails"})], [Say("There are seven.")], [Say("Gone.")])
    done = fresh(shop, "-m", shop.model, "-p", "How many nails?")
    assert (done.returncode, done.stdout.strip()) == (0, "There are seven."), done.stderr
    (ended,) = (each for each in shop.entries() if isinstance(each, CallEnded))
    assert (ended.outcome, ended.text) == ("ok", "nails: 7 pieces")
    opened = next(each for each in shop.entries() if isinstance(each, SessionOpened))
    assert "shop_stock" in {tool.name for tool in opened.tools}
    config = shop.home / "config.toml"
    config.write_text(config.read_text().replace('use = ["shop"]', "use = []"))
    done = fresh(shop, "-c", "-p", "And now?")
    assert (done.returncode, done.stdout.strip()) == (0, "Gone."), done.stderr
    (changed,) = (each for each in shop.entries() if isinstance(each, ToolsChanged))
    assert "shop_stock" not in {tool.name for tool in changed.tools}


def test_its_provider_answers(shop: World) -> None:
    done = fresh(shop, "-m", "echo:back", "-p", "stressed")
    assert (done.returncode, done.stdout.strip()) == (0, "desserts"), done.stderr


def test_its_commands_run_and_are_listed(shop: World) -> None:
    assert fresh(shop, "shopcount", "one", "two").stdout == "2 words\n"
    listed = fresh(shop, "plugins")
    assert listed.returncode == 0, listed.stderr
    for what in ("tool 'shop_stock'", "slash command 'hours'", "command 'shopcount'", "provider 'echo'"):
        assert what in listed.stdout


def test_its_surface_drives_a_session_of_the_user(shop: World) -> None:
    shop.script([Call("shop_stock", {"article": "nails"})], [Say("There are seven.")])
    config = shop.home / "config.toml"
    config.write_text(f'model = "{shop.model}"\n{config.read_text()}')
    done = fresh(shop, "kiosk", "How", "many?")
    assert (done.returncode, done.stdout) == (0, "Busy Idle Opened\nThere are seven.\n"), done.stderr
    (ended,) = (each for each in shop.entries() if isinstance(each, CallEnded))
    assert (ended.outcome, ended.text) == ("ok", "nails: 7 pieces")
    assert fresh(shop, "-c", "--plain", stdin="").returncode == 0  # it can be continued


def test_named_tools_may_be_those_of_a_plug_in(shop: World) -> None:
    shop.script([Say("Yes.")], [Say("No.")])
    assert fresh(shop, "-m", shop.model, "--tools", "read,shop_stock", "-p", "One?").stdout == "Yes.\n"
    assert fresh(shop, "-m", shop.model, "--tools", "read", "-p", "One?").stdout == "No.\n"
    opened = [read_copy(folder).records[0].entry for folder in shop.sessions]
    declared = [sorted(tool.name for tool in each.tools) for each in opened if isinstance(each, SessionOpened)]
    assert sorted(declared) == [["read"], ["read", "shop_stock"]]
    refused = fresh(shop, "-m", shop.model, "--tools", "shop_stok", "-p", "Three?")
    assert refused.returncode == 2
    assert "unknown tool 'shop_stok'" in refused.stderr
    assert "shop_stock" in refused.stderr


def test_a_project_names_no_plug_in_and_its_folder_of_plug_ins_is_not_looked_at(one_world: World) -> None:
    project, ran = one_world.folder / ".holdfast", one_world.folder / "ran"
    (project / "plugins").mkdir(parents=True)
    (project / "plugins" / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()")
    (project / "config.toml").write_text('[plugins]\nuse = ["evil"]\n')
    one_world.script([Say("Safe.")])
    done = fresh(one_world, "-m", one_world.model, "--trust-project", "-p", "Go")
    assert (done.returncode, done.stdout) == (0, "Safe.\n")
    assert "unknown field `plugins`. Only your own config may set this, not a project's." in done.stderr
    assert not ran.exists()


def test_doctor_lists_it_and_one_that_fails(shop: World) -> None:
    (shop.home / "plugins").mkdir()
    (shop.home / "plugins" / "broken.py").write_text("1 / 0")
    text = fresh(shop, "doctor").stdout
    assert "plug-in shop" in text
    assert "plug-in broken" in text
    assert "not in use: ZeroDivisionError" in text
    assert text.count("ZeroDivisionError") == 1


def test_its_format_is_checked_and_repaired(shop: World) -> None:
    turns = {"turns": [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "x", "content": "lost"}]}
    checked = fresh(shop, "check", "-", "--format", "shop-turns", stdin=json.dumps(turns))
    assert checked.returncode == 4, checked.stdout + checked.stderr
    repaired = fresh(shop, "repair", "-", "--format", "shop-turns", stdin=json.dumps(turns))
    assert repaired.returncode == 0, repaired.stderr
    again = fresh(shop, "check", "-", "--format", "shop-turns", stdin=repaired.stdout)
    assert again.returncode == 0, again.stdout
    assert "lost" in repaired.stdout


def test_its_slash_command_answers_on_the_screen(shop: World) -> None:
    """It is completed and listed, opens a session if there is none, and what it wants is done."""
    with screen(shop, "-m", shop.model, cold=True) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.send("/ho")
        terminal.wait_text("when the shop is open")
        terminal.line("urs Friday")
        terminal.wait_text("Open on Friday from 9 to 17. 0 turns so far.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (titled,) = (each for each in shop.entries() if isinstance(each, Titled))
    assert titled.title == "Shop on Friday"


def test_its_slash_command_answers_in_plain_mode(shop: World) -> None:
    with PlainTerminal(shop, "-m", shop.model, "--plain", cold=True) as terminal:
        terminal.wait_text("Plain mode")
        terminal.type("/help")
        terminal.wait_text("/hours: when the shop is open")
        terminal.type("/hours Friday")
        terminal.wait_text("Open on Friday from 9 to 17. 0 turns so far.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    (titled,) = (each for each in shop.entries() if isinstance(each, Titled))
    assert titled.title == "Shop on Friday"


NOISY = """
print("words of an import")
from holdfast.testing.toolbox import FunctionTool
from holdfast.tools.tool import ToolOutput
holdfast_plugin = 1
async def run(values, context):
    print("words of a tool")
    return ToolOutput(text="done")
tools = [FunctionTool("noisy", "read", run, description="d", parameters={"type": "object"})]
"""


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_what_it_prints_is_no_output_of_a_run(one_world: World, output: str) -> None:
    (one_world.home / "plugins").mkdir()
    (one_world.home / "plugins" / "noisy.py").write_text(NOISY)
    one_world.script([Call("noisy", {})], [Say("The answer.")])
    done = fresh(one_world, "-m", one_world.model, "--output-format", output, "-p", "go")
    assert done.returncode == 0, done.stderr
    assert "words of a" not in done.stdout
    assert "words of an import\n" in done.stderr
    assert "words of a tool\n" in done.stderr
    lines = done.stdout.splitlines()
    assert lines
    for line in lines:
        assert line == "The answer." if output == "text" else json.loads(line)
