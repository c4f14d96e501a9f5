"""The report of a run: progress lines, and the page benchmarks/RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.figures import Figure, Measure, Result, Spread, Target, growth, is_met
from benchmarks.record import Record

NOTES = {
    "others": "other programs used the two cores as well, so the figure says little",
    "load": "the load's core was full and a server's was not, so that server could do more",
    "waiting": "neither core was full: round trips",
    "later": "a server went on working when the load was over, for 5 % of the time or more",
}
# The families, in words.
TITLES = {
    "xadd": "XADD",
    "xrange": "XRANGE",
    "xrevrange": "XREVRANGE",
    "xread": "XREAD, polling",
    "fan-out": "XREAD BLOCK: readers that wait",
    "group": "XREADGROUP and XACK",
    "pending": "Pending entries: looked at and claimed",
    "ping": "PING",
    "set": "SET",
    "get": "GET",
    "hashes": "Hashes",
    "lists": "Lists",
    "sets": "Sets",
    "sorted-sets": "Sorted sets",
    "scripts": "Scripts",
    "everysec": "With appendonly yes, appendfsync everysec",
    "always": "With appendonly yes, appendfsync always",
    "replicas": "With replicas",
    "memory": "Memory",
    "start": "Start",
    "load": "Loading files at a start",
    "machine": "What the machine adds to a delay, whatever runs on it",
    "latency": "The seeds' latency test",
    "stall": "What others feel while one command works",
    "growth": "Growth",
}
# The settings, in words.
SETTINGS = {
    "seconds": "seconds of a measurement",
    "pairs": "pairs",
    "small": "entries of small streams",
    "entries": "entries, where it says 1M",
    "large": "entries, where it says 10M",
    "unacknowledged": "unacknowledged messages",
    "latency_seconds": "seconds of a latency test",
}
HEADINGS = ("case", "Rillway", "Redis", "ratio", "spread", "target", "load's ceiling", "note")


# -- numbers as text -------------------------------------------------------------------------------


def number_text(value: float) -> str:
    """Three digits or more: 1,234,567 or 123 or 12.3 or 0.0123."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def spread_text(spread: Spread) -> str:
    return f"{spread.low:.2f} to {spread.high:.2f}"


def bound_text(target: Target, result: Result) -> str:
    """A target as text."""
    sign = "<=" if result.row.lower_is_better else ">="
    return {
        Measure.RATIO: f"{sign} {target.bound:.2f}",
        Measure.VALUE: f"{sign} {number_text(target.bound)} {result.row.unit.split()[0]}",
        Measure.GROWTH: f"{sign} {target.bound:.2f} of {result.row.base}",
    }[target.measure]


def verdict(target: Target, result: Result, results: Mapping[str, Result]) -> str:
    """Whether it is reached; empty if there is nothing to compare with."""
    met = is_met(target, result, results)
    return "" if met is None else "met" if met else "MISSED"


def target_text(target: Target, result: Result, results: Mapping[str, Result]) -> str:
    """A bound, and whether it is kept."""
    met = verdict(target, result, results)
    return bound_text(target, result) + (f": {met}" if met else "")


def reached_text(target: Target, result: Result, results: Mapping[str, Result]) -> str:
    """The value to compare with a target."""
    if target.measure is Measure.VALUE:
        return f"{number_text(result.our_value)} {result.row.unit.split()[0]}"
    spread = result.ratio if target.measure is Measure.RATIO else growth(result, results)
    return f"{spread.median:.3f}" if spread else ""


def cells(result: Result, results: Mapping[str, Result]) -> tuple[str, ...]:
    """One line of the table, as HEADINGS name its columns."""
    ratio, theirs, ceiling = result.ratio, result.their_value, result.ceiling
    return (
        result.row.name,
        number_text(result.our_value),
        "none" if theirs is None else number_text(theirs),
        f"{ratio.median:.2f}" if ratio else "",
        spread_text(ratio) if ratio else "",
        "; ".join(target_text(target, result, results) for target in result.row.targets),
        number_text(ceiling) if ceiling else "",
        ", ".join(result.notes),
    )


