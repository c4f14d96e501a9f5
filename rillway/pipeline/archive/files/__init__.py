"""The archive's files.

`store`          where they are: a folder or an object store
`periods`        days, months or years by which they are cut
`parquet_files`  writes them: rows of many streams, sorted
`actions`        how the table's log names them
`log_files`      the log itself, read without deltalake
`rows`           reads the rows of one stream
`merge`          several files into few, in one order
`extents`        how many rows of which streams are in files, from where to where
"""
