"""Bad input, of people, models and disks: one clear sentence, nothing lost, and the next run works."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from launching import CONFIG, Block, World, bash

from holdfast.session import model_notices
from holdfast.testing.script import Call, Hold, Say
from skips import needs, require

WHOLE = (Say("Whole again."),)


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """What is given and what one sentence must say; `config` and `key` are what is wrong around the arguments."""

    arguments: tuple[str, ...] = ("-m", "openai-chat:gpt-5.5", "-p", "hello")
    sentence: str
    stdin: bytes = b""
    config: str | bytes | None = None
    key: str | None = None


def options(*arguments: str) -> tuple[str, ...]:
    return ("-m", "openai-chat:gpt-5.5", "-p", "hello", *arguments)


WRONG = {
    "config is no TOML": Wrong(config="model = [", sentence="is not valid TOML: "),
    "config is no text": Wrong(config=b"\xff\xfe", sentence="config.toml' is not valid TOML: "),
    "config has an unknown key": Wrong(config="colour = 'red'\n", sentence="has an invalid setting: "),
    "config has a limit below zero": Wrong(
        config="[limits]\nconnect = -1\n", sentence="config.toml:2: limits.connect is -1 "
    ),
    "config has limits of a provider nobody knows": Wrong(
        config="[limits.providers.anthropc]\nfirst_event = 1\n",
        sentence="Unknown provider 'anthropc' in [limits.providers]",
    ),
    "config has a wrong value": Wrong(
        config="[limits]\nattempts = 0\n", sentence="config.toml:2: limits.attempts is 0 "
    ),
    "config is a folder": Wrong(config=None, sentence="config.toml' cannot be read: it is a folder, not"),
    "stdin is not UTF-8": Wrong(stdin=b"caf\xe9", sentence="Standard input is not UTF-8 text (byte 3)"),
    "stdin is binary": Wrong(stdin=b"PK\x00\x03", sentence="Standard input is binary"),
    "stdin is too long": Wrong(
        stdin=b"x" * (10 * 1024 * 1024 + 1), sentence="Standard input is too long for a prompt (at most 10 MB)"
    ),
    "prompt is empty": Wrong(arguments=("-m", "openai-chat:gpt-5.5", "-p", "  "), sentence="The prompt is empty"),
    "no terminal": Wrong(arguments=("-m", "openai-chat:gpt-5.5"), sentence="The screen needs a terminal"),
    "session is unknown": Wrong(arguments=("-r", "nope", "-p", "hello"), sentence="Session 'nope' does not exist"),
    "session is a path": Wrong(
        arguments=("-r", "../../etc", "-p", "hello"), sentence="Session '../../etc' does not exist"
    ),
    "no session here": Wrong(arguments=("-c", "-p", "hello"), sentence="No session to continue in"),
    "fork of nothing": Wrong(arguments=options("--fork"), sentence="--fork needs a session to copy"),
    "model without provider": Wrong(
        arguments=("-m", "gpt-5.5", "-p", "hello"), sentence="Model 'gpt-5.5' names no provider"
    ),
    "provider is unknown": Wrong(arguments=("-m", "antropic:x", "-p", "hello"), sentence="Did you mean anthropic:x?"),
    "model is missing": Wrong(
        arguments=("-p", "hello"), sentence="No model configured. Run `holdfast setup`, or pass -m PROVIDER:MODEL"
    ),
    "key is missing": Wrong(key="", sentence="No API key for openai-chat. Set OPENAI_API_KEY"),
    "steps are zero": Wrong(
        arguments=options("--max-steps", "0"), sentence="--max-steps must be greater than 0, not 0."
    ),
    "steps are negative": Wrong(
        arguments=options("--max-steps", "-3"), sentence="--max-steps must be greater than 0, not -3."
    ),
    "steps are no number": Wrong(arguments=options("--max-steps", "many"), sentence="invalid int value: 'many'"),
    "timeout is negative": Wrong(
        arguments=options("--timeout", "-1"), sentence="--timeout must be greater than 0, not -1.0."
    ),
    "timeout is not a number": Wrong(
        arguments=options("--timeout", "nan"), sentence="--timeout must be greater than 0, not nan."
    ),
    "timeout is a word": Wrong(arguments=options("--timeout", "soon"), sentence="invalid float value: 'soon'"),
    "folder is not there": Wrong(arguments=options("-C", "nowhere"), sentence="Cannot use directory 'nowhere'"),
    "folder is a file": Wrong(arguments=options("-C", "file"), sentence="-C 'file' is not a directory"),
    "mode is unknown": Wrong(arguments=options("--permission-mode", "free"), sentence="invalid choice: 'free'"),
    "option is unknown": Wrong(
        arguments=options("--frok"), sentence="Unknown option '--frok'. Did you mean: holdfast --fork?"
    ),
    "modes contradict": Wrong(
        arguments=options("--yolo", "--permission-mode", "plan"), sentence="Options --yolo and --permission-mode"
    ),
}


def test_what_cannot_be_begun_is_said_in_one_sentence_and_leaves_nothing(one_world: World) -> None:
    world = one_world
    config = world.home / "config.toml"
    (world.folder / "file").write_text("")
    seen: dict[str, str] = {}
    for name, wrong in WRONG.items():
        config.unlink()
        if name == "config is a folder":
            config.mkdir()
        elif isinstance(wrong.config, bytes):
            config.write_bytes(wrong.config)
        else:
            config.write_text(wrong.config or CONFIG)
        environ = world.environ() if wrong.key is None else world.environ(OPENAI_API_KEY=wrong.key)
        ran = world.run(*wrong.arguments, stdin=wrong.stdin, environ=environ)
        if config.is_dir():
            config.rmdir()
            config.touch()
        one = ran.err.count("\n") == 1 or "usage: holdfast" in ran.err
        if (ran.code, ran.out) != (2, "") or wrong.sentence not in ran.err or not one:
            seen[name] = f"{ran.code}: {ran.out}{ran.err}"
    assert seen == {}
    assert world.sessions == []
    assert world.provider.requests == ()


@needs("refused permissions")
def test_a_config_that_cannot_be_read(one_world: World) -> None:
    (one_world.home / "config.toml").chmod(0)
    ran = one_world.run(*options())
    assert (ran.code, "Permission denied" in ran.err) == (2, True)


def test_a_timeout_without_end(one_world: World) -> None:
    one_world.script(WHOLE)
    assert one_world.run(*options("--timeout", "inf")).code == 0


MISTAKES = [
    (Call("read", {"path": "big.txt"}), "1\ta line of"),
    (Call("read", {"path": "one-line.txt"}), "[... line cut, 3000000 bytes in total]"),
    (Call("read", {"path": "image"}), "is a PNG image of 9 bytes, not text"),
    (Call("read", {"path": "missing"}), "'missing' does not exist"),
    (Call("read", {"path": "folder"}), "'folder' is a folder"),
    (Call("read", {"path": "big.txt", "offset": "seven"}), "offset"),
    (Call("read", {"path": ["a"]}), "'a' does not exist"),
    (Call("read", {}), "path"),
    (Call("read", {"path": "a", "colour": "red"}), "'a' does not exist"),
    (Call("read", {"path": "bad\x00name"}), "is not a valid file name"),
    (Call("read", '{"path": "big'), "JSON"),
    (Call("read", "[1]"), "Expected `object`, got `array`"),
    (Call("read", ""), "it is the same as call"),
    (Call("bash", {"command": ""}), "command"),
    (Call("bash", {"command": "true", "timeout": -1}), "timeout"),
    (Call("edit", {"path": "image", "old": "PNG", "new": "x"}), "is binary, not text"),
    (Call("write", {"path": "folder", "content": "x"}), "folder"),
    (Call("nothing", {"x": 1}), "Tool 'nothing' does not exist (expected one of bash, "),
    (Call("grep", {"pattern": "("}), "Pattern '(' is not a"),
]


def test_the_model_reads_what_it_got_wrong(world: World) -> None:
    line = b"a line of a file that is very long and is read by a model\n"
    with (world.folder / "big.txt").open("wb") as file:  # 100 MB
        for _ in range(100):
            file.write(line * (1_000_000 // len(line) + 1))
    (world.folder / "one-line.txt").write_bytes(b"x" * 3_000_000)
    (world.folder / "image").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    (world.folder / "folder").mkdir()
    world.script([call for call, _ in MISTAKES], WHOLE)
    ran = world.ask("try")
    assert (ran.code, ran.out) == (0, "Whole again.\n"), ran.err
    results = zip(MISTAKES, world.results, strict=True)
    assert [(call.arguments, result) for (call, text), result in results if text not in result] == []
    assert len(world.results[0]) < 70_000
    assert "Traceback" not in str(world.results)
    (world.folder / "big.txt").unlink()


def test_words_that_are_no_text(world: World) -> None:
    world.script((Say("\u2028 \x00 \x1b[2J"),), WHOLE)
    assert world.ask("caf\udce9").code == 0
    world.go_on()
    assert world.user_texts == ["caf\ufffd", "go on"]


DAMAGE = {
    "the header": (b"SQLite format 3", 1),
    "the schema": (b"CREATE TABLE entry", 1),
    "the prompt": (b"the first prompt", 16),
    "a bit of an answer": (b"I look.", 1),
    "a call": (b'"call-started"', 14),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_journal_is_reported_and_the_session_goes_on(one_world: World, what: str) -> None:
    world = one_world
    world.script((Say("I look."), bash("echo one >> ran")), (Say("The first answer."),), WHOLE, WHOLE)
    world.ask("the first prompt")
    world.one_past = False
    flip(world, *DAMAGE[what])
    ran = world.go_on()
    assert "damage found: " in ran.err
    assert "was damaged" in str(world.user_texts)
    assert Block("assistant", "text", "The first answer.") in world.last
    assert ("the first prompt" in world.user_texts) is (what != "the prompt")
    again = world.go_on("--output-format", "stream-json")
    assert again.of("damage") == []  # it is reported once
    assert world.lines("ran") == ["one"]
    assert [path.name for path in world.session.glob("*.damaged-*")] or what in (
        "the prompt",
        "a bit of an answer",
        "a call",
    )


@pytest.mark.parametrize("went_on", [True, False], ids=["and went on", "and died there"])
def test_of_a_call_that_damage_hit_nothing_is_said_that_is_not_known(one_world: World, *, went_on: bool) -> None:
    """It ran, and ended; neither can be read any more, whether or not the journal goes on behind it."""
    world = one_world
    world.script((bash("echo one >> ran"),), (Say("Done."),) if went_on else (Hold("never"),), WHOLE, WHOLE)
    first = world.start("--yolo", "-m", world.model, "-p", "the first prompt")
    if not went_on:
        world.provider.wait_for("never")
        first.send(signal.SIGINT)
    first.wait()
    world.one_past = False
    flip(world, b'"call-started"', 14)
    flip(world, b'"call-ended"', 12)
    if not went_on:
        for later_entry in (b'"request-started","step":2', b'"turn-ended"'):
            flip(world, later_entry, len(later_entry))
    ran = world.go_on()
    assert world.results == [model_notices.lost()]
    assert "no effect" not in ran.err
    world.go_on()
    assert world.results == [model_notices.lost()]
    assert world.lines("ran") == ["one"]
    shown = world.run("sessions", "show", world.session.name)
    assert "not started" not in shown.out


def flip(world: World, text: bytes, length: int) -> None:
    """Flip every bit of the first bytes of `text` where it stands in the database."""
    path = world.session / "session.db"
    damaged = bytearray(path.read_bytes())
    at = damaged.find(text)
    assert at >= 0
    for place in range(at, at + length):
        damaged[place] ^= 0xFF
    path.write_bytes(damaged)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a separate disk that is soon full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    require("small disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Fill the disk and return the file that does."""
    path = disk / "fill"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 512)
    return path


