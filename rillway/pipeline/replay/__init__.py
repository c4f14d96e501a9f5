"""Replay: adds archived entries to a stream again, once, at their original pace or another.

`replayer`   reads the archive and writes the stream, at a pace
`ledger`     records the progress of a replay
`arguments`  the arguments of `rillway replay`
`command`    `rillway replay`
"""
