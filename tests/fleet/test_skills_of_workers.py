"""A worker makes the prompt of a skill and of a command as any surface does; what only users allow is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memory_record import MemoryRecord

from holdfast.errors import UsageError
from holdfast.fleet.places.place import FolderPlace
from holdfast.host import commands as c
from holdfast.session.journal.entries import PromptAccepted, ShellEnded
from holdfast.skills.trusted_texts import judge_texts
from holdfast.testing.script import Say
from holdfast.testing.scripted_provider import ScriptedProvider
from holdfast.ui.commands.fleet.session_agents import SessionAgents
from holdfast.ui.startup.arguments import Arguments
from process_leaks import linux_only

pytestmark = linux_only


async def test_a_worker_expands_them_and_never_waits_for_an_answer_before_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "place"
    for name, text in (
        (".claude/skills/greet/SKILL.md", "---\ndescription: Greets\n---\nHello $ARGUMENTS"),
        (".agents/commands/look.md", "The state is !`echo clean`"),
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    with ScriptedProvider([[Say("Hello.")], [Say("Looked.")]]) as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        record = MemoryRecord(place={"kind": "folder", "cwd": str(folder), "model": "openai-chat:gpt-5.5"})
        agents = SessionAgents(Arguments(), os.environ, folder_of=lambda _: tmp_path / "worker")
        host = agents(record.take(), FolderPlace(cwd=folder, identity="here", host="here"))
        try:
            with pytest.raises(UsageError, match=r"have not trusted yet\. The user cannot be asked here"):
                await host.submit(c.Prompt("/look")).ended
            judge_texts(os.environ, folder, trusted=True)
            await host.submit(c.Prompt("/greet Ann")).ended
            await host.submit(c.Prompt("/look")).ended
        finally:
            await host.close()
    prompts = [each for each in record.journal if isinstance(each, PromptAccepted)]
    assert [each.typed for each in prompts] == ["/greet Ann", "/look"]
    assert prompts[0].text.startswith('<skill_content name="greet">\nHello Ann\n')
    assert prompts[1].text == "The state is clean"
    assert [each.outcome for each in record.journal if isinstance(each, ShellEnded)] == ["ok"]
