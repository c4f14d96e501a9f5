"""The archive's files.

`store`          their location: a folder or an object store
`opening`        opens the table at a place
`periods`        the days, months or years that a file covers
`parquet_files`  writes files: rows of many streams, sorted
`actions`        files as entries of the table's log
`log_files`      the log itself, read without deltalake
`rows`           reads the rows of one stream
`scanning`       reads the rows for which a condition holds, and little else
`merge`          merges files
`sorting`        sorts the rows of files that another program wrote
`extents`        the number of rows and the range of IDs of each stream in files
"""
