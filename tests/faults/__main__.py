"""Puts each fault of faults.toml into a copy of the tree and runs tests on it: `make faults`.

    python -m tests.faults                      all, two at a time
    python -m tests.faults --only HEXPIRE       those whose names contain a text
    python -m tests.faults --check              only whether each text is there, once

Tests run interpreted: what is changed need not be compiled. Exit status: 0 if each fault is found,
1 if one is not, 2 if a text is missing or in several places.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.faults.catalogue import FAULTS, Fault, Misplaced, mirror_of, place_of, read
from tests.support.programs.servers import ROOT

NO_TEST_FAILED = 0
A_TEST_FAILED = 1
# A fault may hang a test: that is found as well.
SECONDS = 900


def run(tree: Path, words: list[str]) -> tuple[int, str]:
    """The exit status of pytest in a tree, and the end of what it printed."""
    argv = [sys.executable, "-m", "pytest", "-x", "-q", "--hypothesis-profile=quick"]
    argv += ["-p", "no:cacheprovider", *words]
    try:
        ran = subprocess.run(
            argv, cwd=tree, env=_plain(), capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return A_TEST_FAILED, f"it hangs: no end within {SECONDS} s"
    return ran.returncode, (ran.stdout + ran.stderr)[-2000:]


def _plain() -> dict[str, str]:
    """The environment without what names other modules than those of the tree."""
    ours = ("PYTHONPATH", "PYTHONSAFEPATH", "SERVED")
    return {name: value for name, value in os.environ.items() if name not in ours}


def tracked(root: Path) -> list[str]:
    """The files of a clone, those included that are not committed yet."""
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


class Trees:
    """Copies of a tree, one for each job."""

    def __init__(self, folder: Path, root: Path, names: list[str], jobs: int) -> None:
        self._free: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            tree = folder / str(number)
            for name in names:
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree / name)
            self._free.put(tree)

    def with_fault(self, fault: Fault, then: Callable[[Path, Path], str]) -> str:
        """Call `then` with a tree that has the fault and the faulty file's name."""
        tree = self._free.get()
        try:
            name = place_of(fault, tree)
            file = tree / name
            whole = file.read_text()
            # A size of its own: bytecode of the file without the fault is not taken for this one's.
            file.write_text(whole.replace(fault.text, fault.to) + f"# {'-' * 20}\n")
            try:
                return then(tree, name)
            finally:
                file.write_text(whole)
        finally:
            self._free.put(tree)


def tried(fault: Fault, trees: Trees) -> str:
    """`found`, or why it is not."""

    def run_tests(tree: Path, name: Path) -> str:
        began = time.monotonic()
        status, printed = run(tree, mirror_of(fault, name, tree))
        seconds = f"{time.monotonic() - began:.0f} s"
        if status == A_TEST_FAILED:
            found = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return f"found in {seconds}: {found[0][:110] if found else printed[-110:]}"
        return f"NOT FOUND in {seconds}" if status == NO_TEST_FAILED else f"ERROR: {printed[-500:]}"

    return trees.with_fault(fault, run_tests)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m tests.faults")
    parser.add_argument("--only", action="append", help="a part of the names; may be repeated")
    parser.add_argument("--check", action="store_true", help="run no tests")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(words)
    wanted = options.only or [""]
    faults = [fault for fault in read(FAULTS) if any(part in fault.name for part in wanted)]
    misplaced = 0
    for fault in faults:
        try:
            place_of(fault, ROOT)
        except Misplaced as error:
            misplaced += 1
            print(f"{fault.name}: {error}", flush=True)
    if misplaced or options.check:
        print(f"{len(faults)} faults, {misplaced} without their place")
        return 2 if misplaced else 0
    left = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        trees = Trees(Path(folder), ROOT, tracked(ROOT), options.jobs)
        for fault, said in zip(
            faults, pool.map(lambda one: tried(one, trees), faults), strict=True
        ):
            left += not said.startswith("found")
            print(f"{fault.name}: {said}", flush=True)
    print(f"{len(faults) - left} of {len(faults)} faults found")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
