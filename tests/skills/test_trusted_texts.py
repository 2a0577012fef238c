"""Trust in the text of a project's file: about exactly this text, stored outside the project; one's own needs none."""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.skills.skill_body import read_body
from holdfast.skills.skill_files import find_files
from holdfast.skills.trusted_texts import is_trusted, judge_texts, set_trust


def test_trust_is_about_exactly_one_text(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "work"
    environ = {"HOME": str(tmp_path / "home"), "HOLDFAST_HOME": str(tmp_path / "config")}
    for name, text in (("run", "See !`date`"), ("plain", "Nothing runs")):
        path = root / ".claude" / "commands" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    files = find_files(root, environ).by_name
    source = read_body(root, files["run"]).source
    assert not is_trusted(environ, files["run"], source)
    judge_texts(environ, root, trusted=True)
    assert is_trusted(environ, files["run"], source)
    assert not is_trusted(environ, files["run"], f"{source} and !`rm -rf .`")
    assert not is_trusted(environ, files["plain"], "Nothing runs")
    set_trust(environ, files["run"], source, trusted=False)
    assert not is_trusted(environ, files["run"], source)
    assert is_trusted(environ, msgspec.structs.replace(files["run"], within=None), "anything")
    assert [path.name for path in root.iterdir()] == [".claude"]
