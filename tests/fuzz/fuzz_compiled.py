"""Compiled against interpreted: `python tests/fuzz/fuzz_compiled.py --seconds 60`.

Two processes follow the same seeds (traces.py), one with the modules of .run/compiled (`make
compiled`), the other with the sources. At the first trace that differs, or at which one of them
ends, the seed, the kind and the first line that differs are printed, and the program exits with
status 1. `--seed` begins there again.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / ".run/compiled"
TRACES = ROOT / "tests/fuzz/traces.py"
SHOWN_CHARACTERS = 2000
ENDED = "(it has ended)"

# Folders in which Python looks for modules, one after the other.
Tree = tuple[Path, ...]
SOURCES: Tree = (ROOT,)


def compiled_tree(folder: Path = COMPILED) -> Tree:
    """Laid out as in a wheel."""
    return (folder, ROOT)


def begin(tree: Tree, *options: str) -> subprocess.Popen[str]:
    """The program of traces on this tree. Sets are in one order in all of them."""
    path = os.pathsep.join(map(str, tree))
    return subprocess.Popen(
        [sys.executable, "-P", str(TRACES), *options],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def trace(tree: Tree, kind: str, seed: int) -> list[str]:
    """A whole trace, with how its process ended if not well."""
    process = begin(tree, "--show", kind, "--seed", str(seed), "--count", "1")
    printed, _ = process.communicate()
    _, *lines = printed.splitlines() or [""]
    return lines if process.returncode == 0 else [*lines, f"(exit status {process.returncode})"]


def difference(trees: tuple[Tree, Tree], kind: str, seed: int) -> str:
    """Where the traces of a seed part, for people."""
    first, second = (trace(tree, kind, seed) for tree in trees)
    for number, (one, other) in enumerate(zip_longest(first, second, fillvalue=ENDED)):
        if one != other:
            before = first[number - 1] if number else "(at the beginning)"
            # A file is one line: what both have in common is of no use in it.
            pairs = enumerate(zip(one, other, strict=False))
            parting = next((place for place, (a, b) in pairs if a != b), 0)
            start = max(0, parting - SHOWN_CHARACTERS // 2)
            lines = (f"after {before}", f"one: {one[start:]}", f"other: {other[start:]}")
            return "\n".join(line[:SHOWN_CHARACTERS] for line in lines)
    return "this time they agree: something else than the seed decides"


def run(trees: tuple[Tree, Tree], seed: int, seconds: float, count: int) -> tuple[int, str]:
    """Compare traces from `seed` on; how many agreed, and what differed."""
    options = ("--seed", str(seed), "--count", str(count))
    processes = [begin(tree, *options) for tree in trees]
    first, second = (process.stdout for process in processes)
    assert first is not None and second is not None
    end = time.monotonic() + seconds
    agreed = 0
    last = f"- {seed} -"
    try:
        first.readline(), second.readline()  # which one it is
        while time.monotonic() < end:
            one, other = first.readline(), second.readline()
            if one != other:
                kind, differs, _ = min(filter(None, (one, other))).split()
                return agreed, f"--seed {differs}: {kind}\n{difference(trees, kind, int(differs))}"
            if not one:
                break
            agreed, last = agreed + 1, one
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if time.monotonic() < end and agreed < count:
        return agreed, f"both ended after {last}"
    return agreed, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="of the first traces; then seed + 1 and so on")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    if not any(COMPILED.glob("rillway/app/**/*.so")):
        print(f"{COMPILED}: nothing is compiled; make compiled")
        return 1
    agreed, problem = run((compiled_tree(), SOURCES), seed, options.seconds, sys.maxsize)
    print(problem or f"{agreed} traces from --seed {seed} on: compiled and interpreted agree")
    return bool(problem)


if __name__ == "__main__":
    sys.exit(main())
