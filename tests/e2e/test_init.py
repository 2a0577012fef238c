"""`/init` is an ordinary turn with a prompt of holdfast's; a queued skill returns as it was typed."""

from __future__ import annotations

from launching import World
from test_skills import bring

from holdfast.session.journal.entries import PromptAccepted
from holdfast.testing.script import Call, Say


def test_init_asks_the_model_to_write_the_file(one_world: World) -> None:
    world = one_world
    world.script([Call("write", {"path": "AGENTS.md", "content": "Run make.\n"})], [Say("Written.")])
    ran = world.run("-p", "/init the tests", "-m", world.model, "--yolo")
    assert ran.code == 0, ran.err
    (prompt,) = (each for each in world.entries() if isinstance(each, PromptAccepted))
    assert (prompt.cause, prompt.typed) == ("init", "/init the tests")
    assert prompt.text.startswith("Write the file `AGENTS.md` of this project")
    assert prompt.text.endswith("The user adds: the tests")
    assert (world.folder / "AGENTS.md").read_text() == "Run make.\n"


def test_without_skills_the_model_has_no_tool_for_them_and_a_text_is_a_text(one_world: World) -> None:
    world = one_world
    world.script([Say("What?")])
    ran = world.run("-p", "/greet ann", "-m", world.model)
    assert ran.code == 0, ran.err
    (prompt,) = (each for each in world.entries() if isinstance(each, PromptAccepted))
    assert (prompt.text, prompt.typed) == ("/greet ann", "")
    assert "'skill'" not in str(world.provider.requests[0].body)


def test_a_named_choice_of_tools_has_skills_only_if_they_are_named(one_world: World) -> None:
    world = one_world
    bring(world)
    world.one_past = False
    world.script([Say("One.")], [Say("Two.")])
    assert world.run("-p", "hello", "-m", world.model, "--tools", "read").code == 0
    assert world.run("-p", "hello", "-m", world.model, "--tools", "read,skill").code == 0
    without, having = (request.body for request in world.provider.requests)
    assert "- greet: " not in str(without)
    assert "- greet: " in str(having)
