"""What runs without a question, and what does not: searches that end, files that others run, patterns of commands."""

from __future__ import annotations

import pytest
from launching import World

from holdfast.testing.script import Call, Say


def test_a_search_ends_whatever_the_pattern_and_the_rules_of_the_folder(one_world: World) -> None:
    deep = one_world.folder.joinpath(*["a"] * 30)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("text\n")
    (one_world.folder / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*b\n" + "a/**/" * 15 + "b\n")
    many = "**/a/" * 15 + "b"
    one_world.script([Call("glob", {"pattern": many}), Call("grep", {"pattern": "x", "glob": many})], [Say("done")])
    ran = one_world.ask("search")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert one_world.results == [f"No files match {many!r} in '.'.", "No lines match 'x' in '.' (0 files)."]


@pytest.mark.parametrize(
    "path", [".mcp.json", ".devcontainer.json", ".cargo/config.toml", "sub/HEAD", ".SSH/rc", "run.sh"]
)
def test_what_other_programs_run_is_not_written_unasked(one_world: World, path: str) -> None:
    (one_world.folder / ".envrc").symlink_to("run.sh")
    one_world.script(
        [Call("write", {"path": "src/app.py", "content": "x"})],
        [Call("write", {"path": path, "content": "x"})],
        [Say("asked")],
    )
    ran = one_world.run("-m", one_world.model, "--permission-mode", "accept-edits", "-p", "write it")
    assert ran.code == 3, ran.err
    assert "other programs run or obey by themselves" in ran.err
    assert (one_world.folder / "src/app.py").exists()
    assert not (one_world.folder / path).exists()
    one_world.go_on()
