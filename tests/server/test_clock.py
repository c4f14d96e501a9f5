"""server/clock.py: intervals; the time of day and the time for waiting are never mixed.

In `server/`, `commands/`, `storage/` and `rillway/`, what names hold is worked out from their
assignments.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.clock import has_passed

ROOT = Path(__file__).parents[2]
FOLDERS = ("server", "commands", "storage", "rillway")
# Names of readings, as variables, attributes, parameters or functions, and the clock of each.
READINGS = {
    **dict.fromkeys(("now_ms", "_now_ms", "unix_ms", "now_us", "clock_us", "time_ns"), "wall"),
    **dict.fromkeys(
        ("monotonic_ms", "monotonic_us", "running_ms", "perf_counter_ns", "monotonic"), "monotonic"
    ),
}
# Functions whose last word alone says too little: a loop's time() is monotonic.
CALLS = {"time.time": "wall", "datetime.now": "wall"}
# Names that tell of waiting: by the time of day only what a client or a file has set.
WAITING = ("deadline", "until", "wake", "since", "heard", "due", "sent_ms", "ends", "limited")
BY_THE_TIME_OF_DAY = {
    "commands/hashes": "fields expire at a time of day",
    "commands/keys": "keys expire at a time of day",
    "commands/streams/policies": "policies have a clock of their own, made of both",
    "commands/strings": "keys expire at a time of day",
    "rillway/pipeline/archive/iceberg": "files are deleted by the times of day that they carry",
    "storage": "keys, fields and producers' IDs expire at a time of day",
}
# Where the difference of the clocks is taken: nodes of a cluster show and gossip times of day.
OFFSET = "server/cluster/host/runner.py"
READ = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Compare, ast.BinOp, ast.Call)


@pytest.mark.parametrize(("monotonic_ms", "answer"), [(1000, False), (1999, False), (2000, True)])
def test_time_has_passed_once_the_interval_is_over(monotonic_ms: int, answer: bool) -> None:
    assert has_passed(1000, 1000, monotonic_ms) is answer


@pytest.fixture(scope="module")
def ours() -> Clocks:
    return Clocks(sources())


def test_no_time_is_compared_with_one_of_the_other_clock(ours: Clocks) -> None:
    assert ours.mixed() == []


def test_nothing_waits_by_the_time_of_day(ours: Clocks) -> None:
    waits = [
        where
        for name, where in ours.of_wall()
        if any(word in name for word in WAITING)
        and not any(where.startswith(folder) for folder in BY_THE_TIME_OF_DAY)
    ]
    assert waits == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (
            "def f(i, b):\n    b.deadline_ms = i.now_ms + 1\n    g(b.deadline_ms < i.monotonic_ms)",
            "<",
        ),
        (
            "def f(i, b):\n    b.at_ms = i.now_ms\n\ndef g(i, b):\n    b.at_ms = i.monotonic_ms",
            "at_ms",
        ),
        ("def f(i):\n    return i.monotonic_ms - i.now_ms", "-"),
        ("def f(i):\n    start = i.now_ms\n    return i.monotonic_ms - start", "-"),
        ("def f(monotonic_ms): ...\n\ndef g(i):\n    f(i.now_ms)", "f()"),
        ("def f(monotonic_ms): ...\n\ndef g(i):\n    f(monotonic_ms=i.now_ms)", "f()"),
        ("def f(i, c):\n    i.now_ms = c.monotonic_ms()", "now_ms"),
    ],
)
def test_a_mixture_is_found(source: str, complaint: str) -> None:
    found = Clocks({"server/a.py": source}).mixed()
    assert found and all(line.endswith(f": {complaint}") for line in found)


def test_a_deadline_by_the_time_of_day_is_found() -> None:
    clocks = Clocks({"server/a.py": "def f(i, b):\n    b.until_ms = max(1, i.now_ms + b.ms)"})
    assert clocks.of_wall() == [("until_ms", "server/a.py:2")]


def sources() -> dict[str, str]:
    """The modules, by their paths."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


