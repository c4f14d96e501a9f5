"""The tables of benchmarks/RESULTS.md from the figures of runs."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import tables

ABOUT = {
    "servers": "Rillway 0.1.0 beside Redis 8.2.3",
    "processor": "Z80",
    "cores": "2",
    "begun": "2026-01-02 03:04 UTC",
    "pairs": "3",
}


def case(
    name: str,
    ours: float,
    theirs: float,
    valkey: float | None = None,
    *,
    less_is_better: bool = False,
) -> dict[str, Any]:
    figures = [{"value": value, "lines": [f"p50 1 ms, p99.9 {value} ms"]} for value in (1, 2.5, 9)]
    return {
        "case": name,
        "unit": "ms" if less_is_better else "requests/s",
        "lower_is_better": less_is_better,
        "rillway": ours,
        "redis": theirs,
        "ratio": {"median": ours / theirs},
        "valkey": valkey,
        "valkey_ratio": {"median": ours / valkey} if valkey else None,
        "pairs": {"rillway": figures, "redis": figures[:1]},
    }


def run(*cases: dict[str, Any], begun: str = ABOUT["begun"]) -> dict[str, Any]:
    return {"about": ABOUT | {"begun": begun}, "results": list(cases)}


def test_a_durable_row_has_a_ratio_and_what_clients_wait_for_each_setting() -> None:
    found = list(tables([run(case("durable/multi-of-10-c50-always", 120, 100))]))
    assert "| MULTI, ten XADD, EXEC |  |  | **1.20** (2.5, 1.0) |  |  |  |" in found


def test_whoever_is_ahead_is_bold() -> None:
    found = list(
        tables(
            [
                run(
                    case("xadd/small-p1-c1", 80, 100),
                    case("ping/p64-c50", 103, 100, 206),
                    case("memory/small-entry", 10, 20, less_is_better=True),
                )
            ]
        )
    )
    assert "| XADD, one client; requests/s | 80.0 | **100** | 0.80 |  |  |" in found
    assert (
        "| PING, 50 clients, pipelines of 64; requests/s | 103 | 100 | 1.03 | 206 | 0.50 |" in found
    )
    assert (
        "| memory for a small entry; ms (less is better) | **10.0** | 20.0 | 0.50 |  |  |" in found
    )


def test_a_family_counts_where_less_is_better_the_other_way_round() -> None:
    cases = [
        case("stall/del", 10, 20, less_is_better=True),
        case("stall/keys", 20, 10, less_is_better=True),
    ]
    found = list(tables([run(*cases)]))
    title = "What others feel while one command works"
    assert f"| {title} | 2 | 1 | 1 | 0.50 | 1.25 | 2.00 |" in found


def test_rows_of_a_later_run_replace_earlier_ones() -> None:
    first = run(case("get/p64-c50", 80, 100), case("set/p64-c50", 100, 100))
    found = list(tables([first, run(case("get/p64-c50", 100, 100), begun="2026-01-03 04:05 UTC")]))
    assert "| GET, 50 clients, pipelines of 64; requests/s | 100 | 100 | 1.00 |  |  |" in found
    assert "| SET, 50 clients, pipelines of 64; requests/s | 100 | 100 | 1.00 |  |  |" in found
    assert any("2026-01-02 03:04 UTC; some rows again, 2026-01-03 04:05 UTC;" in x for x in found)


def busy(shares: tuple[float, float, float]) -> dict[str, Any]:
    servers = ("rillway", "redis", "valkey")
    return {
        server: [{"value": 1, "server_busy": share, "lines": []}]
        for server, share in zip(servers, shares, strict=True)
    }


def test_a_program_has_a_row_and_its_rate_counts_where_the_cores_are_busy() -> None:
    cases = [
        case("programs/rq-work", 90, 100, 120) | {"pairs": busy((0.8, 0.5, 0.1))},
        case("programs/rq-work-p99", 3, 2, 4),
        case("programs/rq-work-cpu", 30, 15, 20),
        case("programs/rq-send", 90, 100, 120) | {"pairs": busy((0.7, 0.6, 0.9))},
        case("programs/rq-send-p99", 3, 2, 4),
        case("programs/rq-send-cpu", 30, 15, 20),
    ]
    found = list(tables([run(*cases)]))
    figures = "3, 2, 4 | 30.0, 15.0, 20.0 | 2.00 | 1.50 |"
    assert f"| rq-work | 90.0, 100, 120 | 0.80, 0.50, 0.10 | 0.90 | {figures}" in found
    assert f"| rq-send | 90.0, 100, 120 | 0.70, 0.60, 0.90 |  | {figures}" in found
    assert (
        "| Programs that people run, by processor time | 2 | 2 | 0 | 2.00 | 2.00 | 2.00 |" in found
    )
    assert "| programs/rq-send | requests/s | 90.0 | 100 | 0.90 | 120 | 0.75 |" in found
