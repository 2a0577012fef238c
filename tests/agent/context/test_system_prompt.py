"""The system prompt, the facts of a new session, and the note that tells of instructions which changed since."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_harness import Rig
from holdfast.agent.context.system_prompt import folder_facts, system_prompt
from holdfast.session.conversation.conversation import UserMessage
from holdfast.session.journal.entries import FilesChanged
from holdfast.testing.script import Say
from holdfast.testing.scripted_model import ScriptedModel
from holdfast.testing.toolbox import FunctionToolbox
from holdfast.tool_calls import FileSeen
from holdfast.tools.tool import Instruction


def instruction(text: str, name: str = "AGENTS.md") -> Instruction:
    return Instruction(snapshot=FileSeen(path=name, size=len(text), sha256=text), text=text)


def test_the_facts_say_where_it_works(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    text = folder_facts(tmp_path, today="2026-11-22")
    facts = (
        f"[Note from holdfast: where you work.\nWorking directory: {tmp_path}\nIt contains: nothing\n"
        f"Git: repository {tmp_path}, on branch topic\nPlatform: "
    )
    assert text.startswith(facts)
    assert text.endswith("Today's date: 2026-11-22]")


def test_the_prompt_has_no_word_about_the_folder_the_machine_or_the_day() -> None:
    text = system_prompt()
    assert not [line for line in text.splitlines() if line.startswith(("Working", "It contains", "Git", "Platform"))]
    assert "2026" not in text
    assert "<instructions" not in text


def test_the_users_own_prompt_stands_for_holdfasts_and_what_they_append_ends_it() -> None:
    assert system_prompt("You are terse.") == "You are terse."
    assert system_prompt("You are terse.", appended="Answer in Latin.") == "You are terse.\n\nAnswer in Latin."
    assert system_prompt(appended="Answer in Latin.") == f"{system_prompt()}\n\nAnswer in Latin."


def test_it_lists_what_is_there_and_what_git_is_in_the_middle_of(tmp_path: Path) -> None:
    (tmp_path / ".git" / "rebase-merge").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "a\nb").touch()
    text = folder_facts(tmp_path, today="2026-11-22")
    assert "It contains: a\\nb, src/\n" in text
    assert f"Git: repository {tmp_path}, on no branch, in the middle of a rebase\n" in text
    for number in range(100):
        (tmp_path / f"f{number:03}").touch()
    assert "f038, … and 62 more\n" in folder_facts(tmp_path, today="2026-11-22")


def test_it_says_whether_rg_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "; rg is not installed" in folder_facts(tmp_path, today="2026-11-22")
    (tmp_path / "rg").touch(mode=0o755)
    assert "; rg is installed\n" in folder_facts(tmp_path, today="2026-11-22")


def test_instructions_follow_it_in_their_order(tmp_path: Path) -> None:
    text = folder_facts(tmp_path, today="2026-11-22", instructions=[instruction("a", "/c/AGENTS.md"), instruction("b")])
    assert "\nGit: no repository\n" in text
    assert "What follows are instruction files" in text
    assert "instruction files" not in folder_facts(tmp_path, today="2026-11-22")
    assert text.endswith(
        '<instructions from="/c/AGENTS.md">\na\n</instructions>\n\n<instructions from="AGENTS.md">\nb\n</instructions>'
    )


async def test_new_or_changed_instructions_are_sent_once_before_the_prompt() -> None:
    rig = Rig(ScriptedModel([[Say("ok")]] * 6))
    box = rig.toolbox = FunctionToolbox(())
    rig.agent = rig.new_agent()
    for names in ((), ("one",), ("one",), ("two",), (), ("two",)):
        box.active_instructions = tuple(map(instruction, names))
        await rig.agent.run("go on")
    changes = [entry for entry in rig.entries if isinstance(entry, FilesChanged)]
    assert [[file.sha256 for file in entry.files] for entry in changes] == [["one"], ["two"]]
    messages = [message for message in rig.agent.conversation.messages if isinstance(message, UserMessage)]
    assert [len(message.texts) for message in messages] == [1, 2, 1, 2, 1, 1]
    note, prompt = messages[3].texts
    assert prompt == "go on"
    assert note == (
        "[Note from holdfast: these instructions are new or changed. From now on this version applies.]\n\n"
        '<instructions from="AGENTS.md">\ntwo\n</instructions>'
    )


async def test_instructions_that_a_rewind_removed_are_sent_again() -> None:
    rig = Rig(ScriptedModel([[Say("ok")]] * 3))
    rig.toolbox = FunctionToolbox((), active_instructions=(instruction("one"),))
    rig.agent = rig.new_agent()
    await rig.agent.run("go on")
    await rig.agent.run("go on")
    assert len([entry for entry in rig.entries if isinstance(entry, FilesChanged)]) == 1
    await rig.agent.rewind(1)
    await rig.agent.run("again")
    conversation = rig.agent.conversation
    texts = [text for message in conversation.messages if isinstance(message, UserMessage) for text in message.texts]
    assert len([text for text in texts if "<instructions" in text]) == 1
