"""Latency: how long entries waited and were worked on, from a journal of acknowledgements.

`journal` reads the journal's entries, `spark_journal` does so with Spark, `distribution` has what
was counted and what follows from it, `report` puts it into words and tables, `plot` draws it,
`command` is `rillway latency`.
"""
