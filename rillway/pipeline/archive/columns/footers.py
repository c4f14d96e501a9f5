"""The layouts of a file's rows in its footer, so that rows can be read without the state.

Readers use the state, which has all layouts; a repair uses the footers if the state is lost.
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
    """Return the numbers of the layouts of rows."""
    if LAYOUT not in batch.schema.names:
        return set()
    return set(batch.column(LAYOUT).unique().drop_null().to_pylist())


def as_metadata(layouts: Layouts) -> dict[str, str]:
    """Return the metadata for layouts; empty without layouts."""
    content = [
        [[to_json(name) for name in layout.names], layout.columns]
        for _, layout in sorted(layouts.items())
    ]
    return {KEY: json.dumps(content, ensure_ascii=False)} if content else {}


def from_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[int, Layout]:
    """Return the layouts in a footer. Raises ValueError, TypeError for anything else."""
    content: list[Any] = json.loads((metadata or {}).get(KEY.encode(), b"[]"))
    layouts = [Layout(tuple(map(from_json, names)), tuple(cols)) for names, cols in content]
    return {layout.number: layout for layout in layouts}
