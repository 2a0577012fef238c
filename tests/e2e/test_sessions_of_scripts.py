"""What a script says of the session of its run: more instructions, or that nothing of it is kept."""

from __future__ import annotations

import json
import signal

from launching import World, alive, bash, gone_within, messages, systems

from holdfast.session.journal.entries import SessionOpened
from holdfast.testing.script import Call, Hold, Say
from polling import eventually

WHOLE = (Say("Whole again."),)


def left(world: World) -> list[str]:
    """Return the files that runs left in the home of holdfast, without the config."""
    return sorted(
        str(path.relative_to(world.home)) for path in world.home.rglob("*") if path.is_file() and path.suffix != ".toml"
    )


def test_instructions_end_the_system_prompt_and_are_journalled_with_the_session(world: World) -> None:
    world.script(WHOLE, WHOLE)
    assert world.ask("first", "--append-system-prompt", "Answer in Latin.").code == 0
    (opened,) = [entry for entry in world.entries() if isinstance(entry, SessionOpened)]
    assert opened.system.endswith("\n\nAnswer in Latin.")
    world.go_on()
    assert all("Answer in Latin." in "".join(systems(request)) for request in world.provider.requests)
    refused = world.run("-c", "-p", "x", "--append-system-prompt", "Answer in Greek.")
    assert refused.code == 2
    assert "a session keeps the system prompt that it began with" in refused.err


def test_instructions_come_from_a_file_and_what_cannot_be_read_is_said(one_world: World) -> None:
    world = one_world
    (world.folder / "own.md").write_text("Answer in Latin.\n")
    world.script(WHOLE)
    assert world.ask("first", "--append-system-prompt-file", "own.md").code == 0
    assert "Answer in Latin." in "".join(systems(world.provider.requests[0]))
    for options in (["-file", "missing.md"], ["-file", "own.md", "--append-system-prompt", "x"], ["", " "]):
        refused = world.ask("x", f"--append-system-prompt{options[0]}", *options[1:])
        assert refused.code == 2, refused.err
        assert "--append-system-prompt" in refused.err


def test_a_script_chooses_the_system_prompt_and_the_tools(one_world: World) -> None:
    world = one_world
    (world.folder / "AGENTS.md").write_text("Only here.")
    world.script(WHOLE)
    assert world.ask("first", "--system-prompt", "You are terse.", "--tools", "Read,bash").code == 0
    (opened,) = [entry for entry in world.entries() if isinstance(entry, SessionOpened)]
    assert opened.system == "You are terse."
    assert [tool.name for tool in opened.tools] == ["read", "bash"]
    assert "Only here." in opened.facts
    sent = json.dumps(messages(world.provider.requests[0]))
    assert sent.count("Only here.") == 1
    assert sent.count("where you work") == 1
    for options in (
        ["--tools", "reed"],
        ["--system-prompt", "x", "--system-prompt-file", "y"],
        ["--system-prompt", ""],
    ):
        refused = world.ask("x", *options)
        assert refused.code == 2, refused.err
        assert options[0] in refused.err


def test_nothing_is_kept_of_a_run_without_a_session(one_world: World) -> None:
    world = one_world
    world.one_past = False  # no session is left to compare with
    world.script((bash("cat file-in-no-folder; echo x > made"), Call("read", {"path": "made"})), WHOLE)
    ran = world.ask("first", "--no-session", "--output-format", "stream-json")
    assert ran.code == 0, ran.err
    assert [line["saved"] for line in ran.of("init")] == [False]
    assert left(world) == []
    assert world.run("-c", "-p", "x").code == 2
    for options in (["-c"], ["-r", "x"]):
        assert world.run("-p", "x", "--no-session", *options).code == 2
    assert world.run("--no-session").code == 2


def test_nothing_is_kept_after_a_signal_and_a_killed_run_is_cleared_by_the_next(one_world: World) -> None:
    world = one_world
    world.one_past = False  # no session is left to compare with
    world.script((Say("half of it"), Hold("never")), (bash("echo $$ > pid; sleep 300"),), WHOLE)
    agent = world.start("-m", world.model, "--yolo", "-p", "x", "--no-session", "--output-format", "stream-json")
    eventually(lambda: "half of it" in agent.so_far.out)
    assert (world.home / "temporary").exists()
    agent.send(signal.SIGTERM)
    assert agent.wait().code == 130
    assert left(world) == []
    agent = world.start("-m", world.model, "--yolo", "-p", "x", "--no-session")
    eventually(lambda: (world.folder / "pid").exists() and bool(world.lines("pid")))
    agent.kill()
    gone_within(5, world.lines("pid"))
    assert any(name.endswith("session.db") for name in left(world))
    assert world.sessions == []
    assert world.ask("x", "--no-session", "--output-format", "json").code == 0
    assert left(world) == []
    assert alive(world.lines("pid")) == []


def test_a_live_run_is_left_alone_by_the_next(one_world: World) -> None:
    world = one_world
    world.one_past = False  # no session is left to compare with
    world.script((Say("half of it"), Hold("on")), WHOLE)
    agent = world.start("-m", world.model, "-p", "x", "--no-session", "--output-format", "stream-json")
    eventually(lambda: "half of it" in agent.so_far.out)
    assert world.ask("y", "--no-session").code == 0
    world.provider.release("on")
    ran = agent.wait()
    assert (ran.code, json.loads(ran.out.splitlines()[-1])["is_error"]) == (0, False)
    assert left(world) == []
