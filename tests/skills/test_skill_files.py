"""Where skills and commands are found, who wins, and why one is not in use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import ToolFailed
from holdfast.skills import skill_files
from holdfast.skills.skill_body import read_body
from holdfast.skills.skill_files import SkillFile, SkillListing, find_files, read_file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder of a repository; the home is beside it."""
    folder = tmp_path.resolve() / "repo" / "part"
    folder.mkdir(parents=True)
    (folder.parent / ".git").mkdir()
    return folder


def environ(work: Path) -> dict[str, str]:
    return {"HOME": str(work.parents[1] / "home"), "HOLDFAST_HOME": str(work.parents[1] / "config")}


def put(path: Path, text: str = "---\ndescription: Does it\n---\nDo it.") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(work: Path) -> SkillListing:
    return find_files(work, environ(work))


def why_not(work: Path) -> dict[str, str]:
    return {each.path.name: each.why for each in found(work).skipped}


PLACES = (
    "repo/part/.holdfast/skills", "repo/part/.agents/skills", "repo/part/.claude/skills", "repo/part/.codex/skills",
    "repo/.holdfast/skills", "repo/.claude/skills", "config/skills", "home/.agents/skills", "home/.claude/skills",
    "home/.codex/skills",
)  # fmt: skip


def test_the_nearest_wins_then_the_project_then_the_user(work: Path) -> None:
    base = work.parents[1]
    for place in reversed(PLACES):
        path = put(base / place / "x" / "SKILL.md")
        assert found(work).by_name["x"].path == path, place
    listing = found(work)
    assert [each.path for each, _ in listing.shadowed] == [base / each / "x" / "SKILL.md" for each in PLACES[1:]]
    assert {winner.path for _, winner in listing.shadowed} == {base / PLACES[0] / "x" / "SKILL.md"}
    assert listing.by_name["x"].within == work.parent
    assert {each.path: each.within for each, _ in listing.shadowed}[base / PLACES[-1] / "x" / "SKILL.md"] is None


COMMANDS = (
    "repo/part/.holdfast/commands", "repo/.claude/commands/deep", "config/commands", "home/.claude/commands",
    "home/.codex/prompts",
)  # fmt: skip


def test_commands_are_named_by_their_file_and_a_skill_of_the_name_wins(work: Path) -> None:
    base = work.parents[1]
    for place in reversed(COMMANDS):
        path = put(base / place / "go.md", "Just go.")
        assert found(work).by_name["go"].path == path, place
    assert found(work).by_name["go"].description == "Just go."
    skill = put(base / "home/.claude/skills/go/SKILL.md")
    assert found(work).by_name["go"].path == skill


