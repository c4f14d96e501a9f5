"""SQL over archive and memory, by DuckDB.

`pushdown`   filters that DuckDB hands to a scan, and what they exclude
`relation`   a stream as a relation
`answer`     `rillway.pipeline.sql`: the answer to a statement
`arguments`  the arguments of `rillway sql`
`command`    `rillway sql`
"""
