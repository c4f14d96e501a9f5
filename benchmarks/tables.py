"""Turns the figures of runs into the tables of benchmarks/RESULTS.md.

python benchmarks/run.py --json all.json                 a full run
python -m benchmarks.tables all.json > benchmarks/RESULTS.md
python -m benchmarks.tables all.json later.json          the rows of a later run replace others
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks.figures import COUNTED
from benchmarks.report import number_text

# A row as `run.py --json` writes it.
Case: TypeAlias = Mapping[str, Any]

# So much is ahead.
_AHEAD = 1.05

_DURABLE = {
    "xadd-small-p1-c1": "XADD, one client",
    "xadd-small-p1-c50": "XADD, 50 clients",
    "xadd-small-p64-c50": "XADD, pipelines of 64",
    "xadd-mixed-p16-c50": "XADD of mixed events, pipelines of 16",
    "xadd-1KiB-p64-c50": "XADD of 1 KiB, pipelines of 64",
    "multi-of-10-c50": "MULTI, ten XADD, EXEC",
    "set-p16-c50": "SET, pipelines of 16",
    "group-count-1-consumers-10": "XREADGROUP COUNT 1 and XACK",
    "group-count-10-consumers-10": "the same, COUNT 10",
    "group-count-100-consumers-10": "the same, COUNT 100",
    "xautoclaim-10k": "XAUTOCLAIM, 10,000 pending",
    "xautoclaim-1M": "XAUTOCLAIM, a million pending",
}
_SETTINGS = {
    "memory": "memory",
    "everysec": "everysec",
    "always": "always",
    "memory-3-replicas": "memory, three replicas",
    "everysec-3-replicas": "everysec, three replicas",
    "always-3-replicas": "always, three replicas",
}
_HEADLINES = {
    "xadd/small-p1-c1": "XADD, one client",
    "xadd/small-p1-c50": "XADD, 50 clients",
    "xadd/small-p64-c50": "XADD, 50 clients, pipelines of 64",
    "xadd/1KiB-p64-c50": "XADD of 1 KiB, 50 clients, pipelines of 64",
    "xadd/mixed-p16-c50": "XADD of mixed events, 50 clients, pipelines of 16",
    "xadd/mixed-p64-c50": "XADD of mixed events, 50 clients, pipelines of 64",
    "xadd/hundred-streams-p64-c50": "XADD to a hundred streams in turn, pipelines of 64",
    "xrange/count-10": "XRANGE COUNT 10",
    "xrange/count-10-of-10M": "XRANGE COUNT 10 of ten million entries",
    "xrange/count-1000": "XRANGE COUNT 1000",
    "fan-out/100-readers": "a stream with 100 readers that wait",
    "group/count-1-consumers-10": "XREADGROUP COUNT 1 and XACK, ten consumers",
    "group/count-10-consumers-10": "XREADGROUP COUNT 10 and XACK, ten consumers",
    "group/count-100-consumers-10": "XREADGROUP COUNT 100 and XACK, ten consumers",
    "pending/xautoclaim-1M": "XAUTOCLAIM COUNT 100, a million pending",
    "tls/xadd-small-p16-c50": "XADD over TLS, pipelines of 16, beside Redis 7.0.15",
    "tls/xreadgroup-count-1-p16-c50": "XREADGROUP over TLS, pipelines of 16, beside Redis 7.0.15",
    "cluster/xadd-p16-nodes-8": "XADD to a cluster of eight nodes on one core, pipelines of 16",
    "cluster/group-nodes-8": "XREADGROUP COUNT 1 and XACK, the same",
    "cluster/xadd-p16-nodes-8-cpu": "processor time of such a node for an XADD",
    "cluster/group-nodes-8-cpu": "the same for XREADGROUP COUNT 1 and XACK",
    "latency/seeds-within-1ms": "10,000 messages a second: consumed within 1 ms",
    "latency/seeds-p99.9": "the same: 99.9 % are consumed within",
    "ping/p64-c50": "PING, 50 clients, pipelines of 64",
    "set/p64-c50": "SET, 50 clients, pipelines of 64",
    "get/p64-c50": "GET, 50 clients, pipelines of 64",
    "memory/small-entry": "memory for a small entry",
    "memory/small-entry-of-own-id": "the same, with an ID that the server makes",
    "memory/two-numbers-entry": "memory for an entry of two numbers",
    "memory/mixed-entry": "memory for a mixed event",
    "memory/idle-connection": "memory for an idle connection",
    "start/first-pong": "from the start to the first answer",
    "load/requests": "load an append-only file of XADD",
    "load/group": "load an append-only file of groups",
    "load/strings": "load an append-only file of SET",
    "load/snapshot": "load a snapshot",
    "stall/bgsave-takes": "BGSAVE of ten million entries",
    "stall/full-sync-takes": "full synchronisation of ten million entries",
}
_FAMILIES = {
    "durable/": "With and without files and replicas",
    "xadd/": "XADD",
    "xrange/": "XRANGE",
    "xrevrange/": "XREVRANGE",
    "xread/": "XREAD, polling",
    "fan-out/": "XREAD BLOCK: readers that wait",
    "group/": "XREADGROUP and XACK",
    "pending/": "Pending entries: looked at and claimed",
    "ping/": "PING",
    "set/": "SET",
    "get/": "GET",
    "hashes/": "Hashes",
    "lists/": "Lists",
    "sets/": "Sets",
    "sorted-sets/": "Sorted sets",
    "scripts/": "Scripts",
    "kinds/": "The requests that programs are made of",
    "tls/": "TLS, beside Redis 7.0.15",
    "cluster/": "Nodes of a cluster",
    "memory/": "Memory",
    "start/": "Start",
    "load/": "Loading files at a start",
    "latency/": "The latency test of Redis's tutorial on streams",
    "stall/": "What others feel while one command works",
    "scraped/": "What being scraped each second leaves of the rate",
    "watching/": "What `rillway top` takes of the server",
    "console/": "What `rillway console` takes of the server",
    "policies/": "Retention, delays, deadlines",
    "programs/": "Programs that people run, by processor time",
}
_PROGRAMS = "programs/"
_SERVERS = ("rillway", "redis", "valkey")
_RATE, _P99, _CPU = "", "-p99", "-cpu"


def tables(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of RESULTS.md. The rows of later runs replace those of earlier ones."""
    cases: dict[str, Case] = {}
    for run in runs:
        cases |= {case["case"]: case for case in run["results"]}
    yield from _introduction([run["about"] for run in runs])
    yield from _durable_table(cases)
    yield from _programs(cases)
    yield from _headlines(cases)
    yield from _families(cases)
    yield from _all(cases)


