"""The record of a run: every figure, as JSON, written again after each case.

An interrupted run loses only its current case. The next one continues from the file (`resume`): a
run may consist of several goes, each with its time and commit. Figures of another machine, other
servers or other amounts of data are refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.cases.case import Case
from benchmarks.figures import Figure, Result, Row, growth, is_met, limit

ROOT = Path(__file__).resolve().parents[1]


class UnfitRecord(Exception):
    """A file holds no record, or one whose figures cannot be combined with those of this run."""


@dataclass
class Go:
    """One run of the program, which may measure a part of the cases."""

    command: str
    source: str  # the commit
    began: str
    load_before: str
    load_after: str = ""
    seconds: float = 0.0
    cases: int = 0

    @classmethod
    def starting(cls, command: str) -> Go:
        began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        return cls(command, commit(), began, machine.load_average())

    def note(self, seconds: float) -> None:
        """Record the duration in seconds, and the load average after it."""
        self.seconds = round(seconds, 1)
        self.load_after = machine.load_average()


@dataclass
class Record:
    """The machine, the servers, the settings, and the results so far."""

    machine: dict[str, str]
    servers: tuple[str, str]
    settings: dict[str, Any]
    goes: list[Go] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    case_seconds: dict[str, float] = field(default_factory=dict)

    def add(self, results: Sequence[Result]) -> None:
        for result in results:
            self.results[result.row.name] = result

    def has(self, case: Case) -> bool:
        """Whether all rows of a case were measured."""
        return all(row.name in self.results for row in case.rows)

    def check_fits(self, other: Record) -> None:
        """Raises UnfitRecord if the figures of the other record cannot be combined with these."""
        for name in ("machine", "servers", "settings"):
            mine, found = getattr(self, name), getattr(other, name)
            if mine != found:
                raise UnfitRecord(f"its {name} differ: {found} there, {mine} here")

    def sort(self, cases: Sequence[Case]) -> None:
        """Sort the rows in the order of the cases; drop those of unknown cases."""
        names = [row.name for case in cases for row in case.rows]
        self.results = {name: self.results[name] for name in names if name in self.results}


def commit() -> str:
    """The commit of this checkout, with a mark if it was changed since; empty without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return shown.stdout.strip()


# -- written ---------------------------------------------------------------------------------------


def write(record: Record, path: Path) -> None:
    """Replace the file atomically."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps(as_json(record), indent=1) + "\n")
    os.replace(temporary, path)


def as_json(record: Record) -> dict[str, Any]:
    """The whole record: every figure of every pair, and the values computed from them."""
    return {
        "machine": record.machine,
        "servers": list(record.servers),
        "settings": record.settings,
        "goes": [asdict(go) for go in record.goes],
        "failures": record.failures,
        "case_seconds": record.case_seconds,
        "results": [_result_json(result, record.results) for result in record.results.values()],
    }


def _result_json(result: Result, results: Mapping[str, Result]) -> dict[str, Any]:
    ratio, grown = result.ratio, growth(result, results)
    their_growth = growth(result, results, ours=False) if result.theirs else None
    return {
        "case": result.row.name,
        "unit": result.row.unit,
        "lower_is_better": result.row.lower_is_better,
        "rillway": result.our_value,
        "redis": result.their_value,
        "ratio": asdict(ratio) if ratio else None,
        "growth": asdict(grown) if grown else None,
        "redis_growth": asdict(their_growth) if their_growth else None,
        "targets": [
            {
                "measure": target.measure.value,
                "bound": target.bound,
                "is_met": is_met(target, result, results),
            }
            for target in result.row.targets
        ],
        "limits": {"rillway": limit(result.ours), "redis": limit(result.theirs)},
        "ceiling": result.ceiling,
        "pairs": {
            "rillway": [asdict(figure) for figure in result.ours],
            "redis": [asdict(figure) for figure in result.theirs],
        },
    }


# -- read ------------------------------------------------------------------------------------------


def read(path: Path, cases: Sequence[Case]) -> Record:
    """A record as it was written; units and targets are those that the cases have today.

    Raises UnfitRecord.
    """
    rows = {row.name: row for case in cases for row in case.rows}
    try:
        return from_json(json.loads(path.read_text()), rows)
    except OSError as error:
        raise UnfitRecord(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnfitRecord(f"{path} holds no figures of a run: {error!r}") from None


def from_json(written: Mapping[str, Any], rows: Mapping[str, Row]) -> Record:
    """The record from the output of `as_json`. Results of unknown rows are left out."""
    ours, theirs = written["servers"]
    return Record(
        dict(written["machine"]),
        (ours, theirs),
        dict(written["settings"]),
        [Go(**go) for go in written["goes"]],
        {
            found["case"]: Result(
                rows[found["case"]],
                [_figure(figure) for figure in found["pairs"]["rillway"]],
                [_figure(figure) for figure in found["pairs"]["redis"]],
            )
            for found in written["results"]
            if found["case"] in rows
        },
        dict(written["failures"]),
        dict(written["case_seconds"]),
    )


def _figure(written: Mapping[str, Any]) -> Figure:
    return Figure(**{**written, "lines": tuple(written["lines"])})
