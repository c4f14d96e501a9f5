"""`rillway demo`: a queue of jobs with workers that crash; `rillway demo departures`: a proof.

Exits with 0 if every check passed, 1 if one failed or the run could not be finished, 2 for a bad
argument.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

import redis

from rillway.demo.departures.command import main as departures
from rillway.demo.departures.data_set import DataSetMissing
from rillway.demo.jobs.command import main as jobs
from rillway.demo.service import DemoFailed, ServerFailed


def main(arguments: list[str]) -> int:
    """Run a demo and return the exit status."""
    signal.signal(signal.SIGTERM, exit_on_sigterm)
    try:
        if arguments[:1] == ["departures"]:
            return departures(arguments[1:])
        return jobs(arguments)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 128 + signal.SIGINT
    except (DataSetMissing, DemoFailed, ServerFailed, redis.RedisError) as error:
        print(f"\nrillway demo: {error}", file=sys.stderr)
        return 1


def exit_on_sigterm(signal_number: int, frame: FrameType | None) -> None:
    sys.exit(128 + signal_number)  # so that processes started here are ended on the way out
