"""The table of queues of job frameworks. Pure."""

from __future__ import annotations

from rillway.text import short_count, short_duration
from rillway.top.tables import LEAST_NAME_CELLS, Column, Row, View, table
from rillway.top.text import Line, safe


def queue_lines(view: View, cells: int) -> list[Line]:
    """Return a line for each queue; what its keys do not tell is a dash."""
    if not view.queues:
        text = "looking through the names of keys" if view.queues is None else "no queues"
        return [Line.of(f"  QUEUES: {text}", "heading")]
    columns = [
        Column(f"QUEUE, {len(view.queues):,}", LEAST_NAME_CELLS, 9),
        Column("framework", 10, 7, right=False), Column("waiting", 7, 8),
        Column("running", 7, 6), Column("delayed", 7, 5), Column("failed", 6, 8),
        Column("workers", 7, 4), Column("in/s", 6, 2), Column("out/s", 6, 2),
        Column("oldest", 7, 3),
    ]  # fmt: skip
    rows = []
    for known in view.queues:
        found = known.figures
        if found is None:
            continue
        counts = (found.waiting, found.running, found.delayed, found.failed, found.workers)
        oldest = "-" if found.oldest_ms is None else short_duration(found.oldest_ms)
        rates = (known.in_per_s, known.out_per_s)
        texts = ["-" if one is None else short_count(one) for one in (*counts, *rates)]
        name, framework = safe(known.queue.label), known.queue.framework
        rows.append(Row([name, framework, *texts, oldest], style="dead" if found.failed else ""))
    return table(columns, rows, cells)
