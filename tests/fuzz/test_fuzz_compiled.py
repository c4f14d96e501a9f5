"""A short comparison of compiled and interpreted modules, and proof that it notices faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.fuzz_compiled import ROOT, SOURCES, Tree, compiled_tree, run
from tests.fuzz.traces import KINDS
from tests.support.examples import examples
from tests.support.programs.servers import SERVED

SEEDS = max(2, examples(4))
SECONDS = 120.0
SEED = 10  # its stream has large nodes

# What `make test` serves from is compiled; by hand, the sources are compared with themselves.
SERVED_TREE = SOURCES if SERVED == ROOT else compiled_tree(SERVED)


def test_random_traces_are_those_of_the_sources() -> None:
    assert run((SERVED_TREE, SOURCES), seed=1, seconds=SECONDS, count=SEEDS) == (
        SEEDS * len(KINDS),
        "",
    )


def broken(folder: Path, statement: str) -> Tree:
    """The sources, with something changed in them when Python starts."""
    (folder / "sitecustomize.py").write_text(statement)
    return (folder, *SOURCES)


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("cutter", "import protocol.request as it; it.Cutter.head = it.Cutter.tail"),
        pytest.param(
            "sizes",
            "import storage.redis_format.listpack_elements as it;"
            " it.text_bytes.__code__ = (lambda length: length + 3).__code__",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "stream",
            "import storage.nodes.open_node as it; it._MAX_NODE_BYTES = 40",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_fault_is_noticed_and_its_seed_named(kind: str, statement: str, tmp_path: Path) -> None:
    trees = (broken(tmp_path, statement), SOURCES)
    _, problem = run(trees, seed=SEED, seconds=SECONDS, count=1)
    assert problem.startswith(f"--seed {SEED}: {kind}\nafter ")


def test_a_process_that_dies_is_noticed(tmp_path: Path) -> None:
    fault = "import os, protocol.request as it; it.Cutter.whole = lambda self: os.abort()"
    _, problem = run((broken(tmp_path, fault), SOURCES), seed=7, seconds=SECONDS, count=1)
    assert problem.startswith("--seed 7: cutter\n")
    assert "exit status -6" in problem
