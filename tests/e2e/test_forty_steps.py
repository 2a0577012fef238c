"""Forty steps of a user's first day, in a real terminal: what is on the screen after each of them.

Three stories, each of one user at one terminal. After every step the screen has what the step is for, the prompt and
the status line stand where they always stand, and nothing unexpected is there (`Steps`).
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from launching import World, bash
from terminal import Key, Terminal
from test_terminal import screen, twice

from holdfast.session.journal.entries import CallEnded, ResponseCheckpoint, TurnEnded
from holdfast.testing.script import Call, Hold, Say, Think
from polling import eventually
from skips import needs

PRICES = "def total(prices):\n    return sum(prices)\n\n\ndef mean(prices):\n    return sum(prices) / 2\n"
ANSWER = "The **mean** divides by *two*.\n\n| case | value |\n|---|---:|\n| one | 1 |\n"
PLAN = "# Name the module\n\n1. Write `NAME`.\n"
PASTED = "\n".join(f"row {number}" for number in range(40))
ASK = "Ask holdfast to do something"
IDLE = rf"\n ▌ {ASK}.*\n +(ask|plan|accept-edits|yolo) +(· not confined )?· shift\+tab to cycle .*$"
"""The end of the screen whenever holdfast waits for a user who has typed nothing."""
ODD = r"Traceback|Error:|\[/?(dim|bold|red|link)|\x1b|�|None\b|`[^`\n]+`|\*\*"
"""What the user should never see: Python's words, markup that is not drawn, controls, signs that are lost."""


def checkpoints(world: World) -> list[ResponseCheckpoint]:
    """Return what a crash would leave of streamed text, in any session."""
    entries = [entry for session in world.sessions for entry in world.entries(session)]
    return [entry for entry in entries if isinstance(entry, ResponseCheckpoint)]


