"""Latency: pending and total times of entries, from a journal of acknowledgements.

`journal`        reads the journal, whole or as it grows
`spark_journal`  the same with Spark
`distribution`   counts by the millisecond, percentiles, histograms
`report`         texts, tables and plots
`arguments`      the arguments of `rillway latency`
`command`        `rillway latency`
"""
