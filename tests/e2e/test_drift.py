"""Files that change behind the model's back: it reads a note before its answer, once, and overwrites nothing unseen."""

from __future__ import annotations

from launching import World, bash

from holdfast.session.journal.entries import CallEnded, FilesChanged, SessionOpened
from holdfast.testing.script import Call, Say

DONE = (Say("Done."),)
READ = Call("read", {"path": "a.txt"})
EDIT = Call("edit", {"path": "a.txt", "old": "two", "new": "2"})
WRITE = Call("write", {"path": "a.txt", "content": "mine\n"})
CHANGED = "these files changed since you last read or wrote them: "


def test_a_change_between_two_runs_is_reported_once_and_not_overwritten(world: World) -> None:
    file = world.folder / "a.txt"
    file.write_text("one\ntwo\n")
    (world.folder / "b.txt").write_text("other\n")
    world.script((READ, Call("read", {"path": "b.txt"})), DONE)
    world.ask("read them")
    file.write_text("ONE\ntwo\n")
    (world.folder / "b.txt").unlink()
    world.script((EDIT, WRITE), (READ, EDIT), DONE)
    ran = world.go_on()
    note = f"[Note from holdfast: {CHANGED}a.txt; these were deleted: b.txt. Read a file again before you change it.]"
    assert world.user_texts == ["read them", note, "go on"]
    assert "changed since the model last saw them: a.txt; deleted since then: b.txt" in ran.err
    refused, also_refused, reread, edited = world.results[2:]
    assert refused.startswith("File 'a.txt' changed since you last read or wrote it")
    assert also_refused == refused
    assert reread == "1\tONE\n2\ttwo"
    assert edited.startswith("Edited a.txt")
    assert file.read_text() == "ONE\n2\n"
    world.script(DONE)
    world.go_on()
    assert world.user_texts[-1:] == ["go on"]
    assert len([entry for entry in world.entries() if isinstance(entry, FilesChanged)]) == 1


def test_what_the_models_own_tools_wrote_is_no_news_but_what_its_command_did_is(one_world: World) -> None:
    world = one_world
    file = world.folder / "a.txt"
    file.write_text("one\ntwo\n")
    new = Call("write", {"path": "new.txt", "content": "new\n"})
    world.script((READ, EDIT, new, Call("edit", {"path": "new.txt", "old": "new", "new": "newer"})), DONE)
    world.ask("edit them")
    assert [entry.outcome for entry in world.entries() if isinstance(entry, CallEnded)] == ["ok"] * 4
    world.script((bash("sed -i s/one/uno/ a.txt; touch new.txt"),), DONE)
    world.go_on()
    assert world.user_texts[-1] == "go on"
    world.script(DONE)
    program = world.go_on("--output-format", "stream-json")
    assert world.user_texts[-2] == f"[Note from holdfast: {CHANGED}a.txt. Read a file again before you change it.]"
    (event,) = program.of("files_changed")
    assert (event["changed"], event["gone"]) == (["a.txt"], [])


def test_instructions_are_in_the_prompt_and_their_changes_in_a_note_behind_what_was_sent(world: World) -> None:
    (world.folder / ".git").mkdir()
    rules = world.folder / "AGENTS.md"
    rules.write_text("Use tabs.\n")
    (world.home / "AGENTS.md").write_text("Answer in French.\n")
    world.script(DONE, DONE, DONE)
    world.ask("begin")
    (facts,) = {entry.facts for entry in world.entries() if isinstance(entry, SessionOpened)}
    user_instructions = f'<instructions from="{world.home / "AGENTS.md"}">\nAnswer in French.\n</instructions>'
    assert facts.endswith(f'{user_instructions}\n\n<instructions from="AGENTS.md">\nUse tabs.\n</instructions>')
    rules.write_text("Use spaces.\n")
    ran = world.go_on()
    assert "changed since the model last saw them: AGENTS.md" in ran.err
    world.go_on()
    note = (
        "[Note from holdfast: these instructions are new or changed. From now on this version applies.]\n\n"
        '<instructions from="AGENTS.md">\nUse spaces.\n</instructions>'
    )
    # `world` sees that the system prompt stays as it was, and that the facts stand there once.
    assert world.user_texts == ["begin", note, "go on", "go on"]