def unit_text(result: Result) -> str:
    """The unit, with a note if less is better."""
    return result.row.unit + (" (less is better)" if result.row.lower_is_better else "")


# -- while it runs ---------------------------------------------------------------------------------


def console_lines(result: Result, results: Mapping[str, Result]) -> Iterator[str]:
    """The lines of one row: its figures, growth and details."""
    name, ours, theirs, ratio, spread, target, _, note = cells(result, results)
    parts = [f"{name:<38} {ours:>12} {theirs:>12} {unit_text(result)}"]
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


# -- the page --------------------------------------------------------------------------------------


def markdown(record: Record, picture: str | None = None) -> str:
    """The page of a run. `picture` is the name of a file beside it."""
    ours, theirs = record.servers
    parts = [
        "# Results",
        f"{ours} beside {theirs}, measured and written by `make bench`; [docs/benchmarks.md]"
        "(../docs/benchmarks.md) says how, and what bounds the figures. Each ratio is Rillway's"
        " figure as a share of Redis's: the median of the pairs, and as the spread the smallest"
        " and the largest of them.",
        *_about(record),
        "## Targets",
        _targets(record),
    ]
    if picture:
        parts += [f"![The ratio of every case, with its spread]({picture})"]
    for section, results in sections(record.results).items():
        parts += [f"## {TITLES.get(section, section)}", *_section(results, record.results)]
    if record.failures:
        failed = [f"- `{case}`: {text}" for case, text in record.failures.items()]
        parts += ["## Not measured", "\n".join(failed)]
    return "\n\n".join(parts) + "\n"


def sections(results: Mapping[str, Result]) -> dict[str, list[Result]]:
    """The rows by family."""
    found: dict[str, list[Result]] = {}
    for result in results.values():
        found.setdefault(result.row.section, []).append(result)
    return found


def _about(record: Record) -> Iterator[str]:
    """The machine, the settings, the goes, and the meaning of the notes."""
    settings = [
        (SETTINGS.get(name, name), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in record.settings.items()
    ]
    yield table(("", ""), [*record.machine.items(), *settings])
    if len(record.goes) > 1:
        yield f"The run was made in {len(record.goes)} goes, each continuing the last one:"
    headings = ("begun", "minutes", "cases", "load before", "load after", "commit", "command")
    lines = []
    for go in record.goes:
        took = [f"{go.seconds / 60:.1f}", str(go.cases), go.load_before, go.load_after]
        lines.append([go.began, *took, go.source, f"`{go.command}`"])
    yield table(headings, lines)
    yield "In the notes, " + "; ".join(f"`{note}`: {text}" for note, text in NOTES.items()) + "."


def _targets(record: Record) -> str:
    """All rows with a target."""
    lines = [
        (
            result.row.name,
            bound_text(target, result),
            reached_text(target, result, record.results),
            verdict(target, result, record.results),
        )
        for result in record.results.values()
        for target in result.row.targets
    ]
    met = sum(line[-1] == "met" for line in lines)
    missed = sum(line[-1] == "MISSED" for line in lines)
    headings = ("case", "target", "reached", "")
    return f"{met} met, {missed} missed.\n\n" + table(headings, lines)


def _section(results: list[Result], all_results: Mapping[str, Result]) -> Iterator[str]:
    by_unit: dict[str, list[Result]] = {}
    for result in results:
        by_unit.setdefault(unit_text(result), []).append(result)
    for unit, some in by_unit.items():
        yield f"In {unit}:"
        yield _short_table(HEADINGS, [cells(result, all_results) for result in some])
    grown = [line for result in results if (line := _growth_cells(result, all_results))]
    if grown:
        yield "As a share of the rate in the smallest state, measured in the same turn:"
        headings = ("case", "Rillway", "spread", "Redis", "spread")
        yield table(headings, grown)
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


def _short_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without its empty columns."""
    used = [index for index in range(len(headings)) if any(row[index] for row in rows)]
    return table([headings[i] for i in used], [[row[i] for i in used] for row in rows])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
