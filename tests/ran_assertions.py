"""Fails a test that passed although an assertion in it never ran: what looked at nothing has shown nothing.

How it works. A law that says `for each in found: assert each.is_good` is green when `found` is empty, and stays green
when the code that fills it breaks. So this plugin adds one step to pytest's own rewriting of test modules: before each
assertion that may be passed by, it writes down that the assertion was come to, and before each loop that the loop was.
Two rules follow.

1. A test that came to a loop with assertions, and to none of them in all its examples, fails.
2. An assertion (below an `if`, in an `except`, in a function) that no case of the module came to fails the module. It
   is judged only where all cases ran and passed: not with `-k`, beside a skipped case, or of a function that is sampled
   (`samples.py`, `tiers.py`). The deep tier samples none.

`all(… for … in …)`, `not any(…)` and `[… for … if …] == []` are loops, too: their sources must not be empty.

Why not a count in each test: 44 laws had none, and the next one would have none again. Why not coverage: a trace
function costs every line of every test; this costs the addition of a number to a set.

What may rightly be empty says so on its line, with the reason: `# may be empty: a rule without words`. Said of a loop
it holds for one case, and another one of the module still has to come to its assertions; said of an assertion it holds
for all. A `while` waits for something, and what it asserts is how long: it is not looked at. A law is judged by its
examples of every day (`USUAL_SEED`) and by those of the deep tier, so that green and red never depend on luck.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from _pytest.assertion import rewrite

from samples import LEFT_OUT
from tiers import DEEP, SEED, USUAL_SEED

RAN, POINTS = "@ran", "@points"
"""The names in a test module: what was come to in this test, and what there is to come to. No source can say them."""

EXCUSE = re.compile(r"#.*\bmay be empty: \w+")
_EXPECTS = re.compile(r"^(_?expect|_?assert|_?check)(_|$)")
"""How the functions are called that assert something for their caller."""

_PROPERTY = "came to"

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Loop = ast.For | ast.AsyncFor
_Comprehension = ast.GeneratorExp | ast.ListComp | ast.SetComp

Point = tuple[int, int, str, int]
"""Its number, its line, the function that it stands in, and the number of its loop; 0 is none. A loop has 0."""


def is_test(name: str) -> bool:
    """Return whether pytest takes a function of that name for a test."""
    return name.startswith("test_")


# --- the marks -------------------------------------------------------------------------------------------------------


@dataclass
class _Scope:
    """A function, and where in it the transformer is."""

    name: str
    always: bool
    """Whether the statements of its body run whenever it passes."""
    loop: int = 0
    branch: bool = False


class Marks(ast.NodeTransformer):
    """Adds the marks to a module; `points` then has each of them."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        self._excused = {number for number, line in enumerate(lines, 1) if EXCUSE.search(line)}
        self._scopes = [_Scope("", always=True)]
        self._asserting: set[str] = set()
        self._asserts = False
        self.points: list[Point] = []

    def visit(self, node: ast.AST) -> Any:
        """Add the marks to a node and what is in it; of a statement with a mark both are returned."""
        match node:
            case ast.Module():
                self._module(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)
            case ast.For() | ast.AsyncFor():
                return self._loop(node)
            case ast.While():  # it waits, and what it asserts is how long
                pass
            case ast.If() | ast.Try() | ast.TryStar() | ast.Match() | ast.IfExp():
                self._branch(node)
            case ast.Assert() | ast.Expr() | ast.With() | ast.AsyncWith():
                return self._assertion(node)
            case _:
                self.generic_visit(node)
                self._empty_source(node)
        return node

    def _module(self, node: ast.Module) -> None:
        self._asserting = asserting(node)
        self.generic_visit(node)
        if self.points:
            at = _behind_imports_of_the_future(node)
            names = f"_names = set(); _points = {tuple(self.points)!r}"
            for each, name in zip(ast.parse(names).body, (RAN, POINTS), strict=True):
                assert isinstance(each, ast.Assign)
                each.targets = [ast.Name(name, ast.Store())]
                node.body.insert(at, _placed(each, node.body[0]))

    def _function(self, node: _Function) -> None:
        returns = any(isinstance(each, ast.Return) for each in _own(node))
        self._scopes.append(_Scope(node.name, always=is_test(node.name) and not returns))
        self.generic_visit(node)
        self._scopes.pop()

    def _loop(self, node: _Loop) -> Any:
        scope = self._scopes[-1]
        outer = scope.loop, scope.branch
        reached = 0
        scope.branch = True
        if not scope.loop and any(self._is_assertion(each) for each in _own(node)) and not self._is_excused(node):
            reached = scope.loop = self._add(node, 0)
        self.generic_visit(node)
        scope.loop, scope.branch = outer
        return [self._mark(reached, node), node] if reached else node

    def _branch(self, node: ast.AST) -> None:
        scope = self._scopes[-1]
        outer, scope.branch = scope.branch, True
        self.generic_visit(node)
        scope.branch = outer

    def _assertion(self, node: ast.Assert | ast.Expr | ast.With | ast.AsyncWith) -> Any:
        is_one = self._is_assertion(node)
        outer, self._asserts = self._asserts, is_one and isinstance(node, ast.Assert | ast.Expr)
        self.generic_visit(node)
        self._asserts = outer
        scope = self._scopes[-1]
        if not is_one or self._is_excused(node) or not scope.name:
            return node
        if not scope.loop and not scope.branch and scope.always:
            return node
        return [self._mark(self._add(node, scope.loop), node), node]

    def _empty_source(self, node: ast.AST) -> None:
        """Take for a loop what is true of nothing: `all(…)`, `not any(…)`, `not […]` and `[…] == []`."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[inner])):
                self._mark_comprehension(inner)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self._mark_comprehension(inner)
            case ast.Compare(left=inner, ops=[ast.Eq()], comparators=[empty]) if _is_empty(empty):
                self._mark_comprehension(inner)
            case ast.Call(func=ast.Name(id="all"), args=[inner]):
                self._mark_comprehension(inner, whole=True)
            case ast.Call(func=ast.Name(id=name), args=args) if _EXPECTS.match(name):
                for each in args:
                    self._mark_comprehension(each)
            case _:
                pass

    def _mark_comprehension(self, node: ast.expr, *, whole: bool = False) -> None:
        """Mark that its source has something in it; if `whole`, that what is chosen of it has."""
        scope = self._scopes[-1]
        if not isinstance(node, _Comprehension) or not self._asserts or not scope.name:
            return
        first = node.generators[0]
        reached = 0 if self._is_excused(node) else self._add(node, 0)
        inside = self._add(node, reached)
        if reached:
            come_to = ast.BoolOp(ast.Or(), [self._mark(reached, node).value, first.iter])
            first.iter = _placed(come_to, first.iter)
        mark = _placed(ast.UnaryOp(ast.Not(), self._mark(inside, node).value), node)
        if whole:
            node.generators[-1].ifs.append(mark)
        else:
            first.ifs.insert(0, mark)

    def _is_assertion(self, node: ast.AST) -> bool:
        match node:
            case ast.Assert():
                return True
            case ast.With(items=items) | ast.AsyncWith(items=items):
                return any(_called(each.context_expr) in {"raises", "pytest.raises"} for each in items)
            case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=call)):
                name = _called(call).rpartition(".")[2]
                return name in self._asserting or _EXPECTS.match(name) is not None
            case _:
                return False

    def _is_excused(self, node: ast.expr | ast.stmt) -> bool:
        return node.lineno in self._excused

    def _add(self, node: ast.expr | ast.stmt, loop: int) -> int:
        number = len(self.points) + 1
        self.points.append((number, node.lineno, self._scopes[-1].name, loop))
        return number

    def _mark(self, number: int, node: ast.AST) -> ast.Expr:
        call = ast.Call(ast.Attribute(ast.Name(RAN, ast.Load()), "add", ast.Load()), [ast.Constant(number)], [])
        return _placed(ast.Expr(call), node)


def asserting(module: ast.Module) -> set[str]:
    """Return the names of the functions of a module that assert, or call one of it that does."""
    called: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, _Function):
            called[node.name] = {_called(each).rpartition(".")[2] for each in _own(node) if isinstance(each, ast.Call)}
            if any(isinstance(each, ast.Assert) for each in _own(node)):
                found.add(node.name)
    while more := {name for name, names in called.items() if names & found} - found:
        found |= more
    return found


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or a statement, but for those of functions and classes in it."""
    left = list(ast.iter_child_nodes(node))
    while left:
        each = left.pop()
        yield each
        if not isinstance(each, _Function | ast.Lambda | ast.ClassDef):
            left.extend(ast.iter_child_nodes(each))


