"""Figures in the text of pages are those of benchmarks/RESULTS.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text()
# Text is rounded.
TOLERANCE = 0.07

# Sentences of pages. {case column} is a figure: `rillway`, `redis`, `ratio`, or `ms` of Rillway's
# core for a thousand.
SENTENCES = {
    "docs/benchmarks.md": [
        "| XADD | {tls/xadd-small-p1-c50 ratio} | {tls/xadd-small-p16-c50 ratio} |",
        "| XREADGROUP COUNT 1 | {tls/xreadgroup-count-1-p1-c50 ratio} | "
        "{tls/xreadgroup-count-1-p16-c50 ratio} |",
        "{memory/idle-tls-connection rillway} bytes (Redis: {memory/idle-tls-connection redis}), "
        "without TLS {memory/idle-connection rillway} ({memory/idle-connection redis})",
        *(
            f"{row} | " + " | ".join(f"{{cluster/{case.format(n)}}}" for n in (1, 2, 4, 8)) + " |"
            for row, case in {
                "pipelines of 16: the time of a server alone": "xadd-p16-nodes-{}-cpu rillway",
                "and XACK: the time of a server alone": "group-nodes-{}-cpu rillway",
                "XADD: the rate of a Redis Cluster of the same size": "xadd-p16-nodes-{} ratio",
                "and XACK: the rate of a Redis Cluster of the same size": "group-nodes-{} ratio",
            }.items()
        ),
        "{programs/bullmq-work-50-cpu rillway} µs in BullMQ with concurrency 50 (Redis: "
        "{programs/bullmq-work-50-cpu redis}), {programs/celery-prefetch-1-cpu rillway} in Celery "
        "({programs/celery-prefetch-1-cpu redis}), {programs/rq-work-cpu rillway} in RQ "
        "({programs/rq-work-cpu redis})",
        "takes {stall/bgsave-takes ratio} times as long",
        "{stall/full-sync-takes ratio} times: Redis writes",
        "copies {stall/bgsave-copies rillway} MB of memory meanwhile (Redis: "
        "{stall/bgsave-copies redis})",
        "{memory/hash-key-of-5 rillway} bytes for a hash of five short fields (Redis: "
        "{memory/hash-key-of-5 redis}), {memory/set-key-of-5 rillway} for such a set "
        "({memory/set-key-of-5 redis}), {memory/sorted-set-key-of-5 rillway} for a sorted set "
        "({memory/sorted-set-key-of-5 redis}), {memory/string-key rillway} for a string "
        "({memory/string-key redis})",
        "{memory/hash-member rillway} bytes in a hash ({memory/hash-member redis}), "
        "{memory/set-member rillway} in a set ({memory/set-member redis}), "
        "{memory/sorted-set-member rillway} in a sorted set ({memory/sorted-set-member redis}) "
        "and {memory/list-element rillway} in a list ({memory/list-element redis})",
        "{scripts/rate-limiter-p1-c50 ratio} to {scripts/incr-p1-c50 ratio} of Redis's rate "
        "without a pipeline, {scripts/lock-p64-c50 ratio} to {scripts/incr-p64-c50 ratio} in "
        "pipelines",
    ],
    "docs/how-to/sizing.md": [
        "| small entry, one field of 12 digits | {memory/small-entry rillway} |",
        "numbers and a token | {memory/mixed-entry rillway} |",
        "| pending entry | {memory/small-entry-pending rillway} to "
        "{memory/20-fields-entry-pending rillway} |",
        "| idle connection | {memory/idle-connection rillway} |",
        "over TLS {memory/idle-tls-connection rillway} |",
        "value of ten bytes | {memory/string-key rillway} |",
        "| hash of five short fields | {memory/hash-key-of-5 rillway} |",
        "| sorted set of five short members | {memory/sorted-set-key-of-5 rillway} |",
        "in a large one {memory/sorted-set-member rillway} a member",
        *(
            "| added without a pipeline, by fifty clients | "
            f"{{durable/xadd-small-p1-c50-{file} ms}} |"
            f" | added in pipelines of 64 | {{durable/xadd-small-p64-c50-{file} ms}} |"
            " | read and acknowledged, COUNT 1, ten consumers | "
            f"{{durable/group-count-1-consumers-10-{file} ms}} |"
            f" | the same, COUNT 10 | {{durable/group-count-10-consumers-10-{file} ms}} |"
            f" | the same, COUNT 100 | {{durable/group-count-100-consumers-10-{file} ms}} |"
            for file in ("memory", "everysec")
        ),
        "{durable/group-count-1-consumers-10-always rillway} messages a second were read and "
        "acknowledged one by one there, {durable/group-count-100-consumers-10-always rillway} in "
        "batches of 100",
    ],
}


def figures() -> dict[str, dict[str, float]]:
    rows = re.findall(r"^\| (\S+/\S+) \| [^|]+ \| (\S+) \| (\S+) \| (\S+) \|", RESULTS, re.M)
    found = {}
    for case, *cells in rows:
        ours, theirs, ratio = (float(cell.replace(",", "")) for cell in cells)
        found[case] = {"rillway": ours, "redis": theirs, "ratio": ratio, "ms": 1e6 / ours}
    return found


FIGURES = figures()


def text_of(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


@pytest.mark.parametrize(
    ("page", "sentence"),
    [(page, sentence) for page, sentences in SENTENCES.items() for sentence in sentences],
)
def test_a_figure_is_that_of_the_last_full_run(page: str, sentence: str) -> None:
    parts = re.split(r"\{(\S+) (\S+)\}", sentence)
    pattern = r"([\d.,]*\d)".join(map(re.escape, parts[::3]))
    found = re.findall(pattern, text_of(page))
    assert len(found) >= 1, f"{page} does not say: {sentence}"
    stated = [(match,) if isinstance(match, str) else match for match in found]
    expected = [
        FIGURES[case][column] for case, column in zip(parts[1::3], parts[2::3], strict=True)
    ]
    assert any(agree(figures, expected) for figures in stated), (stated, expected)


def agree(stated: tuple[str, ...], expected: list[float]) -> bool:
    numbers = [float(figure.replace(",", "")) for figure in stated]
    return all(
        abs(number - right) <= max(TOLERANCE * right, half_a_digit(figure))
        for number, right, figure in zip(numbers, expected, stated, strict=True)
    )


def half_a_digit(figure: str) -> float:
    """What rounding to the digits of `figure` may change."""
    return 0.5 * 10.0 ** -len(figure.partition(".")[2])


def test_the_table_of_the_durable_rows_is_that_of_the_results() -> None:
    page = (ROOT / "docs/benchmarks.md").read_text().partition("### With files and replicas")[2]
    rows = re.findall(r"^\| ([XMSt][^|]+) \| ([\d.]+ \|.*) \|$", page.partition("###")[0], re.M)
    assert len(rows) >= 10
    for title, cells in rows:
        found = re.search(rf"^\| {re.escape(title)} \| (.*) \|$", RESULTS, re.M)
        assert found is not None, title
        ratios = [cell.split()[0].strip("*") for cell in found[1].split(" | ")]
        assert cells.split(" | ") == ratios, title
