"""What is shown and written: lines while it runs, JSON, and the page benchmarks/RESULTS.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from benchmarks.figures import (
    Figure,
    Measure,
    Result,
    Spread,
    Target,
    growth,
    is_met,
    limit,
)

NOTES = {
    "others": "other programs used the two cores as well, so the figure says little",
    "load": "the load was the bottleneck, for one of the two at least",
    "waiting": "neither core was full: round trips",
}
HEADINGS = ("case", "unit", "Rillway", "Redis", "ratio", "spread", "target", "note")


@dataclass
class Report:
    """One run: the machine, the servers, the settings, and the results so far."""

    machine: dict[str, str]
    servers: tuple[str, str]
    settings: dict[str, object]
    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, results: Sequence[Result]) -> None:
        for result in results:
            self.results[result.row.name] = result


# -- numbers as text -------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """Three digits or more: 1,234,567 or 123 or 12.3 or 0.0123."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def spread_text(spread: Spread) -> str:
    return f"{spread.low:.2f} to {spread.high:.2f}"


def target_text(target: Target, result: Result, results: Mapping[str, Result]) -> str:
    """A bound, and whether it is kept."""
    sign = "<=" if result.row.lower_is_better else ">="
    what = {
        Measure.RATIO: f"{sign} {target.bound:.2f}",
        Measure.VALUE: f"{sign} {number_text(target.bound)} {result.row.unit.split()[0]}",
        Measure.GROWTH: f"{sign} {target.bound:.2f} of the small stream's",
    }[target.measure]
    met = is_met(target, result, results)
    return what if met is None else f"{what}: {'met' if met else 'MISSED'}"


def cells(result: Result, results: Mapping[str, Result]) -> tuple[str, ...]:
    """One line of the table, as HEADINGS name its columns."""
    ratio = result.ratio
    theirs = result.their_value
    return (
        result.row.name,
        result.row.unit + (" (less is better)" if result.row.lower_is_better else ""),
        number_text(result.our_value),
        "none" if theirs is None else number_text(theirs),
        f"{ratio.median:.2f}" if ratio else "",
        spread_text(ratio) if ratio else "",
        "; ".join(target_text(target, result, results) for target in result.row.targets),
        result.limit,
    )


# -- while it runs ---------------------------------------------------------------------------------


def console_lines(result: Result, results: Mapping[str, Result]) -> Iterator[str]:
    """One row, and below it what belongs to it."""
    name, unit, ours, theirs, ratio, spread, target, note = cells(result, results)
    parts = [f"{name:<38} {ours:>12} {theirs:>12} {unit}"]
    parts += [f"ratio {ratio} ({spread})"] if ratio else []
    parts += [text for text in (target, f"[{note}]" if note else "") if text]
    yield "  ".join(parts)
    if result.row.base:
        grown = growth(result, results)
        if grown:
            yield f"    {grown.median:.2f} of {result.row.base} ({spread_text(grown)})"
    for server, figures in (("Rillway", result.ours), ("Redis", result.theirs)):
        for line in median_lines(figures):
            yield f"    {server}: {line}"


def median_lines(figures: Sequence[Figure]) -> tuple[str, ...]:
    """The lines of the measurement in the middle."""
    if not figures:
        return ()
    return sorted(figures, key=lambda figure: figure.value)[len(figures) // 2].lines


# -- files -----------------------------------------------------------------------------------------


def as_json(report: Report) -> dict[str, object]:
    """All there is, every figure of every pair included."""
    return {
        "machine": report.machine,
        "servers": report.servers,
        "settings": report.settings,
        "seconds": round(report.seconds, 1),
        "failures": report.failures,
        "results": [_result_json(result, report.results) for result in report.results.values()],
    }


def _result_json(result: Result, results: Mapping[str, Result]) -> dict[str, object]:
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


def markdown(report: Report) -> str:
    """The page of a full run."""
    ours, theirs = report.servers
    parts = [
        "# Results",
        f"{ours} beside {theirs}, measured by `make bench`; docs/benchmarks.md says how. This page"
        " is written by a full run. Each ratio is Rillway's figure as a share of Redis's, the"
        " median of the pairs; the spread is their smallest and largest.",
        _table(("", ""), list((report.machine | _texts(report.settings)).items())),
        "In the notes, " + "; ".join(f"`{note}`: {text}" for note, text in NOTES.items()) + ".",
    ]
    by_section = itertools.groupby(report.results.values(), key=lambda result: result.row.section)
    for section, results in by_section:
        parts += [f"## {section}", *_section(list(results), report.results)]
    if report.failures:
        failed = [f"- `{case}`: {text}" for case, text in report.failures.items()]
        parts += ["## Not measured", "\n".join(failed)]
    return "\n\n".join(parts) + "\n"


def _section(results: list[Result], all_results: Mapping[str, Result]) -> Iterator[str]:
    yield _table(HEADINGS, [cells(result, all_results) for result in results])
    grown = [line for result in results if (line := _growth_cells(result, all_results))]
    if grown:
        headings = ("case", "Rillway's own growth", "spread", "Redis's own growth", "spread")
        yield _table(headings, grown)
    for result in results:
        for server, figures in (("Rillway", result.ours), ("Redis", result.theirs)):
            lines = median_lines(figures)
            if lines:
                yield f"`{result.row.name}`, {server}:\n\n```\n" + "\n".join(lines) + "\n```"


def _growth_cells(result: Result, results: Mapping[str, Result]) -> tuple[str, ...] | None:
    ours = growth(result, results)
    theirs = growth(result, results, ours=False)
    if ours is None:
        return None
    other = (f"{theirs.median:.2f}", spread_text(theirs)) if theirs else ("", "")
    return (result.row.name, f"{ours.median:.2f}", spread_text(ours), *other)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}
