"""Damage to an archive: what is found, what it means, and what can be put right.

`findings`      the check of the log, the state, and each file by its size and footer
`rows`          the check of each row, and of what is in memory
`rebuilding`    what is known of the streams, from an older state and the rows
`repairs`       puts right what a finding is about
`commands`      `rillway archive verify`, `rillway archive repair`
"""
