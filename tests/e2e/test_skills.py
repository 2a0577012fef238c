"""Skills, commands and `/init` on every surface: the same prompt in the journal, by the real program."""

from __future__ import annotations

from launching import World

from holdfast.session.journal.entries import CallEnded, FilesChanged, PromptAccepted, SessionOpened, ShellEnded
from holdfast.testing.script import Call, Say
from process_leaks import linux_only

pytestmark = linux_only

SKILL = """---
name: greet
description: Greets people. Use when: someone is to be greeted.
argument-hint: "[NAME]"
---
Say hello to $0 in two words.
"""
COMMAND = """---
description: Looks at the change
---
The state is: !`echo clean @other.txt`
Look at $ARGUMENTS and @notes.txt.
"""


def bring(world: World) -> None:
    """Put a skill and a command into the project."""
    (world.folder / ".git").mkdir()
    for name, text in ((".claude/skills/greet/SKILL.md", SKILL), (".claude/commands/review/look.md", COMMAND)):
        path = world.folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (world.folder / "notes.txt").write_text("two birds\n")
    (world.folder / "other.txt").write_text("named by the output of a command\n")
    (world.folder / ".claude/commands/quoted.md").write_text('Hits: !`echo "$1"`\n')


def prompts(world: World) -> list[PromptAccepted]:
    return [each for each in world.entries() if isinstance(each, PromptAccepted)]


def test_the_model_reads_a_skill_of_the_catalogue_and_reads_it_once(one_world: World) -> None:
    world = one_world
    bring(world)
    world.script(
        [Call("skill", {"name": "greet", "arguments": "ann"})],
        [Call("skill", {"name": "greet", "arguments": "ann"})],
        [Say("Hello Ann")],
    )
    ran = world.run("-p", "greet ann", "-m", world.model)
    assert ran.code == 0, ran.err
    opened = next(each for each in world.entries() if isinstance(each, SessionOpened))
    assert "- greet: Greets people. Use when: someone is to be greeted." in opened.facts
    assert "skill" in {tool.name for tool in opened.tools}
    first, second = (each for each in world.entries() if isinstance(each, CallEnded))
    assert (first.outcome, second.outcome) == ("ok", "ok")
    assert first.text.startswith('<skill_content name="greet">\nSay hello to ann in two words.\n')
    assert second.text == "Skill 'greet' is already loaded: its text stands above, unchanged. Follow it."
    assert not [each for each in world.entries() if isinstance(each, FilesChanged)]


def test_a_command_of_the_project_runs_only_once_its_text_is_trusted(one_world: World) -> None:
    world = one_world
    bring(world)
    refused = world.run("-p", "/look src", "-m", world.model, "--yolo")
    assert refused.code != 0
    assert "whose text you have not trusted yet" in refused.err
    assert not prompts(world)
    assert not [each for each in world.entries() if isinstance(each, ShellEnded)]
    world.one_past = False
    refused = world.run("-p", "/quoted $(touch${IFS}pwned)", "-m", world.model, "--yolo", "--trust-project", "-c")
    assert refused.code != 0
    assert "could become a part of the command" in refused.err
    assert "without quotes" in refused.err
    assert not (world.folder / "pwned").exists()
    world.script([Say("Looked.")])
    ran = world.run("-p", "/look src", "-m", world.model, "--yolo", "--trust-project", "-c")
    assert ran.code == 0, ran.err
    (prompt,) = prompts(world)
    assert prompt.typed == "/look src"
    assert prompt.text == (
        'The state is: clean @other.txt\nLook at src and @notes.txt.\n\n<file path="notes.txt">\ntwo birds\n</file>'
    )
    (ended,) = (each for each in world.entries() if isinstance(each, ShellEnded))
    assert (ended.outcome, ended.note) == ("ok", "")
