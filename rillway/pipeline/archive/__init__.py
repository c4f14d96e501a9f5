"""The archive: entries that left a stream's memory, as a Delta table of Parquet files.

`table`          the table and its log
`store`          where the table is: a folder or an object store
`parquet_files`  writes and reads the files
`periods`        days, months or years by which files are cut
`engine`         where files are written: by Spark's tasks, or in this process
`archiver`       moves entries from a stream to the table
`identity`       whether a stream still is the one that was archived
`trim`           removes archived entries from the stream
`groups`         which entries consumer groups still need
`pins`           groups that hold a stream while it is read
`lease`          keeps a second archiver away
`maintenance`    compaction and expiry
`limits`         default sizes of batches and files
`arguments`      the arguments of `rillway archive`
`command`        `rillway archive`

The table is the only place that records how far a stream was archived: see
docs/architecture/pipeline.md.
"""
