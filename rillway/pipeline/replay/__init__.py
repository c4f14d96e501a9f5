"""Replay: entries of the archive are added to a stream again, once, at their old pace or another.

`replayer`   reads and writes
`ledger`     records how far it has come
`pace`       when each entry is due
`arguments`  the arguments of `rillway replay`
`command`    `rillway replay`
"""
