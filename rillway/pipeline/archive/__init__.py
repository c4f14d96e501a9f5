"""The archive: entries that left a stream's memory, as a Delta table of Parquet files.

`table`      the table and its log
`files`      its files: where they are, how they are written, read and merged
`archiver`   moves entries from streams to the table, in rounds
`batches`    what is read at once, and by how many tasks
`tasks`      entries of several streams into files
`engine`     where tasks run: on Spark, or in this process
`columns`    typed columns
`earlier`    entries of a backup, from before the archive began
`identity`   whether a stream still is the one that was archived
`trim`       removes archived entries from the streams
`groups`     which entries consumer groups still need
`pins`       groups that hold a stream while it is read
`lease`      keeps a second archiver away
`upkeep`     compaction, expiry, and both regularly
`repair`     what is damaged, and how it is put right
`iceberg`    a mirror of the table for readers of Iceberg
`report`     what is told of rounds and streams, for programs too
`limits`     default sizes of batches and files
`arguments`  the arguments of `rillway archive`
`command`    `rillway archive`

The table is the only place that records how far a stream was archived: see
docs/architecture/pipeline.md.
"""
