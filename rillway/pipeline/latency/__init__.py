"""Latency: how long entries were pending, and took in all, from a journal of acknowledgements.

`journal`        reads the journal's entries
`spark_journal`  the same with Spark
`follower`       the journal as it grows
`distribution`   counts by the millisecond, percentiles, histograms
`report`         texts and tables
`plot`           draws
`arguments`      the arguments of `rillway latency`
`command`        `rillway latency`
"""
