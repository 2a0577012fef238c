"""Servers with `sandbox = true`: a steered one gets out nowhere, and one that cannot be confined is not started."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import escape_attempts
import walls
from escape_attempts import ALLOWED, WORKSPACE
from hidden_programs import path_without
from holdfast.errors import ToolFailed
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import HANGS
from skips import imported, needs

imported("mcp")

SERVER = Path(__file__).parents[2] / "steered_mcp_server.py"
PYTHON = os.path.realpath(sys.executable)
"""The same Python without a virtual environment, which may lie below /tmp, where no wall shows it."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder outside of /tmp, which every wall has for itself."""
    parent = "/srv" if os.access("/srv", os.W_OK) else str(Path.home())
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-", dir=parent))
    yield folder
    shutil.rmtree(folder)


def steered(folder: Path, *network: str, **variables: str) -> McpServer:
    """Return a confined server whose program lies in that folder: below /tmp it would not be seen."""
    program = folder / "server.py"
    shutil.copy(SERVER, program)
    return McpServer(
        name="srv",
        command=PYTHON,
        args=(str(program),),
        env=variables,
        sandbox=True,
        network=network,
    )


@asynccontextmanager
async def connected(server: McpServer, root: Path, session: Path) -> AsyncGenerator[McpConnections]:
    (session / "spool").mkdir(parents=True, exist_ok=True)
    settings = McpSettings(servers=(server,), lists=session.parent / "lists")
    connections = McpConnections(settings, folder=session, spool=session / "spool", root=root)
    try:
        yield connections
    finally:
        await connections.close()


async def output_of(connections: McpConnections, line: str) -> ToolOutput:
    context = ToolContext(call="c1", stop=asyncio.Event(), emit=lambda _: None)
    return await connections.call("srv", "mcp__srv__run", {"line": line}, context)


async def why_not_started(server: McpServer, root: Path, session: Path) -> str:
    """Return why a server failed, which must not have run."""
    async with connected(server, root, session) as connections:
        with pytest.raises(ToolFailed) as failed:
            await connections.listed("srv", asyncio.Event())
        (state,) = await connections.states()
        assert state.state == "failed"
        assert "the server began" not in state.log
        assert "the server began" not in str(failed.value)
    return str(failed.value)


@needs("bubblewrap")
def test_a_steered_server_gets_out_nowhere(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(open_folder / "home"))
    monkeypatch.setenv("HOLDFAST_HOME", str(open_folder / "home/.local/share/holdfast"))
    session = open_folder / "home/.config/holdfast/session"

    def run(lines: Sequence[str], variables: Mapping[str, str]) -> list[walls.Ran]:
        async def main() -> list[walls.Ran]:
            server = steered(open_folder, AGENT=str(os.getpid()), **variables)
            async with connected(server, open_folder / "ws", session) as connections:
                outputs = [await output_of(connections, each) for each in lines]
            return [walls.Ran(0, each.text, did_start=True, timed_out=False, refused=[]) for each in outputs]

        return asyncio.run(main())

    wall = walls.Wall(folder=open_folder, kind="bwrap", level="workspace")
    found = escape_attempts.escapes(open_folder, wall, run)
    moved = "name another repository in .git/commondir"
    assert {name for name, escaped in found.items() if escaped} == {*ALLOWED, *WORKSPACE} - {moved}
    assert (open_folder / "ws/.git/commondir.moved-1").exists()


@needs("bubblewrap")
async def test_a_server_works_behind_its_wall_in_its_folder_with_its_variables(open_folder: Path) -> None:
    root, session = open_folder / "ws", open_folder / "sessions/one"
    (root / "sub").mkdir(parents=True)
    server = steered(open_folder, TOLD="yes", TMPDIR="/", SSH_AUTH_SOCK="/x", HOME="/nowhere")
    server = msgspec.structs.replace(server, cwd="sub")
    async with connected(server, root, session) as connections:
        seen = await output_of(connections, 'pwd; echo "$TOLD $TMPDIR $SSH_AUTH_SOCK $HOME"; touch made "$TMPDIR/own"')
        assert seen.text.split() == [str(root / "sub"), "yes", f"{session}/servers/srv/tmp", "/nowhere"]
        assert (root / "sub/made").exists()
        assert (session / "servers/srv/tmp/own").exists()
        (state,) = await connections.states()
        assert state.log == "the server began"


@needs("bubblewrap")
async def test_what_git_would_obey_is_moved_away_as_soon_as_the_call_has_ended(open_folder: Path) -> None:
    root, session = open_folder / "ws", open_folder / "sessions/one"
    git = root / ".git"
    git.mkdir(parents=True)
    async with connected(steered(open_folder), root, session) as connections:
        clean = await output_of(connections, "true")
        assert "appeared" not in clean.text
        made = await output_of(connections, "echo ../evil > .git/commondir; echo made")
        assert not (git / "commondir").exists(), "the server still runs"
        assert (git / "commondir.moved-1").read_text() == "../evil\n"
        assert str(git / "commondir") in made.text
        assert made.text.startswith("made")


