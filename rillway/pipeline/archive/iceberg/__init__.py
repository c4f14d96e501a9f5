"""A mirror of the archive for readers of Apache Iceberg: the same Parquet files, named once more.

`changes`    which files the mirror lacks, and which it names in excess
`store_io`   pyiceberg's files in the place where the archive is
`catalogue`  the mirror's table in a catalogue of pyiceberg
`mirror`     brings it to the archive's version
`tidying`    old snapshots, and files that nothing names any more
`follower`   a mirror beside an archiver, whose failures are not the archiver's

Only `changes` and `follower` can be imported without the extra `rillway[iceberg]`.
"""
