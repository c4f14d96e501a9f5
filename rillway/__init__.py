"""Rillway: a Redis Streams server in Python.

This package is what users run or import. The server itself is private: it is started with
`rillway serve` and runs as a process of its own.
"""

__version__ = "0.1.0"
