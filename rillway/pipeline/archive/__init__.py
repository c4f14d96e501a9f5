"""The archive: what has left the streams' memory, as a Delta table of Parquet files.

`table` is the table and its log, `parquet_files` writes and reads the files, `engine` says where
that is done (Spark or here), `archiver` moves entries from a stream to the table, `trim` removes
them from the stream, `groups` tells what consumer groups still need, `pins` hold a stream while it
is read, `lease` keeps a second archiver away, `maintenance` compacts and expires, `command` is
`rillway archive`.

The table is the only place that says how far a stream was archived: see
docs/architecture/pipeline.md.
"""
