"""Ranges of streams: which entries to read, split into tasks, read completely or with an error.

`offsets`     positions in streams, and a query's offsets
`discovery`   the streams of a name or a pattern
`conditions`  the range of time that a SQL condition allows
`filters`     conditions that need no Spark; names of columns that do not exist
`plan`        the end of a batch under a limit, and slices of a range
`tasks`       large streams split, small ones sharing a task
`anchors`     entries that prove by their bytes that a history is the same
`divergence`  detects that a stream has another history than the one that was read
`pages`       the size of the next page
`reader`      a slice, page by page
`account`     what batches and tasks have read, as lines of the log
`loss`        detects entries that were removed before they were read
"""
