"""`make failover`: primaries die under load, and Sentinel has replicas take over.

    python -m tests.failover --rounds 10
    python -m tests.failover --servers redis redis redis      # the same for real ones

Ends with status 1 if a promise was broken, and leaves logs and files.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.failover.cluster import BOUND_TEXT, Cluster, Failed
from tests.failover.load import PLAIN, WAITED, Ledger, under_load
from tests.failover.rounds import KILL, STOP, Rounds, Verdict


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill primaries and look at what survives.")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--servers", nargs=3, default=["rillway"] * 3, choices=["rillway", "redis"],
        help="the first primary and its two replicas",
    )  # fmt: skip
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rillway-failover-"))
    try:
        verdict = play(folder, options.servers, options.rounds)
    except (Failed, AssertionError) as failure:
        print(f"\nFAILED: {failure}\nThe files are in {folder}")
        return 1
    print(table(verdict))
    for problem in verdict.problems():
        print(f"BROKEN: {problem}\nThe files are in {folder}")
    if verdict.problems():
        return 1
    shutil.rmtree(folder)
    return 0


def play(folder: Path, servers: Sequence[str], count: int) -> Verdict:
    """Every second round stops the primary instead of killing it. Raises Failed."""
    with Cluster(folder, servers) as cluster:
        rounds = Rounds(cluster, Ledger())
        with under_load(cluster, rounds.ledger):
            for number in range(count):
                wound = rounds.play(STOP if number % 2 else KILL)
                print(
                    f"round {number + 1:>2} of {count}: {wound.how}, "
                    f"{wound.without_primary_seconds:.1f} s without a primary",
                    flush=True,
                )
        return rounds.judge()


def table(verdict: Verdict) -> str:
    """What happened, to be read."""
    gaps = [wound.without_primary_seconds for wound in verdict.wounds]
    rows = [(WAITED, "XADD and WAIT 1"), (PLAIN, f"XADD, {BOUND_TEXT}")]
    return "\n".join(
        [
            "",
            f"{'':<54}{'acknowledged':>14}{'lost':>6}",
            *(
                f"{what:<54}{verdict.acknowledged[stream]:>14}{len(verdict.lost[stream]):>6}"
                for stream, what in rows
            ),
            f"delivered twice: {verdict.delivered_twice}; never: {len(verdict.not_delivered)}",
            f"seconds without a primary: {min(gaps):.1f} to {max(gaps):.1f}, "
            f"{sum(gaps) / len(gaps):.1f} on average",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