def _called(node: ast.expr) -> str:
    match node:
        case ast.Call(func=function):
            return _called(function)
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{_called(value)}.{attribute}"
        case _:
            return ""


def _is_empty(node: ast.expr) -> bool:
    match node:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="set" | "list" | "dict" | "frozenset"), args=[]):
            return True
        case _:
            return False


def _placed(node: Any, like: ast.AST) -> Any:
    for each in ast.walk(node):
        if not hasattr(each, "lineno"):
            ast.copy_location(each, like)
    return node


def _behind_imports_of_the_future(node: ast.Module) -> int:
    for at, each in enumerate(node.body):
        match each:
            case ast.Expr(value=ast.Constant(value=str())) if at == 0:
                pass
            case ast.ImportFrom(module="__future__"):
                pass
            case _:
                return at
    return len(node.body)


# --- the two rules ---------------------------------------------------------------------------------------------------


def empty_loops(points: Sequence[Point], ran: set[int]) -> list[Point]:
    """Return the loops that a test came to without coming to an assertion in them."""
    inside: dict[int, set[int]] = defaultdict(set)
    for number, _, _, loop in points:
        if loop:
            inside[loop].add(number)
    return [each for each in points if each[0] in ran and inside[each[0]] and not inside[each[0]] & ran]


def never_ran(points: Sequence[Point], ran: set[int], judged: set[str]) -> list[Point]:
    """Return the assertions of the functions `judged` that no test came to."""
    loops = {loop for *_, loop in points}
    return [each for each in points if each[0] not in ran | loops and each[2] in judged]


