"""The report of a run: a line for each row while it runs, and all figures as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.figures import Figure, Result, Target, is_met


def number_text(value: float) -> str:
    """Three digits or more: 1,234,567 or 123 or 12.3 or 0.0123."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def target_text(target: Target, result: Result) -> str:
    """A bound, and whether it is kept."""
    sign = "<=" if result.row.lower_is_better else ">="
    bound = f"{target.bound:.2f}"
    if not target.is_ratio:
        bound = f"{number_text(target.bound)} {result.row.unit.split()[0]}"
    met = is_met(target, result)
    return f"{sign} {bound}" + ("" if met is None else ": met" if met else ": MISSED")


def console_lines(result: Result) -> Iterator[str]:
    """The lines of one row: both figures, the ratio and its spread, targets, notes; details."""
    ours, theirs = number_text(result.our_value), number_text(result.their_value)
    unit = result.row.unit + (" (less is better)" if result.row.lower_is_better else "")
    parts = [f"{result.row.name:<38} {ours:>12} {theirs:>12} {unit}"]
    if ratio := result.ratio:
        parts.append(f"ratio {ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})")
    parts += [target_text(target, result) for target in result.row.targets]
    if result.notes:
        parts.append(f"[{', '.join(result.notes)}]")
    if older := result.older_ratio:
        parts.append(f"beside the older Redis {older.median:.2f}")
    if valkey := result.valkey_ratio:
        parts.append(f"beside Valkey {valkey.median:.2f}")
    yield "  ".join(parts)
    servers = {"Rillway": result.ours, "Redis": result.theirs, "Valkey": result.valkey}
    for server, figures in servers.items():
        for line in median_lines(figures) if figures else ():
            yield f"    {server}: {line}"


def median_lines(figures: Sequence[Figure]) -> tuple[str, ...]:
    """The lines of the measurement in the middle."""
    return sorted(figures, key=lambda figure: figure.value)[len(figures) // 2].lines


def summary(results: Mapping[str, Result], failures: Mapping[str, str]) -> str:
    """Return which targets are met and which are not, and what could not be measured."""
    met, missed = 0, []
    for name, result in results.items():
        for target in result.row.targets:
            met += is_met(target, result) is True
            if is_met(target, result) is False:
                missed.append(f"  {name} {target_text(target, result)}")
    lines = [f"{met} targets met, {len(missed)} missed", *missed]
    return "\n".join(lines + [f"not measured: {name}: {text}" for name, text in failures.items()])


def as_json(
    about: Mapping[str, str], results: Mapping[str, Result], failures: Mapping[str, str]
) -> dict[str, Any]:
    """Every figure of every pair, and the ratios computed from them."""
    return {
        "about": dict(about),
        "failures": dict(failures),
        "results": [_result_json(result) for result in results.values()],
    }


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "case": result.row.name,
        "unit": result.row.unit,
        "lower_is_better": result.row.lower_is_better,
        "rillway": result.our_value,
        "redis": result.their_value,
        "ratio": asdict(result.ratio) if result.ratio else None,
        "older_ratio": asdict(result.older_ratio) if result.older_ratio else None,
        "valkey": result.valkey_value,
        "valkey_ratio": asdict(result.valkey_ratio) if result.valkey_ratio else None,
        "targets": [target_text(target, result) for target in result.row.targets],
        "notes": result.notes,
        "pairs": {
            "rillway": [asdict(figure) for figure in result.ours],
            "redis": [asdict(figure) for figure in result.theirs],
            "older": [asdict(figure) for figure in result.older],
            "valkey": [asdict(figure) for figure in result.valkey],
        },
    }
