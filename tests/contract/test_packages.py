"""The packages that holdfast will be cut into: which modules each has, and that imports between them flow down.

Imports within functions count, and names of modules in strings; those for type checkers do not. A text of the form
`module:name` is an entry of a table that names a part without importing it, and does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest
from source_tree import Source, expect_none, imported, nodes, source, sources

PACKAGES: dict[str, tuple[str, ...]] = {
    "base": (
        "errors",
        "text",
        "tool_calls",
        "typed_data",
        "questions",
        "system",
        "tools.approval.command_parts",
        "tools.tool",
        "tools.process.process_table",
    ),
    "history": ("history",),
    "ledger": ("ledger", "guard"),
    "shell": (
        "tools.approval",
        "tools.truncation",
        "tools.known_programs",
        "tools.permission_rules",
        "tools.shell",
        "tools.truncation",
        "tools.workspace.autorun_files",
        "tools.workspace.command_files",
        "tools.workspace.file_links",
        "tools.workspace.git_repository",
        "tools.workspace.program_files",
        "tools.workspace.real_paths",
    ),
    "core": (
        "session",
        "tools",
        "tools.mcp.form_fields",
        "tools.mcp.sign_in",
        "tools.mcp.tool_names",
        "config",
        "providers",
        "agent",
        "undo",
        "skills",
        "hooks",
        "host",
    ),
    "testing": ("testing",),
    "view": ("ui.view", "ui.advice", "ui.export"),
    "cli": ("ui", "__main__"),
    "tui": ("ui.tui",),
    "mcp": (
        "config.claude_servers",
        "config.mcp_servers",
        "tools.mcp",
        "ui.commands.doctor.server_probe",
        "ui.commands.mcp",
        "ui.startup.claude_trust",
        "ui.startup.mcp_servers",
        "ui.startup.server_lists",
        "ui.tui.pages.server_page",
    ),
    "pydantic-ai": ("history.formats.pydantic_ai", "providers.pydantic_ai"),
    "check": (
        "ui.commands.check",
        "ui.commands.input_document",
        "ui.commands.session_import",
        "session.transfer",
    ),
    "serve": ("ui.service", "ui.commands.fleet", "ui.commands.doctor.fleet_store", "fleet"),
    "acp": ("ui.acp", "ui.json_rpc"),
    "mcp-server": ("ui.mcp_server",),
    "demo": ("ui.demo", "ui.tui.agent_thread.demo_provider"),
}
"""Lowest first: a package imports those before it. The longest name that fits says where a module is."""

EXCEPTIONS: frozenset[str] = frozenset(
    {
        "ui.headless.run -> ui.startup.mcp_servers",
        "ui.startup.run_options -> tools.mcp.prompt_commands",
        "ui.startup.run_options -> tools.mcp.tool_declarations",
        "ui.startup.run_options -> ui.startup.mcp_servers",
        "ui.tui.agent_thread.agent_thread -> ui.startup.server_lists",
    }
)
"""The imports that still go against the order; the list may only get shorter."""

RANK = {package: rank for rank, package in enumerate(PACKAGES)}
_PLACES = {place: package for package, places in PACKAGES.items() for place in places}


def package_of(module: str) -> str:
    """Return the package of `holdfast.a.b`, "" for one that has none."""
    parts = module.split(".")[1:]
    for end in range(len(parts), 0, -1):
        if (place := ".".join(parts[:end])) in _PLACES:
            return _PLACES[place]
    return "" if parts else "base"


def module_name(path: str) -> str:
    """Return the name of the module in a file of `src`."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def for_type_checkers(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of what only type checkers import."""
    for node in nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for each in node.body:
                yield from range(each.lineno, (each.end_lineno or each.lineno) + 1)


def named(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each import, and each text that is the name of a module, with its line."""
    unseen = set(for_type_checkers(tree))
    yield from ((name, line) for name, line in imported(tree) if line not in unseen)
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("holdfast."):
            yield node.value, node.lineno


def against(modules: Iterable[Source], known: frozenset[str]) -> Iterator[str]:
    """Yield `importer -> imported` for each import of a module that stands in a higher package."""
    for each in modules:
        importer = module_name(each.path)
        if importer == "holdfast":  # what it offers is imported when it is asked for
            continue
        found = {name for name, _ in named(each.tree)} & known
        folders = {name.rpartition(".")[0] for name in found}  # `from a import b` names both
        for name in sorted(found - folders):
            if RANK[package_of(name)] > RANK[package_of(importer)]:
                yield f"{importer.removeprefix('holdfast.')} -> {name.removeprefix('holdfast.')}"


def tree_against() -> list[str]:
    """Return the imports of the tree that go against the order."""
    modules = sources("src/holdfast")
    return list(against(modules, frozenset(module_name(each.path) for each in modules)))


def test_every_module_has_a_package() -> None:
    modules = [module_name(each.path) for each in sources("src/holdfast")]
    expect_none(f"{module} is in no package" for module in modules if not package_of(module) and "." in module)


def test_every_place_is_in_the_tree() -> None:
    modules = {module_name(each.path) for each in sources("src/holdfast")}
    later = {"host", "questions"}
    expect_none(
        f"{place} is no module" for place in _PLACES if f"holdfast.{place}" not in modules and place not in later
    )


def test_packages_import_those_before_them() -> None:
    """Import what is lower, register what is higher (a table of `module:name`), or move a module to its package."""
    new = sorted(set(tree_against()) - EXCEPTIONS)
    assert new == [], "these go against the order of PACKAGES"


def test_the_exceptions_are_fewer_each_time() -> None:
    removed = sorted(EXCEPTIONS - set(tree_against()))
    assert removed == [], "take them out of EXCEPTIONS"


KNOWN = ("holdfast.ui.acp.main", "holdfast.ui.acp", "holdfast.errors", "holdfast.fleet.record")


@pytest.mark.parametrize(
    "text",
    [
        "from holdfast.ui.acp.main import main",
        "from holdfast.ui.acp import main",
        "import holdfast.ui.acp.main",
        "def f():\n    from holdfast.ui.acp.main import main",
        "FOUND = {'acp': 'holdfast.ui.acp.main'}",
        "if not TYPE_CHECKING:\n    from holdfast.ui.acp.main import main",
    ],
)
def test_an_import_against_the_order_is_found(text: str) -> None:
    assert list(against([source("src/holdfast/agent/x.py", text)], frozenset(KNOWN))) == ["agent.x -> ui.acp.main"]


@pytest.mark.parametrize(
    "text",
    [
        "from holdfast.errors import UsageError",
        "if TYPE_CHECKING:\n    from holdfast.ui.acp.main import main",
        "FOUND = {'acp': 'holdfast.ui.acp.main:main'}",
        "import holdfast",
    ],
)
def test_other_imports_pass(text: str) -> None:
    assert list(against([source("src/holdfast/agent/x.py", text)], frozenset(KNOWN))) == []