class Steps:
    """The steps of one terminal; a step that fails says which it was."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    @contextmanager
    def __call__(self, number: int, what: str, *, idle: bool = True) -> Generator[None]:
        """Take one step; behind it, if `idle`, holdfast waits at an empty prompt, and nothing odd is seen."""
        try:
            yield
            if idle:
                self.terminal.wait_absent("esc to interrupt")
                self.terminal.wait_text(IDLE)
            oddity = re.search(ODD, self.terminal.text())
            assert oddity is None, f"{oddity[0]!r} is on the screen"
        except (AssertionError, TimeoutError) as error:
            error.add_note(f"Step {number}: {what}.")
            raise

    def ask(self, prompt: str, answer: str) -> None:
        """Send a prompt and wait for what must be seen then."""
        self.terminal.line(prompt)
        self.terminal.wait_text(answer)

    def close(self, shown: str) -> None:
        """Close with Esc what shows that."""
        self.terminal.settle()  # Esc counts as a key only if nothing follows it at once
        self.terminal.send(Key.ESC)
        self.terminal.wait_absent(shown)


@needs("bubblewrap")  # a question and a card say what is confined
def test_the_first_task(one_world: World) -> None:  # noqa: PLR0915 - one story, told once
    """From the first start to leaving: an answer, questions, a stop, words in between, files, pastes, the diff."""
    world = one_world
    world.one_past = False
    subprocess.run(["git", "init", "-q"], cwd=world.folder, check=True)
    (world.folder / "prices.py").write_text(PRICES)
    edit: dict[str, object] = {"path": "prices.py", "old": "sum(prices) / 2", "new": "sum(prices) / len(prices)"}
    world.script(
        [Think("I look at it."), Say(ANSWER)],
        [Call("read", {"path": "prices.py"}), bash("mkdir made; echo built")],
        [Call("edit", edit)],
        [Say("Mended.")],
        [bash("rm -rf made"), bash("touch served; echo begun; sleep 31415")],
        [Say("Counting."), Hold("count"), Call("read", {"path": "prices.py"})],
        [Say("Only the odd ones.")],
        [Say("Bye.")],
        [Say("It has two functions.")],
        [Say("It is a list of rows.")],
        [Say("Forty rows.")],
    )
    with screen(world, "-m", world.model) as terminal:
        step = Steps(terminal)
        with step(1, "start: name, folder, model, hints; the prompt is there"):
            terminal.wait_text(rf"holdfast \d.*\n +\S+/work · {world.model}\n")
            terminal.wait_text("/help for keys and commands")
            terminal.wait_text(rf"{world.model} · master")
        with step(2, "a first question: thinking folded, the answer as Markdown, what it cost"):
            step.ask(
                "what is wrong with mean?", r"✻ thought\n\n +The mean divides by two\.\n\n +case +value\n +─+\n +one +1"
            )
            terminal.wait_text(rf"{world.model} · ━─+ <1 % · \$\d")
        with step(3, "a question at a command: what runs, why it is asked, answers with numbers", idle=False):
            step.ask(
                "mend it",
                r"Run this command\?\n ▌ Why: 'mkdir' is not known to only read\.\n ▌\n ▌ +mkdir made; echo built",
            )
            terminal.wait_text(
                r"1  Allow once, in the sandbox: no network\n ▌ 2  Always allow running mkdir \* \(this session\)"
            )
            terminal.wait_text("ask Approval needed · esc to interrupt")
            assert terminal.text().count("Run this command?") == 1
        with step(4, "a question at an edit: the change once, with line numbers", idle=False):
            terminal.send("1")
            terminal.wait_text(
                r"Edit prices\.py\?\n(.*\n)+?.* 6 - +return sum\(prices\) / 2\n.* 6 \+ +return sum\(prices\) / len"
            )
            terminal.wait_text(r"✓ bash mkdir made; echo built  confined: workspace\n +built")
            assert terminal.text().count("/ len(prices)") == 1
        with step(5, "allowed: the diff stays in the transcript, and the turn ends with the answer"):
            terminal.send("1")
            terminal.wait_text(r"✓ edit prices\.py  \+1 -1\n(.*\n)+? +Mended\.")
            terminal.wait_absent("Edit prices")
        with step(6, "a dangerous command is refused with a reason", idle=False):
            step.ask("serve it", r"(?s)Run this command\?.*rm -rf made")
            terminal.send("n")
            terminal.wait_text("Tell the model why")
            terminal.send("keep it\r")
            terminal.wait_text(r"⊘ bash rm -rf made(.*\n)+?.*keep it")
        with step(7, "a long command runs: its output as it comes, the time, how to stop it", idle=False):
            terminal.wait_text(r"(?s)Run this command\?.*sleep 31415")
            terminal.send("1")
            terminal.wait_text(r"● bash touch served; echo begun; sleep 31415.*\n +begun")
            terminal.wait_text("running.*esc to interrupt")
        with step(8, "Esc stops it: the prompt is back, and the truth is told"):
            terminal.send(Key.ESC)
            terminal.wait_text(r"◐ bash touch served.*interrupted")
            terminal.wait_text("Effect unknown")
            terminal.wait_text("■ Turn ended: you stopped the turn")
        with step(9, "words while it works: one steers, one waits; both are listed, and both are answered"):
            step.ask("count them", r"Counting\.")
            step.ask("only odd ones", "↳ only odd ones")
            terminal.send("then say bye")
            terminal.wait_text("▌ then say bye")
            terminal.send(Key.TAB)
            terminal.wait_text(r"↳ only odd ones\n +↳ then say bye\n\n ▌ Enter to steer · Tab to queue\n.*2 queued")
            world.provider.release("count")
            terminal.wait_text(r"▌ only odd ones\n\n +Only the odd ones\.\n\n ▌ then say bye\n\n +Bye\.")
            assert "↳" not in terminal.text()
        with step(10, "a command of one's own: its output folded, with the key that opens it"):
            step.ask("! seq 20", r"✓ ! seq 20\n +1\n(.*\n)+? +… 15 more lines · ctrl\+o")
        with step(11, "@ completes a file, and the prompt with it is answered"):
            terminal.send("what is in @pri")
            terminal.wait_text(r"\n +prices\.py *\n(.*\n)?.*▌ what is in @pri\n")
            terminal.send(Key.TAB)
            terminal.wait_text(r"▌ what is in @prices\.py")
            terminal.send(Key.ENTER)
            terminal.wait_text("It has two functions")
        with step(12, "a long paste is a mark, and the question behind it is seen"):
            terminal.paste(PASTED)
            terminal.send(" what is this?")
            terminal.wait_text(r"▌ \[Pasted text #1 \+40 lines\] what is this\?\n")
            terminal.send(Key.ENTER)
            terminal.wait_text(r"▌ \[Pasted text #1 \+40 lines\] what is this\?\n\n +It is a list of rows\.")
        with step(13, "Ctrl+O opens everything, and closes it again"):
            terminal.send(Key.CTRL_O)
            terminal.wait_text(r"▌ row 38\n ▌ row 39 what is this\?\n\n +It is a list")
            terminal.send(Key.CTRL_O)
            terminal.wait_text(r"▌ \[Pasted text #1 \+40 lines\] what is this\?")
        with step(14, "/diff shows what the session changed, over the whole screen"):
            step.ask("/diff session", r"Diff +last turn · session · working tree\n 1/1 +prices\.py +\+1 -1\n")
            step.close("working tree")
            terminal.wait_text("It is a list of rows")
        with step(15, "Esc Esc: rewinding brings a prompt back to be edited"):
            twice(terminal, Key.ESC, r"Rewind to before… \(conversation only")
            terminal.wait_text(
                r"\[Pasted text #1 \+40 lines\] what is this\? +turn 7\n +what is in @prices\.py +turn 6"
            )
            terminal.send(Key.ENTER)
            terminal.wait_text("Rewound to before turn 7")
            terminal.wait_text(r"\n ▌ \[Pasted text #1 \+40 lines\] what is this\?\n ask")
            terminal.send(" how many?\r")
            terminal.wait_text(r"Forty rows\.")
        with step(16, "leaving: the last answer, title, cost and how to go on stay in the terminal", idle=False):
            terminal.send(Key.CTRL_D)
            assert terminal.wait() == 0
            left = terminal.raw.decode().rpartition("\x1b[?1049l")[2].replace("\r", "")
            assert re.search(
                rf"Forty rows\.\n\nwhat is wrong with mean\? · \$[\d.]+\nholdfast -r {world.session.name}\n", left
            )
    outcomes = [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)]
    assert outcomes == ["ok", "ok", "ok", "denied", "interrupted", "ok"]
    assert f"{PASTED} what is this? how many?" in world.user_texts


def test_settings_and_a_plan(one_world: World) -> None:  # noqa: PLR0915 - one story, told once
    """Model, effort, settings, colours, what it costs, what is allowed; a plan, made and carried out."""
    world = one_world
    world.script(
        [Say("Hello.")],
        [Call("present_plan", {"plan": PLAN})],
        [Call("write", {"path": "NAME", "content": "prices\n"})],
        [Say("Carried out.")],
    )
    with screen(world, "say hello", "-m", world.model, columns=110, lines=36) as terminal:
        step = Steps(terminal)
        with step(17, "a prompt on the command line is sent at once"):
            terminal.wait_text(r"▌ say hello\n\n +Hello\.")
        with step(18, "/model: the one in use; another is typed, which the list does not have"):
            step.ask("/model", rf"(?s)search.*{world.model} .*in use")
            terminal.wait_text("could not be listed: the provider has no such list")
            terminal.send("no such one")
            terminal.wait_text(r"Nothing matches\.")
            terminal.send(b"\x15")
            terminal.wait_absent("no such one")
            terminal.send("gpt-5.5-mini")
            terminal.wait_text(r"openai-chat:gpt-5.5-mini +not in the list")
            terminal.send(Key.ENTER)
            terminal.wait_text("(?m)^ ask .*openai-chat:gpt-5.5-mini")
        with step(19, "/model with a name, at once"):
            step.ask(f"/model {world.model}", rf"(?m)^ ask .*{world.model} ")
        with step(20, "/effort: the status line has it beside the model"):
            step.ask("/effort high", rf"(?m)^ ask .*{world.model} (\(high\)|high) ")
        with step(21, "/config: found by its name, with value and source"):
            step.ask("/config", r"permission_mode +\"ask\" +default")
            terminal.send("max_steps")
            terminal.wait_text(r"limits\.max_steps +200 +default")
            step.close("Settings")
        with step(22, "/theme: the colours change at once, and where that is kept is said"):
            before = set(re.findall(rb"\x1b\[[\d;]*48;2;[\d;]*m", bytes(terminal.raw)))
            step.ask("/theme nord", r'theme = "nord" in\s')
            terminal.settle()
            assert set(re.findall(rb"\x1b\[[\d;]*48;2;[\d;]*m", bytes(terminal.raw))) > before
        with step(23, "/context: what fills the window"):
            step.ask("/context", r"tokens of [\d.]+[kM] \(<?\d+ %\)")
            terminal.wait_text(r"system prompt +━")
            step.close("system prompt")
        with step(24, "/cost: by model and by turn"):
            step.ask("/cost", rf"By model\s+requests(.*\n)+?.*{world.model} +1 (.*\n)+?.*1 +1 .*say hello")
            step.close("By model")
        with step(25, "/help: keys and commands"):
            step.ask("/help", r"(?s)Keys.*Enter")
            step.close(r"\bKeys\b")
        with step(26, "Shift+Tab: the mode, in its place"):
            terminal.send(Key.SHIFT_TAB)
            terminal.wait_text("(?m)^ accept-edits · shift")
            terminal.send(Key.SHIFT_TAB)
            terminal.wait_text("(?m)^ plan · shift")
        with step(27, "a plan is shown whole, with its answers", idle=False):
            step.ask(
                "name the module",
                r"(?s)Carry out this plan\?.*Name the module.*Write NAME.*1  Approve, and edit freely",
            )
        with step(28, "approved: it is carried out, and the mode is the one that was chosen"):
            terminal.send("1")
            terminal.wait_text(r"Carried out\.")
            terminal.wait_text("(?m)^ accept-edits · shift")
            assert (world.folder / "NAME").read_text() == "prices\n"
        with step(29, "a smaller window: prompt and status line where they always stand"):
            terminal.resize(60, 16)
            terminal.wait_text(r"Carried out\.")
            terminal.wait_text(r"(?m)^ accept-edits · shift\+tab to cycle .*gpt-5.5")
            terminal.resize(110, 36)
            terminal.wait_text(r"▌ say hello")
        with step(30, "/rename, and leaving with /quit: the title stays in the terminal", idle=False):
            step.ask("/rename A name for it", 'Renamed to "A name for it"')
            terminal.line("/quit")
            assert terminal.wait() == 0
            assert b"A name for it" in terminal.raw.rpartition(b"\x1b[?1049l")[2]


def test_sessions_and_tasks(one_world: World) -> None:  # noqa: PLR0915 - one story, told once
    """A task in the background, another session, one that is found again, a crash, and `-c`."""
    world = one_world
    world.one_past = False
    world.script(
        [Call("bash", {"command": "while :; do echo beat; sleep 0.2; done", "background": True})],
        [Say("It serves.")],
        [Say("A heron stands.")],
        [Say("A newt swims.")],
        [Say("It began"), Hold("crash"), Say("never said")],
        [Say("All of it.")],
    )
    with screen(world, "-m", world.model, "--yolo") as terminal:
        step = Steps(terminal)
        with step(31, "a command in the background stands above the prompt"):
            terminal.wait_text(ASK)
            step.ask("serve it", r"It serves\.")
            terminal.wait_text(r"● \w+ +while :; do echo beat(.*\n)+? ▌ Ask")
            terminal.wait_text("(?m)^ yolo .*1 task|1 task")
        with step(32, "/tasks: what runs, its output, and its end"):
            step.ask("/tasks", "(?s)Background tasks.*while :; do echo beat.*runs, ")
            terminal.send(Key.ENTER)
            terminal.wait_text(r"(?m)^\W*beat\W*$")
            step.close(r"(?m)^\W*beat\W*$")
            step.ask("/tasks", "Background tasks")
            terminal.send(b"\x18")
            terminal.wait_absent("runs, ")
            step.close("Background tasks")
            terminal.wait_absent("1 task")
        with step(33, "/new: an empty screen, and the next prompt begins a session"):
            step.ask("/new", "The next prompt starts a new session")
            terminal.wait_absent("It serves")
            step.ask("which bird?", "A heron stands")
        with step(34, "Ctrl+R finds a prompt of before"):
            terminal.send(Key.CTRL_R)
            terminal.wait_text("Prompt history")
            terminal.send("serve")
            terminal.wait_text(r"\n +serve\n\n +serve it\n")
            terminal.send(Key.ENTER + Key.CTRL_C)  # two keys that close it
            terminal.wait_absent("Prompt history")
        with step(35, "/branches before any rewind says that there is none"):
            step.ask("/branches", "was never rewound")
            terminal.send(Key.ESC)
        with step(36, "/rewind; another prompt; /branches has both"):
            step.ask("/rewind", "Rewind to before")
            terminal.send(Key.ENTER)
            terminal.wait_text(r"Rewound to before turn 1")
            terminal.wait_text(r"▌ which bird\?\n.* yolo")
            terminal.send(Key.CTRL_C)
            terminal.wait_text(f"▌ {ASK}")
            step.ask("which animal?", "A newt swims")
            terminal.wait_absent("esc to interrupt")
            step.ask("/branches", r"which animal\? +present · 1 turn\n.*which bird\? +left .* · 1 turn")
            step.close("present · 1 turn")
        with step(37, "/resume: sessions with their age; a preview of the one under the cursor"):
            step.ask("/resume", r"serve it +just now|serve it +\d+ ")
            terminal.send("serves")
            terminal.wait_text(r"serve it +It serves")
            terminal.wait_text(r"> serve it\n(.*\n)*?.*It serves\.")
        with step(38, "Enter takes it up: what was said is there"):
            terminal.send(Key.ENTER)
            terminal.wait_text(r"▌ serve it\n")
            terminal.wait_text(r"It serves\.")
            terminal.wait_absent("A newt swims")
        with step(39, "killed in the middle of an answer", idle=False):
            step.ask("and then?", "It began")
            eventually(lambda: any("It began" in entry.text for entry in checkpoints(world)))
            terminal.kill(signal.SIGKILL)
            assert terminal.wait() == -signal.SIGKILL
    with screen(world, "-c", "--yolo") as terminal:
        step = Steps(terminal)
        with step(40, "holdfast -c: all of it, what happened, and the next prompt works"):
            terminal.wait_text(r"▌ and then\?\n\n +It began")
            terminal.wait_text("■ Turn interrupted: holdfast's process ended without recording why")
            step.ask("what is there?", r"All of it\.")
            terminal.wait_absent("esc to interrupt")
    causes = sorted(e.cause for each in world.sessions for e in world.entries(each) if isinstance(e, TurnEnded))
    assert causes == ["crash", "finished", "finished", "finished", "finished"]