def _introduction(abouts: Sequence[Mapping[str, str]]) -> Iterator[str]:
    first, *later = abouts
    begun = first["begun"]
    if later:
        begun += f"; some rows again, {', '.join(about['begun'] for about in later)}"
    yield "# Results\n"
    yield "The last full run whose figures were looked through, by `python -m benchmarks.tables`."
    yield "[docs/benchmarks.md](../docs/benchmarks.md) says how they are measured; each nightly run"
    yield "keeps its own as an artifact. A ratio is the median of the ratios of the pairs.\n"
    yield f"{first['servers']}, on {first['processor']} with {first['cores']} cores,"
    yield f"{begun}; up to"
    yield f"{first['pairs']} pairs. Bold: who is ahead by more than 5 %. The machine is shared:"
    yield "take a ratio as good to a tenth, and those of single clients to a fifth.\n"


def _durable_table(cases: Mapping[str, Case]) -> Iterator[str]:
    yield "## With and without files and replicas\n"
    yield "The ratio, Rillway's rate as a share of Redis's, and in brackets the 99.9th percentile"
    yield "of what a client waits, in ms, Rillway's and Redis's. `everysec` and `always` have an"
    yield "append-only file; three replicas take the stream and acknowledge it.\n"
    yield _row("", *_SETTINGS.values())
    yield _row(*["---"] * (len(_SETTINGS) + 1))
    for name, title in _DURABLE.items():
        found = [cases.get(f"durable/{name}-{setting}") for setting in _SETTINGS]
        yield _row(title, *(_durable(case) if case else "" for case in found))


def _durable(case: Case) -> str:
    ratio = case["ratio"]["median"]
    text = f"**{ratio:.2f}**" if ratio > _AHEAD else f"{ratio:.2f}"
    waits = [_p999(case["pairs"][server]) for server in ("rillway", "redis")]
    return f"{text} ({', '.join(waits)})" if all(waits) else text


