"""Every reader of files that others may have written, with its bound: a table of `test_outside_readers.py`.

A row is what `docs/reference/limits.md` lists under the same name. A new reader gets a row in both. A `FileReader`
reads a file that others may have put there; what comes from a wire or a pipe is in `outside_bytes.py`.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.claude_servers import LARGEST_CLAUDE_CONFIG, claude_servers
from holdfast.config.mcp_servers import server_file
from holdfast.config.permission_lists import claude_project
from holdfast.config.project_config import LARGEST_CONFIG, project_file
from holdfast.config.project_decisions import Project
from holdfast.config.settings import read_config
from holdfast.providers.credentials.provider_keys import KeyFile
from holdfast.providers.known_models import LARGEST_MODEL_LIST, Favourites, StoredLists
from holdfast.session.catalog import Catalog
from holdfast.session.session_index import LARGEST_LIST_INDEX
from holdfast.session.session_search import LARGEST_WORDS, WORDS_FILE, search_sessions
from holdfast.session.storage.blobs import LARGEST_BLOB
from holdfast.session.storage.lease import HOLDER_BYTES, raise_if_busy
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.session.storage.streamed_text import MOST_STREAMED, streamed_text
from holdfast.session.storage.wal import LARGEST_JOURNAL
from holdfast.session.word_index import LARGEST_WORD_INDEX
from holdfast.system.bounded_files import STATE_FILE
from holdfast.system.confinement.description import LevelUnavailable
from holdfast.system.confinement.git_folders import settle_git_folders
from holdfast.system.durable_files import ABOUT, DATABASE, LOCK_FILE, STREAMED
from holdfast.system.git import LARGEST_GIT_NAME, branch_or_commit
from holdfast.system.safe_paths import resolve
from holdfast.tools.mcp import stored_tools
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.process.command_end import LARGEST_OUTPUT, stored_output
from holdfast.tools.process.end_record import LONGEST_RECORD, read_end
from holdfast.tools.process.supervisor_client import CAPTURE_MOST, captured_output
from holdfast.tools.process.supervisor_locks import LARGEST_LOCK, left_nothing
from holdfast.tools.workspace.file_walk import IGNORE_MOST, walk
from holdfast.tools.workspace.git_repository import LARGEST_GIT_CONFIG, read_repositories
from holdfast.tools.workspace.images import LARGEST_IMAGE_FILE, named_images
from holdfast.tools.workspace.instruction_files import ROOM, instructions
from holdfast.tools.workspace.line_ends import EDITOR_CONFIG, LARGEST_RULES, crlf_rule
from holdfast.ui.acp.prompt_content import LARGEST_COMPARED, Resource, ResourceBlock, prompt_content
from holdfast.ui.service.access import TokenFile
from holdfast.ui.service.local.inbox_file import LARGEST_INBOX, InboxFile
from holdfast.ui.settings.config_editor import edited_config
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.own_instructions import session_instructions
from holdfast.ui.tui.prompt.external_editor import LARGEST_EDITED, edited_text
from holdfast.ui.tui.prompt.prompt_file import LARGEST_HISTORY, PromptFile

JOURNALS = Path(__file__).parent / "faults/journals"
SESSION = "20261128-0900-abcd"
SERVER = McpServer(name="srv", command=sys.executable, args=("-V",))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """Reads the file at `place` below a root, as the program does; `prepare` makes what is around it.

    The result is a value or a `HoldfastError`.
    """

    name: str
    bound: int
    place: str
    read: Callable[[Path], object]
    prepare: Callable[[Path], None] = lambda _: None


def _session(root: Path) -> None:
    shutil.copytree(JOURNALS / "format-2-killed", root / SESSION)


def _repository(root: Path) -> None:
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(parents=True)


def _embedded(root: Path) -> object:
    """Return the text of a prompt with a file that an editor shows, compared with the file on the disk."""
    resource = ResourceBlock(Resource(uri=(root / "a.py").as_uri(), text="shown"))
    return prompt_content((resource,), root).text


def _git_settings(root: Path) -> object:
    try:
        return settle_git_folders(str(root))
    except (OSError, LevelUnavailable) as fault:  # as its contract says: the caller has the words
        return fault


def _walked(root: Path) -> object:
    (root / "b.txt").touch()
    found = list(walk(root, resolve(root, "."), stop=threading.Event(), unread=[]))
    assert "b.txt" in [each.name for each in found] or (root / ".gitignore").is_file()
    return found


def _all(root: Path) -> object:
    """Return the list of sessions, in which the one here must be."""
    found = Catalog(root).all()
    assert [each.id for each in found] == [SESSION]
    return found


def _inbox(root: Path) -> object:
    """Return the sessions with waiting messages, and what was said of a damaged file."""
    said: list[str] = []
    inbox = InboxFile(root / "serve/inbox.db", notify=said.append)
    try:
        return inbox.waits(), inbox.waiting(SESSION), said
    finally:
        inbox.close()


def _search(root: Path) -> object:
    catalog = Catalog(root)
    return list(search_sessions(catalog, "look", catalog.all()))


_BLOB = f"{SESSION}/blobs/{min((JOURNALS / 'format-2-killed/blobs').iterdir()).name}"
_LISTS = StoredLists(Path()).path("openai", "https://example.com")

FILES: tuple[FileReader, ...] = (
    FileReader(name="summary of a session", bound=STATE_FILE, place=f"{SESSION}/{ABOUT}", read=_all, prepare=_session),
    FileReader(
        name="journal of a session",
        bound=LARGEST_JOURNAL,
        place=f"{SESSION}/{DATABASE}",
        read=lambda root: read_copy(root / SESSION),
        prepare=_session,
    ),
    FileReader(
        name="log of a journal",
        bound=LARGEST_JOURNAL,
        place=f"{SESSION}/{DATABASE}-wal",
        read=lambda root: read_copy(root / SESSION),
        prepare=_session,
    ),
    FileReader(
        name="large body of an entry",
        bound=LARGEST_BLOB,
        place=_BLOB,
        read=lambda root: read_copy(root / SESSION),
        prepare=_session,
    ),
    FileReader(
        name="text of a running answer",
        bound=MOST_STREAMED,
        place=f"{SESSION}/{STREAMED}",
        read=lambda root: streamed_text(root / SESSION, after=3),
        prepare=_session,
    ),
    FileReader(
        name="lock of a session",
        bound=HOLDER_BYTES,
        place=f"{SESSION}/{LOCK_FILE}",
        read=lambda root: raise_if_busy(root / SESSION),
        prepare=_session,
    ),
    FileReader(
        name="words of a session",
        bound=LARGEST_WORDS,
        place=f"{SESSION}/{WORDS_FILE}",
        read=_search,
        prepare=_session,
    ),
    FileReader(
        name="index of a list",
        bound=LARGEST_LIST_INDEX,
        place="sessions.index",
        read=lambda root: _all(root / "sessions"),
        prepare=lambda root: _session(root / "sessions"),
    ),
    FileReader(
        name="index of a search",
        bound=LARGEST_WORD_INDEX,
        place="sessions.words",
        read=lambda root: _search(root / "sessions"),
        prepare=lambda root: _session(root / "sessions"),
    ),
    FileReader(
        name="lock of a supervisor",
        bound=LARGEST_LOCK,
        place=f"{SESSION}/supervisor.lock",
        read=lambda root: left_nothing(root / SESSION),
        prepare=_session,
    ),
    FileReader(
        name="record of a command's end",
        bound=LONGEST_RECORD,
        place="c1.aa.out.end",
        read=lambda root: read_end(root / "c1.aa.out"),
    ),
    FileReader(
        name="output of a command",
        bound=LARGEST_OUTPUT,
        place="c1.aa.out",
        read=lambda root: stored_output(root / "c1.aa.out"),
    ),
    FileReader(
        name="output of a search",
        bound=CAPTURE_MOST,
        place="c1.out",
        read=lambda root: captured_output(root / "c1.out", "rg"),
    ),
    FileReader(
        name="inbox of a server",
        bound=LARGEST_INBOX,
        place="serve/inbox.db",
        read=_inbox,
    ),
    FileReader(
        name="config", bound=STATE_FILE, place="config.toml", read=lambda root: read_config(root / "config.toml")
    ),
    FileReader(
        name="config of a project",
        bound=LARGEST_CONFIG,
        place=".holdfast/config.toml",
        read=lambda root: project_file(root, root / "none"),
    ),
    FileReader(
        name="settings of Claude Code in a project",
        bound=LARGEST_CONFIG,
        place=".claude/settings.json",
        read=lambda root: found.found if (found := claude_project(root, None)) else None,
    ),
    FileReader(
        name="config of Claude Code",
        bound=LARGEST_CLAUDE_CONFIG,
        place=".claude.json",
        read=lambda root: claude_servers(root / ".claude.json", root),
    ),
    FileReader(
        name="MCP servers of a project",
        bound=LARGEST_CONFIG,
        place=".mcp.json",
        read=lambda root: server_file(root / ".mcp.json"),
    ),
    FileReader(
        name="decisions about a project",
        bound=STATE_FILE,
        place=f"{hashlib.sha256(b'/p').hexdigest()[:32]}.json",
        read=lambda root: Project(root, Path("/p")).patterns,
    ),
    FileReader(
        name="keys and sign-ins",
        bound=STATE_FILE,
        place="keys.json",
        read=lambda root: KeyFile(root / "keys.json").read(),
    ),
    FileReader(
        name="tokens of a server",
        bound=STATE_FILE,
        place="tokens.toml",
        read=lambda root: TokenFile(root / "tokens.toml"),
    ),
    FileReader(
        name="favourite models",
        bound=STATE_FILE,
        place="favourites.json",
        read=lambda root: Favourites(root / "favourites.json").read(),
    ),
    FileReader(
        name="stored list of models",
        bound=LARGEST_MODEL_LIST,
        place=str(_LISTS),
        read=lambda root: StoredLists(root).get("openai", "https://example.com"),
    ),
    FileReader(
        name="stored list of MCP tools",
        bound=stored_tools.LARGEST_TOOL_LIST,
        place=f"{SERVER.digest[:32]}.json",
        read=lambda root: stored_tools.StoredTools(root).get(SERVER),
    ),
    FileReader(
        name="prompt history",
        bound=LARGEST_HISTORY,
        place="prompts.jsonl",
        read=lambda root: PromptFile(root / "prompts.jsonl").read(root),
    ),
    FileReader(
        name="instructions of a project",
        bound=ROOM,
        place="AGENTS.md",
        read=lambda root: instructions(root.resolve(), root / "none.md"),
    ),
    FileReader(
        name="instructions of an option",
        bound=STATE_FILE,
        place="more.md",
        read=lambda root: session_instructions(Arguments(append_system_prompt_file=str(root / "more.md"))),
    ),
    FileReader(
        name="image that a prompt names",
        bound=LARGEST_IMAGE_FILE,
        place="a.png",
        read=lambda root: named_images("@a.png", root),
    ),
    FileReader(
        name="branch of a repository",
        bound=LARGEST_GIT_NAME,
        place=".git/HEAD",
        read=branch_or_commit,
        prepare=_repository,
    ),
    FileReader(
        name="file that an editor shows",
        bound=LARGEST_COMPARED,
        place="a.py",
        read=_embedded,
    ),
    FileReader(
        name="prompt from an external editor",
        bound=LARGEST_EDITED,
        place="holdfast-1.md",
        read=lambda root: edited_text(root / "holdfast-1.md"),
    ),
    FileReader(
        name="config from an external editor",
        bound=STATE_FILE,
        place="holdfast-1.toml",
        read=lambda root: edited_config(root / "holdfast-1.toml"),
    ),
    FileReader(
        name="names that git ignores",
        bound=IGNORE_MOST,
        place=".gitignore",
        read=_walked,
    ),
    FileReader(
        name="settings of a repository at the sandbox",
        bound=STATE_FILE,
        place=".git/config",
        read=_git_settings,
        prepare=_repository,
    ),
    FileReader(
        name="settings of a repository",
        bound=LARGEST_GIT_CONFIG,
        place=".git/config",
        read=lambda root: read_repositories(str(root)),
        prepare=_repository,
    ),
    FileReader(
        name="rules about line ends",
        bound=LARGEST_RULES,
        place=EDITOR_CONFIG,
        read=lambda root: crlf_rule(root, root / "new.txt"),
    ),
)
