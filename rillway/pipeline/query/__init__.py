"""Queries over archive and memory.

`history`     a range of entries, from the archive and the stream, each once
`frames`      a history as a DataFrame of Spark
`spark_rows`  a history that Spark's tasks read, where its own readers cannot
`output`      entries as a table, JSON, CSV or a Parquet file; typed values as text
`arguments`   the arguments of `rillway query`
`command`     `rillway query`
"""
