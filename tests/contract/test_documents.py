"""The documents are short, their links lead somewhere, and nothing in the tree belongs to one machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import distributions, metadata
from pathlib import Path, PurePosixPath
from posixpath import normpath

import pytest
from packaging.specifiers import SpecifierSet
from source_tree import documents, expect_none, files, read, with_folders

from holdfast.testing import Call, Say, ScriptedProvider

LONGEST = {"README.md": 150, "AGENTS.md": 60, "docs/explanation/architecture.md": 180}
LONGEST_DECISION = 60
GROUPS = ("tutorial", "how-to", "reference", "explanation")
OUTSIDE = ("docs/from-the-reference.md",)
SECTIONS = ("Status", "Context", "Decision", "Consequences")

# The words of the project; each is defined in docs/reference/glossary.md, and no other word is used for the same thing.
WORDS = """
session, turn, step, message, part, call, result, dangling call, orphaned result, entry, event, journal, store, fold,
shape, rule, violation, edit, profile, prune, compact, stop, interrupted, approval, stop reason, finding
"""


# The oldest release of each Python that holdfast promises. A distribution still ships 3.11.2, so a pin that wants
# 3.11.5 makes the set-up fail there and nowhere else.
PYTHONS = ("3.11.0", "3.12.0", "3.13.0")


def too_long(path: str, text: str) -> Iterator[str]:
    """Yield a sentence if a document is longer than it may be."""
    limit = LONGEST.get(path, LONGEST_DECISION if path.startswith("docs/decisions/") else None)
    lines = len(text.splitlines())
    if limit is not None and lines > limit:
        yield f"{path}: {lines} lines (expected at most {limit})"


def broken_links(path: str, text: str, present: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each relative link to a file that is not there."""
    there = with_folders(tuple(present))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        file = target.partition("#")[0]
        if file and "://" not in file and not file.startswith("mailto:"):
            resolved = normpath(str(PurePosixPath(path).parent / file))
            if resolved not in there:
                yield f"{path}: the link {target} leads nowhere"


@functools.cache
def anchors(text: str) -> frozenset[str]:
    """Return what a link may name in a document: its headings, as GitHub writes them in addresses."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+?)\s*$", prose, flags=re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def broken_anchors(path: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each link to a heading that its document does not have."""
    prose = re.sub(r"^```.*?^```", "", texts[path], flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s:]*#[^)\s]+)\)", prose):
        file, _, anchor = target.partition("#")
        aimed = normpath(str(PurePosixPath(path).parent / file)) if file else path
        if aimed in texts and anchor not in anchors(texts[aimed]):
            yield f"{path}: the link {target} names no heading"