def test_a_disk_that_is_full_from_the_start(small_disk: Path, one_world: World) -> None:
    world = one_world
    world.home = small_disk
    world.script(WHOLE, WHOLE)
    filled = fill(small_disk)
    ran = world.ask("the first prompt")
    assert ran.code == 1
    assert "the disk is full" in ran.err
    assert "Traceback" not in ran.err
    assert world.provider.requests == ()
    filled.unlink()
    assert world.ask("the first prompt").code == 0
    filled = fill(small_disk)
    full = world.run("-c", "-p", "lost?", "--output-format", "stream-json")
    assert full.code == 1
    assert "the disk is full" in full.err
    assert full.of("message") == []  # what is not on the disk was never said to be accepted
    (result,) = full.of("result")  # it is the end of this run's turn, not of the one before
    assert (result["turn"], result["stop_reason"], result["cause"]) == (2, "error", "storage")
    assert (result["is_error"], result["result"]) == (True, "")
    filled.unlink()
    world.go_on()
    assert world.user_texts == ["the first prompt", "go on"]


def test_a_disk_that_becomes_full_in_the_middle_of_a_turn(small_disk: Path, world: World) -> None:
    world.home = small_disk
    filled = small_disk / "fill"
    world.script(
        (bash("echo one >> ran"), bash(f"echo two >> ran; cat /dev/zero > {filled}"), bash("echo three >> ran"))
    )
    ran = world.ask("fill it")
    assert ran.code == 1
    assert "the disk is full" in ran.err
    assert "Traceback" not in ran.err
    assert world.lines("ran") == ["one", "two"]
    filled.unlink()
    world.script(WHOLE)
    world.go_on()
    one, two, three = world.results
    assert one.startswith("(no output)\n(exit code 0")
    assert two.startswith("Interrupted: ")
    assert "Effect unknown" in two
    assert three.startswith("Not started: ")
    assert world.lines("ran") == ["one", "two"]