@needs("bubblewrap")
async def test_what_git_would_obey_and_came_after_the_last_call_is_moved_away_at_the_end(open_folder: Path) -> None:
    root, session = open_folder / "ws", open_folder / "sessions/one"
    git = root / ".git"
    git.mkdir(parents=True)
    async with connected(steered(open_folder), root, session) as connections:
        later = "(until [ -e go ]; do sleep 0.05; done; echo ../evil > .git/commondir) >/dev/null 2>&1 & echo begun"
        assert (await output_of(connections, later)).text == "begun\n"
        (root / "go").touch()
        async with asyncio.timeout(HANGS):
            while not (git / "commondir").exists():  # noqa: ASYNC110 - a file of another process
                await asyncio.sleep(0.01)
    assert not (git / "commondir").exists()
    assert (git / "commondir.moved-1").read_text() == "../evil\n"


@needs("bubblewrap")
async def test_only_the_hosts_of_the_entry_are_reached_and_the_log_names_what_was_refused(open_folder: Path) -> None:
    program = (
        "import urllib.request as r, sys\n"
        "for host in sys.argv[1:]:\n"
        "    try: r.urlopen(f'http://{host}/', timeout=20)\n"
        "    except OSError as error: print(host, error.code, error.read().decode())\n"
    )
    (open_folder / "ask.py").write_text(program)
    async with connected(
        steered(open_folder, "named.invalid", "127.0.0.2"), open_folder, open_folder / "s/one"
    ) as connections:
        seen = await output_of(connections, f"{PYTHON} ask.py named.invalid other.invalid 127.0.0.2")
        assert "named.invalid 403 holdfast: named.invalid: its name cannot be resolved" in seen.text
        assert "other.invalid 403 holdfast: other.invalid:80 was not allowed" in seen.text
        assert "127.0.0.2 is not a public address" in seen.text
        (state,) = await connections.states()
        assert "The sandbox refused to connect to other.invalid:80 (not named)." in state.log
    async with connected(steered(open_folder), open_folder, open_folder / "s/two") as connections:
        seen = await output_of(connections, 'echo "<$HTTPS_PROXY$https_proxy>"; ls /sys/class/net')
        assert seen.text.split()[0] == "<>"


async def test_without_bubblewrap_a_server_is_not_started_and_the_reason_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bwrap"))
    why = await why_not_started(steered(tmp_path), tmp_path, tmp_path / "s/one")
    assert "MCP server 'srv' cannot be reached: Its entry says `sandbox`, and no sandbox that can" in why
    assert "bubblewrap" in why
    assert "To run it without a sandbox, remove `sandbox` from its entry. Nothing was sent." in why


@needs("bubblewrap")
async def test_a_wall_that_cannot_be_built_runs_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / ".git").symlink_to(tmp_path / "elsewhere")
    why = await why_not_started(steered(tmp_path), root, tmp_path / "s/one")
    assert "Nothing was run." in why
    (root / ".git").unlink()
    session = tmp_path / "s/two"
    (root / ".env").write_text("KEY=x\n")
    masks = session / "servers/srv/masks"
    masks.mkdir(parents=True)
    status = (root / ".env").stat()
    (masks / f"file-{status.st_size}-{status.st_mtime_ns}").write_text("no placeholder")
    why = await why_not_started(steered(tmp_path), root, session)
    assert "Its sandbox could not be built: [Errno 17] it is no placeholder of mode 000" in why
    why = await why_not_started(
        McpServer(name="srv", command="x", cwd="gone", sandbox=True), root, tmp_path / "s/three"
    )
    assert "Its sandbox could not be built: see above. The server was not started." in why
    assert "gone" in why


@needs("bubblewrap")
async def test_a_folder_with_too_many_names_confines_no_server(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for number in range(21):
        (root / str(number)).mkdir(parents=True)
        for name in range(1000):
            (root / str(number) / str(name)).touch()
    why = await why_not_started(steered(tmp_path), root, tmp_path / "s/one")
    assert "the folder holds more than 20,000 names" in why


@needs("bubblewrap", "root")
async def test_inside_the_namespace_of_root_a_server_is_not_started(tmp_path: Path) -> None:
    session = tmp_path / "s/one"
    (session / "spool").mkdir(parents=True)
    settings = McpSettings(servers=(steered(tmp_path),), lists=tmp_path / "lists")
    connections = McpConnections(settings, folder=session, spool=session / "spool", root=tmp_path)
    connections.contain()
    try:
        with pytest.raises(ToolFailed, match="pid_namespace"):
            await connections.listed("srv", asyncio.Event())
    finally:
        await connections.close()
