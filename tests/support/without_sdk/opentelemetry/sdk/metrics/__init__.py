"""Hides OpenTelemetry's SDK from the programs that tests start.

Few users have it. redis-py imports it where it is, and takes a third longer with it.
"""

raise ImportError("hidden from the programs of the tests")