def missing_paths(path: str, text: str, present: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each path of the repository that `text` names in code and that is not there."""
    there = with_folders(tuple(present))
    for named in re.findall(r"`((?:src|tests|docs|bench)/[\w./-]*)`", text):
        if named.rstrip("/") not in there and "NNNN" not in named:
            yield f"{path}: {named} is not there"


def unknown_targets(path: str, text: str, makefile: str) -> Iterator[str]:
    """Yield a sentence for each `make` command in code of `text` that the Makefile does not have."""
    code = re.findall(r"^```.*?^```|`[^`\n]+`", text, flags=re.MULTILINE | re.DOTALL)
    known = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    for target in re.findall(r"(?:^|[`$&;]\s*)make ([a-z][a-z-]*)", "\n".join(code), flags=re.MULTILINE):
        if target not in known:
            yield f"{path}: `make {target}` is not in the Makefile"


def incomplete_decision(path: str, text: str) -> Iterator[str]:
    """Yield a sentence for each part a decision record lacks."""
    if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", PurePosixPath(path).name):
        yield f"{path}: wrong name (expected one like 0001-what-was-decided.md)"
    for section in SECTIONS:
        if not re.search(rf"^(#+ |\*\*){section}\b", text, flags=re.MULTILINE | re.IGNORECASE):
            yield f"{path}: has no {section}"


def undefined(words: Iterable[str], glossary: str) -> Iterator[str]:
    """Yield a sentence for each word the glossary does not define, as `**word**` at the start of an item."""
    for word in words:
        if not re.search(rf"^- [^:]*\*\*{re.escape(word)}\*\*", glossary, flags=re.MULTILINE):
            yield f"docs/reference/glossary.md does not define {word!r}"


def of_one_machine(path: str, text: str) -> Iterator[str]:
    """Yield a sentence for each path of a particular machine and each package index named in `text`."""
    patterns = (
        r"(?<![\w.])/(?:work|root)/\w",
        r"(?<![\w.])/(?:home|Users)/[a-z]\w*",
        r"--(?:extra-)?index-url|--find-links|\bfile:///",
        r"\bpypi\.org/simple|://[^\s/]*\bpypi\b[^\s/]*/simple",
    )
    for pattern in patterns:
        for hit in re.finditer(pattern, text):
            yield f"{path}:{text.count(chr(10), 0, hit.start()) + 1}: {hit[0]!r} belongs to one machine"


def unlisted(present: Iterable[str], index: str) -> Iterator[str]:
    """Yield a sentence for each page outside the four groups, and for each that the index does not describe."""
    for path in present:
        folder, _, page = path.removeprefix("docs/").rpartition("/")
        if not path.startswith("docs/") or folder == "decisions" or page == "README.md":
            continue
        if folder not in GROUPS and path not in OUTSIDE:
            yield f"{path} is in no group (expected one of {', '.join(GROUPS)})"
        if not re.search(rf"^- \[[^\]]+\]\({re.escape(path.removeprefix('docs/'))}\): \S", index, flags=re.MULTILINE):
            yield f"{path} has no line in docs/README.md"


def decisions() -> list[str]:
    """Return the path of every decision record."""
    return [path for path in documents() if path.startswith("docs/decisions/")]


def test_documents_are_short() -> None:
    expect_none(each for path in documents() for each in too_long(path, read(path)))


def test_links_lead_somewhere() -> None:
    expect_none(each for path in documents() for each in broken_links(path, read(path), files()))


def test_links_to_headings_lead_to_headings() -> None:
    texts = {path: read(path) for path in documents()}
    expect_none(each for path in texts for each in broken_anchors(path, texts))


def test_paths_exist() -> None:
    expect_none(each for path in documents() for each in missing_paths(path, read(path), files()))


CODE = re.compile(r"^```python\n(.*?)^```\n(?:(?:(?!```)[^\n]*\n)*```text\n(.*?)^```)?", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("path", "examples"), [("README.md", 1), ("docs/reference/library.md", 2)])
def test_an_example_prints_what_it_says(path: str, examples: int, capsys: pytest.CaptureFixture[str]) -> None:
    printing = [(code, output) for code, output in CODE.findall(read(path)) if output]
    assert len(printing) == examples
    for code, output in printing:
        exec(code, {"__name__": "example"})
        assert capsys.readouterr().out == output


def test_the_model_of_your_own_keeps_the_laws(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"__name__": "example"}
    outputs: list[str] = []
    for code, output in CODE.findall(read("docs/how-to/own-model.md")):
        exec(code, names)
        outputs.append(output)
    assert len(outputs) == 3
    assert capsys.readouterr().out == "".join(outputs)


def test_the_library_works_in_earnest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, code = [code for code, output in CODE.findall(read("docs/reference/library.md")) if not output]
    monkeypatch.chdir(tmp_path)
    with ScriptedProvider([[Call("glob", {"pattern": "*"})], [Say("Nothing yet.")]]) as provider:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        exec(code, {"__name__": "example"})
    assert capsys.readouterr().out == "end_turn Nothing yet.\n"
    assert (provider.refusals, provider.complaints) == ((), ())


def test_a_program_of_fifteen_lines_has_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = [code for code, output in CODE.findall(read("docs/reference/library.md")) if not output]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 15
    assert [line for line in lines if "import" in line] == ["import asyncio, sys, time", "import holdfast"]
    with ScriptedProvider([[Call("deploy", {"step": "tag"})], [Say("Released.")]]) as provider:
        for name, value in provider.environ().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("sys.argv", ["program.py", str(tmp_path / "today"), "Release it"])
        exec(code, {"__name__": "example"})
    assert capsys.readouterr().out == "Released."
    assert (provider.refusals, provider.complaints) == ((), ())


def test_commands_exist() -> None:
    makefile = read("Makefile")
    expect_none(each for path in documents() for each in unknown_targets(path, read(path), makefile))


def test_the_readme_has_its_two_commands() -> None:
    readme = read("README.md")
    assert "make demo" in readme
    assert "make test" in readme
    assert "make test" in read(".ci/run")


def test_the_index_has_every_page_and_each_page_its_group() -> None:
    expect_none(unlisted(documents(), read("docs/README.md")))


def test_decisions_are_complete() -> None:
    assert decisions()
    expect_none(each for path in decisions() for each in incomplete_decision(path, read(path)))


def test_decisions_are_numbered_once() -> None:
    numbers = [PurePosixPath(path).name[:4] for path in decisions()]
    assert sorted(set(numbers)) == sorted(numbers)


def test_every_word_is_defined() -> None:
    expect_none(undefined(re.split(r",\s", WORDS.strip()), read("docs/reference/glossary.md")))


def test_nothing_belongs_to_one_machine() -> None:
    ours = "tests/contract/test_documents.py"  # it holds the known-bad texts
    texts = [path for path in files() if path != ours and not path.endswith((".png", ".svg", ".db"))]
    expect_none(each for path in texts for each in of_one_machine(path, read(path)))


def test_constraints_name_packages_and_versions_only() -> None:
    lines = read("constraints.txt").splitlines()
    expect_none(line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line))


def refused_pythons(name: str, requires: str) -> Iterator[str]:
    """Yield each promised Python that a package with these requirements does not install on."""
    yield from (f"{name} wants Python {requires}: not {one}" for one in PYTHONS if one not in SpecifierSet(requires))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_hold_on_every_python_we_promise() -> None:
    names = [line.partition("==")[0] for line in read("constraints.txt").splitlines()]
    here = {_canonical(each.name) for each in distributions()}  # some are for older Pythons alone
    requirements = {
        name: ", ".join(metadata(name).get_all("Requires-Python", [])) for name in names if _canonical(name) in here
    }
    expect_none(each for name, requires in requirements.items() for each in refused_pythons(name, requires))


@pytest.mark.parametrize(
    "found",
    [
        too_long("README.md", "x\n" * 151),
        too_long("docs/decisions/0001-x.md", "x\n" * 61),
        broken_links("docs/a.md", "see [b](b.md)", ["docs/a.md", "b.md"]),
        broken_links("docs/a.md", "see [b](../src/b.py#L1)", ["docs/a.md"]),
        broken_anchors("docs/a.md", {"docs/a.md": "[b](../b.md#gone)", "b.md": "# Part one"}),
        missing_paths("README.md", "| P1 | `tests/session/test_gone.py` |", ["README.md"]),
        unknown_targets("README.md", "run `make coffee`", "test: x"),
        unknown_targets("README.md", "```sh\nmake coffee\n```", "test: x"),
        incomplete_decision("docs/decisions/0001-x.md", "# X\n## Status\n## Context\n## Decision\n"),
        incomplete_decision("docs/decisions/one.md", "## Status\n## Context\n## Decision\n## Consequences\n"),
        unlisted(["docs/how-to/a.md"], "see [a](how-to/a.md)"),
        unlisted(["docs/a.md"], "- [a](a.md): what it is"),
        refused_pythons("soupsieve", ">=3.11.5"),
        undefined(["turn"], "- **step**: a turn has several"),
        of_one_machine("a.py", "open('/" + "work/x')"),
        of_one_machine("a.md", "in /home/ann/project"),
        of_one_machine("a.txt", "--extra-" + "index-url https://example.org"),
        of_one_machine("a.txt", "https://pypi.example.org/simple"),
    ],
)
def test_what_is_wrong_in_a_document_is_found(found: Iterator[str]) -> None:
    assert list(found)


@pytest.mark.parametrize(
    "found",
    [
        broken_links("docs/a.md", "[b](../b.md#part) [c](#here) [d](https://example.org/d)", ["docs/a.md", "b.md"]),
        broken_links("README.md", "[all](docs/decisions)", ["README.md", "docs/decisions/0001-x.md"]),
        broken_anchors("docs/a.md", {"docs/a.md": "[b](../b.md#p1-part-one)", "b.md": "## P1 Part one"}),
        missing_paths("README.md", "`tests/contract` `docs/NNNN-x.md`", ["tests/contract/test_x.py"]),
        unlisted(["docs/how-to/a.md", "docs/decisions/0001-x.md"], "- [a](how-to/a.md): how to do a"),
        unknown_targets("README.md", "`make test` makes sense", "test: x"),
        undefined(["call"], "- **call** / **result**: what the model asks"),
        of_one_machine("a.py", "'/proc/self/root/x' '/homework/x' 'docs/work/x'"),
    ],
)
def test_what_is_right_in_a_document_passes(found: Iterator[str]) -> None:
    assert list(found) == []
