"""Lag over time: samples of consumer groups, the rates between them, and when a group is through.

`series` has the samples and what follows from them, `plot` draws them, `command` is `rillway lag`.
"""