class Clocks:
    """Which clock each name holds a time of, as its assignments say.

    Attributes are known by name in all modules, variables in their function. A time plus or minus
    a duration is a time of the same clock; a difference of two times is none.
    """

    def __init__(self, modules: dict[str, str]) -> None:
        self._attributes: dict[str, set[str]] = defaultdict(set)
        self._wall: dict[tuple[str, str], None] = {}
        self._mixed: dict[str, None] = {}
        self._parameters: dict[str, list[list[str]]] = defaultdict(list)
        bodies: list[tuple[str, list[ast.AST]]] = []
        for path, source in modules.items():
            if not any(word in source for word in READINGS):
                continue
            for function in functions(ast.parse(source)):
                names = [argument.arg for argument in function.args.args]
                self._parameters[function.name].append(names[names[:1] == ["self"] :])
                bodies.append(
                    (path, [node for node in ordered(function) if isinstance(node, READ)])
                )
        for _ in range(2):  # the second round knows the attributes that the first has found
            self._mixed.clear()
            for path, nodes in bodies:
                self._read(path, nodes)

    def mixed(self) -> list[str]:
        """Where two clocks meet, and how."""
        return list(self._mixed)

    def of_wall(self) -> list[tuple[str, str]]:
        """The names that hold times of day, and where they are set."""
        return list(self._wall)

    def _read(self, path: str, nodes: list[ast.AST]) -> None:
        """Read the statements and expressions of a function."""
        variables: dict[str, str] = {}
        for node in nodes:
            where = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._assign(where, node, variables)
            elif isinstance(node, ast.Compare):
                sides = {self._clock(side, variables) for side in (node.left, *node.comparators)}
                if {"wall", "monotonic"} <= sides:
                    self._mixed[f"{where}: <"] = None
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                sides = {self._clock(side, variables) for side in (node.left, node.right)}
                if {"wall", "monotonic"} <= sides and not path.endswith(OFFSET):
                    self._mixed[f"{where}: -"] = None
            elif isinstance(node, ast.Call):
                self._call(where, node, variables)

    def _assign(
        self,
        where: str,
        node: ast.Assign | ast.AnnAssign | ast.AugAssign,
        variables: dict[str, str],
    ) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name, value in pairs(target, node.value):
                clock = self._clock(value, variables)
                if clock is None:
                    continue
                if isinstance(name, ast.Name):
                    variables[name.id] = clock
                    word = name.id
                elif isinstance(name, ast.Attribute):
                    word = name.attr
                    self._attributes[word].add(clock)
                    if len(self._attributes[word]) > 1:
                        self._mixed[f"{where}: {word}"] = None
                else:
                    continue
                if READINGS.get(word, clock) != clock:
                    self._mixed[f"{where}: {word}"] = None
                if clock == "wall" and word not in READINGS:
                    self._wall[word, where] = None

    def _call(self, where: str, node: ast.Call, variables: dict[str, str]) -> None:
        """Compare the clocks of arguments with the parameters that are named after a clock."""
        name = terminal(node.func)
        for keyword in node.keywords:
            clock = self._clock(keyword.value, variables)
            if clock is not None and READINGS.get(keyword.arg or "", clock) != clock:
                self._mixed[f"{where}: {name}()"] = None
        known = self._parameters.get(name or "", []) if name != "__init__" else []
        for place, argument in enumerate(node.args):
            clock = self._clock(argument, variables)
            wanted = {READINGS.get(names[place]) for names in known if place < len(names)}
            if clock is not None and len(wanted) == 1 and not wanted & {clock, None}:
                self._mixed[f"{where}: {name}()"] = None

    def _clock(self, node: ast.expr | None, variables: dict[str, str]) -> str | None:
        """The clock that an expression is a time of; None: of none, or it is not known."""
        clocks: list[str | None] = []
        if isinstance(node, ast.Name | ast.Attribute):
            word = terminal(node) or ""
            if word in READINGS:
                return READINGS[word]
            if isinstance(node, ast.Name):
                return variables.get(node.id)
            known = self._attributes.get(word, set())
            return next(iter(known)) if len(known) == 1 else None
        if isinstance(node, ast.Call):
            name = terminal(node.func)
            if name in READINGS:
                return READINGS[name]
            if (written := ast.unparse(node.func)) in CALLS:
                return CALLS[written]
            if name in ("max", "min"):
                clocks = [self._clock(argument, variables) for argument in node.args]
        elif isinstance(node, ast.IfExp):
            clocks = [self._clock(node.body, variables), self._clock(node.orelse, variables)]
        elif isinstance(node, ast.BoolOp):
            clocks = [self._clock(value, variables) for value in node.values]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            clocks = [self._clock(node.left, variables), self._clock(node.right, variables)]
            if isinstance(node.op, ast.Sub) and clocks[1] is not None:
                return None  # a duration
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mult):
            return self._clock(node.left, variables)
        found = {clock for clock in clocks if clock is not None}
        return found.pop() if len(found) == 1 else None


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def ordered(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside, as they stand in the source."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from ordered(child)


def pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Each target of an assignment with its value."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from pairs(one, its)
    else:
        yield target, value


def terminal(node: ast.expr) -> str | None:
    """The last word of a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
