"""The data pipeline: streams to Spark and back, the archive, queries over both, replay.

A client like any other: it works against Rillway and against Redis from 7.0 on, and uses what only
Rillway has where the server's COMMAND says that it is there. Needs the extra `rillway[pipeline]`
and Java 17. See docs/reference/spark.md for what it does, docs/architecture/pipeline.md for how.

Importing this package imports neither Spark nor Arrow: Spark's planner imports every data source
that it finds, whether it is used or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rillway.pipeline.history import read_history

__all__ = ["read_history"]


def __getattr__(name: str) -> object:
    """What is imported only when it is asked for."""
    if name == "read_history":
        from rillway.pipeline.history import read_history

        return read_history
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