@dataclass
class _Module:
    """What is known of a test module while its tests run."""

    points: tuple[Point, ...]
    path: str
    cases: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    passed: dict[str, int] = field(default_factory=lambda: defaultdict[str, int](int))
    sampled: set[str] = field(default_factory=set[str])
    """The functions of which not all cases run, or by chance other examples each time."""
    ran: set[int] = field(default_factory=set[int])

    def judged(self) -> set[str]:
        """Return the functions that all cases ran of: each test for itself, others if all tests did."""
        through = {name for name, many in self.cases.items() if self.passed[name] == many} - self.sampled
        others = {name for _, _, name, _ in self.points if not is_test(name)}
        return through | (others if len(through) == len(self.cases) else set())


class RanAssertions:
    """The plugin: rule 1 in the process of a test, rule 2 where the reports come together."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._modules: dict[str, _Module] = {}
        self._functions: dict[str, tuple[_Module, str]] = {}
        self._left_out: set[str] = set()
        self._sampled: set[tuple[str, str]] = set()
        """The files and functions that cases were left out of by their tier."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the cases of each function, if whole modules run."""
        if any("::" in each for each in self._config.args):
            return
        for item in session.items:
            names = _marked(item)
            if names is not None and _file(item) not in self._left_out:
                new = _Module(points=names[POINTS], path=_file(item), ran=set(names[RAN]))  # what ran at its import
                module = self._modules.setdefault(_file(item), new)
                function = _function(item)
                module.cases[function] += 1
                if not DEEP and (_is_sampled(item) or _is_left_to_chance(item)):
                    module.sampled.add(function)
                self._functions[item.nodeid] = module, function
        for path, function in self._sampled:
            if path in self._modules:
                self._modules[path].cases[function] += 0
                self._modules[path].sampled.add(function)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            if item.stash.get(LEFT_OUT, False):
                self._sampled.add((_file(item), _function(item)))
            else:
                self._left_out.add(_file(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        if (names := _marked(item)) is not None:
            names[RAN].clear()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if (names := _marked(item)) is not None:
            ran = set[int](names[RAN])
            if (empty := empty_loops(names[POINTS], ran)) and not _is_left_to_chance(item):
                pytest.fail(_sentence(item.path, empty), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield  # fixtures assert here
        if (names := _marked(item)) is not None:
            item.user_properties.append((_PROPERTY, sorted(names[RAN])))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid in self._functions and report.passed:
            module, function = self._functions[report.nodeid]
            module.passed[function] += report.when == "call"
            module.ran.update(*(value for name, value in _properties(report) if name == _PROPERTY))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        for module in self._modules.values():
            missing = never_ran(module.points, module.ran, module.judged())
            if missing:
                _, line, function, _ = missing[0]
                words = _sentence(Path(module.path), missing)
                place = module.path, line, function
                report = pytest.TestReport(f"{module.path}::{function}", place, {}, "failed", words, "call")
                session.ihook.pytest_runtest_logreport(report=report)
        return result


def _is_sampled(item: pytest.Item) -> bool:
    return item.get_closest_marker("deep") is not None and not _is_law(item)


def _is_left_to_chance(item: pytest.Item) -> bool:
    """Return whether its few examples are drawn with another seed than usual."""
    return _is_law(item) and not DEEP and SEED != USUAL_SEED


def _is_law(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _properties(report: pytest.TestReport) -> list[tuple[str, Any]]:
    return report.user_properties


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _marked(item: pytest.Item) -> Mapping[str, Any] | None:
    names: Mapping[str, Any] = vars(getattr(item, "module", object))  # an item of another plugin has none
    return names if RAN in names else None


def _function(item: pytest.Item) -> str:
    return getattr(item, "originalname", None) or item.name


def _sentence(path: Path, points: Sequence[Point]) -> str:
    places = ", ".join(f"{path.name}:{line}" for _, line, _, _ in points)
    return (
        f"It passed although no assertion ran at {places}: nothing came there. "
        "Give it something to look at, or say on that line `# may be empty: REASON`."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to mark the test modules. What pytest keeps compiled is kept apart from what it would keep without this."""
    if rewrite.rewrite_asserts is not _marked_rewrite:
        rewrite.rewrite_asserts = _marked_rewrite
        rewrite.PYC_TAIL = f".{crc32(Path(__file__).read_bytes()):08x}{rewrite.PYC_TAIL}"
    config.pluginmanager.register(RanAssertions(config))


_rewrite = rewrite.rewrite_asserts


def _marked_rewrite(tree: ast.Module, source: bytes, path: str | None = None, config: Any = None) -> None:
    Marks(source.decode()).visit(tree)
    _rewrite(tree, source, path, config)
