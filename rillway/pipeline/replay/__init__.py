"""Replay: entries of the archive go into a stream again, once, at their old pace or another.

`replayer` reads and writes, `ledger` remembers how far, `pace` says when, `command` is
`rillway replay`.
"""