def _p999(figures: Sequence[Mapping[str, Any]]) -> str:
    """Of the measurement in the middle: 2.4 of `p50 0.9 ms, p99 1.1 ms, p99.9 2.36 ms`."""
    middle = sorted(figures, key=lambda figure: figure["value"])[len(figures) // 2]
    found = [line.rpartition("p99.9 ")[2] for line in middle["lines"] if "p99.9 " in line]
    return f"{float(found[0].split()[0]):.1f}" if found else ""


def _programs(cases: Mapping[str, Case]) -> Iterator[str]:
    yield "\n## Programs that people run\n"
    yield "Figures of Rillway, Redis and Valkey: jobs a second, and how busy the server's core was;"
    yield "the 99th percentile of the time of a job; the processor time of the server for a job,"
    yield "with its ratios to theirs. The rate has a ratio where the core of Rillway or Redis was"
    yield "busy to 0.8: elsewhere it is the program's own.\n"
    yield _row("", "jobs/s", "core busy", "ratio", "p99, ms", "µs a job", "Redis", "Valkey")
    yield _row(*["---"] * 8)
    for name, rate in cases.items():
        p99, cpu = cases.get(name + _P99), cases.get(name + _CPU)
        if name.startswith(_PROGRAMS) and p99 and cpu:
            busy = [_busy(rate["pairs"].get(server, ())) for server in _SERVERS]
            shown = ", ".join(f"{share:.2f}" for share in busy if share is not None)
            counts = max(share or 0 for share in busy[:2]) >= COUNTED
            ratio = _ratio(rate, "ratio") if counts else ""
            ratios = [_ratio(cpu, kind) for kind in ("ratio", "valkey_ratio")]
            title = name.removeprefix(_PROGRAMS)
            yield _row(title, _three(rate), shown, ratio, _three(p99), _three(cpu), *ratios)


def _three(case: Case) -> str:
    """The figures of all servers."""
    return ", ".join(number_text(case[server]) for server in _SERVERS if case.get(server))


def _busy(figures: Sequence[Mapping[str, Any]]) -> float | None:
    """How busy a server's core was, in the middle of all measurements."""
    return median(figure["server_busy"] for figure in figures) if figures else None


def _headlines(cases: Mapping[str, Case]) -> Iterator[str]:
    yield "\n## In memory\n"
    yield _row("", "Rillway", "Redis", "ratio", "Valkey", "ratio")
    yield _row(*["---"] * 6)
    for name, title in _HEADLINES.items():
        if case := cases.get(name):
            unit = case["unit"] + (" (less is better)" if case["lower_is_better"] else "")
            ours, theirs = number_text(case["rillway"]), number_text(case["redis"])
            ahead = _ahead(case)
            ours = f"**{ours}**" if ahead == "rillway" else ours
            theirs = f"**{theirs}**" if ahead == "redis" else theirs
            yield _row(f"{title}; {unit}", ours, theirs, *_ratios(case))


def _ahead(case: Case) -> str:
    """`rillway`, `redis`, or nothing: the median of the ratios and both medians must agree."""
    gain, ours, theirs = _gain(case), case["rillway"], case["redis"]
    if case["lower_is_better"]:
        ours, theirs = theirs, ours
    if gain > _AHEAD and ours > theirs:
        return "rillway"
    return "redis" if gain < 1 / _AHEAD and theirs > ours else ""


def _families(cases: Mapping[str, Case]) -> Iterator[str]:
    yield "\nAll cases, by family. The last three columns say how many times as good Rillway is: in"
    yield "the worst case, in the middle, and in the best.\n"
    yield _row("family", "cases", "Rillway ahead", "Redis ahead", "worst", "median", "best")
    yield _row(*["---"] * 7)
    for prefix, title in _FAMILIES.items():
        gains = [_gain(case) for name, case in cases.items() if _counts(name, prefix)]
        if gains:
            yield _row(title, *_spread(gains))


def _counts(name: str, prefix: str) -> bool:
    """Whether a case counts in a family. Of programs, the rates and times are mostly their own."""
    return name.startswith(prefix) and (prefix != _PROGRAMS or name.endswith(_CPU))


def _spread(gains: Sequence[float]) -> Iterator[str]:
    yield str(len(gains))
    yield str(sum(gain > _AHEAD for gain in gains))
    yield str(sum(gain < 1 / _AHEAD for gain in gains))
    yield from (f"{value:.2f}" for value in (min(gains), median(gains), max(gains)))


def _all(cases: Mapping[str, Case]) -> Iterator[str]:
    yield "\n## Each case\n"
    yield 'By the names that `make bench ARGS="--only NAME"` takes: the medians, and the median of'
    yield "the ratios, Rillway's figure as a share of Redis's, and of Valkey's. A case without the"
    yield "latter is not measured beside Valkey, or was last measured before Valkey was.\n"
    yield _row("case", "unit", "Rillway", "Redis", "ratio", "Valkey", "ratio")
    yield _row(*["---"] * 7)
    for name in (name for prefix in _FAMILIES for name in cases if name.startswith(prefix)):
        case = cases[name]
        medians = number_text(case["rillway"]), number_text(case["redis"])
        yield _row(name, case["unit"], *medians, *_ratios(case))


def _ratios(case: Case) -> Iterator[str]:
    """The ratio beside Redis; Valkey's figure, and the ratio beside it."""
    yield _ratio(case, "ratio")
    yield number_text(case["valkey"]) if case.get("valkey_ratio") else ""
    yield _ratio(case, "valkey_ratio")


def _ratio(case: Case, name: str) -> str:
    return f"{case[name]['median']:.2f}" if case.get(name) else ""


def _gain(case: Case) -> float:
    """How many times as good Rillway is: the ratio, turned over where less is better."""
    ratio: float = case["ratio"]["median"]
    return 1 / ratio if case["lower_is_better"] and ratio else ratio


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main(paths: Iterable[str]) -> None:
    """Print the tables of the runs in these files."""
    runs = [json.loads(Path(path).read_text()) for path in paths]
    print("\n".join(tables(runs)))


if __name__ == "__main__":
    main(sys.argv[1:])
