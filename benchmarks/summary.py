"""The figures in docs/benchmarks.md: a short table with targets, and where each server is ahead.

They stand between two marks and come from the figures of the last full run, so that the text and
RESULTS.md cannot disagree.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Result, Target
from benchmarks.record import ROOT, Record
from benchmarks.report import (
    TITLES,
    bound_text,
    number_text,
    reached_text,
    sections,
    table,
    unit_text,
    verdict,
)

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN = "<!-- from here: written by a full run -->"
END = "<!-- up to here -->"

# What is asked first: a row, and what it is in words.
HEADLINES = {
    "xadd/small-p1-c1": "XADD, one client",
    "xadd/small-p1-c50": "XADD, 50 clients",
    "xadd/small-p64-c50": "XADD, 50 clients, pipelines of 64",
    "xadd/1KiB-p64-c50": "XADD of 1 KiB, 50 clients, pipelines of 64",
    "xadd/mixed-p16-c50": "XADD of mixed events, 50 clients, pipelines of 16",
    "xadd/mixed-p64-c50": "XADD of mixed events, 50 clients, pipelines of 64",
    "xadd/hundred-streams-p64-c50": "XADD to a hundred streams in turn, pipelines of 64",
    "always/xadd-small-p64-c50": "XADD, pipelines of 64, each on disk before its reply",
    "xrange/count-10": "XRANGE COUNT 10",
    "growth/xrange-count-10-at-10M": "XRANGE COUNT 10 of ten million entries",
    "xrange/count-1000": "XRANGE COUNT 1000",
    "fan-out/100-readers": "a stream with 100 readers that wait",
    "group/count-1-consumers-10": "XREADGROUP COUNT 1 and XACK, ten consumers",
    "group/count-10-consumers-10": "XREADGROUP COUNT 10 and XACK, ten consumers",
    "group/count-100-consumers-10": "XREADGROUP COUNT 100 and XACK, ten consumers",
    "pending/xautoclaim-1M": "XAUTOCLAIM COUNT 100, a million pending",
    "latency/seeds-within-1ms": "10,000 messages a second: consumed within 1 ms",
    "latency/seeds-p99.9": "the same: 99.9 % are consumed within",
    "ping/p64-c50": "PING, 50 clients, pipelines of 64",
    "set/p64-c50": "SET, 50 clients, pipelines of 64",
    "get/p64-c50": "GET, 50 clients, pipelines of 64",
    "memory/small-entry": "memory for a small entry",
    "memory/small-entry-of-own-id": "the same, with an ID that the server makes",
    "memory/two-numbers-entry": "memory for an entry of two numbers",
    "memory/mixed-entry": "memory for a mixed event",
    "memory/small-entry-pending": "more for each pending entry",
    "memory/idle-connection": "memory for an idle connection",
    "start/first-pong": "from the start to the first answer",
    "load/requests": "load an append-only file of XADD",
    "stall/bgsave-takes": "BGSAVE of ten million entries",
}
# How much better one has to be to be called ahead: less is within what runs differ by.
EVEN = 1.05


def put_in(made: Record, page: Path = PAGE) -> None:
    """Write the figures into the page. Raises ValueError if it has not got the marks."""
    page.write_text(with_figures(page.read_text(), made))


def with_figures(text: str, made: Record) -> str:
    """The text of the page with these figures. Raises ValueError if it has not got the marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{BEGIN} and {END} are not in the text")
    return f"{before}{BEGIN}\n\n{figures(made)}\n\n{END}{after}"


def figures(made: Record) -> str:
    """What stands between the marks."""
    ours, theirs = made.servers
    first, last = made.goes[0], made.goes[-1]
    days = " and ".join(sorted({first.began[:10], last.began[:10]}))
    about = (
        f"{ours} beside {theirs}, {days}, on {made.machine['processor']} with"
        f" {made.machine['cores']} cores. Bold: who is ahead by more than {EVEN - 1:.0%}."
    )
    shown = [made.results[name] for name in HEADLINES if name in made.results]
    headlines = table(
        ("", "Rillway", "Redis", "ratio", "wanted", "reached"),
        [_headline(result, made.results) for result in shown],
    )
    families = [
        _family(TITLES.get(name, name), some)
        for name, found in sections(made.results).items()
        if (some := [result for result in found if result.goodness])
    ]
    headings = ("family", "cases", "Rillway ahead", "Redis ahead", "worst", "median", "best")
    explained = (
        "All cases, by family. The last three columns say how many times as good Rillway is: in the"
        " worst case, in the middle, and in the best."
    )
    return "\n\n".join([about, headlines, explained, table(headings, families)])


def _headline(result: Result, results: Mapping[str, Result]) -> tuple[str, ...]:
    good, ratio, theirs = result.goodness, result.ratio, result.their_value
    ours_text = number_text(result.our_value)
    theirs_text = "none" if theirs is None else number_text(theirs)
    if good and good.median > EVEN:
        ours_text = f"**{ours_text}**"
    elif good and good.median < 1 / EVEN:
        theirs_text = f"**{theirs_text}**"
    name = f"{HEADLINES[result.row.name]}; {unit_text(result)}"
    targets = result.row.targets
    return (
        *(name, ours_text, theirs_text, f"{ratio.median:.2f}" if ratio else ""),
        "; ".join(bound_text(target, result) for target in targets),
        "; ".join(_reached(target, result, results) for target in targets),
    )


def _reached(target: Target, result: Result, results: Mapping[str, Result]) -> str:
    """The value to compare with a target, and the verdict; empty if there is nothing to compare."""
    parts = reached_text(target, result, results), verdict(target, result, results)
    return ", ".join(filter(None, parts))


def _family(title: str, results: Sequence[Result]) -> tuple[str, ...]:
    medians = sorted(good.median for result in results if (good := result.goodness))
    ahead = sum(median > EVEN for median in medians)
    behind = sum(median < 1 / EVEN for median in medians)
    ends = (medians[0], statistics.median(medians), medians[-1])
    counts = (str(len(medians)), str(ahead), str(behind))
    return title, *counts, *(f"{median:.2f}" for median in ends)
