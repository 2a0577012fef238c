"""What others say does nothing to a terminal, also to one behind a pipe: no command passes on what it would act on."""

from __future__ import annotations

import json
import re

import pytest
from launching import Ran, World

from holdfast.session.conversation.fold import fold
from holdfast.session.transfer.export import export
from holdfast.testing.script import Call, Fail, Say, Think

ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x80-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff]")
"""Of the controls DEL is left out: it does nothing, and JSON in ASCII has it."""
HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x9d52;c;ZXZpbA==\x9c\x1b[2J\u202eevil\u200b\x1bc"


@pytest.fixture
def hostile(one_world: World) -> World:
    """Return a world whose session holds such text wherever others have a say."""
    world = one_world
    world.one_past = False
    (world.folder / f"{HOSTILE.replace('/', '')}.txt").write_text(f"{HOSTILE}\n")
    world.script(
        (Fail(500, message=HOSTILE),),
        (
            Think(HOSTILE),
            Say(f"{HOSTILE} begin"),
            Call("bash", {"command": f"printf '%s' '{HOSTILE}'; printf '\\033]52;c;Zg==\\a'; false"}),
            Call("read", {"path": f"{HOSTILE}.txt"}),
            Call(f"no{HOSTILE}", {}),
        ),
        (Say(f"{HOSTILE} the answer {HOSTILE}"),),
    )
    return world


def assert_harmless(ran: Ran, what: object) -> None:
    for stream in (ran.out, ran.err):
        found = ACTED_ON.search(stream)
        assert found is None, f"{what}: {stream[max(0, found.start() - 60) : found.end() + 30]!r}"


def test_an_answer_and_what_happens_do_nothing_to_the_terminal_behind_a_pipe(hostile: World) -> None:
    ran = hostile.ask(f"say {HOSTILE.replace(chr(0), '')}")
    assert_harmless(ran, "-p")
    assert ran.out == "52;c;ZXZpbA==evil the answer 52;c;ZXZpbA==evil\n"
    assert "\\x1b]52;c;ZXZpbA==\\x07" in ran.err  # nothing of what ran is hidden
    hostile.script((Fail(400, message=f"refused {HOSTILE}"),))
    refused = hostile.run("-c", "-p", "again")
    assert refused.code == 1
    assert "refused" in refused.err
    assert_harmless(refused, "a provider's error")


def test_no_command_passes_it_on(hostile: World) -> None:
    world = hostile
    assert world.ask("say it").code == 0
    session = world.session.name
    world.run("sessions", "rename", session, f"title {HOSTILE}")
    document = world.folder / "document.json"
    exported = export(fold(world.entries(), left="fork"))
    document.write_text(json.dumps(exported, ensure_ascii=False))
    chat = world.folder / "chat.json"
    chat.write_text(json.dumps([{"role": HOSTILE, "content": HOSTILE}, {"role": "tool", "content": HOSTILE}]))
    (world.home / "config.toml").write_text(f'model = "openai-chat:m{json.dumps(HOSTILE)[1:-1].encode().decode()}"\n')
    formats = ("pydantic-ai", "json", "markdown", "html", "openai-chat", "anthropic")
    commands: list[tuple[str, ...]] = [
        ("sessions", "list"),
        ("sessions", "list", "--all", "--json"),
        ("sessions", "show", session),
        ("sessions", "show", session, "--json"),
        ("sessions", "show", session, "--history"),
        ("sessions", "show", session, "--history", "--json"),
        ("sessions", "verify", session),
        ("sessions", "verify", "--json"),
        *(("sessions", "export", session, "--format", form) for form in formats),
        ("sessions", "import", str(document)),
        ("sessions", "show", HOSTILE),
        ("check", str(chat)),
        ("check", str(chat), "--json"),
        ("repair", str(chat), "--dry-run"),
        ("config",),
        ("config", "--json"),
        ("doctor",),
        ("doctor", "--json"),
        ("completion", "--line", "holdfast -m "),
        ("completion", "--line", "holdfast sessions show "),
        ("-p", "hello", "-m", f"openai-chat:{HOSTILE}"),
        ("-p", "hello", "-m", f"nobody{HOSTILE}:x"),
        (f"wrong{HOSTILE}",),
        ("sessions", f"wrong{HOSTILE}"),
        *((command, "path", f"more{HOSTILE}") for command in ("sessions", "config", "doctor", "demo", "setup")),
        *((command, f"--more{HOSTILE}", "file") for command in ("sessions", "completion", "check", "repair")),
        ("--permission-mode", HOSTILE),
    ]
    world.script(*[(Fail(400, message=HOSTILE),)] * 3)
    for arguments in commands:
        assert_harmless(world.run(*arguments), arguments)


def test_a_place_with_such_a_name_is_harmless_too(hostile: World) -> None:
    world = hostile
    home = str(world.home / HOSTILE.replace("/", ""))
    for arguments in (("config", "path"), ("config",), ("sessions", "list"), ("-p", "hello")):
        assert_harmless(world.run(*arguments, environ=world.environ(HOLDFAST_HOME=home)), arguments)


def test_a_document_for_a_program_is_not_changed(hostile: World) -> None:
    """What `repair` writes is data: into a pipe it goes byte for byte, its report to standard error is harmless."""
    chat = hostile.folder / "chat.json"
    content = "\x9d52;c;ZXZpbA==\x9c\u202e"
    text = json.dumps([{"role": "user", "content": content}], ensure_ascii=False)
    chat.write_text(text)
    ran = hostile.run("repair", str(chat))
    assert ran.out == text
    assert ACTED_ON.search(ran.err) is None
