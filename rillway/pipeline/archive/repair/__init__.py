"""Finds damage to an archive, and repairs it.

`findings`      checks the log, the state, and the size and footer of each file
`rows`          checks each row, and the entries in memory
`rebuilding`    rebuilds the records of streams from an older state and the rows
`repairs`       repairs what was found
`commands`      `rillway archive verify`, `rillway archive repair`
"""
