"""What a script allows and denies for its run: `--allow`, `--deny`, and a bad line of input while a turn runs."""

from __future__ import annotations

import os

from launching import World, bash
from test_prompt_lines import LINES, line

from holdfast.session.journal.entries import CallEnded, TurnEnded
from holdfast.testing.script import Call, Hold, Say
from polling import eventually


def outcomes(world: World) -> list[str]:
    return [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]


def test_what_is_allowed_runs_and_the_rest_is_denied_with_the_option(world: World) -> None:
    world.script((bash("touch made && ls"), bash("touch made && mkdir sub")), (Say("half of it"),))
    ran = world.run("-m", world.model, "-p", "x", "--allow", "Bash(touch *)", "--allow", "bash(make:*)")
    assert (ran.code, ran.out) == (0, "half of it\n"), ran.err
    assert outcomes(world) == ["ok", "denied"]
    assert (world.folder / "made").exists()
    assert (
        "denied: bash touch made && mkdir sub (allow it with --allow 'Bash(touch *)' --allow 'Bash(mkdir *)')"
        in ran.err
    )


def test_what_is_denied_is_not_run_in_any_mode_and_the_rule_is_named(one_world: World) -> None:
    world = one_world
    world.script(
        (
            bash("touch made"),
            bash("env A=b touch made"),
            Call("read", {"path": "secret.env"}),
            Call("grep", {"pattern": "key", "path": "secret.env"}),
            bash("cat secret.env"),
        ),
        (Call("grep", {"pattern": "key"}), Call("glob", {"pattern": "**/*"})),
        (Say("I could not"),),
    )
    (world.folder / "secret.env").write_text("key\n")
    ran = world.ask("x", "--deny", "Bash(touch *)", "--deny", "Read(*.env)", "--allow", "Bash")
    assert (ran.code, ran.out) == (0, "I could not\n"), ran.err
    assert outcomes(world) == [*["denied"] * 5, "ok", "ok"]
    assert not (world.folder / "made").exists()
    assert all("Bash(touch *)" in result for result in world.results[:2]), world.results
    assert all("Read(*.env)" in result for result in world.results[2:5])
    assert all("[1 left out: rules do not allow" in result for result in world.results[5:])
    assert not any("secret.env" in result for result in world.results[5:])
    assert not any("key\n" in result for result in world.results)


def test_a_rule_that_cannot_be_read_ends_the_run_before_it_begins(one_world: World) -> None:
    for rule in ("Bash(", "Nothing(x)", ""):
        ran = one_world.ask("x", "--deny", rule)
        assert ran.code == 2, ran.err
        assert "--deny" in ran.err
    assert one_world.sessions == []
    assert one_world.provider.requests == ()


def test_a_bad_line_while_a_turn_runs_is_reported_and_the_turn_goes_on(world: World) -> None:
    world.script((Say("half of it"), Hold("on"), Say(", all of it")), (Say("two"),))
    os.mkfifo(pipe := world.home / "pipe")
    keep = os.open(pipe, os.O_RDWR)
    os.write(keep, line("first"))
    agent = world.start("-m", world.model, *LINES, stdin_from=pipe)
    eventually(lambda: "half of it" in agent.so_far.out)
    os.write(keep, b'{"type": "user", "message"\n')
    eventually(lambda: any("line" in each for each in agent.so_far.of("error")))
    os.write(keep, line("second"))
    world.provider.release("on")
    os.close(keep)
    ran = agent.wait()
    assert ran.code == 2
    (error,) = [each for each in ran.of("error") if "line" in each]
    assert (error["line"], error["message"].startswith("Line 2 of the input was skipped: ")) == (2, True)
    assert [each["result"] for each in ran.of("result")] == ["half of it, all of it", "two"]
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == ["finished", "finished"]


def test_doctor_names_what_a_killed_run_left_and_the_next_run_clears_it(one_world: World) -> None:
    world = one_world
    world.one_past = False  # no session is left to compare with
    world.script((Say("half of it"), Hold("never")), (Say("done"),))
    agent = world.start("-m", world.model, "-p", "x", "--no-session", "--output-format", "stream-json")
    eventually(lambda: "half of it" in agent.so_far.out)
    assert "--no-session" not in world.run("doctor").out, "its run lives"
    agent.kill()
    assert "1 killed run with --no-session left files in " in world.run("doctor").out
    assert world.ask("y", "--no-session").code == 0
    assert "--no-session" not in world.run("doctor").out
