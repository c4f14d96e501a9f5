"""Rillway: a Redis Streams server in Python.

This package is what users run or import. The server itself is private: it is started with
`rillway serve` and runs as a process of its own. What may be imported, and stays:

- `rillway.testing`: a server for tests, as a pytest plugin and by itself (docs/how-to/test.md);
- `rillway.client`: streams in partitions, for redis-py (docs/reference/client.md);
- `rillway.consumer`: a consumer of a group that retries (docs/reference/consumer.md);
- `rillway.pipeline`: streams in Spark and in archives, with the extra `pipeline`
  (docs/reference/spark.md);
- `rillway.__version__`.

Each of them is imported when it is named first: `import rillway` alone imports nothing.
"""

__all__ = ["__version__", "client", "consumer", "pipeline", "testing"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import a part of the public interface. Raises AttributeError for any other name."""
    if name in __all__:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
