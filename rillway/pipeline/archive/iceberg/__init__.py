"""A mirror of the archive for readers of Apache Iceberg: a second table of the same Parquet files.

`changes`    the files to add to the mirror and to remove from it
`catalogue`  the mirror's table in a catalogue of pyiceberg, and access to its files
`mirror`     brings the mirror to the archive's version, and removes old snapshots
`follower`   updates the mirror after each commit; its failures do not stop the archiver

Only `changes` and `follower` can be imported without the extra `rillway[iceberg]`.
"""
