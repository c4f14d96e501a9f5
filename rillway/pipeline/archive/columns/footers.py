"""The layouts of a file's rows in its footer: what a row was can be told without the state.

Readers use the state, which has all layouts of a stream; a repair uses these where it is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rillway.json_bytes import from_json, to_json
from rillway.pipeline.archive.columns.layouts import Layout, Layouts
from rillway.pipeline.archive.columns.schema import LAYOUT

KEY = "rillway.layouts"


def numbers_of(batch: pa.RecordBatch) -> set[int]:
    """Of the layouts that rows have."""
    if LAYOUT not in batch.schema.names:
        return set()
    return set(batch.column(LAYOUT).unique().drop_null().to_pylist())


def as_metadata(layouts: Layouts) -> dict[str, str]:
    """Empty without layouts."""
    content = [
        [[to_json(name) for name in layout.names], layout.columns]
        for _, layout in sorted(layouts.items())
    ]
    return {KEY: json.dumps(content, ensure_ascii=False)} if content else {}


def from_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[int, Layout]:
    """Raises ValueError, TypeError for anything else."""
    content: list[Any] = json.loads((metadata or {}).get(KEY.encode(), b"[]"))
    layouts = [Layout(tuple(map(from_json, names)), tuple(cols)) for names, cols in content]
    return {layout.number: layout for layout in layouts}