def test_above_the_repository_nothing_counts(work: Path) -> None:
    put(work.parents[1] / ".claude/skills/x/SKILL.md")
    assert not found(work).by_name
    (work.parent / ".git").rmdir()
    put(work.parent / ".claude/skills/x/SKILL.md")
    assert not found(work).by_name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x\n---\n", "it has no description"),
        ("---\ndescription: d\nname: two words\n---\nx", "cannot be typed as a command"),
        ("---\ndescription: d\nname: mcp__x__y\n---\nx", "cannot be typed as a command"),
        ("---\ndescription: 'd\n---\nx", "line 2: a quoted text has no end"),
        ("---\ndescription: d\nx", "the front matter has no end"),
        ("---\ndescription: d\nuser-invocable: perhaps\n---\nx", "is 'perhaps' (expected true or false)"),
        ("---\ndescription: [a]\n---\nx", "field 'description' is no text"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_reason(work: Path, text: str, why: str) -> None:
    put(work / ".claude/skills/x/SKILL.md", text)
    assert why in why_not(work)["SKILL.md"]
    assert not found(work).by_name


def test_other_kinds_of_files_are_said_too(work: Path) -> None:
    skills = work / ".claude/skills"
    put(skills / "latin" / "SKILL.md").write_bytes(b"---\ndescription: caf\xe9\n---\n")
    (skills / "pipe").mkdir()
    os.mkfifo(skills / "pipe" / "SKILL.md")
    put(skills / "small" / "skill.md")
    reasons = {each.path.parent.name: each.why for each in found(work).skipped}
    assert reasons == {
        "latin": "it is not UTF-8 text",
        "pipe": "it is a named pipe, not a regular file",
        "small": "its name is wrong (expected 'SKILL.md')",
    }


def test_links_stay_inside(work: Path) -> None:
    outside = put(work.parents[1] / "elsewhere" / "x" / "SKILL.md").parent
    skills = work / ".claude" / "skills"
    skills.mkdir(parents=True)
    (skills / "x").symlink_to(outside)
    put(skills / "real" / "SKILL.md")
    (skills / "again").symlink_to("real")
    (skills / "loop").symlink_to(".")
    (skills / "y").mkdir()
    (skills / "y" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (work / ".agents").mkdir()
    (work / ".agents" / "skills").symlink_to(outside.parent)
    listing = found(work)
    assert list(listing.by_name) == ["real"]
    assert listing.by_name["real"].path == skills / "real" / "SKILL.md"
    assert not listing.shadowed
    assert {each.path.name for each in listing.skipped} == {"x", "SKILL.md", "skills"}
    assert all("it is a link out of" in each.why for each in listing.skipped)


@pytest.mark.parametrize("target", ["..", "../..", "../../part", "../.claude"])
def test_a_folder_that_leads_to_what_it_is_in_is_not_in_use(work: Path, target: str) -> None:
    put(work / "x" / "SKILL.md")
    put(work / "x" / "go.md")
    (work / ".claude").mkdir()
    for kind in ("skills", "commands"):
        (work / ".claude" / kind).symlink_to(target)
    assert not found(work).by_name
    assert why_not(work) == dict.fromkeys(("skills", "commands"), "it is a link to a folder that it is in itself")


@pytest.mark.parametrize("name", [".env", "id_rsa", "notes.txt", "token.pem"])
def test_a_link_leads_only_to_a_file_that_is_called_like_one(work: Path, name: str) -> None:
    brought, texts = work / "brought", work / "texts"
    put(brought / name, "STRIPE_KEY=1")
    put(brought / "real.md")
    for link, target in (
        (brought / "x/SKILL.md", f"../{name}"),
        (brought / "y/SKILL.md", "../real.md"),
        (texts / "z.md", f"../brought/{name}"),
        (texts / "w.md", name),
    ):
        put(link).unlink()
        link.symlink_to(target)
    put(texts / name, "STRIPE_KEY=1")
    (work / ".claude").mkdir()
    (work / ".claude" / "skills").symlink_to("../brought")
    (work / ".claude" / "commands").symlink_to("../texts")
    assert not found(work).by_name
    reasons = {str(each.path.relative_to(work)): each.why for each in found(work).skipped}
    assert reasons == {
        "brought/x/SKILL.md": f"it is a link to {name!r} (expected 'SKILL.md')",
        "brought/y/SKILL.md": "it is a link to 'real.md' (expected 'SKILL.md')",
        "texts/z.md": f"it is a link out of {str(texts)!r}",
        "texts/w.md": f"it is a link to {name!r} (expected a name that ends in '.md')",
    }


def test_secrets_are_no_skills_whatever_finds_them(work: Path) -> None:
    secret = put(work / ".claude" / "skills" / ".ssh" / "SKILL.md")
    assert why_not(work) == {"SKILL.md": "it holds secrets, by its name"}
    for path in (secret, put(work / ".env")):
        with pytest.raises(ValueError, match=r"secrets|expected 'SKILL\.md'"):
            read_file(path, "skill", work)
        file = SkillFile(kind="skill", name="x", path=path, within=work, description="")
        with pytest.raises(ToolFailed, match=r"cannot be used.*Nothing of it was used"):
            read_body(work / "deeper", file)


def test_what_became_a_link_since_it_was_found_is_not_read(work: Path) -> None:
    path = put(work.parent / ".claude" / "skills" / "x" / "SKILL.md")
    other = put(work.parent / "other" / "SKILL.md", "---\ndescription: KEY\n---\nKEY")
    file = found(work).by_name["x"]
    path.parent.rename(path.parent.with_name("y"))
    path.parent.symlink_to(other.parent)
    with pytest.raises(OSError, match="x"):
        read_file(path, "skill", file.within)
    with pytest.raises(ToolFailed, match="became a symbolic link"):
        read_body(work, file)


def test_depth_and_number_are_bounded(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skills = work / ".claude" / "skills"
    put(skills / "1/2/3/4/5/deep/SKILL.md")
    put(skills / "1/2/3/4/5/6/deeper/SKILL.md")
    put(skills / "node_modules/package/SKILL.md")
    put(skills / ".git/hooks/SKILL.md")
    assert set(found(work).by_name) == {"deep"}
    assert why_not(work) == {"deeper": "it is more than 6 folders deep"}
    monkeypatch.setattr(skill_files, "MOST_SKILL_FOLDERS", 3)
    assert why_not(work) == {"skills": "more than 3 folders: the rest is not read"}
    monkeypatch.setattr(skill_files, "MOST_SKILL_FOLDERS", 2_000)
    monkeypatch.setattr(skill_files, "MOST_SKILL_FILES", 1)
    put(skills / "a/SKILL.md")
    assert why_not(work)["SKILL.md"] == "there are 1 already"
    assert set(found(work).by_name) == {"a"}
    put(skills / "0/SKILL.md", "")
    assert not found(work).by_name, "a faulty one counts too"
    assert [each.path.parent.name for each in found(work).skipped] == ["0", "a"]


def test_odd_ones_are_used_and_their_oddness_is_said(work: Path) -> None:
    put(work / ".claude/skills/Folder/SKILL.md", "---\nname: Other_One\n---\n# Title\n\nFirst\nparagraph.\n\nNext.")
    (file,) = found(work).by_name.values()
    assert (file.name, file.description) == ("Other_One", "Title")
    assert len(file.warnings) == 2


def test_fields_of_others_are_read(work: Path) -> None:
    put(
        work / ".claude/skills/x/SKILL.md",
        "---\ndescription: Reviews\nwhen_to_use: before a merge\nargument-hint: '[PR]'\narguments: [pr, base]\n"
        "allowed-tools: Bash(git *), Read\ndisable-model-invocation: true\nuser-invocable: yes\n"
        "hooks:\n  PreToolUse:\n    - matcher: Bash\n---\nx",
    )
    file = found(work).by_name["x"]
    assert (file.description, file.hint, file.names) == ("Reviews before a merge", "[PR]", ("pr", "base"))
    assert (file.allowed, file.for_model, file.for_user) == (("Bash(git *)", "Read"), False, True)
    assert found(work).skills() == []
