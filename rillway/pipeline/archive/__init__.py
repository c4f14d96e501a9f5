"""The archive: entries moved out of a stream's memory into a Delta table of Parquet files.

`table`         the table and its log
`files`         its files: location, writing, reading, merging
`archiver`      moves entries from streams to the table, in rounds
`stages`        the stages of a stream in a round, as a table of transitions
`round_stream`  the streams in a round: the range to archive, and what a batch adds
`commits`       commits a batch, unless another archiver was first
`batches`       divides the entries of a batch among tasks
`tasks`         read entries of several streams and write them to files
`engine`        runs tasks on Spark or in this process
`columns`       typed columns
`earlier`       adds entries of a backup that precede the archive
`identity`      checks that a stream is still the one that was archived
`trim`          removes archived entries from the streams
`groups`        the entries that consumer groups still need
`pins`          groups that keep a stream from being trimmed while it is read
`lease`         excludes a second archiver
`upkeep`        compaction, expiry, and both regularly
`erasure`       removes entries for ever, from memory and archive
`foreign`       changes that other programs make to the table
`repair`        finds and repairs damage
`iceberg`       a mirror of the table for readers of Iceberg
`report`        reports on rounds and streams, for people and programs
`limits`        default sizes of batches and files
`arguments`     the arguments of `rillway archive`
`command`       `rillway archive`

Only the table records how far a stream is archived: see docs/architecture/pipeline.md.
"""
